"""Which evaluations a matrix makes, and their table."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from prefrag.evaluation.metrics import summarise
from prefrag.evaluation.pipeline_under_test.experiment import SIMULATED, Experiment
from prefrag.evaluation.studies.matrix import Cell, combine_cells, print_table, write_judge_pipelines
from tests.evaluation.report.run_folders import prediction


def judge_errors(pipeline: str) -> list[float]:
    made = combine_cells([Path("musique")], [pipeline], "dev", {"top_k": [5], "judge_error": [0.0, 0.1], "seed": [0]})
    return [cell.experiment.judge_error for cell in made]


@pytest.mark.parametrize("name", ["prefrag", "mspr", "prefrag_linked", "prefrag_without_reflection"])
def test_errors_of_the_judge_are_tried_where_a_model_judges(name: str):
    assert judge_errors(name) == [0.0, 0.1]


@pytest.mark.parametrize("name", ["prefrag_classifier", "react", "vanilla_mix", "dr_rag_qdc", "prefrag_direct"])
def test_errors_of_the_judge_are_not_tried_where_none_does(name: str):
    assert judge_errors(name) == [0.0]


def test_of_the_judges_those_that_may_ask_the_model_are_tried_with_errors(tmp_path: Path):
    tried = {name: judge_errors(file) for name, file in write_judge_pipelines(tmp_path).items()}

    asking = {"model", "cascade_40_60", "cascade_20_80", "cascade_10_90"}
    assert {name for name, errors in tried.items() if len(errors) == 2} == asking


def test_the_table_counts_the_failed_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experiment = Experiment(llm=SIMULATED, top_k=5, seed=0)
    whole, broken = (Cell("prefrag", tmp_path / name, "dev", experiment) for name in ("whole", "broken"))
    lines = [prediction("a", True), prediction("b", True)]
    failed = [lines[0], prediction("b", True, error="the server is down")]

    print_table({whole: summarise(lines), broken: summarise(failed)}, tmp_path / "table.csv")

    rows = list(csv.DictReader((tmp_path / "table.csv").open(encoding="utf-8")))
    assert [(row["dataset"], row["n"], row["errors"], row["acc"]) for row in rows] == [
        ("whole", "2", "0", "100.00"),
        ("broken", "2", "1", "50.00"),
    ]
    printed = capsys.readouterr()
    assert "| n | errors | acc |" in printed.out
    assert printed.err.count("failed") == 1
    assert "broken-dev/prefrag/k5-judge0-distraction0-seed0: 1 of 2 questions failed and score 0" in printed.err


def test_every_combination_is_one_evaluation_in_a_folder_of_its_own():
    settings = {"top_k": [3, 5], "judge_error": [0.0], "distraction": [0.0, 0.02], "seed": [0], "split": [False]}

    made = list(combine_cells([Path("musique"), Path("hotpotqa")], ["react"], "train", settings))

    assert len({cell.folder for cell in made}) == len(made) == 8
    assert made[0].folder == "musique-train/react/k3-judge0-distraction0-seed0-whole"
    assert made[0].experiment.corpus == Path("musique/corpus.jsonl")


def test_settings_that_are_changed_are_in_the_name_of_an_evaluation():
    settings = {"top_k": [5], "judge_error": [0.0], "seed": [0], "changes": [("local.observed_last=true",)]}

    [made] = combine_cells([Path("musique")], ["prefrag"], "dev", settings)

    assert made.name == "prefrag local.observed_last=true"
    assert made.folder == "musique-dev/prefrag local.observed_last=true/k5-judge0-distraction0-seed0"


def test_ablations_and_controls_run_by_name():
    [made] = combine_cells([Path("musique")], ["mspr_without_car"], "dev", {"top_k": [5], "judge_error": [0.0]})

    assert made.name == "mspr_without_car"
    assert judge_errors("mspr_without_prs") == [0.0]
    assert judge_errors("mspr_without_car") == [0.0, 0.1]
