"""The name of the collection that a document store searches."""

from pathlib import Path

from prefrag.components.document_stores.store_kinds import Store, is_tantivy_store
from prefrag.components.document_stores.tantivy.index_location import chosen_index


def name_index(store: Store) -> str:
    """Return the name of the collection that a store searches.

    :param store: A Tantivy or an Elasticsearch document store.
    :returns: The name. If a Tantivy store has a path instead of a name, the name of its folder.
    """
    if not is_tantivy_store(store):
        return str(store._index)
    if store.path is not None:
        return Path(store.path).name
    return str(store.index or chosen_index())
