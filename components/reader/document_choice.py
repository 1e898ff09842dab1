"""Choose the documents that are read, if there are more than the reader reads.

A question may need a pair of documents together. So pairs of documents are scored, not single documents.
"""

from collections.abc import Sequence

from haystack import Document

from prefrag.components.pair_classifier.pair_classifier import all_pairs, by_best_pair
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer

# The maximum number of documents among which `choose_documents` chooses. Scoring all their pairs takes milliseconds.
_MOST_COMPARED = 20
# The weight of the original order of the documents. It is so small that it decides only if the scores of pairs are
# close.
_RANK_WEIGHT = 0.05


def choose_documents(question: str, documents: Sequence[Document], number: int) -> list[Document]:
    """Choose the documents to read by their pairs.

    The pair that is most likely to be needed for the question comes first, then the next pairs.

    :param question: The question.
    :param documents: The documents, best first.
    :param number: The maximum number of documents to choose.
    :returns: All documents if there are no more than this; else the chosen ones.
    """
    if len(documents) <= number:
        return list(documents)
    compared = documents[: max(_MOST_COMPARED, number)]
    pairs = all_pairs(compared, [()] * len(compared))
    return by_best_pair(compared, pairs, TreePairScorer().score(question, pairs), _RANK_WEIGHT)[:number]
