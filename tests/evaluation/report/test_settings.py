"""What is held fixed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prefrag.evaluation.report.runs import read_runs
from prefrag.evaluation.report.settings import by_setting, differing
from tests.evaluation.report.run_folders import SIMULATED, predictions, write_run


def test_what_all_settings_share_is_not_said_again(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4))
    write_run(tmp_path / "b", predictions(2, 4), llm={**SIMULATED, "judge_error": 0.2})

    first, second = by_setting(read_runs([tmp_path]))

    assert {first.text, second.text} == {"judge error 0", "judge error 0.2"}
    assert {"k 5", "bm25"} <= first.known


def test_a_top_k_that_a_method_has_for_itself_is_not_shared(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4))
    write_run(tmp_path / "b", predictions(2, 4), pipeline="react")
    write_run(tmp_path / "c", predictions(2, 4), pipeline="dr_rag_qdc", top_k=6)

    ((setting, runs),) = by_setting(read_runs([tmp_path])).items()

    assert (setting.text, len(runs)) == ("k 5", 3)
    assert "k 5" not in setting.known


def test_a_method_without_a_judge_stands_with_the_others(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4), pipeline="vanilla_mix", judged=False)
    write_run(tmp_path / "b", predictions(2, 4), judged=True, llm={**SIMULATED, "judge_error": 0.2})

    ((setting, runs),) = by_setting(read_runs([tmp_path])).items()

    assert (setting.judge_error, [run.judge_error for run in runs]) == (0.2, [None, 0.2])


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({}, ()),
        ({"corpus": "half.jsonl"}, ("corpus",)),
        ({"split": False, "web": "other.jsonl"}, ("split of the corpus",)),
        ({"store": "elasticsearch"}, ("store",)),
        ({"pipeline_sha256": "edited"}, ("pipeline file",)),
    ],
)
def test_what_two_runs_searched_and_ran_is_among_what_they_differ_in(
    tmp_path: Path, changed: dict[str, Any], named: tuple[str, ...]
) -> None:
    told = {"store": "tantivy", "pipeline_sha256": "as shipped"}
    write_run(tmp_path / "a", predictions(2, 4), **told)
    write_run(tmp_path / "b", predictions(2, 4), **{**told, **changed})

    one, another = read_runs([tmp_path])

    assert differing(one, another) == named


def test_two_stand_ins_for_the_web_differ(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4), split=False, web="web.jsonl")
    write_run(tmp_path / "b", predictions(2, 4), split=False, web="other.jsonl")

    one, another = read_runs([tmp_path])

    assert differing(one, another) == ("web",)
