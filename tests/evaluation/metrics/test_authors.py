"""The scores of the PrefRAG authors' code (``acc_score``, ``acc_score_yn``, ``F1_scorer`` and ``compute_exact``)."""

from __future__ import annotations

import pytest

from prefrag.evaluation.metrics.answers import answer_scores
from prefrag.evaluation.metrics.authors import authors_scores
from prefrag.evaluation.metrics.official import official_scores
from prefrag.evaluation.question import Question


def test_a_yes_no_answer_shares_its_word_with_a_longer_one_where_hotpotqa_gives_nothing():
    question = Question("1", "Are they?", ("yes",), dataset="hotpotqa")

    assert authors_scores(question, "Yes, they are") == pytest.approx(
        {"authors_acc": 1, "authors_em": 0, "authors_f1": 0.5}
    )
    assert official_scores(question, "Yes, they are")["official_f1"] == 0


@pytest.mark.parametrize(
    ("answer", "gold", "theirs", "ours"),
    [("Yes", "yes", 1, 1), ("yes and no", "no", 1, 0), ("Norway", "no", 0, 0), ("NO.", "no", 1, 1), ("", "no", 0, 0)],
)
def test_for_bioasq_an_answer_with_both_words_is_right_with_the_authors_and_wrong_with_us(
    answer: str, gold: str, theirs: float, ours: float
):
    question = Question("1", "Does it?", (gold,), dataset="bioasq")

    assert authors_scores(question, answer) == {"authors_acc": theirs}
    assert answer_scores(question, answer)["acc"] == ours


def test_elsewhere_their_acc_is_ours():
    question = Question("1", "Where?", ("no",), dataset="musique")

    assert authors_scores(question, "Norway")["authors_acc"] == answer_scores(question, "Norway")["acc"] == 1


def test_their_f1_is_zero_where_normalisation_leaves_no_words_and_ours_agrees_with_the_exact_match():
    question = Question("1", "Which vitamin?", ("A",))

    assert authors_scores(question, "A") == {"authors_acc": 1, "authors_em": 1, "authors_f1": 0}
    assert answer_scores(question, "A")["f1"] == 1
