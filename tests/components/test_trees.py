"""Trees from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefrag.components.trees import TreesMissing, load_trees

xgboost = pytest.importorskip("xgboost")


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


def test_are_read_once_until_the_file_changes(tmp_path: Path):
    file = trees(tmp_path / "t.json")
    first = load_trees(file, ["large", "other"])
    assert load_trees(file, ["large", "other"]) is first

    trees(file, reverse=True)

    assert load_trees(file, ["large", "other"]).probabilities([[1.0, 0.5]])[0] < 0.5


def test_that_are_absent_say_what_to_do(tmp_path: Path):
    with pytest.raises(TreesMissing, match="prefrag train"):
        load_trees(tmp_path / "none.json", ["large"])


@pytest.mark.parametrize("content", [b"", b"hello", b"{}", b'{"learner": 1}', b"\x00\xff" * 9])
def test_that_are_none_are_reported_in_words(tmp_path: Path, content: bytes):
    file = tmp_path / "broken.json"
    file.write_bytes(content)

    with pytest.raises(ValueError, match="broken.json"):
        load_trees(file, ["large", "other"])


def test_over_other_features_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="other features"):
        load_trees(trees(tmp_path / "t.json"), ["other", "large"])
