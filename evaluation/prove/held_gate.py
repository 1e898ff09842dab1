"""A gate that counts the queries that would be sent to the web, and sends none.

The usual gate decides for each query whether it may leave this machine. This gate asks the usual gate, notes the
decision, and then holds the query back.
"""

from __future__ import annotations

from prefrag.components.parts import walk_parts
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.result import Result
from prefrag.components.state.state import State
from prefrag.components.web.web_gate import HeldBack, WebGate
from prefrag.components.web.web_retriever import WebRetriever

# The reason that the trace of a run has for a query that the usual gate would have sent.
WOULD_LEAVE = "it is only measured whether it would have left"


class HeldGate(WebGate):
    """Check a query like any gate, then hold it back."""

    def check(self, source: str, query: str, state: State | None) -> None:
        """Check a query and hold it back.

        :param source: The name of the external source.
        :param query: The query.
        :param state: The state of the run.
        :raises HeldBack: Always. The reason is ``WOULD_LEAVE`` if the query would have been sent.
        """
        super().check(source, query, state)
        raise HeldBack(WOULD_LEAVE)


def hold_queries(pipeline: object) -> bool:
    """Give all external sources of a pipeline a gate that holds every query back.

    :param pipeline: A loaded pipeline.
    :returns: Whether the pipeline has external sources.
    """
    sources = [part for _, part in walk_parts(pipeline) if isinstance(part, RetrievalSource) and part.external]
    for source in sources:
        if isinstance(source.retriever, WebRetriever):
            # With the demo's documents, a local index is searched in place of the web. With the user's documents, the
            # query would be sent. This case is measured.
            source.retriever.demo_stand_in = False
        gate = HeldGate(source.gate.max_characters, source.gate.domains)
        gate.stores = source.gate.stores
        source.gate = gate
    return bool(sources)


def would_leave(result: Result) -> bool:
    """Check whether a query of a run would have been sent to the web.

    :param result: The result of the run.
    :returns: True if at least one query would have been sent.
    """
    return any(event["kind"] == "held_back" and event["reason"] == WOULD_LEAVE for event in result["trace"])
