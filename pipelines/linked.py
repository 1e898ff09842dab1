"""The pipelines whose preferred source follows titles and knows what has been observed."""

from __future__ import annotations

from typing import Any

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from prefrag.components.retrievers.linked_retriever import LinkedRetriever
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.pipelines.mspr import build_mspr
from prefrag.pipelines.prefrag import build_prefrag, web_source


def linked_source(name: str = "local", index: str | None = None) -> RetrievalSource:
    """The embedded index as a source of linked retrieval, with the paper's title boosts over 50 candidates.

    :param name: The name of the source.
    :param index: The name of the index; None for ``PREFRAG_INDEX``, else ``default``, else the demo.
    :returns: The source.
    """
    store = TantivyDocumentStore(index=index)
    linked = LinkedRetriever(
        TantivyBM25Retriever(store), TitleMentionRetriever(store), TreePairScorer(term_statistics=store)
    )
    return RetrievalSource(name, linked, ranker=TitleMatchRanker(), candidates=50)


def build_prefrag_linked(source: RetrievalSource | None = None, **settings: Any) -> Any:
    """Wire PrefRAG with linked retrieval.

    :param source: The preferred source; by default :func:`linked_source`. With one that names its index, pass both to
        :func:`build_prefrag` instead, the web as ``web_source(index)``: it must know that name.
    :param settings: See :func:`build_prefrag`.
    :returns: The pipeline.
    """
    return build_prefrag([source or linked_source(), web_source()], **settings)


def build_mspr_linked(source: RetrievalSource | None = None, **settings: Any) -> Any:
    """Wire MSPR with linked retrieval.

    :param source: The local source; by default :func:`linked_source`. With one that names its index, pass both to
        :func:`build_mspr` instead, the web as ``web_source(index)``: it must know that name.
    :param settings: See :func:`build_mspr`.
    :returns: The pipeline.
    """
    return build_mspr([source or linked_source(), web_source()], **settings)
