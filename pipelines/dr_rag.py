"""DR-RAG: retrieval in two stages, the second with the documents of the first, and one call to the model."""

from __future__ import annotations

from typing import Any, Literal

from haystack import default_from_dict

from prefrag.components.agent.follow_up_rewriter import FollowUpRewriter
from prefrag.components.agent.question_as_query import QuestionAsQuery
from prefrag.components.agent.reasoner import Reasoner
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.generators.model_call import ChatGenerator
from prefrag.components.pair_classifier.pair_classifier import PairClassifier
from prefrag.components.pair_classifier.pair_scorer import PairScorer
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.answer_composer import AnswerComposer
from prefrag.components.state.state_builder import StateBuilder
from prefrag.components.two_stage.linked_stages import LinkedStages
from prefrag.components.two_stage.open_question_query import OpenQuestionQuery
from prefrag.components.two_stage.query_doc_concat import QueryDocConcat
from prefrag.components.two_stage.second_stage import SecondStage
from prefrag.pipelines.loading import Pipeline
from prefrag.pipelines.prefrag import local_source, term_statistics
from prefrag.pipelines.sampling import SAMPLING


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

    :param selection: ``qdc`` selects by rank, ``cis`` and ``cfs`` by a classifier.
    :param source: The first stage; by default the embedded index.
    :param second_source: The second stage; by default as the first.
    :param engine: The classifier; by default the trees that are shipped, with the words of the source's store.
    :param chat_generator: The model; by default the one of the environment.
    :param reply_format: See :class:`Reasoner`.
    :param k: The most documents that the model is given.
    :param k1: Documents of the first stage; by default half of ``k``, rounded up.
    :param second_stage_depth: Documents that each second-stage query retrieves.
    :param threshold: The score from which a pair is positive.
    :param drop: See :class:`PairClassifier`.
    :param accept: See :class:`PairClassifier`.
    :returns: The pipeline.
    :raises ValueError: When a setting makes no sense.
    """
    source = local_source() if source is None else source
    second_source = default_from_dict(RetrievalSource, source.to_dict()) if second_source is None else second_source
    names = list(dict.fromkeys([source.name, second_source.name]))
    model = chat_generator if chat_generator is not None else ChatModel(role="llm")
    classifier = None
    if selection != "qdc":
        if engine is None:
            engine = TreePairScorer(term_statistics=term_statistics(source))
        classifier = PairClassifier(engine, selection, k, threshold, drop, accept)

    # The second stage does not ask the question as it stands.
    asked = None if len(names) == 1 else [source.name]
    pipeline = _start(names, source.name, _external([source, second_source]), k, model, asked)
    pipeline.add_component(source.name, source)
    pipeline.add_component(
        "second_stage", SecondStage(second_source, QueryDocConcat(), classifier, k1, second_stage_depth)
    )
    pipeline.connect("query.state", f"{source.name}.query")
    pipeline.connect(f"{source.name}.state", "second_stage.state")
    return _finish(pipeline, "second_stage", source.name, model, reply_format)


def build_dr_rag_linked(
    selection: Literal["fill", "cfs", "cis"] = "fill",
    source: RetrievalSource | None = None,
    links: RetrievalSource | None = None,
    *,
    engine: PairScorer | None = None,
    chat_generator: ChatGenerator | None = None,
    reply_format: str = "auto",
    k: int = 6,
    first_stage_depth: int = 6,
    second_stage_depth: int = 8,
    threshold: float = 0.5,
    rank_weight: float = 0.05,
) -> Any:
    """Wire DR-RAG with the mentions of titles as further candidates.

    :param selection: ``fill`` gives the k documents of the best pairs; ``cfs`` and ``cis`` choose as in the paper.
    :param source: What is searched by words; by default the embedded index.
    :param links: What is searched by titles; by default the same index.
    :param engine: The classifier; by default the trees that are shipped, with the words of the source's store.
    :param chat_generator: The model; by default the one of the environment.
    :param reply_format: See :class:`Reasoner`.
    :param k: The most documents that the model is given.
    :param first_stage_depth: See :class:`LinkedStages`.
    :param second_stage_depth: See :class:`LinkedStages`.
    :param threshold: The score from which a pair is positive.
    :param rank_weight: See :class:`PairClassifier`.
    :returns: The pipeline.
    :raises ValueError: When a setting makes no sense, or the source's store cannot look up titles.
    """
    if source is None:
        source = RetrievalSource("local", TantivyBM25Retriever(TantivyDocumentStore()))
    if links is None:
        store = getattr(source.retriever, "document_store", None)
        titles = TitleMentionRetriever(store)  # type: ignore[arg-type]
        links = RetrievalSource(source.name, titles, external=source.external)
    model = chat_generator if chat_generator is not None else ChatModel(role="llm")
    statistics = term_statistics(source)
    engine = TreePairScorer(term_statistics=statistics) if engine is None else engine
    classifier = PairClassifier(engine, selection, k, threshold, rank_weight=rank_weight)

    names = list(dict.fromkeys([source.name, links.name]))
    pipeline = _start(names, source.name, _external([source, links]), k, model)
    pipeline.add_component(
        "retrieval",
        LinkedStages(
            source,
            links,
            classifier,
            QueryDocConcat(),
            OpenQuestionQuery(statistics),
            first_stage_depth,
            second_stage_depth,
        ),
    )
    pipeline.connect("query.state", "retrieval.state")
    return _finish(pipeline, "retrieval", source.name, model, reply_format)


def _start(
    names: list[str], preferred: str, external: list[str], k: int, model: ChatGenerator, asked: list[str] | None = None
) -> Any:
    """:returns: A pipeline as far as the query."""
    pipeline = Pipeline(max_runs_per_component=100)
    pipeline.add_component("start", StateBuilder(names, preferred, external, top_k=k, max_steps=0, max_supplements=0))
    pipeline.add_component("rewriter", FollowUpRewriter(model))
    pipeline.add_component("query", QuestionAsQuery(asked))
    pipeline.connect("start.state", "rewriter.state")
    pipeline.connect("rewriter.state", "query.state")
    return pipeline


def _finish(pipeline: Any, retrieval: str, local: str, model: ChatGenerator, reply_format: str) -> Any:
    """:returns: The pipeline with the one call to the model, behind the component that has retrieved."""
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
    pipeline.add_component("answer", AnswerComposer(local))
    pipeline.connect(f"{retrieval}.state", "reasoner.state")
    pipeline.connect("reasoner.state", "answer.state")
    return pipeline


def _external(sources: list[RetrievalSource]) -> list[str]:
    return list(dict.fromkeys(source.name for source in sources if source.external))
