"""The settings of a search: those of the retriever combined with those of the call."""

from __future__ import annotations

from typing import Any

from prefrag.components.block import check_whole


def wanted_top_k(own: int, given: int | None = None) -> int:
    """Choose the number of documents to return.

    :param own: The retriever's own number.
    :param given: The number of the call, which overrides it.
    :returns: The chosen number.
    :raises ValueError: When the number is under 1.
    """
    top_k = own if given is None else given
    check_whole(1, top_k=top_k)
    return top_k


def both_filters(own: dict[str, Any] | None, given: dict[str, Any] | None) -> dict[str, Any] | None:
    """Combine two filters into one that requires both.

    :param own: The retriever's own filters, in Haystack's form.
    :param given: The filters of the call.
    :returns: The filters; None, or empty ones, where there are none.
    """
    if own and given:
        return {"operator": "AND", "conditions": [own, given]}
    return given or own
