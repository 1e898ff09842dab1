"""The interfaces of retrievers and rankers, and helpers for calling them."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from haystack import Document
from haystack.utils.filters import document_matches_filter

from prefrag.components.parts import read_attribute, walk_parts
from prefrag.components.text.addresses import without_userinfo
from prefrag.components.text.sentences import cut_text

# A component of Haystack searches the web or fetches web pages if the name of its module contains one of these texts.
_WEB_MODULES = (".websearch.", ".fetchers.", ".connectors.jina", "duckduckgo")
# Longer error messages are cut, because some client libraries put a whole request into the message.
_MAX_CHARACTERS = 200


class Retriever(Protocol):
    """Any component that takes a ``query`` and returns ``documents``: a retriever, a web search, a nested pipeline."""

    def run(self, query: str) -> dict[str, Any]:
        """Find documents.

        :param query: Any text.
        :returns: ``documents``, best first. If several queries were sent, ``lookups`` is their number.
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


def select_arguments(supported: set[str], **arguments: object) -> dict[str, Any]:
    """Drop the arguments that a component does not take or whose value is None."""
    return {name: value for name, value in arguments.items() if name in supported and value is not None}


def apply_filters(part: Retriever, documents: Sequence[Document], filters: Mapping[str, Any] | None) -> list[Document]:
    """Keep the documents that match the filters, if the retriever that found them does not take filters itself."""
    # A nested pipeline takes any argument, and drops those for which it declares no input.
    sockets = getattr(read_attribute(part, "__haystack_input__"), "_sockets_dict", {})
    takes_filters = "filters" in {*inspect.signature(part.run).parameters, *sockets}
    if not filters or takes_filters:
        return list(documents)
    return [document for document in documents if document_matches_filter(dict(filters), document)]


def name_provider(part: Retriever | Ranker) -> str:
    """Name a component in the trace: by its attribute ``provider``, else by its class."""
    return str(getattr(part, "provider", None) or type(part).__name__)


def count_lookups(output: Mapping[str, Any] | None) -> int:
    """Count the queries that a retriever sent to an index or the web: ``lookups`` in its output, else 1."""
    return int((output or {}).get("lookups", 1))


def is_web_search(part: object) -> bool:
    """Check whether a component, or any component inside it, searches the web, so that queries leave this machine."""
    return any(searches_web(inner) for _, inner in walk_parts(part))


def searches_web(part: object) -> bool:
    """Check whether an object itself calls an outside service: by its attribute ``external``, or by its module."""
    kind = type(part)
    if getattr(kind, "external", False) is True or getattr(part, "__dict__", {}).get("external") is True:
        return True
    # Base classes are checked too, because a subclass may be in any module.
    modules = (base.__module__.lower() for base in kind.__mro__)
    return any(mark in module for module in modules for mark in _WEB_MODULES)


def describe_failure(name: str, error: BaseException, timeout: float) -> str:
    """Describe the failure of a call in one line for the trace."""
    if isinstance(error, TimeoutError):
        return f"{name}: no reply within {timeout:g} s"
    # Cut only between words: passwords in addresses are hidden later, but not in an address that was cut in half.
    text = without_userinfo(str(error))
    reason = cut_text(" ".join(text.split()), _MAX_CHARACTERS, " ...")
    return f"{name}: {reason or type(error).__name__}"
