"""The answer, kept with an index, whether questions over its documents may go to the web."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prefrag.components.parts import ELASTICSEARCH_STORE, TANTIVY_STORE


def read_web_consent(store: Any) -> bool | None:
    """Read the answer that is kept with an index.

    :param store: A :class:`TantivyDocumentStore` or an :class:`ElasticsearchDocumentStore`.
    :returns: The answer; None where there is none, and for any other store.
    :raises Exception: When the index is missing or does not answer.
    """
    if type(store).__name__ == TANTIVY_STORE:
        return store.read_web_consent()
    if type(store).__name__ == ELASTICSEARCH_STORE:
        from prefrag.components.document_stores.elasticsearch import consent

        return consent.read_web_consent(store)
    return None


def keep_web_consent(store: Any, answer: bool) -> None:
    """Keep the answer with an index, in place of an earlier one.

    :param store: A :class:`TantivyDocumentStore` or an :class:`ElasticsearchDocumentStore`, whose index exists.
    :param answer: Whether questions may go to the web.
    :raises ValueError: For any other store.
    :raises DocumentStoreError: When it cannot be kept.
    """
    if type(store).__name__ == TANTIVY_STORE:
        store.keep_web_consent(answer)
    elif type(store).__name__ == ELASTICSEARCH_STORE:
        from prefrag.components.document_stores.elasticsearch import consent

        consent.keep_web_consent(store, answer)
    else:
        raise ValueError(f"A {type(store).__name__} cannot keep whether the web is allowed: set PREFRAG_WEB instead.")


def all_consent(stores: Sequence[Any]) -> bool:
    """Check whether the answer of every one of some indexes is yes.

    :param stores: The stores of the indexes.
    :returns: Whether it is; False where there is no index, or one has no answer or cannot be read.
    """
    try:
        return bool(stores) and all(read_web_consent(store) is True for store in stores)
    except Exception:
        # A search of this index will say what is wrong with it.
        return False
