"""The questions that only one of two runs answers right."""

from pathlib import Path
from typing import Any

from prefrag.evaluation.report.comparison import Comparison, compare
from prefrag.evaluation.report.drill_down import differing_ids, drill_down
from tests.evaluation.report.run_folders import SIMULATED, prediction, write_runs


def drill(
    folder: Path, prefrag: list[dict[str, Any]], react: list[dict[str, Any]]
) -> tuple[Comparison, dict[str, Any]]:
    """Write two runs and compare them; ReAct is the first run on the page."""
    runs = write_runs(folder, prefrag={"right": prefrag}, react={"right": react, "pipeline": "react"})
    (comparison,) = compare([(runs[0], runs[1])])
    return comparison, drill_down(runs, [comparison])


def test_only_questions_that_one_alone_has_right_have_traces(tmp_path: Path) -> None:
    comparison, page = drill(
        tmp_path,
        [prediction("x", True), prediction("y", False), prediction("z", True)],
        [prediction("x", True), prediction("y", True), prediction("w", True)],
    )

    assert differing_ids(comparison) == ["y"]
    assert [question["id"] for question in page["datasets"]["musique"]] == ["x", "y", "w", "z"]
    assert [run["right"] for run in page["runs"]] == ["111-", "10-1"]
    assert {run: list(traces) for run, traces in page["traces"].items()} == {0: [1], 1: [1]}
    assert page["left_out"] == 0


def test_two_questions_of_one_id_are_two(tmp_path: Path) -> None:
    built, burnt = prediction("x", True, question="Who built it?"), prediction("x", False, question="Who burnt it?")

    comparison, page = drill(tmp_path, [built], [burnt])

    assert differing_ids(comparison) == []
    assert [question["q"] for question in page["datasets"]["musique"]] == ["Who burnt it?", "Who built it?"]
    assert [run["right"] for run in page["runs"]] == ["0-", "-1"]


def test_trace_holds_steps_with_verdict_gold_marks_and_failure(tmp_path: Path) -> None:
    failed = prediction("y", True, error="the server is gone")
    traces = drill(tmp_path, [prediction("x", True), prediction("y", True)], [prediction("x", False), failed])[1][
        "traces"
    ]
    trace = traces[1][0]
    assert (trace["answer"], trace["label"], trace["gold"]) == ("Beta", "CORRECT", [1, 2])
    search, answer = trace["steps"]
    assert search["query"] == "builder of x"
    assert search["verdict"] == "keep what was found (the first retrieval is not judged)"
    assert search["documents"] == [["Gold of x", 1], ["Other of x", 0]]
    assert answer == {"thought": "I know it.", "answer": "Beta", "label": "CORRECT"}
    assert traces[0][1] == {"gold": [0, 2], "errors": ["the server is gone"]}


def test_traces_that_find_no_room_are_counted(tmp_path: Path) -> None:
    right, wrong = ([prediction(f"q{n}", is_right, thought="word " * 1_000) for n in range(30)] for is_right in (1, 0))

    comparison, every = drill(tmp_path, right, wrong)
    some = drill_down([comparison.run, comparison.other], [comparison], limit=20_000)

    assert len(every["traces"][0][0]["steps"][0]["thought"]) <= 600
    assert every["left_out"] == 0
    assert 0 < len(some["traces"][0]) == len(some["traces"][1]) < 30
    assert some["left_out"] == 60 - 2 * len(some["traces"][0])


def test_of_repetitions_the_first_is_shown(tmp_path: Path) -> None:
    seeds = {
        str(seed): {"right": [prediction("x", right)], "llm": {**SIMULATED, "seed": seed}}
        for seed, right in ((3, True), (4, False))
    }
    runs = write_runs(tmp_path, **seeds, b={"right": [prediction("x", False)], "pipeline": "react"})

    page = drill_down(runs, compare([(runs[1], runs[0])]))

    assert [(run["name"], run["right"]) for run in page["runs"]] == [("b", "0"), ("3", "1")]
    assert page["traces"][1][0]["answer"] == "Beta"
