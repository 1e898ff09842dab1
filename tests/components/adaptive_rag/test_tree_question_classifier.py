from __future__ import annotations

import pytest

from prefrag.components.adaptive_rag.tree_question_classifier import NOT_ENGLISH, TreeQuestionClassifier
from prefrag.components.judge.tree_judge import SHIPPED_TREES as TREES_OF_THE_JUDGE

ONE_STEP = "Is indinavir effective for treatment of amyotrophic lateral sclerosis?"
SEVERAL_STEPS = "What is the date of birth of the mother of the director of the film Polish-Russian War?"


@pytest.fixture(autouse=True)
def _xgboost() -> None:
    pytest.importorskip("xgboost")


def test_the_shipped_trees_tell_a_plain_question_from_a_chain():
    single, several = (
        TreeQuestionClassifier().classify(question).probabilities for question in (ONE_STEP, SEVERAL_STEPS)
    )

    assert single["single_step"] > 0.5
    assert several["multi_step"] > 0.5
    assert set(single) == {"single_step", "multi_step"}
    assert sum(several.values()) == pytest.approx(1)


def test_doubts_its_estimate_of_a_question_in_another_language():
    assert TreeQuestionClassifier().classify("Wer ist die Mutter des Regisseurs von Alpha?").doubt == NOT_ENGLISH
    assert TreeQuestionClassifier().classify(SEVERAL_STEPS).doubt == ""


def test_trees_of_another_kind_or_missing_ones_are_refused():
    with pytest.raises(ValueError, match="trained on other features"):
        TreeQuestionClassifier(str(TREES_OF_THE_JUDGE)).warm_up()
    with pytest.raises(ValueError, match="trees is empty"):
        TreeQuestionClassifier("")
