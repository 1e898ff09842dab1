"""What a search obeys: the retriever's own settings and those of the call."""

from __future__ import annotations

from typing import Any


def wanted_top_k(own: int, asked: int | None = None) -> int:
    """
    Tell how many documents are wanted.

    :param own: the retriever's own number.
    :param asked: the number of the call, which takes its place.
    :returns: the number that counts.
    :raises ValueError: if it is under 1.
    """
    top_k = own if asked is None else asked
    if top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}.")
    return top_k


def both_filters(own: dict[str, Any] | None, asked: dict[str, Any] | None) -> dict[str, Any] | None:
    """
    Join filters of which a document must match both.

    :param own: the retriever's own filters, in Haystack's form.
    :param asked: those of the call.
    :returns: the filters; None, or empty ones, where there are none.
    """
    if own and asked:
        return {"operator": "AND", "conditions": [own, asked]}
    return asked or own
