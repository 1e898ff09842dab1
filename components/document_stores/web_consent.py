"""The user's answer, kept with an index, to whether questions about its documents may go to the web."""

from collections.abc import Sequence
from typing import Any

from prefrag.components.parts import ELASTICSEARCH_STORE, TANTIVY_STORE


def read_web_consent(store: Any) -> bool | None:
    """Read the answer kept with an index; None if there is none, or if this kind of store cannot keep one."""
    if type(store).__name__ == TANTIVY_STORE:
        return store.read_web_consent()
    if type(store).__name__ == ELASTICSEARCH_STORE:
        from prefrag.components.document_stores.elasticsearch import consent

        return consent.read_web_consent(store)
    return None


def keep_web_consent(store: Any, answer: bool) -> None:
    """Keep the answer with an existing index, replacing any earlier one; ValueError if the store cannot keep it."""
    if type(store).__name__ == TANTIVY_STORE:
        store.keep_web_consent(answer)
    elif type(store).__name__ == ELASTICSEARCH_STORE:
        from prefrag.components.document_stores.elasticsearch import consent

        consent.keep_web_consent(store, answer)
    else:
        raise ValueError(f"{type(store).__name__} cannot record whether the web is allowed: set PREFRAG_WEB instead.")


def all_consent(stores: Sequence[Any]) -> bool:
    """Check whether every index says yes; False if there is no index, or if one has no answer or cannot be read."""
    try:
        return bool(stores) and all(read_web_consent(store) is True for store in stores)
    except Exception:
        # A search of this index will report the error.
        return False
