"""Walk through a pipeline or a component and everything inside it."""

import enum
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from haystack import Document

TANTIVY_STORE = "prefrag.components.document_stores.tantivy.document_store.TantivyDocumentStore"
ELASTICSEARCH_STORE = "haystack_integrations.document_stores.elasticsearch.document_store.ElasticsearchDocumentStore"
STORES = (TANTIVY_STORE, ELASTICSEARCH_STORE)
_PLAIN = (  # types that cannot contain a component
    str,
    bytes,
    int,
    float,
    type(None),
    type,
    types.ModuleType,
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    enum.Enum,
    re.Pattern,
    PurePath,
    Document,
)


def walk_parts(whole: object, descend: Callable[[Any], bool] = lambda part: True) -> Iterator[tuple[str, Any]]:
    """Yield a pipeline or a component and every object in it, including those in nested pipelines and lists.

    Each object is yielded once, before the objects inside it, and with its path, such as ``web.retriever``. The path of
    ``whole`` is empty. If ``descend`` returns False for an object, the objects inside it are left out.
    """
    waiting = [("", whole)]
    # Keep the objects themselves, because the id of an object that is freed may be reused.
    seen: dict[int, Any] = {}
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, _PLAIN) or id(part) in seen:
            continue
        seen[id(part)] = part
        yield path, part
        if descend(part):
            prefix = f"{path}." if path else ""
            inner = [(f"{prefix}{name}", value) for name, value in _contents(part)]
            # The last of the waiting objects is yielded next.
            waiting.extend(reversed(inner))


def find_stores(whole: object) -> list[Any]:
    """Find the Tantivy and Elasticsearch document stores in a pipeline."""
    return [part for _, part in walk_parts(whole) if is_store(part)]


def is_store(part: object) -> bool:
    """Check whether an object is a Tantivy or Elasticsearch document store."""
    return is_tantivy_store(part) or is_elasticsearch_store(part)


def holds_documents(part: object) -> bool:
    """Check whether an object counts its documents, as any document store of Haystack does."""
    return callable(read_attribute(part, "count_documents"))


def is_tantivy_store(part: object) -> bool:
    """Check whether an object is a Tantivy document store."""
    return is_class(type(part), TANTIVY_STORE)


def is_elasticsearch_store(part: object) -> bool:
    """Check whether an object is an Elasticsearch document store."""
    return is_class(type(part), ELASTICSEARCH_STORE)


def is_class(kind: type, path: str) -> bool:
    """Check whether a class is the one with this path, or a subclass. That one is not imported, which may be slow."""
    module, _, name = path.rpartition(".")
    wanted = getattr(sys.modules.get(module), name, None)
    # Before a class is imported, no other can be its subclass.
    return isinstance(wanted, type) and issubclass(kind, wanted)


def read_attribute(part: object, name: str) -> Any:
    """Read an attribute that an object or its class really defines; None if neither defines it."""
    try:
        # Read only names that exist: some clients pass any other name on to further objects, in an endless chain.
        is_there = name in getattr(part, "__dict__", {}) or hasattr(type(part), name)
        return getattr(part, name, None) if is_there else None
    except Exception:
        return None


def _contents(part: Any) -> list[tuple[Any, Any]]:
    if is_store(part):
        # A store contains no components, only a client with hundreds of objects.
        return []
    if isinstance(part, Mapping):
        return list(part.items())
    if isinstance(part, list | tuple | set | frozenset):
        return list(enumerate(part))
    if read_attribute(part, "graph") is not None and callable(read_attribute(part, "walk")):
        # This is a Haystack pipeline, whose graph contains much more than its components.
        return list(part.walk())
    # Skip what Haystack attaches to a component: its sockets, and the pipeline that it belongs to.
    attributes = (read_attribute(part, "__dict__") or {}).items()
    return [(name, value) for name, value in attributes if not str(name).startswith("__haystack_")]
