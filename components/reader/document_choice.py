"""Choose the documents that a reader reads: those that are in the best pairs, as the linked retrieval does."""

from __future__ import annotations

from collections.abc import Sequence

from haystack import Document

from prefrag.components.pair_classifier.pair_classifier import all_pairs, by_best_pair
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer

# Every two of them are scored, in some milliseconds.
_MOST = 20
# How much the order counts where no pair is likely, as in the linked retrieval.
_RANK_WEIGHT = 0.05


def choose_documents(question: str, documents: Sequence[Document], number: int) -> list[Document]:
    """Choose the documents that are in the pairs most likely to be needed together.

    :param question: The question.
    :param documents: The documents, best first; of more than 20 the first are compared.
    :param number: The most documents to choose.
    :returns: The documents, in their order where none is left out, else those in the best pairs first.
    """
    if len(documents) <= number:
        return list(documents)
    compared = documents[: max(_MOST, number)]
    pairs = all_pairs(compared, [()] * len(compared))
    return by_best_pair(compared, pairs, TreePairScorer().score(question, pairs), _RANK_WEIGHT)[:number]
