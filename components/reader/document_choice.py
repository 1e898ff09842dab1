"""Which documents are read if there are more than the reader reads."""

from collections.abc import Sequence

from haystack import Document

from prefrag.components.pair_classifier.pair_classifier import all_pairs, by_best_pair
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer

# The maximum number of documents among which `choose_documents` chooses. Scoring all their pairs takes milliseconds.
_MOST_COMPARED = 20
# The weight of the documents' original order: so small that it decides only if the scores of their pairs are close.
_RANK_WEIGHT = 0.05


def choose_documents(question: str, documents: Sequence[Document], number: int) -> list[Document]:
    """Choose documents: first the pair that is most likely to be needed for the question, then the next pairs."""
    if len(documents) <= number:
        return list(documents)
    compared = documents[: max(_MOST_COMPARED, number)]
    pairs = all_pairs(compared, [()] * len(compared))
    return by_best_pair(compared, pairs, TreePairScorer().score(question, pairs), _RANK_WEIGHT)[:number]
