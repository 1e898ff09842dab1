"""Vanilla RAG: one retrieval and one call, and the same call without a retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prefrag.components.agent.follow_up_rewriter import FollowUpRewriter
from prefrag.components.agent.observation_recorder import ObservationRecorder
from prefrag.components.agent.question_as_query import QuestionAsQuery
from prefrag.components.agent.reasoner import Reasoner
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.generators.model_call import ChatGenerator
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.answer_composer import AnswerComposer
from prefrag.components.state.state_builder import StateBuilder
from prefrag.pipelines.loading import Pipeline
from prefrag.pipelines.prefrag import local_source, web_source
from prefrag.pipelines.sampling import SAMPLING


def build_vanilla(
    sources: Sequence[RetrievalSource],
    *,
    chat_generator: ChatGenerator | None = None,
    reply_format: str = "auto",
    top_k: int = 5,
) -> Any:
    """Wire single-step RAG (section 4.2 of PrefRAG, *Vanilla*): the question is the query, and the model answers once.

    :param sources: The sources, asked at the same time; none for the model alone (*No Retrieval*).
    :param chat_generator: The model; by default the one of the environment.
    :param reply_format: See :class:`Reasoner`.
    :param top_k: Documents of each source.
    :returns: The pipeline.
    """
    names = [source.name for source in sources]
    external = [source.name for source in sources if source.external]
    model = chat_generator if chat_generator is not None else ChatModel(role="llm")

    pipeline = Pipeline(max_runs_per_component=100)
    pipeline.add_component(
        "start",
        StateBuilder(names, names[0] if names else None, external_sources=external, top_k=top_k),
    )
    pipeline.add_component("rewriter", FollowUpRewriter(model))
    pipeline.add_component(
        "reasoner",
        Reasoner(
            model,
            reply_format=reply_format,  # type: ignore[arg-type]
            must_answer=True,
            prompt="answer_once",
            generation_kwargs=SAMPLING,
            self_evaluation=False,
        ),
    )
    pipeline.add_component("answer", AnswerComposer(next((name for name in names if name not in external), "local")))
    pipeline.connect("start.state", "rewriter.state")
    if sources:
        pipeline.add_component("query", QuestionAsQuery())
        pipeline.add_component("recorder", ObservationRecorder(merge=True))
        pipeline.connect("rewriter.state", "query.state")
        for source in sources:
            pipeline.add_component(source.name, source)
            pipeline.connect("query.state", f"{source.name}.query")
            pipeline.connect(f"{source.name}.state", "recorder.states")
        pipeline.connect("recorder.state", "reasoner.state")
    else:
        pipeline.connect("rewriter.state", "reasoner.state")
    pipeline.connect("reasoner.state", "answer.state")
    return pipeline


def build_no_retrieval(**settings: Any) -> Any:
    """:param settings: See :func:`build_vanilla`. :returns: The model alone (section 4.2 of PrefRAG, *NoR*)."""
    return build_vanilla([], **settings)


def build_vanilla_local(**settings: Any) -> Any:
    """:param settings: See :func:`build_vanilla`. :returns: Single-step RAG on the embedded index (*w/ LR*)."""
    return build_vanilla([local_source()], **settings)


def build_vanilla_web(**settings: Any) -> Any:
    """:param settings: See :func:`build_vanilla`. :returns: Single-step RAG on the web (*w/ WR*, table 5)."""
    return build_vanilla([web_source()], **settings)


def build_vanilla_mix(**settings: Any) -> Any:
    """:param settings: See :func:`build_vanilla`. :returns: Single-step RAG on both sources concatenated (*Mix*)."""
    return build_vanilla([local_source(), web_source()], **settings)
