"""What two runs differ in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prefrag.evaluation.report.runs import read_runs
from prefrag.evaluation.report.settings import list_differences
from tests.evaluation.report.run_folders import SIMULATED, predictions, write_run


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({}, ()),
        ({"corpus": "half.jsonl"}, ("corpus",)),
        ({"split": False, "web": "other.jsonl"}, ("split of the corpus",)),
        ({"store": "elasticsearch"}, ("store",)),
        ({"embedder": "all-MiniLM-L6-v2"}, ("embedding model",)),
        ({"pipeline_sha256": "edited"}, ("pipeline file",)),
    ],
)
def test_what_two_runs_searched_and_ran_is_among_what_they_differ_in(
    tmp_path: Path, changed: dict[str, Any], named: tuple[str, ...]
) -> None:
    common = {"store": "tantivy", "embedder": "bge-large", "pipeline_sha256": "as shipped"}
    write_run(tmp_path / "a", predictions(2, 4), **common)
    write_run(tmp_path / "b", predictions(2, 4), **{**common, **changed})

    one, another = read_runs([tmp_path])

    assert list_differences(one, another) == named


def test_two_stand_ins_for_the_web_differ(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4), split=False, web="web.jsonl")
    write_run(tmp_path / "b", predictions(2, 4), split=False, web="other.jsonl")

    one, another = read_runs([tmp_path])

    assert list_differences(one, another) == ("web",)


@pytest.mark.parametrize(
    ("changed", "named"),
    [({"distraction": 0.02}, ("distraction",)), ({"source_choice": "last"}, ("source choice",))],
)
def test_each_setting_of_the_simulated_reader_is_among_what_two_runs_differ_in(
    tmp_path: Path, changed: dict[str, Any], named: tuple[str, ...]
) -> None:
    write_run(tmp_path / "a", predictions(2, 4), llm={**SIMULATED, "source_choice": "first"})
    write_run(tmp_path / "b", predictions(3, 4), llm={**SIMULATED, "source_choice": "first", **changed})

    one, another = read_runs([tmp_path])

    assert list_differences(one, another) == named


def test_what_was_changed_in_a_pipeline_makes_a_method_of_its_own(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(2, 4))
    write_run(tmp_path / "b", predictions(2, 4), set=["local.observed_last=true"])

    plain, changed = read_runs([tmp_path])

    assert changed.method == "prefrag local.observed_last=true"
    assert list_differences(plain, changed) == ("method",)
