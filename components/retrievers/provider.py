"""The interfaces of retrievers and rankers, and what their calls take and give."""

import inspect
from collections.abc import Mapping
from textwrap import shorten
from typing import Any, Protocol

from haystack import Document

from prefrag.components.parts import walk_parts

# The modules of Haystack's web searches and page readers.
_WEB_MODULES = (".websearch.", ".fetchers.", ".connectors.jina", "duckduckgo")
# Some clients put a whole request into their error message.
_MOST_CHARACTERS = 200


class Retriever(Protocol):
    """Any component that takes a ``query`` and returns ``documents``: a retriever, a web search, a nested pipeline."""

    def run(self, query: str) -> dict[str, Any]:
        """Find documents.

        :param query: Any text.
        :returns: ``documents``, best first; and ``lookups`` if it sends more than one query, see :func:`count_lookups`.
        """


class Ranker(Protocol):
    """Any component that takes a ``query`` and ``documents`` and returns the ``documents`` sorted."""

    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        """Sort documents.

        :param query: The query.
        :param documents: The candidates.
        :returns: ``documents``, best first.
        """


def supported_arguments(part: Retriever | Ranker) -> set[str]:
    """List the arguments that a component's ``run`` takes."""
    parameters = inspect.signature(part.run).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return {"query", "top_k", "filters"}
    return set(parameters)


def select_arguments(supported: set[str], **arguments: Any) -> dict[str, Any]:
    """Drop the arguments that a component does not take, and those without a value."""
    return {name: value for name, value in arguments.items() if name in supported and value is not None}


def count_lookups(output: Mapping[str, Any] | None) -> int:
    """Count the queries that a retriever sent to an index or the web."""
    return int((output or {}).get("lookups", 1))


def is_web_search(part: Any) -> bool:
    """Check whether queries to a component leave this machine, because it or anything inside it searches the web."""
    return any(searches_web(inner) for _, inner in walk_parts(part))


def searches_web(part: Any) -> bool:
    """Check by its ``external`` or its module whether an object itself, not a part of it, calls an outside service."""
    kind = type(part)
    if getattr(kind, "external", False) is True or getattr(part, "__dict__", {}).get("external") is True:
        return True
    # Base classes too, because a subclass may be in any module.
    modules = (base.__module__.lower() for base in kind.__mro__)
    return any(mark in module for module in modules for mark in _WEB_MODULES)


def describe_failure(name: str, error: BaseException, timeout: float) -> str:
    """Describe the failure of a call in one line for the trace."""
    if isinstance(error, TimeoutError):
        return f"{name}: no reply within {timeout:g} s"
    # Cut between words: half an address with a password would no longer be recognised as one and hidden from clients.
    reason = shorten(str(error), _MOST_CHARACTERS, break_long_words=False, break_on_hyphens=False, placeholder=" ...")
    return f"{name}: {reason or type(error).__name__}"
