"""Read and store the user's answer to whether questions about the documents of a collection may go to the web."""

from collections.abc import Sequence
from typing import Any

from prefrag.components.parts import is_elasticsearch_store, is_tantivy_store


def read_web_consent(store: Any) -> bool | None:
    """Read the answer from a collection. None if the user has not answered, or this kind cannot store answers."""
    if is_tantivy_store(store):
        answer: bool | None = store.read_web_consent()
        return answer
    if is_elasticsearch_store(store):
        from prefrag.components.document_stores.elasticsearch import consent

        return consent.read_web_consent(store)
    return None


def keep_web_consent(store: Any, answer: bool) -> None:
    """Store the answer in a collection, replacing an earlier one; raises ValueError if it cannot store answers."""
    if is_tantivy_store(store):
        store.keep_web_consent(answer)
    elif is_elasticsearch_store(store):
        from prefrag.components.document_stores.elasticsearch import consent

        consent.keep_web_consent(store, answer)
    else:
        raise ValueError(f"{type(store).__name__} cannot record whether the web is allowed: set PREFRAG_WEB instead.")


def all_consent(stores: Sequence[object]) -> bool:
    """Return True if the answer in every collection is yes. Return False without any, or if one is unreadable."""
    try:
        return bool(stores) and all(read_web_consent(store) is True for store in stores)
    except Exception:
        # The error is not reported here, because a search of the collection will report it.
        return False
