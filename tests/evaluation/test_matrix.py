"""Which evaluations a matrix makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.judges import JUDGES, write_pipeline
from evaluation.matrix import cells


def judge_errors(pipeline: str) -> list[float]:
    made = cells([Path("musique")], [pipeline], "dev", [5], [0.0, 0.1], [0.0], [0], None)
    return [cell.judge_error for cell in made]


@pytest.mark.parametrize("name", ["prefrag", "mspr", "prefrag_linked", "prefrag_without_reflection"])
def test_errors_of_the_judge_are_tried_where_a_model_judges(name: str):
    assert judge_errors(name) == [0.0, 0.1]


@pytest.mark.parametrize("name", ["prefrag_classifier", "react", "vanilla_mix", "dr_rag_qdc", "prefrag_direct"])
def test_errors_of_the_judge_are_not_tried_where_none_does(name: str):
    assert judge_errors(name) == [0.0]


def test_of_the_judges_those_that_may_ask_the_model_are_tried_with_errors(tmp_path: Path):
    tried = {name: judge_errors(str(write_pipeline(tmp_path, name, settings))) for name, settings in JUDGES.items()}

    asking = {"model", "cascade_40_60", "cascade_20_80", "cascade_10_90"}
    assert {name for name, errors in tried.items() if len(errors) == 2} == asking
