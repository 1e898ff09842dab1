"""PrefRAG: preference-driven adaptive retrieval with self-reflection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from duckduckgo_api_haystack.duckduckgoapi import DuckduckgoApiWebSearch
from haystack.components.joiners import BranchJoiner
from haystack_integrations.components.websearch.ddgs import DDGSWebSearch

from components.answer_composer import AnswerComposer
from components.chat_model import ChatModel
from components.follow_up_rewriter import FollowUpRewriter
from components.model_call import ChatGenerator
from components.observation_recorder import ObservationRecorder
from components.preference_router import PreferenceRouter
from components.reasoner import Reasoner
from components.retrieval_source import RetrievalSource
from components.self_reflector import Reflection, SelfReflector
from components.source_switch_judge import SourceSwitchJudge
from components.state import Fidelity, State
from components.state_builder import StateBuilder
from components.tantivy_bm25_retriever import TantivyBM25Retriever
from components.tantivy_document_store import TantivyDocumentStore
from components.title_match_ranker import TitleMatchRanker
from components.web_retriever import WebRetriever
from pipelines.loading import Pipeline

SAMPLING = {"temperature": 0.1, "top_p": 0.9, "max_tokens": 512}


def local_source(name: str = "local", index: str | None = None) -> RetrievalSource:
    """The embedded index as a source, with the paper's title boosts over 50 candidates.

    :param name: The name of the source.
    :param index: The name of the index; None for ``PREFRAG_INDEX``, else ``default``, else the demo.
    :returns: The source.
    """
    store = TantivyDocumentStore(index=index)
    return RetrievalSource(name, TantivyBM25Retriever(store), ranker=TitleMatchRanker(), candidates=50)


def web_source() -> RetrievalSource:
    """The web through DDGS, with the DuckDuckGo API component as second provider.

    :returns: The source.
    """
    return RetrievalSource(
        "web", WebRetriever(DDGSWebSearch()), fallback=DuckduckgoApiWebSearch(), external=True, timeout=20.0
    )


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
    follow_model: bool = False,
    fidelity: Fidelity = "paper",
) -> Any:
    """Wire PrefRAG (figure 2 and section 3 of the paper; more than two sources as in its appendix E).

    :param sources: The sources, the preferred one first; by default the embedded index and the web.
    :param chat_generator: The reasoner's model; by default the one of the environment.
    :param judge: The judge; by default one for these sources, by model or by coverage.
    :param tools: The actions that the reasoner may take: name, description, source; by default one search engine.
    :param reply_format: See :class:`~components.reasoner.Reasoner`.
    :param top_k: Documents a retrieval.
    :param max_steps: Steps; the hard limit is one more.
    :param max_supplements: Supplementary retrievals.
    :param reflection: See :class:`~components.self_reflector.SelfReflector`.
    :param follow_model: Let the model choose the source (the ablation without preference-driven retrieval).
    :param fidelity: ``paper`` or ``authors-code``.
    :returns: The pipeline.
    """
    sources = list(sources or [local_source(), web_source()])
    names = [source.name for source in sources]
    model = chat_generator if chat_generator is not None else ChatModel(role="llm")
    if judge is None:
        store = getattr(sources[0].retriever, "document_store", None)
        judge = SourceSwitchJudge(
            names, chat_generator=ChatModel(role="judge"), term_statistics=store, generation_kwargs=SAMPLING
        )

    def reasoner(must_answer: bool) -> Reasoner:
        return Reasoner(
            model,
            reply_format=reply_format,  # type: ignore[arg-type]
            tools=[dict(tool) for tool in tools] if tools else None,
            must_answer=must_answer,
            generation_kwargs=SAMPLING,
        )

    pipeline = Pipeline(max_runs_per_component=100)
    pipeline.add_component(
        "start",
        StateBuilder(
            names,
            names[0],
            external_sources=[source.name for source in sources if source.external],
            top_k=top_k,
            max_steps=max_steps,
            max_supplements=max_supplements,
            fidelity=fidelity,
        ),
    )
    pipeline.add_component("rewriter", FollowUpRewriter(model))
    pipeline.add_component("reasoner", reasoner(must_answer=False))
    pipeline.add_component("router", PreferenceRouter(names, follow_model=follow_model))
    pipeline.add_component("judge", judge)
    pipeline.add_component("recorder", ObservationRecorder())
    pipeline.add_component("reflector", SelfReflector(reflection, model, generation_kwargs=SAMPLING))
    pipeline.add_component("supplement_recorder", ObservationRecorder(merge=True))
    pipeline.add_component("forced", reasoner(must_answer=True))
    pipeline.add_component("answer", AnswerComposer(names[0]))
    for joiner in ("loop", "found", "finish"):
        pipeline.add_component(joiner, BranchJoiner(State))

    pipeline.connect("start.state", "rewriter.state")
    pipeline.connect("rewriter.state", "loop.value")
    pipeline.connect("loop.value", "reasoner.state")
    pipeline.connect("reasoner.state", "router.state")
    for source in sources:
        name = source.name
        pipeline.add_component(name, source)
        pipeline.add_component(f"{name}_again", RetrievalSource.from_dict(source.to_dict()))
        pipeline.add_component(f"to_{name}", BranchJoiner(State))
        pipeline.connect(f"router.search_{name}", f"to_{name}.value")
        pipeline.connect(f"judge.switch_{name}", f"to_{name}.value")
        pipeline.connect(f"to_{name}.value", f"{name}.query")
        pipeline.connect(f"{name}.state", "found.value")
        pipeline.connect("reflector.supplement", f"{name}_again.query")
        pipeline.connect(f"{name}_again.state", "supplement_recorder.states")
    pipeline.connect("found.value", "judge.state")
    pipeline.connect("judge.kept", "recorder.states")
    pipeline.connect("recorder.state", "loop.value")
    pipeline.connect("router.retry", "loop.value")
    pipeline.connect("router.answered", "reflector.state")
    pipeline.connect("supplement_recorder.state", "loop.value")
    pipeline.connect("reflector.accepted", "finish.value")
    pipeline.connect("router.exhausted", "forced.state")
    pipeline.connect("forced.state", "finish.value")
    pipeline.connect("finish.value", "answer.state")
    return pipeline
