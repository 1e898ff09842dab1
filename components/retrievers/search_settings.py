"""The settings of a search, combined from the retriever and the call."""

from prefrag.components.block import check_whole


def wanted_top_k(own: int, given: int | None = None) -> int:
    """Return the call's number of documents (``given``) or, without it, the retriever's own number."""
    top_k = own if given is None else given
    check_whole(1, top_k=top_k)
    return top_k
