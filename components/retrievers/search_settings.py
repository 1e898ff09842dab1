"""The settings of a search, combined from the retriever and the call."""

from prefrag.components.block import check_whole


def wanted_top_k(own: int, given: int | None = None) -> int:
    """Take the number of documents to return from the call or, if it gives none, from the retriever."""
    top_k = own if given is None else given
    check_whole(1, top_k=top_k)
    return top_k
