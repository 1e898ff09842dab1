"""One order of documents with equal scores. An index gives them in the order of its segments, which is by chance."""

from collections.abc import Iterable, Sequence

from haystack import Document

# Scores are compared to this many decimals, because an index does not always add up the words of a query in one order.
_DECIMALS = 4


def sort_ties(documents: Iterable[Document]) -> list[Document]:
    """Sort documents by their scores, best first, and those with equal scores by their ids."""
    return sorted(documents, key=lambda document: (-round(document.score or 0.0, _DECIMALS), document.id))


def is_tied(scores: Sequence[float], top_k: int) -> bool:
    """Check whether the last of the ``top_k`` best scores is equal to the next, so that ids must decide."""
    return len(scores) > top_k and round(scores[top_k - 1], _DECIMALS) == round(scores[top_k], _DECIMALS)
