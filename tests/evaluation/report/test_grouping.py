"""Which runs are grouped together."""

from pathlib import Path

from prefrag.evaluation.report.grouping import group_by_setting, group_by_task, vary
from prefrag.evaluation.report.runs import read_runs
from prefrag.evaluation.report.settings import Setting
from tests.evaluation.report.run_folders import SIMULATED, predictions, write_run


def test_shared_settings_are_not_repeated_but_an_own_top_k(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4))
    write_run(tmp_path / "b", predictions(2, 4), llm={**SIMULATED, "judge_error": 0.2})
    first, second = group_by_setting(read_runs([tmp_path]))
    assert {first.text, second.text} == {"judge error 0", "judge error 0.2"}
    assert {"k 5", "simulated reader", "distraction 0"} <= first.shared
    write_run(tmp_path / "own" / "a", predictions(2, 4))
    write_run(tmp_path / "own" / "b", predictions(2, 4), pipeline="react")
    write_run(tmp_path / "own" / "c", predictions(2, 4), pipeline="dr_rag_qdc", top_k=6)
    ((setting, runs),) = group_by_setting(read_runs([tmp_path / "own"])).items()
    assert (setting.text, len(runs)) == ("k 5", 3)
    assert "k 5" not in setting.shared


def test_the_usual_setting_comes_first_among_those_of_one_size(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4), top_k=3)
    write_run(tmp_path / "b", predictions(2, 4))
    write_run(tmp_path / "c", predictions(2, 4), llm={**SIMULATED, "distraction": 0.02})
    first, *_ = group_by_setting(read_runs([tmp_path]))
    assert first.text == "k 5, distraction 0"


def test_runs_over_a_split_and_over_a_whole_corpus_are_two_tasks(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4))
    write_run(tmp_path / "b", predictions(2, 4), pipeline="vanilla_local", split=False)
    write_run(tmp_path / "c", predictions(2, 4), pipeline="no_retrieval", split=False, retriever=None)

    tasks = group_by_task(read_runs([tmp_path]))

    assert {task: [run.method for run in runs] for task, runs in tasks.items()} == {
        "split": ["no_retrieval", "prefrag"],
        "whole": ["no_retrieval", "vanilla_local"],
    }


def test_only_what_alone_differs_varies(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4), pipeline="react")
    write_run(tmp_path / "b", predictions(2, 4), pipeline="react", llm={**SIMULATED, "distraction": 0.02})
    write_run(tmp_path / "c", predictions(2, 4), pipeline="react", llm={**SIMULATED, "distraction": 0.02}, top_k=3)
    write_run(tmp_path / "d", predictions(2, 4), llm={**SIMULATED, "distraction": 0.02})
    runs = read_runs([tmp_path])

    by_value = vary(runs, Setting.of(next(run for run in runs if run.name == "a")), "distraction")

    assert {value: [run.name for run in group] for value, group in by_value.items()} == {0.0: ["a"], 0.02: ["b"]}


def test_methods_without_use_for_other_settings_are_together(tmp_path: Path) -> None:
    judge, choice = {**SIMULATED, "source_choice": None}, {**SIMULATED, "judge_error": 0.0, "source_choice": "drawn"}
    for name, pipeline, judged, llm in (
        ("a", "prefrag", True, judge),
        ("b", "prefrag", True, {**judge, "judge_error": 0.1}),
        ("c", "react", False, choice),
        ("d", "react", False, {**choice, "source_choice": "last"}),
        ("e", "vanilla_mix", False, judge),
    ):
        write_run(tmp_path / name, predictions(2, 4), pipeline=pipeline, judged=judged, llm=llm)
    groups = group_by_setting(read_runs([tmp_path]))
    assert [run.name for run in next(iter(groups.values()))] == ["e", "c", "a"]
    assert sorted(len(group) for group in groups.values()) == [1, 1, 3]
    ((setting, runs),) = group_by_setting(read_runs([tmp_path / "b", tmp_path / "e"])).items()
    assert (setting.get("judge error"), [run.judge_error for run in runs]) == (0.1, [None, 0.1])
