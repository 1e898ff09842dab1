"""The label of a pair, and how much each pair weighs."""

from __future__ import annotations

import numpy as np
import pytest
from haystack import Document

from prefrag.training.pair_classifier.pair_label import DRAWN, label_pairs
from prefrag.training.pair_classifier.pool import Pool


def pool(pairs: str, gold: str, dataset: str = "letters") -> Pool:
    """A question whose pairs are written as ``ab ac``."""
    documents = {key: Document(id=key, content=key) for key in pairs.replace(" ", "")}
    made = tuple((documents[first], documents[second]) for first, second in pairs.split())
    return Pool(dataset, "Which?", frozenset(gold), (), made, np.zeros((len(made), 1)))


def test_a_pair_is_positive_when_both_documents_are_needed():
    labels, _ = label_pairs([pool("ab ba ac cd", gold="ab")])

    assert list(labels) == [1, 1, 0, 0]


def test_positive_and_negative_pairs_weigh_the_same_and_so_do_both_kinds_of_negatives():
    _, weights = label_pairs([pool("ab ac ad bc cd de", gold="ab")])

    assert weights[0] == pytest.approx(weights[1:].sum())
    assert weights[1:4].sum() == pytest.approx(weights[4:].sum())
    assert weights.sum() == pytest.approx(DRAWN)


def test_a_dataset_of_few_questions_weighs_as_much_as_one_of_many():
    _, weights = label_pairs([pool("ab ac cd", "ab", "few"), *(pool("ab ac cd ce", "ab", "many") for _ in range(9))])

    assert weights[:3].sum() == pytest.approx(weights[3:].sum())
