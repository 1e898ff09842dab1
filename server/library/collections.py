"""Which collections requests may search.

A collection is an index with its documents. Requests may name the default collection and those in
``PREFRAG_COLLECTIONS``. The key of a request may allow only some of them.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prefrag.collections.collection import WEB_SUFFIX, Collection
from prefrag.components.document_stores.tantivy.index_location import DEFAULT_INDEX, index_path
from prefrag.errors import BadInput, Missing
from prefrag.pipelines.blocks import blocks, is_block_of, parameters_of
from prefrag.pipelines.loading import PipelineMissing, read_block
from prefrag.server.access.keys import current_access
from prefrag.settings import settings

# The class of the component that searches the web, or an index in place of the web.
WEB_RETRIEVER = "prefrag.components.web.web_retriever.WebRetriever"
# The values of PREFRAG_COLLECTIONS that stand for all collections.
_ALL = frozenset({"*", "all"})
# The names of the indexes that a served pipeline searches in place of the web.
_web_substitutes: set[str] = set()


class NoSuchCollection(Missing):
    """The error for a collection that is missing, or that the request may not use. The message does not say which."""

    http_status = 404

    def __init__(self) -> None:
        super().__init__(
            "There is no such collection, or you may not use it. GET /collections lists all that you may use. The "
            "administrator can add others with PREFRAG_COLLECTIONS."
        )


def served_collection() -> str:
    """Return the name of the default collection, which is searched if a request names none."""
    return settings.index or DEFAULT_INDEX


def listed_collections() -> frozenset[str]:
    """Read from the settings which collections requests may name, besides the default collection.

    :returns: Names of collections. ``all`` or ``*`` may be among them.
    :raises BadInput: If no index can have such a name.
    """
    names = frozenset(settings.collections)
    for name in names - _ALL:
        try:
            index_path(name)
        except ValueError as error:
            raise BadInput(f"PREFRAG_COLLECTIONS: {error}") from error
    return names


def is_listed(name: str, by_name: bool = False) -> bool:
    """Check whether the settings let requests name a collection. The collection need not exist.

    :param name: The name of the collection.
    :param by_name: Whether the settings must list the collection by its name. If not, ``all`` is enough. The setting
        ``all`` covers every index except those that are searched in place of the web. The default collection is always
        allowed.
    """
    listed = listed_collections()
    if name in listed - _ALL or name == served_collection():
        return True
    allows_all = bool(listed & _ALL)
    if by_name or not allows_all:
        return False
    try:
        index_path(name)
    except ValueError:
        return False
    replaces_web = name in _web_substitutes or name == settings.web_index or name.endswith(WEB_SUFFIX)
    return not replaces_web


def is_open_to_new_names() -> bool:
    """Check whether an upload of this request may make a collection under a new name."""
    return bool(listed_collections() & _ALL) and current_access.get().collections is None


def exclude_web_substitutes(files: Iterable[Path]) -> None:
    """Exclude from ``all`` every index that one of these pipelines searches in place of the web.

    :param files: The YAML files of the served pipelines. Folders of wrappers are ignored.
    """
    _web_substitutes.clear()
    for file in files:
        # Ignore broken pipelines here. They are reported when they are loaded.
        with suppress(PipelineMissing):
            parts = [] if file.is_dir() else blocks(read_block(file))
            for part in parts:
                if is_block_of(part, WEB_RETRIEVER):
                    _web_substitutes.add(parameters_of(part).get("index") or "")


def check_collection(name: str, by_name: bool = False) -> None:
    """Raise an error unless the settings and the key of the request allow a collection.

    :param name: The name of the collection.
    :param by_name: As in :func:`is_listed`.
    :raises NoSuchCollection: If the settings or the key do not allow it.
    """
    if not is_listed(name, by_name) or not is_allowed(name):
        raise NoSuchCollection


def is_allowed(name: str) -> bool:
    """Check whether the key of the request allows a collection. The settings may still forbid it.

    :param name: The name of the collection.
    """
    allowed = current_access.get().collections
    return allowed is None or name in allowed


def searchable_collections(kind: type[Collection]) -> list[Collection]:
    """List the collections that the request may search.

    :param kind: The class of the collections: those on this machine, or those in Elasticsearch.
    :returns: The default collection first, then the others.
    """
    if kind.in_all:
        names = [collection.name for collection in kind.all() if is_listed(collection.name)]
    else:
        names = sorted(listed_collections() - _ALL)
    others = [name for name in names if name != served_collection()]
    allowed_names = [name for name in (served_collection(), *others) if is_allowed(name)]
    return [kind(name) for name in allowed_names]
