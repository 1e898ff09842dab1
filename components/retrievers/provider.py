"""The interfaces of retrievers and rankers, and helpers for calling them.

A component is called only with the arguments that its `run` takes, so that any Haystack retriever or ranker can be
used. A provider is a retriever or a web search.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Protocol, TypedDict

from haystack import Document
from haystack.utils.filters import document_matches_filter

from prefrag.components.both_ways import Component
from prefrag.components.parts import read_attribute, walk_parts
from prefrag.components.text.addresses import without_userinfo
from prefrag.components.text.sentences import cut_text

# A component of Haystack searches the web or fetches web pages if the name of its module contains one of these texts.
_WEB_MODULES = (".websearch.", ".fetchers.", ".connectors.jina", "duckduckgo")
# Longer error messages are cut, because some client libraries put a whole request into the message.
_MAX_CHARACTERS = 200


class Retrieved(TypedDict, total=False):
    """The output of a retriever or a ranker. Only ``documents`` is always there."""

    # The documents, best first.
    documents: list[Document]
    # A message for each part of the retriever that failed.
    errors: list[str]
    # The number of queries that were sent to an index or the web. Without this key, it was one.
    lookups: int


class Retriever(Protocol):
    """Any component that takes a ``query`` and returns ``documents``, such as a web search or a nested pipeline."""

    def run(self, query: str) -> Retrieved:
        """Find documents.

        :param query: Any text.
        :returns: The documents, best first. If several queries were sent, ``lookups`` has their number.
        """


class Ranker(Protocol):
    """Any component that takes a ``query`` and ``documents`` and returns the ``documents`` in a new order."""

    def run(self, query: str, documents: list[Document]) -> Retrieved:
        """Sort documents.

        :param query: The query.
        :param documents: The documents to sort.
        :returns: The documents, best first.
        """


def supported_arguments(part: Component[Retrieved]) -> set[str]:
    """List the arguments that the ``run`` of a component takes.

    :param part: The component.
    :returns: The names of the arguments; ``query``, ``top_k`` and ``filters`` if its ``run`` takes any argument.
    """
    parameters = inspect.signature(part.run).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return {"query", "top_k", "filters"}
    return set(parameters)


def select_arguments(supported: set[str], **arguments: object) -> dict[str, object]:
    """Drop the arguments that a component does not take or whose value is None.

    For example, ``select_arguments({"query", "top_k"}, query="a", top_k=None, filters={})`` returns
    ``{"query": "a"}``.

    :param supported: The names of the arguments that the component takes.
    :param arguments: The arguments.
    :returns: The arguments with which the component can be called.
    """
    return {name: value for name, value in arguments.items() if name in supported and value is not None}


def apply_filters(
    part: Component[Retrieved], documents: Sequence[Document], filters: Mapping[str, object] | None
) -> list[Document]:
    """Apply filters to the documents of a retriever, unless the retriever takes filters itself.

    :param part: The retriever that found the documents.
    :param documents: The documents.
    :param filters: Haystack metadata filters. None or an empty filter keeps all documents.
    :returns: The documents that match the filters.
    """
    # The `run` of a nested pipeline takes any argument. Only the arguments for which it declares an input are used.
    sockets = getattr(read_attribute(part, "__haystack_input__"), "_sockets_dict", {})
    takes_filters = "filters" in inspect.signature(part.run).parameters or "filters" in sockets
    if not filters or takes_filters:
        return list(documents)
    return [document for document in documents if document_matches_filter(dict(filters), document)]


def name_provider(part: object) -> str:
    """Name a component for the trace: by its attribute ``provider``, or by its class if it has no such attribute.

    :param part: The component.
    :returns: The name.
    """
    return str(getattr(part, "provider", None) or type(part).__name__)


def count_lookups(output: Retrieved | None) -> int:
    """Count the queries that a retriever sent to an index or the web.

    :param output: The output of the retriever, or None.
    :returns: The number under the key ``lookups``; 1 without this key.
    """
    if not output:
        return 1
    return int(output.get("lookups", 1))


def is_web_search(part: object) -> bool:
    """Check whether a component, or any component inside it, searches the web, so that queries leave this machine.

    :param part: The component.
    :returns: True if a web search is found.
    """
    return any(searches_web(inner) for _, inner in walk_parts(part))


def searches_web(part: object) -> bool:
    """Check whether an object itself calls a service outside this machine.

    :param part: The object.
    :returns: True if its attribute ``external`` is True, or if its class is from a module for web searches.
    """
    kind = type(part)
    own_attributes = getattr(part, "__dict__", {})
    if getattr(kind, "external", False) is True or own_attributes.get("external") is True:
        return True
    # Base classes are checked, too, because a subclass may be in any module.
    for base in kind.__mro__:
        module = base.__module__.lower()
        if any(mark in module for mark in _WEB_MODULES):
            return True
    return False


def describe_failure(name: str, error: BaseException, timeout: float) -> str:
    """Describe the failure of a call in one line for the trace.

    For example, ``describe_failure("Web", TimeoutError(), 5.0)`` returns ``"Web: no reply within 5 s"``.

    :param name: The name of the called component.
    :param error: The error. A long message is cut to 200 characters.
    :param timeout: The deadline of the call, in seconds.
    :returns: The line, without passwords in addresses.
    """
    if isinstance(error, TimeoutError):
        return f"{name}: no reply within {timeout:g} s"
    # The text is cut only between words. Passwords in addresses are hidden once more later, which is impossible in an
    # address that was cut in half.
    text = without_userinfo(str(error))
    on_one_line = " ".join(text.split())
    reason = cut_text(on_one_line, _MAX_CHARACTERS, " ...") or type(error).__name__
    return f"{name}: {reason}"
