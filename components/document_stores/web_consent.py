"""Read and store whether queries about the documents of a collection may be sent to the web.

The user is asked when documents are first indexed. The answer is stored with the collection. This module works for both
kinds of document store.
"""

from collections.abc import Sequence

from prefrag.components.document_stores.store_kinds import is_elasticsearch_store, is_tantivy_store


def read_web_consent(store: object) -> bool | None:
    """Read the user's answer from a collection.

    :param store: The document store of the collection.
    :returns: Whether queries may be sent to the web. None if the user has not answered, or if a store of this kind
        cannot store answers.
    """
    if is_tantivy_store(store):
        return store.read_web_consent()
    if is_elasticsearch_store(store):
        from prefrag.components.document_stores.elasticsearch import consent

        return consent.read_web_consent(store)
    return None


def keep_web_consent(store: object, answer: bool) -> None:
    """Store the user's answer in a collection. It replaces an earlier answer.

    :param store: The document store of the collection.
    :param answer: Whether queries about the documents may be sent to the web.
    :raises ValueError: When a store of this kind cannot store answers.
    """
    if is_tantivy_store(store):
        store.keep_web_consent(answer)
    elif is_elasticsearch_store(store):
        from prefrag.components.document_stores.elasticsearch import consent

        consent.keep_web_consent(store, answer)
    else:
        raise ValueError(f"{type(store).__name__} cannot record whether the web is allowed: set PREFRAG_WEB instead.")


def all_consent(stores: Sequence[object]) -> bool:
    """Check whether the user's answer is yes in every collection.

    :param stores: The document stores of the collections.
    :returns: True if every answer is yes. False if an answer is missing or cannot be read, or if there are no stores.
    """
    try:
        return bool(stores) and all(read_web_consent(store) is True for store in stores)
    except Exception:
        # The error is not reported here, because a search of the collection will report it.
        return False
