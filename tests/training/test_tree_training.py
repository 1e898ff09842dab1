"""What the trainings of trees share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from prefrag.components.trees import TreesMissing
from prefrag.training.reader.training import train_reader
from prefrag.training.tree_training import TreeTraining
from tests.cli.running import prefrag


@pytest.fixture(autouse=True)
def _without_xgboost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)


@pytest.mark.parametrize("part", ["pairs", "judge", "questions"])
def test_without_xgboost_the_extra_is_named_before_any_work(part: str, tmp_path: Path):
    (tmp_path / "q.jsonl").touch()
    data = f"{tmp_path / 'q.jsonl'}:{tmp_path / 'q.jsonl'}"

    result = prefrag("train", part, "--dataset", data, "--output", tmp_path / "trees.json")

    assert (result.exit_code, "make install EXTRAS=trees" in " ".join(result.stderr.split())) == (3, True)


def test_the_reader_names_it_too(tmp_path: Path):
    with pytest.raises(TreesMissing, match="EXTRAS=trees"):
        train_reader([], tmp_path)
    with pytest.raises(TreesMissing, match="EXTRAS=trees"):
        TreeTraining([], tmp_path / "trees.json", None)
