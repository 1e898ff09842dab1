"""Comparing two runs question by question."""

from pathlib import Path
from typing import Any

import pytest

from prefrag.evaluation.report.comparison import Comparison, compare, score_intervals
from prefrag.evaluation.report.intervals import tango
from tests.evaluation.report.run_folders import SIMULATED, predictions, write_runs


def compare_two(folder: Path, first: int | list[dict[str, Any]], second: int | list[dict[str, Any]]) -> Comparison:
    """Compare PrefRAG with ReAct, given how many answers of each are right, or their lines."""
    react, prefrag = write_runs(folder, prefrag={"right": first}, react={"right": second, "pipeline": "react"})
    (comparison,) = compare([(prefrag, react)])
    return comparison


def test_nothing_right_or_everything_right_is_not_certain(tmp_path: Path) -> None:
    scored = score_intervals(write_runs(tmp_path, none={"right": 0}, all={"right": 40, "pipeline": "react"}))

    none, every = (scored[name, "acc"] for name in ("none", "all"))
    assert (none.low, none.high) == (pytest.approx(0, abs=1e-9), pytest.approx(8.8, abs=0.05))
    assert (every.low, every.high) == (pytest.approx(91.2, abs=0.05), pytest.approx(100))
    assert scored["none", "total"].low == scored["none", "total"].high == 1.0, "a count has no ends"


def test_identical_runs_show_no_difference(tmp_path: Path) -> None:
    for key, difference in compare_two(tmp_path, 20, 20).differences.items():
        # If 40 right or wrong answers are the same, that does not prove that further ones are.
        bound = pytest.approx(8.763, abs=1e-3) if key in ("acc", "em") else 0.0
        assert (-difference.interval.low, difference.interval.mean, difference.interval.high) == (bound, 0.0, bound)
        assert difference.verdict == "no difference shown"


@pytest.mark.parametrize("right", [29, 30])
def test_interval_of_few_differences_is_that_of_the_score_test(tmp_path: Path, right: int) -> None:
    """Few: fewer than ten answers differ."""

    interval = compare_two(tmp_path, right, 20).differences["acc"].interval

    assert (interval == tango(right - 20, 0, 40)) is (right == 29)


def test_clear_difference_is_better_from_one_side_and_worse_back(tmp_path: Path) -> None:
    comparison = compare_two(tmp_path, predictions(35, web=1), 10)

    assert (comparison.run.method, comparison.other.method) == ("prefrag", "react")
    accuracy, retrievals = comparison.differences["acc"], comparison.differences["total"]
    assert accuracy.interval.mean == pytest.approx(62.5)
    assert (accuracy.words, retrievals.words) == ("better", "worse: more")
    (other_way,) = compare([(comparison.other, comparison.run)])
    assert other_way.differences["acc"].words == "worse"
    assert other_way.differences["acc"].interval.low == -accuracy.interval.high
    assert other_way.differences["total"].words == "better: fewer"


LINES = predictions(20)
TURNS = [{"role": "user", "content": "Who built the mill?"}, {"role": "assistant", "content": "Alpha."}]
OTHERS = [
    {**LINES[0], "question": "Who burnt q000?"},
    {**LINES[1], "answers": ["Alpha"]},
    {**LINES[2], "history": TURNS},
    {**LINES[3], "type": "yesno"},
    {**LINES[4], "answerable": False},
    {**LINES[5], "sentences": ["Alpha built it."]},
    *LINES[6:],
]


@pytest.mark.parametrize(
    ("first", "second", "n", "only_first", "only_second", "unlike"),
    [
        (LINES[:-1][::-1], LINES[2:], 37, {"q000", "q001"}, {"q039"}, ()),
        (LINES, OTHERS, 34, set(), set(), tuple(f"q{number:03d}" for number in range(6))),
        (LINES[:20], LINES[20:], 0, set(), set(), ()),
    ],
    ids=["other ids", "another question, turns or gold under the same id", "none in common"],
)
def test_questions_are_paired_by_id_and_the_others_are_named(
    tmp_path: Path, first: Any, second: Any, n: int, only_first: set[str], only_second: set[str], unlike: Any
) -> None:
    comparison = compare_two(tmp_path, first, second)

    assert (comparison.n, comparison.unlike) == (n, unlike)
    if n == 0:
        assert comparison.differences == {}
    else:
        assert (set(comparison.only_run), set(comparison.only_other)) == (only_first, only_second)
        assert comparison.differences["acc"].interval.mean == 0.0


def test_pairing_sees_more_than_intervals_but_not_in_a_handful(tmp_path: Path) -> None:
    comparison = compare_two(tmp_path, 26, 20)
    intervals = score_intervals([comparison.other, comparison.run])
    assert intervals["react", "acc"].high > intervals["prefrag", "acc"].low
    assert comparison.differences["acc"].verdict == "better"
    few = compare_two(tmp_path / "few", predictions(20, 20), predictions(0, 20))
    assert few.differences["acc"].words == "too few questions"


def test_every_measure_has_an_exact_test(tmp_path: Path) -> None:
    ps = {key: difference.p for key, difference in compare_two(tmp_path, 24, 20).differences.items()}

    counts = ("recall", "total", "total_web", "lookups", "llm_calls", "documents_per_question")
    assert ps == dict.fromkeys(("acc", "f1", "em"), 0.125) | dict.fromkeys(counts, 1.0)


def test_verdict_follows_the_p_corrected_for_several_methods(tmp_path: Path) -> None:
    alone = compare_two(tmp_path, 27, 21).differences["acc"]
    *others, last = write_runs(
        tmp_path, mspr={"right": 27, "pipeline": "mspr"}, mix={"right": 26, "pipeline": "react_mix"}
    )
    every = compare([(last, other) for other in others])

    beside = next(pair for pair in every if pair.other.method == "react").differences["acc"]

    assert alone.p == beside.p == alone.corrected == 0.03125
    assert beside.corrected == pytest.approx(3 * beside.p)
    assert (alone.verdict, beside.verdict) == ("better", "no difference shown")


def test_repetitions_are_paired_by_question_with_the_seeds_mean(tmp_path: Path) -> None:
    for seed, right in enumerate((30, 34)):
        own = {"llm": {**SIMULATED, "seed": seed}}
        runs = write_runs(tmp_path, **{f"a{seed}": {"right": right, **own}, f"b{seed}": {"pipeline": "react", **own}})

    (comparison,) = compare([runs[::-1]])

    accuracy = comparison.differences["acc"]
    assert (comparison.n, accuracy.interval.mean) == (40, pytest.approx(30.0))
    assert accuracy.p < 0.001
