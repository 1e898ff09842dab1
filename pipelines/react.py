"""ReAct: the agent that PrefRAG is compared with, over several sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.pipelines.prefrag import build_prefrag


def build_react(sources: Sequence[RetrievalSource] | None = None, **settings: Any) -> Any:
    """Wire ReAct with a tool for each source (table 1 of PrefRAG, *w/ LR & WR*): the model picks, nobody judges.

    :param sources: The sources; by default the embedded index and the web.
    :param settings: See :func:`build_prefrag`.
    :returns: The pipeline.
    """
    return build_prefrag(sources, selection="model", reflection="off", **settings)


def build_react_mix(sources: Sequence[RetrievalSource] | None = None, **settings: Any) -> Any:
    """Wire ReAct-Mix (table 1 of PrefRAG, *w/ LR and WR concatenated*): every search goes to all sources at once.

    :param sources: The sources; by default the embedded index and the web.
    :param settings: See :func:`build_prefrag`.
    :returns: The pipeline.
    """
    return build_prefrag(sources, selection="all", reflection="off", **settings)
