"""Open a collection by the name of its kind: the door for options and settings."""

from haystack.document_stores.types import DocumentStore

from prefrag.collections.collection import Collection
from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.local_collection import LocalCollection
from prefrag.collections.stores import PassageStore

KINDS: dict[str, type[Collection]] = {kind.store: kind for kind in (LocalCollection, ElasticCollection)}


def open_collection(name: str, store: str = LocalCollection.store) -> Collection:
    """Return the collection of this name. It need not exist.

    :param name: The name of the collection.
    :param store: The kind: `tantivy` or `elasticsearch`.
    :raises ValueError: When there is no such kind.
    """
    if store not in KINDS:
        raise ValueError(f"There is no store '{store}': choose from {', '.join(KINDS)}.")
    return KINDS[store](name)


def passages_of(collection: Collection | DocumentStore, *, change: bool = False) -> PassageStore:
    """Open the passages of a collection, or of any document store of Haystack."""
    if isinstance(collection, Collection):
        return collection.passages(change=change)
    return PassageStore(collection)
