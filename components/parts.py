"""Walk through a pipeline or a component and everything inside it.

The check that stops unwanted queries to the web uses this: it finds web searches and collections of documents wherever
they are in a pipeline. A part is any object in the attributes, lists, dictionaries or nested pipelines of another one.
"""

import enum
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from haystack import Document

# The import paths of the classes of document stores. The classes are not imported here, because that may be slow.
TANTIVY_STORE = "prefrag.components.document_stores.tantivy.document_store.TantivyDocumentStore"
ELASTICSEARCH_STORE = "haystack_integrations.document_stores.elasticsearch.document_store.ElasticsearchDocumentStore"
STORES = (TANTIVY_STORE, ELASTICSEARCH_STORE)
# The types of objects that cannot contain a component. The walk skips such objects.
_PLAIN = (
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


def walk_parts(whole: object, descend: Callable[[object], bool] = lambda part: True) -> Iterator[tuple[str, Any]]:
    """Yield a pipeline or a component and every object in it, including those in nested pipelines and lists.

    Each object is yielded once, before the objects inside it. For example, ``list(walk_parts({"a": [{}]}))`` returns
    ``[("", {"a": [{}]}), ("a", [{}]), ("a.0", {})]``.

    :param whole: The pipeline or component.
    :param descend: A function that gets an object and decides whether the objects inside it are yielded, too. By
        default, all objects are yielded.
    :returns: Pairs of a path and an object. A path has the names of attributes and components, such as
        ``web.retriever``. The path of ``whole`` is empty.
    """
    waiting = [("", whole)]
    # The objects that were yielded, by their ids. An object in this dictionary is not freed. So no other object can get
    # its id.
    seen: dict[int, object] = {}
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, _PLAIN) or id(part) in seen:
            continue
        seen[id(part)] = part
        yield path, part
        if descend(part):
            prefix = f"{path}." if path else ""
            inner = [(f"{prefix}{name}", value) for name, value in _contents(part)]
            # `pop` takes the last of the waiting objects. So the first of the inner objects must be the last.
            waiting.extend(reversed(inner))


def holds_documents(part: object) -> bool:
    """Check whether an object has a method to count its documents, as every document store of Haystack has."""
    return callable(read_attribute(part, "count_documents"))


def is_class(kind: type, path: str) -> bool:
    """Check whether a class is the class with an import path, or a subclass of it.

    The class with the path is not imported, because an import may be slow.

    :param kind: The class to check.
    :param path: The import path, such as ``haystack.dataclasses.document.Document``.
    :returns: True if ``kind`` is this class or a subclass.
    """
    module, _, name = path.rpartition(".")
    # If the module is not imported yet, no class can be a subclass of its classes: then the result is False.
    wanted = getattr(sys.modules.get(module), name, None)
    return isinstance(wanted, type) and issubclass(kind, wanted)


def read_attribute(part: object, name: str) -> Any:
    """Read an attribute that an object or its class really defines.

    :param part: The object.
    :param name: The name of the attribute.
    :returns: The value. None if neither the object nor its class defines the attribute, or if reading fails.
    """
    try:
        # Only names that exist are read. Some clients of servers accept every name, and return an object for it that
        # accepts every name too. The walk would never end.
        is_there = name in getattr(part, "__dict__", {}) or hasattr(type(part), name)
        return getattr(part, name, None) if is_there else None
    except Exception:
        return None


def _contents(part: Any) -> list[tuple[object, object]]:
    """List the objects directly inside an object, each with its name or its number."""
    if any(is_class(type(part), store) for store in STORES):
        # A store contains no components, only a client with hundreds of objects.
        return []
    if isinstance(part, Mapping):
        return list(part.items())
    if isinstance(part, list | tuple | set | frozenset):
        return list(enumerate(part))
    is_pipeline = read_attribute(part, "graph") is not None and callable(read_attribute(part, "walk"))
    if is_pipeline:
        # The attributes of a Haystack pipeline contain much more than its components, so only these are walked.
        return list(part.walk())
    # Haystack attaches its own objects to a component, such as its sockets and its pipeline. They are skipped.
    attributes = (read_attribute(part, "__dict__") or {}).items()
    return [(name, value) for name, value in attributes if not str(name).startswith("__haystack_")]
