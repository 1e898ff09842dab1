"""DR-RAG: retrieval in two stages, the second with the documents of the first, and one call to the model."""

from __future__ import annotations

from typing import Any, Literal

from components.answer_composer import AnswerComposer
from components.chat_model import ChatModel
from components.follow_up_rewriter import FollowUpRewriter
from components.model_call import ChatGenerator
from components.pair_classifier import PairClassifier
from components.query_doc_concat import QueryDocConcat
from components.question_as_query import QuestionAsQuery
from components.reasoner import Reasoner
from components.retrieval_source import RetrievalSource
from components.second_stage import SecondStage
from components.state_builder import StateBuilder
from components.transformer_pair_scorer import PairScorer, TransformerPairScorer
from pipelines.loading import Pipeline
from pipelines.prefrag import SAMPLING, local_source


def build_dr_rag(
    selection: Literal["qdc", "cis", "cfs"] = "cfs",
    source: RetrievalSource | None = None,
    *,
    second_source: RetrievalSource | None = None,
    engine: PairScorer | None = None,
    chat_generator: ChatGenerator | None = None,
    reply_format: str = "auto",
    k: int = 6,
    k1: int | None = None,
    second_stage_depth: int = 10,
    threshold: float = 0.5,
    drop: Literal["second_stage", "any"] = "second_stage",
    accept: Literal["first", "all"] = "first",
) -> Any:
    """Wire DR-RAG (figure 2 and section 2.2 of the paper).

    :param selection: ``qdc`` selects by rank and needs no classifier; ``cis`` and ``cfs`` need a trained one.
    :param source: The first stage; by default the embedded index.
    :param second_source: The second stage; by default as the first.
    :param engine: The classifier; by default a transformer that ``PREFRAG_PAIR_CLASSIFIER`` names.
    :param chat_generator: The model; by default the one of the environment.
    :param reply_format: See :class:`~components.reasoner.Reasoner`.
    :param k: The most documents that the model is given.
    :param k1: Documents of the first stage; by default half of ``k``, rounded up.
    :param second_stage_depth: Documents that each second-stage query retrieves.
    :param threshold: The score from which a pair is positive.
    :param drop: See :class:`~components.pair_classifier.PairClassifier`.
    :param accept: See :class:`~components.pair_classifier.PairClassifier`.
    :returns: The pipeline.
    :raises ValueError: When a setting makes no sense.
    """
    source = local_source() if source is None else source
    second_source = RetrievalSource.from_dict(source.to_dict()) if second_source is None else second_source
    names = list(dict.fromkeys([source.name, second_source.name]))
    model = chat_generator if chat_generator is not None else ChatModel(role="llm")
    classifier = None
    if selection != "qdc":
        engine = TransformerPairScorer() if engine is None else engine
        classifier = PairClassifier(engine, selection, k, threshold, drop, accept)

    pipeline = Pipeline(max_runs_per_component=100)
    external = list(dict.fromkeys(one.name for one in (source, second_source) if one.external))
    pipeline.add_component(
        "start",
        StateBuilder(names, source.name, external, top_k=k, max_steps=0, max_supplements=0),
    )
    pipeline.add_component("rewriter", FollowUpRewriter(model))
    pipeline.add_component("query", QuestionAsQuery())
    pipeline.add_component(source.name, source)
    pipeline.add_component(
        "second_stage", SecondStage(second_source, QueryDocConcat(), classifier, k1, second_stage_depth)
    )
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
    pipeline.add_component("answer", AnswerComposer(source.name))

    pipeline.connect("start.state", "rewriter.state")
    pipeline.connect("rewriter.state", "query.state")
    pipeline.connect("query.state", f"{source.name}.query")
    pipeline.connect(f"{source.name}.state", "second_stage.state")
    pipeline.connect("second_stage.state", "reasoner.state")
    pipeline.connect("reasoner.state", "answer.state")
    return pipeline
