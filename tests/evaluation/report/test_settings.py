"""The settings in which two runs differ."""

from pathlib import Path
from typing import Any

import pytest

from prefrag.evaluation.report.settings import list_differences
from tests.evaluation.report.run_folders import SIMULATED, predictions, write_runs

READER = {**SIMULATED, "source_choice": "first"}


@pytest.mark.parametrize(
    ("first", "changed", "named"),
    [
        ({}, {}, ()),
        ({}, {"corpus": "half.jsonl"}, ("corpus",)),
        ({}, {"split": False, "web": "other.jsonl"}, ("split of the corpus",)),
        ({}, {"store": "elasticsearch"}, ("store",)),
        ({}, {"embedder": "all-MiniLM-L6-v2"}, ("embedding model",)),
        ({}, {"pipeline_sha256": "edited"}, ("pipeline file",)),
        ({"split": False, "web": "web.jsonl"}, {"web": "other.jsonl"}, ("web",)),
        ({}, {"llm": {**READER, "distraction": 0.02}}, ("distraction",)),
        ({}, {"llm": {**READER, "source_choice": "last"}}, ("source choice",)),
        ({}, {"set": ["local.observed_last=true"]}, ("method",)),
    ],
)
def test_searched_and_run_settings_are_among_the_differences(
    tmp_path: Path, first: dict[str, Any], changed: dict[str, Any], named: tuple[str, ...]
) -> None:
    common = {"store": "tantivy", "embedder": "bge-large", "pipeline_sha256": "as shipped", "llm": READER, **first}

    run, another = write_runs(tmp_path, predictions(2, 4), a=dict(common), b={**common, **changed})

    assert list_differences(run, another) == named
