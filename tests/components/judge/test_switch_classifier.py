"""The trees behind the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prefrag.components.judge.switch_classifier import SwitchClassifier, keep_probability
from prefrag.components.judge.switch_features import FEATURES
from prefrag.components.trees import TreesMissing
from tests.components.samples import QUESTION, document

pytest.importorskip("xgboost")


def test_shipped_ones_keep_what_was_asked_for_and_leave_what_was_not():
    classifier = SwitchClassifier()
    shown = [document("Aurora", content="The Aurora was built by the Beta yard.")]
    wanted = document("Beta", content="Beta is a yard, which won the prize in 1974.")
    other = document("Gamma", content="Gamma is a town in the south, known for its cheese.")

    def probability(*new: object) -> float:
        return classifier.probability(QUESTION, "Beta yard prize", list(new), shown, step=1)  # type: ignore[arg-type]

    assert probability(wanted, other) > 0.5 > probability(other)


def test_one_passage_that_is_needed_is_enough_and_none_that_is_new_is_nothing():
    class OneOfTwo:
        def probabilities(self, rows: list[list[float]]) -> list[float]:
            return [0.8, 0.5][: len(rows)]

    passage = dict.fromkeys(FEATURES, 0.0)
    trees: Any = OneOfTwo()

    assert keep_probability(trees, [passage]) == pytest.approx(0.8)
    assert keep_probability(trees, [passage, passage]) == pytest.approx(0.9)
    assert keep_probability(trees, []) == 0


def test_nothing_new_is_switched_from():
    shown = document("Beta", content="Beta is a yard, which won the prize in 1974.")

    assert SwitchClassifier().probability(QUESTION, "Beta yard prize", [shown], [shown], step=1) == 0


def test_survives_saving():
    classifier = SwitchClassifier(model="own.json")

    assert SwitchClassifier.from_dict(classifier.to_dict()).model == "own.json"


def test_a_file_that_is_absent_is_told_before_the_first_question(tmp_path: Path):
    with pytest.raises(TreesMissing, match=r"own\.json"):
        SwitchClassifier(model=str(tmp_path / "own.json")).warm_up()


def test_an_empty_path_is_refused():
    with pytest.raises(ValueError, match="model is empty"):
        SwitchClassifier(model="")
