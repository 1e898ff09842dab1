"""Retrieve the documents among which the pair classifier selects.

The gold passages of a question tell which of the documents are needed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.dr_rag.linked_stages import LinkedStages
from prefrag.components.dr_rag.open_question_query import OpenQuestionQuery
from prefrag.components.dr_rag.second_stage import SecondStage
from prefrag.components.loop.question_as_query import QuestionAsQuery
from prefrag.components.pair_classifier.pair_classifier import PairClassifier, all_pairs
from prefrag.components.pair_classifier.pair_features import pair_features
from prefrag.components.pair_classifier.pair_scorer import Pair
from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.state import State
from prefrag.components.state.state_builder import StateBuilder
from prefrag.evaluation.question import Question

# The name of the only source that is searched.
_SOURCE = "local"


@dataclass(frozen=True)
class Pool:
    """The documents and pairs of one question, among which the classifier selects."""

    dataset: str  # the name of the question's dataset
    question: str
    gold: frozenset[str]  # the ids of the gold passages of the question
    documents: tuple[Document, ...]  # the documents of the first stage, best first
    pairs: tuple[Pair, ...]  # the pairs that the classifier scores
    features: np.ndarray  # the features of the pairs, one row for each pair; see `pair_features`


def pools(dataset: str, questions: Iterable[Question], store: TantivyDocumentStore) -> Iterator[Pool]:
    """Retrieve the documents for questions as the pipeline ``dr_rag_linked`` does.

    :param dataset: The name of the dataset.
    :param questions: The questions.
    :param store: The index to search.
    :returns: The documents and pairs of each question, in order.
    :raises RuntimeError: If a search fails.
    """
    start = StateBuilder([_SOURCE], _SOURCE)
    retrieval = linked_retrieval(store)
    for question in questions:
        state = QuestionAsQuery().run(start.run(question.question)["state"])["state"]
        state, documents, candidates = retrieval.gather(state)
        _refuse_failures(state)
        pairs = all_pairs(documents, candidates)
        gold = frozenset(question.supporting_ids)
        features = pair_features(question.question, pairs, store)
        yield Pool(dataset, question.question, gold, tuple(documents), tuple(pairs), features)


def two_stage_candidates(
    question: str, store: TantivyDocumentStore, k: int
) -> tuple[list[Document], list[list[Document]]]:
    """Retrieve the documents for a question as the pipelines ``dr_rag_cis`` and ``dr_rag_cfs`` do.

    :param question: The question.
    :param store: The index to search.
    :param k: The number of documents that the pipeline selects.
    :returns: The documents of the first search, and for each of them the documents of the second search.
    :raises RuntimeError: If a search fails.
    """
    retriever = TantivyBM25Retriever(store)
    first = RetrievalSource(_SOURCE, retriever, ranker=TitleMatchRanker(), candidates=50)
    second = RetrievalSource(_SOURCE, retriever)
    state = StateBuilder([_SOURCE], _SOURCE, top_k=k).run(question)["state"]
    state = first.run(QuestionAsQuery().run(state)["state"])["state"]
    state, documents, candidates = SecondStage(second).gather(state)
    _refuse_failures(state)
    return documents, candidates


def linked_retrieval(store: TantivyDocumentStore, classifier: PairClassifier | None = None) -> LinkedStages:
    """Build the retrieval of the pipeline ``dr_rag_linked``, without the rest of the pipeline.

    :param store: The index to search.
    :param classifier: The classifier that selects documents. None selects none, so that all can be gathered.
    :returns: The component that retrieves.
    """
    source = RetrievalSource(_SOURCE, TantivyBM25Retriever(store))
    links = RetrievalSource(_SOURCE, TitleMentionRetriever(store))
    return LinkedStages(source, links, classifier, open_question=OpenQuestionQuery(store))


def _refuse_failures(state: State) -> None:
    """Raise RuntimeError if a search of a run has failed."""
    # A run continues without a source that fails. But training examples must not lack the passages of that source.
    failed = [search.error for search in state.searches if search.error]
    if failed:
        raise RuntimeError(f"A search for examples failed: {failed[0]}")
