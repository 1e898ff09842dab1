"""Two runs question by question."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefrag.evaluation.report.comparison import Comparison, compare, score_intervals
from prefrag.evaluation.report.runs import read_runs
from tests.evaluation.report.run_folders import SIMULATED, predictions, write_run


def compare_all(folder: Path) -> list[Comparison]:
    """Compare every method with the last of the tables, as one family."""
    *others, last = read_runs([folder])
    return compare([(last, other) for other in others])


def test_nothing_right_or_everything_right_is_not_certain(tmp_path: Path) -> None:
    write_run(tmp_path / "none", predictions(0))
    write_run(tmp_path / "all", predictions(40), pipeline="react")

    found = score_intervals(read_runs([tmp_path]))

    none, every = (found[name, "acc"] for name in ("none", "all"))
    assert (none.low, none.high) == (pytest.approx(0, abs=1e-9), pytest.approx(8.8, abs=0.05))
    assert (every.low, every.high) == (pytest.approx(91.2, abs=0.05), pytest.approx(100))
    assert found["none", "total"].low == found["none", "total"].high == 1.0, "a count has no ends"


def test_identical_runs_show_no_difference(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(20))
    write_run(tmp_path / "b", predictions(20), pipeline="react")

    (comparison,) = compare_all(tmp_path)

    for difference in comparison.differences.values():
        assert (difference.interval.low, difference.interval.mean, difference.interval.high) == (0.0, 0.0, 0.0)
        assert difference.verdict == "no difference shown"


def test_a_clear_difference_is_better_from_one_side_and_worse_from_the_other(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(35, web=1))
    write_run(tmp_path / "b", predictions(10), pipeline="react")

    (comparison,) = compare_all(tmp_path)

    assert (comparison.run.method, comparison.other.method) == ("prefrag", "react")
    accuracy, retrievals = comparison.differences["acc"], comparison.differences["total"]
    assert accuracy.interval.mean == pytest.approx(62.5)
    assert (accuracy.words, retrievals.words) == ("better", "worse: more")
    (other_way,) = compare([(comparison.other, comparison.run)])
    assert other_way.differences["acc"].words == "worse"
    assert other_way.differences["acc"].interval.low == -accuracy.interval.high
    assert other_way.differences["total"].words == "better: fewer"


def test_pairing_sees_what_two_separate_intervals_do_not(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(26))
    write_run(tmp_path / "b", predictions(20), pipeline="react")

    runs = read_runs([tmp_path])
    react, prefrag = (score_intervals(runs)[name, "acc"] for name in ("b", "a"))
    (comparison,) = compare_all(tmp_path)

    assert react.high > prefrag.low
    assert comparison.differences["acc"].verdict == "better"


def test_questions_are_paired_by_id_and_the_others_are_named(tmp_path: Path) -> None:
    lines = predictions(20)
    write_run(tmp_path / "a", [*reversed(lines[:-1])])
    write_run(tmp_path / "b", lines[2:], pipeline="react")

    (comparison,) = compare_all(tmp_path)

    assert comparison.n == 37
    assert set(comparison.only_run) == {"q000", "q001"}
    assert comparison.only_other == ("q039",)
    assert comparison.differences["acc"].interval.mean == 0.0


def test_another_question_or_other_gold_under_the_same_id_is_not_paired_but_named(tmp_path: Path) -> None:
    lines = predictions(20)
    other = [
        {**lines[0], "question": "Who burnt q000?"},
        {**lines[1], "answers": ["Alpha"]},
        *lines[2:],
    ]
    write_run(tmp_path / "a", lines)
    write_run(tmp_path / "b", other, pipeline="react")

    (comparison,) = compare_all(tmp_path)

    assert comparison.n == 38
    assert comparison.unlike == ("q000", "q001")
    assert (comparison.only_run, comparison.only_other) == ((), ())


def test_no_verdict_over_a_handful_of_questions(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(20, 20))
    write_run(tmp_path / "b", predictions(0, 20), pipeline="react")

    (comparison,) = compare_all(tmp_path)

    assert comparison.differences["acc"].words == "too few questions"


def test_runs_without_a_question_in_common_have_no_difference(tmp_path: Path) -> None:
    lines = predictions(20)
    write_run(tmp_path / "a", lines[:20])
    write_run(tmp_path / "b", lines[20:], pipeline="react")

    (comparison,) = compare_all(tmp_path)

    assert (comparison.n, comparison.differences) == (0, {})


def test_every_measure_has_an_exact_test(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(24))
    write_run(tmp_path / "b", predictions(20), pipeline="react")

    (comparison,) = compare_all(tmp_path)

    ps = {key: difference.p for key, difference in comparison.differences.items()}
    assert ps == {
        "acc": 0.125,
        "f1": 0.125,
        "em": 0.125,
        "recall": 1.0,
        "total": 1.0,
        "lookups": 1.0,
        "llm_calls": 1.0,
        **{"documents_per_question": 1.0},
    }


def test_the_verdict_is_that_of_the_p_corrected_for_the_number_of_methods(tmp_path: Path) -> None:
    write_run(tmp_path / "prefrag", predictions(27))
    write_run(tmp_path / "react", predictions(21), pipeline="react")
    alone = compare_all(tmp_path)[-1].differences["acc"]
    write_run(tmp_path / "mspr", predictions(27), pipeline="mspr")
    write_run(tmp_path / "mix", predictions(26), pipeline="react_mix")

    beside = next(one for one in compare_all(tmp_path) if one.other.method == "react").differences["acc"]

    assert alone.p == beside.p == alone.corrected == 0.03125
    assert beside.corrected == pytest.approx(3 * beside.p)
    assert (alone.verdict, beside.verdict) == ("better", "no difference shown")


def test_repetitions_are_paired_by_question_with_the_mean_over_the_seeds(tmp_path: Path) -> None:
    for seed, right in enumerate((30, 34)):
        write_run(tmp_path / f"a{seed}", predictions(right), llm={**SIMULATED, "seed": seed})
        write_run(tmp_path / f"b{seed}", predictions(20), pipeline="react", llm={**SIMULATED, "seed": seed})

    (comparison,) = compare_all(tmp_path)

    accuracy = comparison.differences["acc"]
    assert (comparison.n, accuracy.interval.mean) == (40, pytest.approx(30.0))
    assert accuracy.p < 0.001
