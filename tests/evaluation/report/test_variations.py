"""How the results move with a setting."""

from __future__ import annotations

from pathlib import Path

from prefrag.evaluation.report.against import compare_with_reference
from prefrag.evaluation.report.grouping import group_by_setting
from prefrag.evaluation.report.runs import read_runs
from prefrag.evaluation.report.table import Table
from prefrag.evaluation.report.variations import list_variations
from tests.evaluation.report.run_folders import SIMULATED, predictions, write_run


def variations(folder: Path) -> dict[str, Table]:
    runs = read_runs([folder])
    settings = group_by_setting(runs)
    return {table.id: table for table in list_variations(settings, compare_with_reference(settings, runs))}


def test_accuracy_stands_by_method_and_value_with_what_it_is_above_the_reference(tmp_path: Path) -> None:
    for rule, prefrag, mix in (("one", 30, 30), ("all", 10, 32)):
        llm = {**SIMULATED, "yes_no": rule, "source_choice": "first"}
        write_run(tmp_path / f"prefrag-{rule}", predictions(prefrag), llm=llm)
        write_run(tmp_path / f"mix-{rule}", predictions(mix), llm=llm, pipeline="react_mix")
    llm = {**SIMULATED, "yes_no": "one", "source_choice": "last"}
    write_run(tmp_path / "react", predictions(20), llm=llm, pipeline="react")
    write_run(tmp_path / "react_mix", predictions(20), llm={**llm, "source_choice": "first"}, pipeline="react")

    found = variations(tmp_path)

    assert set(found) == {"by-yes-no", "by-source-choice"}
    rules, choice = found["by-yes-no"], found["by-source-choice"]
    assert rules.columns == ("yes/no all", "yes/no one")
    assert [(row.label, *((cell.text, cell.interval) for cell in row.cells)) for row in rules.rows] == [
        ("react_mix", ("80.0", "+55.0 *"), ("75.0", "0.0")),
        ("prefrag", ("25.0", ""), ("75.0", "")),
    ]
    assert [row.label for row in choice.rows] == ["react"]


def test_an_error_of_the_judge_and_a_distraction_have_tables_of_their_own(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30))
    write_run(tmp_path / "b", predictions(20), llm={**SIMULATED, "judge_error": 0.2})
    write_run(tmp_path / "c", predictions(10), llm={**SIMULATED, "distraction": 0.02})
    write_run(tmp_path / "d", predictions(5), llm={**SIMULATED, "distraction": 0.02, "judge_error": 0.2})

    found = {id: [cell.text for cell in table.rows[0].cells] for id, table in variations(tmp_path).items()}

    assert found == {"by-judge-error": ["75.0", "50.0"], "by-distraction": ["75.0", "25.0"]}
