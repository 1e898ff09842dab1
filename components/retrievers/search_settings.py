"""The number of documents that a search returns, from the settings of the retriever and of the call."""

from prefrag.components.block import check_whole_number


def wanted_top_k(own: int, requested: int | None = None) -> int:
    """Choose the number of documents that a search returns.

    :param own: The `top_k` of the retriever.
    :param requested: The `top_k` of the call. If None, ``own`` is used.
    :returns: The number of documents.
    :raises ValueError: When the number is under 1.
    """
    top_k = own if requested is None else requested
    check_whole_number(1, top_k=top_k)
    return top_k
