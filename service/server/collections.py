"""The collections that may be searched over HTTP: as the administrator lists them, narrowed by the key."""

from __future__ import annotations

import os

from prefrag.components.document_stores.tantivy.index import index_exists
from prefrag.components.document_stores.tantivy.index_location import (
    DEFAULT_INDEX,
    INDEX_VARIABLE,
    WEB_INDEX_VARIABLE,
    data_directory,
    index_path,
)
from prefrag.components.errors import BadInput, Missing
from prefrag.pipelines.indexing import WEB_INDEX_SUFFIX
from prefrag.service.server.access import current_access

COLLECTIONS_VARIABLE = "PREFRAG_COLLECTIONS"
_ALL = ("*", "all")


class NoSuchCollection(Missing):
    """Refuse a collection in the same words whether it is missing or not for this key."""

    http_status = 404

    def __init__(self) -> None:
        super().__init__("There is no such collection that you may search: GET /collections lists those that you may.")


def served_collection() -> str:
    """Find the collection that is searched where a request names none.

    :returns: The index of ``PREFRAG_INDEX``, or ``default``.
    """
    return os.environ.get(INDEX_VARIABLE) or DEFAULT_INDEX


def listed_collections() -> frozenset[str] | None:
    """Read the collections that requests may name beside the one that is served.

    :returns: The names in ``PREFRAG_COLLECTIONS``; None where it is ``all`` or ``*``, for every index of the data
        directory.
    :raises BadInput: When one of them cannot name an index.
    """
    names = [name.strip() for name in os.environ.get(COLLECTIONS_VARIABLE, "").split(",") if name.strip()]
    if any(name in _ALL for name in names):
        return None
    for name in names:
        try:
            index_path(name)
        except ValueError as error:
            raise BadInput(f"{COLLECTIONS_VARIABLE}: {error}") from error
    return frozenset(names)


def is_listed(name: str) -> bool:
    """Check whether requests may name a collection, whether it exists or not.

    Where all are listed, an index that stands in for the web is none of them.

    :param name: The name.
    :returns: Whether they may.
    """
    listed = listed_collections()
    if name == served_collection():
        return True
    if listed is not None:
        return name in listed
    try:
        index_path(name)
    except ValueError:
        return False
    return name != os.environ.get(WEB_INDEX_VARIABLE) and not name.endswith(WEB_INDEX_SUFFIX)


def find_collection(name: str, own: str | None = None) -> str:
    """Check that a request may search a collection.

    :param name: The name that the request gives.
    :param own: The collection of a pipeline whose YAML names one.
    :returns: The name.
    :raises NoSuchCollection: When it may not.
    """
    allowed = current_access.get().collections
    if not (name == own or is_listed(name)) or (allowed is not None and name not in allowed):
        raise NoSuchCollection
    return name


def existing_collections() -> list[str]:
    """List the collections that the key of a request may search.

    :returns: Their names; the one that is served first, then by name.
    """
    listed, allowed = listed_collections(), current_access.get().collections
    if listed is None:
        folder = data_directory() / "indexes"
        listed = frozenset(path.name for path in folder.iterdir()) if folder.is_dir() else frozenset()
    names = [name for name in sorted(listed) if name != served_collection()]
    there = [name for name in names if is_listed(name) and index_exists(index_path(name))]
    return [name for name in (served_collection(), *there) if allowed is None or name in allowed]
