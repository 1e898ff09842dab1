"""Which runs stand together."""

from __future__ import annotations

from pathlib import Path

from prefrag.evaluation.report.grouping import group_by_setting
from prefrag.evaluation.report.runs import read_runs
from tests.evaluation.report.run_folders import SIMULATED, predictions, write_run


def test_what_all_settings_share_is_not_repeated(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4))
    write_run(tmp_path / "b", predictions(2, 4), llm={**SIMULATED, "judge_error": 0.2})

    first, second = group_by_setting(read_runs([tmp_path]))

    assert {first.text, second.text} == {"judge error 0", "judge error 0.2"}
    assert {"k 5", "bm25"} <= first.known


def test_a_top_k_that_a_method_has_for_itself_is_not_shared(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4))
    write_run(tmp_path / "b", predictions(2, 4), pipeline="react")
    write_run(tmp_path / "c", predictions(2, 4), pipeline="dr_rag_qdc", top_k=6)

    ((setting, runs),) = group_by_setting(read_runs([tmp_path])).items()

    assert (setting.text, len(runs)) == ("k 5", 3)
    assert "k 5" not in setting.known


def test_a_method_without_a_judge_stands_with_the_others(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4), pipeline="vanilla_mix", judged=False)
    write_run(tmp_path / "b", predictions(2, 4), judged=True, llm={**SIMULATED, "judge_error": 0.2})

    ((setting, runs),) = group_by_setting(read_runs([tmp_path])).items()

    assert (setting.judge_error, [run.judge_error for run in runs]) == (0.2, [None, 0.2])
