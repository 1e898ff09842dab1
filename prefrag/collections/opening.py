"""Open a collection by its name and the name of its kind, as options and settings give them."""

from haystack.document_stores.types import DocumentStore

from prefrag.collections.collection import Collection
from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.local_collection import LocalCollection
from prefrag.collections.stores import PassageStore

# The kinds of collections, by their names in options and settings.
KINDS: dict[str, type[Collection]] = {kind.store: kind for kind in (LocalCollection, ElasticCollection)}


def open_collection(name: str, store: str = LocalCollection.store) -> Collection:
    """Return the collection with a name. The collection need not exist.

    :param name: The name of the collection.
    :param store: The kind of collection: "tantivy" or "elasticsearch".
    :returns: The collection.
    :raises ValueError: If there is no such kind.
    """
    if store not in KINDS:
        raise ValueError(f"There is no store '{store}': choose from {', '.join(KINDS)}.")
    return KINDS[store](name)


def passages_of(collection: Collection | DocumentStore, *, change: bool = False) -> PassageStore:
    """Open the passages of a collection, or of any document store of Haystack.

    :param collection: The collection or the document store.
    :param change: Whether the passages will be changed.
    :returns: The passages.
    :raises FileNotFoundError: If there is no such collection.
    """
    if isinstance(collection, Collection):
        return collection.passages(change=change)
    return PassageStore(collection)
