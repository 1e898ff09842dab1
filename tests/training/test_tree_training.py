"""The parts that trainings of trees share."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prefrag.components.trees import TreesMissing, load_trees
from prefrag.training.judge_classifier import train_judge
from prefrag.training.pair_classifier import train_pairs
from prefrag.training.question_classifier import train_questions
from prefrag.training.reader.training import train_reader
from prefrag.training.tree_training import TreeTraining, mean_of_trees
from tests.cli.running import prefrag
from tests.for_each import for_each
from tests.training.towns import ONE_PASSAGE, write_rivers


@pytest.fixture
def _without_xgboost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)


@pytest.mark.usefixtures("_without_xgboost")
@for_each("part", "pairs", "judge", "questions")
def test_without_xgboost_the_extra_is_named_before_any_work(part: str, tmp_path: Path):
    (tmp_path / "q.jsonl").touch()
    data = f"{tmp_path / 'q.jsonl'}:{tmp_path / 'q.jsonl'}"

    result = prefrag("train", part, "--dataset", data, "--output", tmp_path / "trees.json")

    assert (result.exit_code, 'pip install "prefrag[trees]"' in " ".join(result.stderr.split())) == (3, True)


@pytest.mark.usefixtures("_without_xgboost")
def test_the_reader_names_it_too(tmp_path: Path):
    with pytest.raises(TreesMissing, match="trees"):
        train_reader([], tmp_path)
    with pytest.raises(TreesMissing, match="trees"):
        TreeTraining([], tmp_path / "trees.json", None)


trains = pytest.mark.parametrize(
    ("train", "few"),
    [(train_judge, 24), (train_pairs, 24), (partial(train_questions, experiment=ONE_PASSAGE), 3)],
    ids=["judge", "pairs", "questions"],
)


@trains
def test_too_few_questions_are_reported_and_no_trees_are_written(train: Any, few: int, tmp_path: Path):
    pytest.importorskip("xgboost")

    with pytest.raises(ValueError, match=rf"questions.* {few}, but .* at least 25|are {few} questions.* at least 25"):
        train([write_rivers(tmp_path, [("local", "web")] * few)], tmp_path / "trees.json")
    assert not list(tmp_path.glob("*.json"))


@trains
def test_a_missing_folder_is_reported_before_the_work(train: Any, few: int, tmp_path: Path):
    pytest.importorskip("xgboost")

    with pytest.raises(FileNotFoundError, match="There is no folder"):
        train([write_rivers(tmp_path, [("local", "web")] * few)], tmp_path / "nowhere" / "trees.json")


def test_the_mean_of_trees_gives_the_mean_of_their_scores(tmp_path: Path):
    xgboost = pytest.importorskip("xgboost", reason="trees are trained by XGBoost (the extra `trees`)")
    rows = np.random.default_rng(1).normal(size=(60, 2)).astype(np.float32)
    files = [tmp_path / name for name in ("first.json", "second.json", "mean.json")]
    for column, file in enumerate(files[:2]):
        settings = {"objective": "binary:logistic", "base_score": 0.2 + 0.3 * column, "max_depth": 2}
        data = xgboost.DMatrix(rows, label=(rows[:, column] > 0).astype(float), feature_names=["a", "b"])
        xgboost.train(settings, data, 4 + column).save_model(file)

    mean_of_trees(*files)

    odds = [np.log(p / (1 - p)) for p in (np.array(load_trees(file, ("a", "b")).probabilities(rows)) for file in files)]
    assert np.allclose(odds[2], (odds[0] + odds[1]) / 2, atol=1e-5)
    assert np.allclose(
        xgboost.Booster(model_file=files[2]).inplace_predict(rows), 1 / (1 + np.exp(-odds[2])), atol=1e-5
    )
