"""Sort documents with equal scores by their ids, so that the same search always gives the same order.

An index gives such documents in the order of its files, which depends on chance.
"""

from collections.abc import Iterable, Sequence

from haystack import Document

# Scores that are equal when rounded to this many decimals count as equal. The scores of the same document may differ
# slightly, because an index does not always add up the words of a query in the same order.
_DECIMALS = 4


def sort_ties(documents: Iterable[Document]) -> list[Document]:
    """Sort documents by their scores, and documents with equal scores by their ids.

    :param documents: The documents. A document without a score counts as 0.
    :returns: The documents, best first.
    """
    return sorted(documents, key=lambda document: (-round(document.score or 0.0, _DECIMALS), document.id))


def is_tied(scores: Sequence[float], top_k: int) -> bool:
    """Check whether the last of the ``top_k`` best scores is equal to the next score, so that ids must decide.

    For example, ``is_tied([3.0, 2.0, 2.0], 2)`` is true, and ``is_tied([3.0, 2.0, 1.0], 2)`` is false.

    :param scores: The scores, best first.
    :param top_k: The number of documents that are wanted.
    :returns: Whether there is such a tie. Without more than ``top_k`` scores, there is none.
    """
    return len(scores) > top_k and round(scores[top_k - 1], _DECIMALS) == round(scores[top_k], _DECIMALS)
