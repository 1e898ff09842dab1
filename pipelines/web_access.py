"""The check of a loaded pipeline for searches of the web, and the indexes whose answers allow them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.parts import is_store, walk_parts
from prefrag.components.retrievers.provider import searches_web
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.web.web_retriever import WebRetriever


def guard_web(pipeline: Any) -> None:
    """Refuse web searches outside an external source, and give every source the indexes whose answers allow the web.

    These are the indexes of all stores in the pipeline, or, where it has none, the embedded index beside which its web
    is searched.

    :param pipeline: A built pipeline; its ``start`` learns which sources are external, and finds the closed ones.
    :raises ValueError: When a component searches the web outside an external source.
    """
    outside = list(walk_parts(pipeline, descend=lambda part: not _is_external_source(part)))
    sources = [part for _, part in outside if _is_external_source(part)]
    for path, part in outside:
        if searches_web(part) and not _is_external_source(part):
            raise ValueError(
                f"component '{path}' is a {type(part).__name__}, which would send text to the web past the gate: make "
                "it the retriever of a RetrievalSource with `external: true`, or take it out."
            )
    inside = [part for source in sources for _, part in walk_parts(source)]
    stores = [part for part in [*(part for _, part in outside), *inside] if is_store(part)] or [
        TantivyDocumentStore(index=part.local_index)
        for part in inside
        if isinstance(part, WebRetriever) and part.demo_stand_in
    ]
    # A pipeline names the same index in several places.
    indexes = list({json.dumps(store.to_dict(), sort_keys=True, default=str): store for store in stores}.values())
    for source in sources:
        source.gate.stores = indexes
    start = pipeline.get_component("start")
    if hasattr(start, "external_sources"):
        external = {source.name for source in sources}.union(start.external_sources)
        start.external_sources = [name for name in start.sources if name in external]
        start.find_closed = partial(_find_closed, sources)


def _is_external_source(part: Any) -> bool:
    return isinstance(part, RetrievalSource) and part.external


def _find_closed(sources: Sequence[RetrievalSource]) -> set[str]:
    leaving = [source for source in sources if source.leaves]
    # All have the same indexes.
    return set() if not leaving or leaving[0].gate.is_open else {source.name for source in leaving}
