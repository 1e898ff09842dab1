"""Check how the components of a pipeline are connected, before the pipeline gets a question.

Haystack checks only the types of connected inputs and outputs. The checks here follow the `State` of a run through the
pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import networkx

from prefrag.components.document_stores.store_kinds import is_store
from prefrag.components.parts import holds_documents, walk_parts
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.state import State

if TYPE_CHECKING:
    from haystack.core.pipeline.base import PipelineBase

# The component with which each run begins.
START = "start"
# The component that makes the result.
ANSWER = "answer"
# The beginnings of the names of outputs that name the next source to search, such as "search_web".
_NAMING = ("search_", "switch_")


def check_wiring(pipeline: PipelineBase) -> None:
    """Check that each state can get from `start` to `answer`, through the source for which its query is meant.

    Haystack accepts a pipeline with an output that leads nowhere. It also accepts a connection that sends a query for
    the user's own documents to the web.

    :param pipeline: The Haystack pipeline, with the components `start` and `answer`.
    :raises ValueError: When a connection is missing or leads to another source. The message has a line per fault.
    """
    faults = [*_find_open_ends(pipeline), *_find_missing_sources(pipeline), *_find_wrong_sources(pipeline)]
    # A missing connection also separates components from the rest. Then the missing connection explains more, so the
    # separated components are not reported.
    faults = faults or list(_find_closed_circles(pipeline))
    if faults:
        lines = [f"  {fault}" for fault in faults]
        raise ValueError("\n".join(["its connections are wrong:", *lines]))


def find_empty_stores(pipeline: object) -> list[str]:
    """Find the document stores without documents, other than those that the commands of this application fill.

    A store in memory is always empty when a pipeline is loaded from a file.

    :param pipeline: The Haystack pipeline.
    :returns: A sentence for each store.
    """
    stores = [(path, part) for path, part in walk_parts(pipeline) if holds_documents(part)]
    sentences = []
    for path, store in stores:
        if not is_store(store) and not store.count_documents():
            sentences.append(
                f"{path}, a {type(store).__name__}, has no documents, so nothing can be found in it: take a store that "
                "keeps them, such as TantivyDocumentStore, or write them to it from Python."
            )
    return sentences


def _find_open_ends(pipeline: PipelineBase) -> Iterator[str]:
    """Describe the mandatory inputs without a connection, and the outputs of a state without a connection."""
    for name, node in pipeline.graph.nodes(data=True):
        for socket in node["input_sockets"].values():
            # The caller gives the question to `start`.
            if socket.is_mandatory and not socket.senders and name != START:
                yield (
                    f"{name}.{socket.name} gets nothing: add `- {{sender: ..., receiver: {name}.{socket.name}}}` "
                    f"under `connections`, or take {name} out."
                )
        for socket in node["output_sockets"].values():
            if socket.type is State and not socket.receivers:
                yield (
                    f"{name}.{socket.name} leads nowhere: add `- {{sender: {name}.{socket.name}, receiver: ...}}` "
                    "under `connections`."
                )


def _find_missing_sources(pipeline: PipelineBase) -> Iterator[str]:
    """Describe the sources from which a component chooses although no component searches them."""
    searched: set[str] = set()
    for name in pipeline.graph.nodes:
        searched |= _searched_by(pipeline, name)
    for name, node in pipeline.graph.nodes(data=True):
        for source in _sources_of(node):
            if source not in searched:
                yield (
                    f"{name} names the source '{source}', and no component searches it: add a RetrievalSource with "
                    f"`name: {source}`, or take '{source}' out of the sources."
                )


def _find_wrong_sources(pipeline: PipelineBase) -> Iterator[str]:
    """Describe the outputs whose state first arrives at another source than the source in the name of the output."""
    for name, node in pipeline.graph.nodes(data=True):
        for socket in node["output_sockets"].values():
            source = _source_in_name(socket.name)
            if source not in _sources_of(node):
                continue
            for wrong_source in sorted(_first_sources(pipeline, socket.receivers) - {source}):
                yield (
                    f"{name}.{socket.name} leads to the source '{wrong_source}': connect it to the component that "
                    f"searches '{source}'."
                )


def _source_in_name(output: str) -> str | None:
    """Return the source in the name of an output. None if the name has none of the prefixes for this."""
    for prefix in _NAMING:
        if output.startswith(prefix):
            return output.removeprefix(prefix)
    return None


def _sources_of(node: Mapping[str, object]) -> Sequence[str]:
    """Return the names of the sources from which a component of this application chooses."""
    # In components of others, an attribute `sources` may be something else.
    component = node["instance"]
    is_ours = any(kind.__module__.startswith("prefrag.") for kind in type(component).__mro__)
    if not is_ours:
        return ()
    return getattr(component, "sources", None) or ()


def _searched_by(pipeline: PipelineBase, name: str) -> set[str]:
    """Return the names of the sources that a component searches.

    A component without a RetrievalSource counts as a source if `start` names a source with the name of the component.
    """
    component = pipeline.graph.nodes[name]["instance"]
    sources = {part.name for _, part in walk_parts(component) if isinstance(part, RetrievalSource)}
    if sources:
        return sources
    named_by_start = getattr(pipeline.get_component(START), "sources", ())
    return {name}.intersection(named_by_start)


def _first_sources(pipeline: PipelineBase, receivers: list[str]) -> set[str]:
    """Return the names of the sources that a state from these components reaches first, before any other source."""
    waiting = list(receivers)
    passed: set[str] = set()
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in passed:
            continue
        passed.add(name)
        searched = _searched_by(pipeline, name)
        if searched:
            reached |= searched
        else:
            waiting += pipeline.graph.successors(name)
    return reached


def _find_closed_circles(pipeline: PipelineBase) -> Iterator[str]:
    """Describe the components that no state reaches, and the components from which no state reaches the answer."""
    after_start = networkx.descendants(pipeline.graph, START) | {START}
    before_answer = networkx.ancestors(pipeline.graph, ANSWER) | {ANSWER}
    for name, node in pipeline.graph.nodes(data=True):
        has_state = any(socket.type is State for socket in node["output_sockets"].values())
        if name not in after_start:
            yield f"{name} is not reached from {START}: connect it, or take it out."
        elif has_state and name not in before_answer:
            yield f"{name} does not lead to {ANSWER}: connect one of its outputs with a component that does."
