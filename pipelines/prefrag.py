"""PrefRAG: preference-driven adaptive retrieval with self-reflection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from duckduckgo_api_haystack.duckduckgoapi import DuckduckgoApiWebSearch
from haystack.components.joiners import BranchJoiner
from haystack_integrations.components.websearch.ddgs import DDGSWebSearch

from prefrag.components.agent.observation_recorder import ObservationRecorder
from prefrag.components.agent.preference_router import PreferenceRouter
from prefrag.components.agent.self_reflector import Reflection, SelfReflector
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.generators.model_call import ChatGenerator
from prefrag.components.judge.auto_judge import AutoJudge
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.web_retriever import WebRetriever
from prefrag.components.state.state import State
from prefrag.components.text.term_statistics import TermStatistics
from prefrag.pipelines.agent_loop import agent_loop
from prefrag.pipelines.sampling import SAMPLING

# Who chooses the source of a step: the judge, after the preferred one was searched; the model, by the name of its
# action; or nobody, as all are searched at the same time.
Selection = Literal["judge", "model", "all"]
NEUTRAL = {
    "local": "Searches a curated collection of documents.",
    "web": "Searches the web.",
}
PREFERRING = {
    "local": "Searches a curated collection of documents. This is the preferred source: turn to it first, "
    "and stay with it as long as it helps.",
    "web": "Searches the web. Turn to it only for what the preferred source does not hold.",
}


def local_source(name: str = "local", index: str | None = None) -> RetrievalSource:
    """The embedded index as a source, with the paper's title boosts over 50 candidates.

    :param name: The name of the source.
    :param index: The name of the index; None for ``PREFRAG_INDEX``, else ``default``, else the demo.
    :returns: The source.
    """
    store = TantivyDocumentStore(index=index)
    return RetrievalSource(name, TantivyBM25Retriever(store), ranker=TitleMatchRanker(), candidates=50)


def web_source(local_index: str | None = None) -> RetrievalSource:
    """The web through DDGS, with the DuckDuckGo API component as second provider.

    :param local_index: The name given to :func:`local_source`: while that is the demo, so is the web.
    :returns: The source.
    """
    return RetrievalSource(
        "web",
        WebRetriever(DDGSWebSearch(), local_index=local_index),
        fallback=DuckduckgoApiWebSearch(),
        external=True,
        timeout=20.0,
    )


def term_statistics(source: RetrievalSource) -> TermStatistics | None:
    """Find what weighs the words of a source.

    :param source: The source.
    :returns: Its store, or its retriever; None where neither counts words.
    """
    store = getattr(source.retriever, "document_store", None)
    known = (part for part in (store, source.retriever) if hasattr(part, "document_frequencies"))
    return next(known, None)  # type: ignore[return-value]


def search_tools(sources: Sequence[RetrievalSource], descriptions: Mapping[str, str] = NEUTRAL) -> list[dict[str, Any]]:
    """Give each source an action of its own.

    :param sources: The sources.
    :param descriptions: What the model is told of each, by name; what says nothing of a source leaves it its name.
    :returns: The tools, ``Search_Local`` and ``Search_Web`` for the sources ``local`` and ``web``.
    """
    return [
        {
            "name": f"Search_{source.name.title()}",
            "description": descriptions.get(source.name, f"Searches the source '{source.name}'."),
            "source": source.name,
        }
        for source in sources
    ]


def build_prefrag(
    sources: Sequence[RetrievalSource] | None = None,
    *,
    chat_generator: ChatGenerator | None = None,
    judge: SourceSwitchJudge | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    reply_format: str = "auto",
    top_k: int = 5,
    max_steps: int = 3,
    max_supplements: int = 1,
    reflection: Reflection = "reply",
    selection: Selection = "judge",
) -> Any:
    """Wire PrefRAG (figure 2 and section 3 of the paper; more than two sources as in its appendix E).

    Its variants and the agents that it is compared with are the same loop with another ``selection``, other ``tools``
    or no reflection.

    :param sources: The sources, the preferred one first; by default the embedded index and the web.
    :param chat_generator: The reasoner's model; by default the one of the environment.
    :param judge: The judge; by default one for these sources, by model or by classifier.
    :param tools: The actions that the reasoner may take: name, description, source; by default one search engine, or
        one action a source where the model chooses.
    :param reply_format: See :class:`Reasoner`.
    :param top_k: Documents a retrieval.
    :param max_steps: Steps; the hard limit is one more.
    :param max_supplements: Supplementary retrievals.
    :param reflection: See :class:`SelfReflector`; ``off`` leaves it out, and the model is
        not asked to evaluate itself.
    :param selection: Who chooses the source of a step: ``judge``, ``model``, or nobody (``all`` are searched).
    :returns: The pipeline.
    """
    sources = list(sources or [local_source(), web_source()])
    names = [source.name for source in sources]
    model = chat_generator if chat_generator is not None else ChatModel(role="llm")
    if tools is None and selection == "model":
        tools = search_tools(sources)
    reflects = reflection != "off"

    pipeline = agent_loop(
        sources,
        model,
        tools=tools,
        reply_format=reply_format,
        self_evaluation=reflects,
        top_k=top_k,
        max_steps=max_steps,
        max_supplements=max_supplements if reflects else 0,
    )
    pipeline.add_component(
        "router", PreferenceRouter(names, follow_model=selection == "model", ask_all=selection == "all")
    )
    pipeline.add_component("recorder", ObservationRecorder(merge=selection == "all"))
    pipeline.connect("reasoner.state", "router.state")
    if selection == "judge":
        _connect_judged(pipeline, sources, judge)
    elif selection == "model":
        _connect_chosen(pipeline, names)
    else:
        _connect_all(pipeline, names)
    pipeline.connect("recorder.state", "loop.value")
    pipeline.connect("router.retry", "loop.value")
    if reflects:
        _connect_reflection(pipeline, sources, SelfReflector(reflection, model, generation_kwargs=SAMPLING))
    else:
        pipeline.connect("router.answered", "finish.value")
    pipeline.connect("router.exhausted", "forced.state")
    return pipeline


def build_prefrag_classifier(sources: Sequence[RetrievalSource] | None = None, **settings: Any) -> Any:
    """Wire PrefRAG with small trees in the place of the model that judges.

    :param sources: See :func:`build_prefrag`.
    :param settings: See :func:`build_prefrag`.
    :returns: The pipeline.
    """
    sources = list(sources or [local_source(), web_source()])
    names = [source.name for source in sources]
    judge = SourceSwitchJudge(names, TreeJudge(term_statistics=term_statistics(sources[0])))
    return build_prefrag(sources, judge=judge, **settings)


def build_prefrag_direct(sources: Sequence[RetrievalSource] | None = None, **settings: Any) -> Any:
    """Wire PrefRAG-Direct (appendix A.4 of PrefRAG): the preference is only words in the descriptions of the tools.

    The model chooses, so that a source can change only at the next step; the self-reflection stays.

    :param sources: See :func:`build_prefrag`; for others than ``local`` and ``web``, give ``tools`` that say which is
        preferred.
    :param settings: See :func:`build_prefrag`.
    :returns: The pipeline.
    """
    sources = list(sources or [local_source(), web_source()])
    settings.setdefault("tools", search_tools(sources, PREFERRING))
    return build_prefrag(sources, selection="model", **settings)


def build_prefrag_without_preference(sources: Sequence[RetrievalSource] | None = None, **settings: Any) -> Any:
    """Wire the ablation without preference-driven retrieval (table 2 of PrefRAG): the model names the source.

    :param sources: See :func:`build_prefrag`.
    :param settings: See :func:`build_prefrag`.
    :returns: The pipeline.
    """
    return build_prefrag(sources, selection="model", **settings)


def build_prefrag_without_reflection(sources: Sequence[RetrievalSource] | None = None, **settings: Any) -> Any:
    """Wire the ablation without self-reflection (table 2 of PrefRAG): the first answer is final.

    :param sources: See :func:`build_prefrag`.
    :param settings: See :func:`build_prefrag`.
    :returns: The pipeline.
    """
    return build_prefrag(sources, reflection="off", **settings)


def _connect_judged(pipeline: Any, sources: Sequence[RetrievalSource], judge: SourceSwitchJudge | None) -> None:
    """The preferred source first; the judge keeps what it found or switches to another."""
    if judge is None:
        judge = SourceSwitchJudge(
            [source.name for source in sources],
            AutoJudge(
                ModelJudge(ChatModel(role="judge"), generation_kwargs=SAMPLING),
                TreeJudge(term_statistics=term_statistics(sources[0])),
            ),
        )
    pipeline.add_component("judge", judge)
    pipeline.add_component("found", BranchJoiner(State))
    for source in sources:
        name = source.name
        pipeline.add_component(f"to_{name}", BranchJoiner(State))
        pipeline.connect(f"router.search_{name}", f"to_{name}.value")
        pipeline.connect(f"judge.switch_{name}", f"to_{name}.value")
        pipeline.connect(f"to_{name}.value", f"{name}.query")
        pipeline.connect(f"{name}.state", "found.value")
    pipeline.connect("found.value", "judge.state")
    pipeline.connect("judge.kept", "recorder.states")


def _connect_chosen(pipeline: Any, names: Sequence[str]) -> None:
    """The source that the model has named, and no other in this step."""
    pipeline.add_component("found", BranchJoiner(State))
    for name in names:
        pipeline.connect(f"router.search_{name}", f"{name}.query")
        pipeline.connect(f"{name}.state", "found.value")
    pipeline.connect("found.value", "recorder.states")


def _connect_all(pipeline: Any, names: Sequence[str]) -> None:
    """Every source at the same time; the recorder waits for all."""
    for name in names:
        pipeline.connect("router.search_all", f"{name}.query")
        pipeline.connect(f"{name}.state", "recorder.states")


def _connect_reflection(pipeline: Any, sources: Sequence[RetrievalSource], reflector: SelfReflector) -> None:
    """An answer is reflected upon; a negative label asks every source with the original question."""
    pipeline.add_component("reflector", reflector)
    pipeline.add_component("supplement_recorder", ObservationRecorder(merge=True))
    pipeline.connect("router.answered", "reflector.state")
    for source in sources:
        again = f"{source.name}_again"
        pipeline.add_component(again, RetrievalSource.from_dict(source.to_dict()))
        pipeline.connect("reflector.supplement", f"{again}.query")
        pipeline.connect(f"{again}.state", "supplement_recorder.states")
    pipeline.connect("supplement_recorder.state", "loop.value")
    pipeline.connect("reflector.accepted", "finish.value")
