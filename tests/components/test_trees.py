from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prefrag
from prefrag.components.adaptive_rag.tree_question_classifier import TreeQuestionClassifier
from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.pair_classifier.pair_classifier import PairClassifier
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from prefrag.components.trees import CLASSES, BoostedTrees, TreesMissing, load_trees
from tests.for_each import for_each

xgboost = pytest.importorskip("xgboost", reason="the comparison needs XGBoost: make install EXTRAS=trees")

SHIPPED = sorted((prefrag.ROOT / "components").rglob("*trees*.json"))


def trees(file: Path, reverse: bool = False) -> Path:
    rows, labels = [[0.0, 1.0], [0.2, 0.0], [0.8, 1.0], [1.0, 0.0]] * 10, [0, 0, 1, 1] * 10
    labels = [1 - label for label in labels] if reverse else labels
    matrix = xgboost.DMatrix(rows, label=labels, feature_names=["large", "other"])
    xgboost.train({"objective": "binary:logistic", "max_depth": 1, "nthread": 1}, matrix, 5).save_model(file)
    return file


def test_give_a_probability_a_row(tmp_path: Path):
    low, high = load_trees(trees(tmp_path / "t.json"), ["large", "other"]).probabilities([[0.0, 0.5], [1.0, 0.5]])

    assert 0 <= low < 0.5 < high <= 1
    assert load_trees(tmp_path / "t.json", ["large", "other"]).probabilities([]) == []


def test_trees_are_read_once_until_the_file_changes(tmp_path: Path):
    file = trees(tmp_path / "t.json")
    first = load_trees(file, ["large", "other"])
    assert load_trees(file, ["large", "other"]) is first
    with pytest.raises(ValueError, match="other features"):
        load_trees(file, ["other", "large"])
    trees(file, reverse=True)
    assert load_trees(file, ["large", "other"]).probabilities([[1.0, 0.5]])[0] < 0.5


def test_absent_trees_say_what_to_do_before_the_first_question(tmp_path: Path):
    none = str(tmp_path / "none.json")

    for part in (TreeJudge(none), PairClassifier(TreePairScorer(none)), TreeQuestionClassifier(none)):
        with pytest.raises(TreesMissing, match=r"none\.json.*prefrag train"):
            part.warm_up()


@for_each("content", b"", b"hello", b"{}", b'{"learner": 1}', b"\x00\xff" * 9)
def test_that_are_none_are_reported_in_words(tmp_path: Path, content: bytes):
    file = tmp_path / "broken.json"
    file.write_bytes(content)

    with pytest.raises(ValueError, match="broken.json"):
        load_trees(file, ["large", "other"])


class TestAgainstXGBoost:
    """The same scores as XGBoost, to 2e-6, and in the same order, on rows that lack some values."""

    def rows(self, count: int, columns: int, seed: int) -> np.ndarray[Any, Any]:
        random = np.random.default_rng(seed)
        rows = random.normal(scale=3, size=(count, columns)).astype(np.float32)
        rows[random.random(rows.shape) < 0.2] = np.nan
        return rows

    def compare(self, booster: Any, rows: np.ndarray[Any, Any]) -> None:
        trees = BoostedTrees(json.loads(booster.save_raw("json"))["learner"])
        theirs = booster.predict(xgboost.DMatrix(rows, feature_names=booster.feature_names, nthread=1))
        if trees.classes:
            ours = np.array([[row[name] for name in trees.classes] for row in trees.distributions(rows)])
        else:
            ours = np.array(trees.scores(rows))
            assert ours.argsort(kind="stable").tolist() == theirs.argsort(kind="stable").tolist()
        assert np.abs(ours - theirs).max() <= 2e-6

    @for_each("objective", "binary:logistic", "multi:softprob", "rank:pairwise", "rank:ndcg", "reg:squarederror")
    def test_random_trees(self, objective: str):
        for seed in range(3):
            rows = self.rows(300, 6, seed)
            labels = np.nan_to_num(rows[:, 0] + rows[:, 1] * rows[:, 2]) > 0.5
            settings = {"objective": objective, "max_depth": 2 + 2 * seed, "nthread": 1, "seed": seed}
            matrix = xgboost.DMatrix(rows, label=labels, nthread=1)
            if objective.startswith("rank"):
                matrix.set_group([30] * 10)
            if objective.startswith("multi"):
                matrix.set_label(np.nan_to_num(rows[:, 0]).clip(0, 2).astype(int))
                settings["num_class"] = 3
            booster = xgboost.train(settings, matrix, 20)
            if objective.startswith("multi"):
                booster.set_attr(**{CLASSES: json.dumps(["a", "b", "c"])})

            self.compare(booster, self.rows(200, 6, 100 + seed))

    def test_nine_files_are_shipped(self):
        assert len(SHIPPED) == 9

    @for_each("file", *SHIPPED)
    def test_the_shipped_files(self, file: Path):
        booster = xgboost.Booster({"nthread": 1}, model_file=file)

        self.compare(booster, self.rows(200, booster.num_features(), 7))
