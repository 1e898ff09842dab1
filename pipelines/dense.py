"""Sources that retrieve by vectors, and PrefRAG over them."""

from __future__ import annotations

from typing import Any

from duckduckgo_api_haystack.duckduckgoapi import DuckduckgoApiWebSearch
from haystack_integrations.components.retrievers.elasticsearch import ElasticsearchEmbeddingRetriever
from haystack_integrations.components.websearch.ddgs import DDGSWebSearch
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.judge.auto_judge import AutoJudge
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.retrievers.dense_retriever import DenseRetriever
from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
from prefrag.components.retrievers.hybrid_retriever import HybridRetriever
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.retrievers.vector_retriever import VectorRetriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.web_retriever import WebRetriever
from prefrag.pipelines.indexing.embedding import DEFAULT_MODEL, DEFAULT_QUERY_PREFIX, elasticsearch_store
from prefrag.pipelines.prefrag import build_prefrag, web_source
from prefrag.pipelines.sampling import SAMPLING


def query_embedder(model: str = DEFAULT_MODEL, prefix: str = DEFAULT_QUERY_PREFIX) -> dict[str, Any]:
    """The embedder of queries as a component's serialised form, since its package is an extra.

    :param model: A Sentence Transformers model, by its name on Hugging Face or as a folder.
    :param prefix: What the model wants to read before a query; empty for most models.
    :returns: For :class:`DenseRetriever`.
    """
    return {
        "type": "haystack_integrations.components.embedders.sentence_transformers"
        ".sentence_transformers_text_embedder.SentenceTransformersTextEmbedder",
        "init_parameters": {
            "model": model,
            "prefix": prefix,
            "normalize_embeddings": True,
            "progress_bar": False,
        },
    }


def dense_retriever(
    index: str | None = None, model: str = DEFAULT_MODEL, prefix: str = DEFAULT_QUERY_PREFIX
) -> DenseRetriever:
    """Retrieval by the vectors beside the embedded index.

    :param index: The name of the index; None for ``PREFRAG_INDEX``, else ``default``, else the demo.
    :param model: As for :func:`query_embedder`; the model that embedded the passages.
    :param prefix: As for :func:`query_embedder`.
    :returns: The retriever.
    """
    return DenseRetriever(query_embedder(model, prefix), VectorRetriever(TantivyDocumentStore(index=index), model))


def dense_source(
    name: str = "local",
    index: str | None = None,
    model: str = DEFAULT_MODEL,
    prefix: str = DEFAULT_QUERY_PREFIX,
) -> RetrievalSource:
    """The embedded index as a source that retrieves by vectors.

    :param name: The name of the source.
    :param index: As for :func:`dense_retriever`.
    :param model: As for :func:`dense_retriever`.
    :param prefix: As for :func:`dense_retriever`.
    :returns: The source.
    """
    return RetrievalSource(name, dense_retriever(index, model, prefix))


def hybrid_source(
    name: str = "local",
    index: str | None = None,
    model: str = DEFAULT_MODEL,
    prefix: str = DEFAULT_QUERY_PREFIX,
) -> RetrievalSource:
    """The embedded index as a source that fuses BM25 and vectors.

    :param name: The name of the source.
    :param index: As for :func:`dense_retriever`.
    :param model: As for :func:`dense_retriever`.
    :param prefix: As for :func:`dense_retriever`.
    :returns: The source.
    """
    words = TantivyBM25Retriever(TantivyDocumentStore(index=index))
    return RetrievalSource(name, HybridRetriever([words, dense_retriever(index, model, prefix)]))


def build_prefrag_dense(source: RetrievalSource | None = None, **settings: Any) -> Any:
    """Wire PrefRAG over vectors.

    :param source: The preferred source; by default :func:`dense_source`. With one that names its index, pass both to
        :func:`build_prefrag` instead, the web as ``web_source(index)``: it must know that name.
    :param settings: See :func:`build_prefrag`.
    :returns: The pipeline.
    """
    return build_prefrag([source or dense_source(), web_source()], judge=_judge(TantivyDocumentStore()), **settings)


def build_prefrag_hybrid(**settings: Any) -> Any:
    """Wire PrefRAG over BM25 and vectors, fused.

    :param settings: See :func:`build_prefrag`.
    :returns: The pipeline.
    """
    return build_prefrag_dense(hybrid_source(), **settings)


def build_prefrag_elasticsearch_dense(store: ElasticsearchDocumentStore | None = None, **settings: Any) -> Any:
    """Wire PrefRAG over the vectors of an Elasticsearch index.

    :param store: The index; by default :func:`elasticsearch_store`.
    :param settings: See :func:`build_prefrag`.
    :returns: The pipeline.
    """
    store = store or elasticsearch_store()
    return _build_prefrag_elasticsearch(store, _elasticsearch_vectors(store), settings)


def build_prefrag_elasticsearch_hybrid(store: ElasticsearchDocumentStore | None = None, **settings: Any) -> Any:
    """Wire PrefRAG over the words and the vectors of an Elasticsearch index, fused.

    :param store: The index; by default :func:`elasticsearch_store`.
    :param settings: See :func:`build_prefrag`.
    :returns: The pipeline.
    """
    store = store or elasticsearch_store()
    hybrid = HybridRetriever([ElasticsearchMultiMatchRetriever(store), _elasticsearch_vectors(store)])
    return _build_prefrag_elasticsearch(store, hybrid, settings)


def _elasticsearch_vectors(store: ElasticsearchDocumentStore) -> DenseRetriever:
    return DenseRetriever(query_embedder(), ElasticsearchEmbeddingRetriever(document_store=store))


def _build_prefrag_elasticsearch(store: ElasticsearchDocumentStore, retriever: Any, settings: dict[str, Any]) -> Any:
    web = RetrievalSource(
        "web",
        # No demo stands behind a server.
        WebRetriever(DDGSWebSearch(), demo_stand_in=False),
        fallback=DuckduckgoApiWebSearch(),
        external=True,
        timeout=20.0,
    )
    sources = [RetrievalSource("local", retriever), web]
    return build_prefrag(sources, judge=_judge(ElasticsearchMultiMatchRetriever(store)), **settings)


def _judge(term_statistics: Any) -> SourceSwitchJudge:
    return SourceSwitchJudge(
        ["local", "web"],
        AutoJudge(
            ModelJudge(ChatModel(role="judge"), generation_kwargs=SAMPLING), TreeJudge(term_statistics=term_statistics)
        ),
    )
