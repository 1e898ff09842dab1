"""The trees behind the judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.boosted_trees import TreesMissing
from components.switch_classifier import SwitchClassifier
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


def test_survives_saving():
    classifier = SwitchClassifier(model="own.json")

    assert SwitchClassifier.from_dict(classifier.to_dict()).model == "own.json"


def test_a_file_that_is_absent_is_told_before_the_first_question(tmp_path: Path):
    with pytest.raises(TreesMissing, match=r"own\.json"):
        SwitchClassifier(model=str(tmp_path / "own.json")).warm_up()


def test_an_empty_path_is_refused():
    with pytest.raises(ValueError, match="model is empty"):
        SwitchClassifier(model="")
