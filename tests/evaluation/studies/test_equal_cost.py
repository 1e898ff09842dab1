"""What a loop gains over another at the same cost."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prefrag.evaluation.report.intervals import tango
from prefrag.evaluation.report.measures import ACC, CALLS, TOTAL, TOTAL_WEB
from prefrag.evaluation.studies import equal_cost
from prefrag.evaluation.studies.equal_cost import (
    ERRING,
    LINES,
    RIVALS,
    Curve,
    Line,
    compare,
    lay_out,
    list_best,
    list_cells,
    list_lines,
    main,
)
from prefrag.evaluation.studies.matrix import _VARIED, Cell
from prefrag.evaluation.studies.tables import DETAILS, DOCUMENT, LAYOUT, RESULTS, read_lines
from tests.evaluation.report.run_folders import predictions, write_run
from tests.for_each import for_each


def curve(*points: tuple[float, float], n: int = 40) -> Curve:
    """A curve through points of cost and accuracy."""
    right = [[100.0 * (number < share * n / 100) for number in range(n)] for _, share in points]
    costs = [[cost] * n for cost, _ in points]
    return Curve(tuple(f"{number:02}" for number in range(n)), {ACC.key: np.array(right), TOTAL.key: np.array(costs)})


def test_a_setting_that_a_cheaper_one_equals_is_not_on_the_curve():
    best = list_best(np.array([2.0, 1.0, 3.0, 2.0, 2.5]), np.array([60.0, 50.0, 70.0, 40.0, 60.0]))

    assert best.tolist() == [1, 0, 2]


@for_each(
    "one, other, mean, budgets",
    # A budget between two settings is met by a mixture of both.
    ([(1, 50), (3, 90)], [(2, 60)], 10.0, (2.0, 2.0)),
    ([(1, 50), (3, 90)], [(1, 40), (3, 80)], 10.0, (1.0, 3.0)),
    # Further steps that only cost more change nothing.
    ([(1, 50), (3, 90), (4, 80)], [(1, 40), (4, 80)], 16.7, (1.0, 3.0)),
    # All settings of one loop are cheaper than any of the other.
    ([(0.5, 50), (0.7, 90)], [(1, 25), (2, 95)], 65.0, (1.0, 1.0)),
)
def test_accuracy_is_compared_over_budgets_that_both_keep_to(one, other, mean, budgets):
    difference = compare(curve(*one), curve(*other), TOTAL.key)

    assert difference is not None
    assert (difference.mean, difference.budgets) == (pytest.approx(mean, abs=0.5), budgets)
    assert difference.low <= difference.mean <= difference.high


def test_at_equal_accuracy_costs_are_compared():
    cheap, dear, worse = curve((1, 50), (2, 90)), curve((2, 50), (4, 90)), curve((1, 10), (2, 20))
    difference = compare(cheap, dear, TOTAL.key, at_equal_accuracy=True)

    assert difference is not None
    assert difference.text == "0.50 (0.50 to 0.50)*"
    assert compare(cheap, worse, TOTAL.key, at_equal_accuracy=True) is None


@for_each(
    "one, other, text",
    ([(1, 60), (3, 100)], [(1, 10), (3, 50)], r"\+50.0 \(\+4\d.\d to \+5\d.\d\)\*"),
    ([(1, 20), (3, 80)], [(1, 40), (3, 60)], r"\+0.0 \(-\d.* to \+\d.*\)"),
    ([(1, 100)], [(2, 0)], r"\+100.0 \(\+100.0 to \+100.0\) at most 2.00"),
)
def test_one_is_ahead_that_is_so_at_every_budget(one, other, text: str):
    difference = compare(curve(*one), curve(*other), TOTAL.key)

    assert difference is not None
    assert re.fullmatch(text, difference.text)


def test_a_question_is_compared_with_itself():
    line = curve((1, 50), (3, 90))
    turned = Curve(line.ids[::-1], {key: value[:, ::-1] for key, value in line.values.items()})

    difference = compare(line, turned, TOTAL.key)
    assert difference is not None
    # No difference in 40 questions does not prove that further questions are the same.
    assert difference.text == "+0.0 (-8.8 to +8.8)"


def test_few_differing_questions_get_tangos_interval_and_exact_p():
    difference = compare(curve((1, 60)), curve((1, 50)), TOTAL.key)

    assert difference is not None
    assert (difference.mean, difference.p) == (10.0, 0.125)
    expected = tango(4, 0, 40)
    assert (difference.low, difference.high) == (expected.low, expected.high)


def test_p_is_corrected_for_the_number_of_datasets():
    # Six of 40 questions differ. That is significant for one dataset, but not after the correction for two.
    curves = {"prefrag": curve((1, 62.5), (2, 65)), "react": curve((1, 50), (2, 52.5))}
    for drawn in curves.values():
        drawn.values.update(dict.fromkeys((CALLS.key, TOTAL_WEB.key), drawn.values[TOTAL.key]))  # type: ignore[attr-defined]
    lines = [Line(name, name) for name in curves]
    alone, two = (
        lay_out(lines, {(name, line): drawn_curve for name in names for line, drawn_curve in curves.items()})[
            "points at equal retrievals made"
        ]
        for names in (["own"], ["own", "hotpotqa"])
    )

    assert ("*" in alone, "*" in two) == (True, False)
    assert two.startswith("| | HotpotQA | own |")


def test_loops_run_with_all_numbers_of_steps_on_train_untrained():
    """If nothing is trained, they run on the train questions."""

    names = ("prefrag", "react_mix", "crag", "prefrag, coin", "prefrag_linked")
    lines = [replace(line, steps=line.steps[4:]) for line in LINES if line.name in names]
    by_name = {line.name: list_cells(line, Path("musique"), {"judge_error": 0.2}, ["dev", "train"]) for line in lines}

    assert [[cell.name[-1] + cell.questions for cell in row] for row in by_name["react_mix"]] == [
        ["5dev", "5train"],
        ["6dev", "6train"],
    ]
    assert {cell.questions for row in by_name["prefrag_linked"] for cell in row} == {"dev"}
    assert [[cell.name for cell in row] for row in by_name["crag"]] == [["crag", "crag"]]
    assert {cell.experiment.judge_error for row in by_name["prefrag"] for cell in row} == {0.2}
    assert {cell.experiment.judge_error for row in by_name["prefrag, coin"] for cell in row} == {0.5}


def test_a_changed_loop_is_set_against_those_that_it_has_to_beat():
    lines = list_lines(["own.yaml", "prefrag judge.patience=2"])

    assert [(line.name, line.reference) for line in lines[4:]] == [
        ("prefrag judge.patience=2", "prefrag judge.patience=2"),
        *((rival, "prefrag judge.patience=2") for rival in RIVALS),
    ]
    assert (lines[0].name, lines[0].pipeline) == ("own", "own.yaml")
    cells = list_cells(lines[4], Path("musique"), {})
    assert [cell.name for row in cells for cell in row][-1] == "prefrag judge.patience=2 start.max_steps=6"
    assert list_lines() == list(LINES)


@pytest.mark.slow
def test_the_command_draws_the_curves_and_prints_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def evaluate(wanted: list[Cell], output: Path, **_: Any) -> dict[Cell, dict[str, Any]]:
        for cell in wanted:
            steps, is_mix = int(cell.name[-1]), "react_mix" in cell.name
            lines = predictions(10 + 4 * steps, web=steps * (1 + is_mix))
            write_run(output / cell.folder, lines, pipeline=cell.pipeline, dataset=cell.dataset.name)
        return {cell: {"n": 40, "errors": 0} for cell in wanted}

    data = tmp_path / "data"
    data.mkdir()
    for name in ("corpus.jsonl", "dev.jsonl"):
        (data / name).write_text('{"id": "a", "question": "What?", "answers": ["b"], "supporting_ids": []}')
    monkeypatch.setattr(equal_cost, "evaluate_all", evaluate)
    monkeypatch.setattr(equal_cost, "LINES", (Line("prefrag", "prefrag"), Line("react_mix", "react_mix")))

    main([data], tmp_path / "runs", pictures=tmp_path)

    printed = capsys.readouterr().out
    shares = f"{equal_cost.COSTS[TOTAL_WEB.key]}, share at equal accuracy\n\n| | data |\n|---|---|\n"
    assert f"{shares}| `react_mix` | 0.50 (0.50 to 0.50)* |" in printed
    assert f"points at equal {equal_cost.COSTS[CALLS.key]}\n" in printed
    picture = (tmp_path / "equal_cost_data.svg").read_text(encoding="utf-8")
    assert all(name in picture for name in ("react_mix", *equal_cost.COSTS.values()))


# The tables of RESULTS.md and DETAILS.md whose stars claim more accuracy at the same cost, and the column of that cost.
STARRED = {"points at equal retrievals made": "total", "points at equal model calls": "llm_calls"}


def list_costs(name: str, dataset: str, cost: str) -> list[float]:
    """The costs of a line's numbers of steps that gain something, in the published runs with errors of 10%."""
    line = next(line for line in LINES if line.name == name)
    wanted = {**ERRING, **line.changes}
    policy = {column: str(wanted[key]) for key, column in _VARIED.items() if key in wanted}
    rows = [
        row
        for row in read_lines(RESULTS)
        if row["pipeline"].split()[0] == line.pipeline
        and ("start.max_steps" in row["pipeline"]) is bool(line.steps)
        and (row["dataset"], row["questions"], row["k"], row["split"]) == (dataset, "dev", "5", "")
        and all(row[column] in ("-", value) for column, value in policy.items())
        and (row["second try"], row["yes/no"]) in (("-", "one"), ("source", "one"))
        and (row["queries"], row["distraction"], row["web sentences"]) == ("dataset", "0.0", "0")
    ]
    costs, gains = (np.array([float(row[key]) for row in rows]) for key in (cost, "acc"))
    return [float(costs[place]) for place in list_best(costs, gains)]


def list_starred() -> list[tuple[str, str, str, str]]:
    """Each starred cell as its table's cost, the two lines and the dataset."""
    text = DOCUMENT.read_text(encoding="utf-8") + DETAILS.read_text(encoding="utf-8")
    starred = []
    for table, cost in STARRED.items():
        head, _, *rows = re.findall(r"(?m)^\|.*$", text.partition(f"<!-- {table} -->")[2].partition("\n\n")[0])
        datasets = [LAYOUT["datasets"][name.strip()] for name in head.split("|")[2:-1]]
        for row in rows:
            first, *cells = (cell.strip() for cell in row.split("|")[1:-1])
            reference, _, name = first.rpartition(" against ")
            name = name.replace("`", "").replace(", a coin", ", coin")
            starred += [
                (cost, reference.strip("`") or "prefrag", name, dataset)
                for dataset, cell in zip(datasets, cells, strict=True)
                if "*" in cell
            ]
    return starred


def test_every_starred_cell_compares_loops_whose_budgets_overlap():
    starred = list_starred()
    apart = []
    for cost, reference, name, dataset in starred:
        first, other = (list_costs(line, dataset, cost) for line in (reference, name))
        if not max(first[0], other[0]) < min(first[-1], other[-1]):
            apart.append((cost, reference, name, dataset, first, other))

    assert len(starred) > 20
    assert apart == []
