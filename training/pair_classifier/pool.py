"""What a question retrieves before the pair classifier selects, and what of it is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from haystack import Document

from components.linked_retrieval import LinkedRetrieval
from components.open_question_query import OpenQuestionQuery
from components.pair_classifier import PairClassifier, all_pairs
from components.pair_features import pair_features
from components.pair_scorer import Pair
from components.question_as_query import QuestionAsQuery
from components.retrieval_source import RetrievalSource
from components.state_builder import StateBuilder
from components.tantivy_bm25_retriever import TantivyBM25Retriever
from components.tantivy_document_store import TantivyDocumentStore
from components.title_link_retriever import TitleLinkRetriever
from evaluation.question import Question

_SOURCE = "local"


@dataclass(frozen=True)
class Pool:
    """The candidates of one question.

    :param dataset: The name of the question's dataset.
    :param question: The question.
    :param gold: The ids of its gold passages.
    :param documents: The documents of the first stage, best first.
    :param pairs: The pairs that the classifier is asked about.
    :param features: Their features, a row a pair; see :func:`~components.pair_features.pair_features`.
    """

    dataset: str
    question: str
    gold: frozenset[str]
    documents: tuple[Document, ...]
    pairs: tuple[Pair, ...]
    features: Any


def pools(dataset: str, questions: Iterable[Question], store: TantivyDocumentStore) -> Iterator[Pool]:
    """Retrieve the candidates of questions as ``dr_rag_linked`` does.

    :param dataset: The name of their dataset.
    :param questions: The questions, with gold passages.
    :param store: The index of their corpus.
    :returns: A pool a question.
    """
    start, retrieval = StateBuilder([_SOURCE], _SOURCE), linked_retrieval(store)
    for question in questions:
        state = QuestionAsQuery().run(start.run(question.question)["state"])["state"]
        _, documents, candidates = retrieval.gather(state)
        pairs = all_pairs(documents, candidates)
        gold = frozenset(question.supporting_ids)
        features = pair_features(question.question, pairs, store)
        yield Pool(dataset, question.question, gold, tuple(documents), tuple(pairs), features)


def linked_retrieval(store: TantivyDocumentStore, classifier: PairClassifier | None = None) -> LinkedRetrieval:
    """Wire the retrieval of ``dr_rag_linked`` without its pipeline.

    :param store: The index.
    :param classifier: What selects; by default the shipped trees.
    :returns: The retrieval. A source that fails ends it: a failure must not look like a question that finds nothing.
    """
    source = RetrievalSource(_SOURCE, TantivyBM25Retriever(store), strict=True)
    links = RetrievalSource(_SOURCE, TitleLinkRetriever(store), strict=True)
    return LinkedRetrieval(source, links, classifier, open_question=OpenQuestionQuery(store))
