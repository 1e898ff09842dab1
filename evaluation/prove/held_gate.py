"""A gate that tells which queries would have left this machine, and lets none."""

from __future__ import annotations

from typing import Any

from prefrag.components.parts import walk_parts
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.state import State
from prefrag.components.web.web_gate import HeldBack, WebGate
from prefrag.components.web.web_retriever import WebRetriever

WOULD_LEAVE = "it is only measured whether it would have left"


class HeldGate(WebGate):
    """Check a query like any gate, then hold it back."""

    def check(self, source: str, query: str, state: State | None) -> None:
        """Check a query.

        :param source: The name of the external source.
        :param query: The query.
        :param state: The state of the run.
        :raises HeldBack: Always. The reason is ``WOULD_LEAVE`` if it would have been sent.
        """
        super().check(source, query, state)
        raise HeldBack(WOULD_LEAVE)


def hold_queries(pipeline: object) -> bool:
    """Give all external sources of a pipeline a gate that holds every query back.

    :param pipeline: A loaded pipeline.
    :returns: Whether it has external sources.
    """
    sources = [part for _, part in walk_parts(pipeline) if isinstance(part, RetrievalSource) and part.external]
    for source in sources:
        if isinstance(source.retriever, WebRetriever):
            # Over the demo, a local stand-in is searched in place of the web. With documents of the user, the query
            # would be sent.
            source.retriever.demo_stand_in = False
        gate = HeldGate(source.gate.max_characters, source.gate.domains)
        gate.stores = source.gate.stores
        source.gate = gate
    return bool(sources)


def would_leave(result: dict[str, Any]) -> bool:
    """Check whether a query of a run would have left this machine."""
    return any(event["kind"] == "held_back" and event["reason"] == WOULD_LEAVE for event in result["trace"])
