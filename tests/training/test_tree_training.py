"""What the trainings of trees share."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from prefrag.components.trees import TreesMissing
from prefrag.training.judge_classifier import train_judge
from prefrag.training.pair_classifier import train_pairs
from prefrag.training.question_classifier import train_questions
from prefrag.training.reader.training import train_reader
from prefrag.training.tree_training import TreeTraining
from tests.cli.running import prefrag
from tests.for_each import for_each
from tests.training.question_classifier.test_labels import ONE_PASSAGE
from tests.training.towns import write_rivers


@pytest.fixture
def _without_xgboost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)


@pytest.mark.usefixtures("_without_xgboost")
@for_each("part", "pairs", "judge", "questions")
def test_without_xgboost_the_extra_is_named_before_any_work(part: str, tmp_path: Path):
    (tmp_path / "q.jsonl").touch()
    data = f"{tmp_path / 'q.jsonl'}:{tmp_path / 'q.jsonl'}"

    result = prefrag("train", part, "--dataset", data, "--output", tmp_path / "trees.json")

    assert (result.exit_code, "make install EXTRAS=trees" in " ".join(result.stderr.split())) == (3, True)


@pytest.mark.usefixtures("_without_xgboost")
def test_the_reader_names_it_too(tmp_path: Path):
    with pytest.raises(TreesMissing, match="EXTRAS=trees"):
        train_reader([], tmp_path)
    with pytest.raises(TreesMissing, match="EXTRAS=trees"):
        TreeTraining([], tmp_path / "trees.json", None)


trains = pytest.mark.parametrize(
    ("train", "few"),
    [(train_judge, 24), (train_pairs, 24), (partial(train_questions, experiment=ONE_PASSAGE), 3)],
    ids=["judge", "pairs", "questions"],
)


@trains
def test_too_few_questions_are_reported_and_no_trees_are_written(train: Any, few: int, tmp_path: Path):
    pytest.importorskip("xgboost")

    with pytest.raises(ValueError, match=rf"{few} .*questions.* needs at least 25"):
        train([write_rivers(tmp_path, [("local", "web")] * few)], tmp_path / "trees.json")
    assert not list(tmp_path.glob("*.json"))


@trains
def test_a_missing_folder_is_reported_before_the_work(train: Any, few: int, tmp_path: Path):
    pytest.importorskip("xgboost")

    with pytest.raises(FileNotFoundError, match="There is no folder"):
        train([write_rivers(tmp_path, [("local", "web")] * few)], tmp_path / "nowhere" / "trees.json")
