"""Vectors in a real Elasticsearch; PREFRAG_TEST_ELASTICSEARCH_URL is its address."""

import json
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, component
from haystack_integrations.components.retrievers.elasticsearch import ElasticsearchEmbeddingRetriever

from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.embedding import embed_index
from prefrag.collections.indexing import index
from prefrag.collections.stores import elasticsearch_store
from prefrag.components.retrievers.dense_retriever import DenseRetriever
from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
from prefrag.components.retrievers.hybrid_retriever import HybridRetriever
from prefrag.components.sources.retrieval_source import RetrievalSource


def counted(text: str) -> list[float]:
    return [0.1, *(float(text.count(letter)) for letter in "abc")]


@component
class Embedder:
    def __init__(self) -> None:
        self.embedded: list[str] = []

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": counted(text)}


class DocumentEmbedder:
    def __init__(self) -> None:
        self.embedded: list[str] = []

    def run(self, documents: list[Document]) -> dict[str, Any]:
        self.embedded += [document.id for document in documents]
        return {"documents": [Document(id=d.id, embedding=counted(d.content or "")) for d in documents]}


def write(corpus: Path, **texts: str) -> Path:
    corpus.write_text("".join(json.dumps({"id": k, "title": k, "text": t}) + "\n" for k, t in texts.items()))
    return corpus


async def test_changed_passages_are_embedded_and_the_nearest_found(elasticsearch_url: str, name: str, tmp_path: Path):
    corpus = write(tmp_path / "c.jsonl", a="aaa", b="bbb", c="ccc")
    index([corpus], ElasticCollection(name))
    first, second = DocumentEmbedder(), DocumentEmbedder()

    assert embed_index(ElasticCollection(name), model="letters", embedder=first).embedded == 3
    index([write(corpus, a="aaa", b="bbbc", c="ccc", d="dab")], ElasticCollection(name))
    report = embed_index(ElasticCollection(name), model="letters", embedder=second)
    assert (sorted(second.embedded), report.unchanged) == (["b", "d"], 2)

    retriever = ElasticsearchEmbeddingRetriever(document_store=elasticsearch_store(elasticsearch_url, name))
    source = RetrievalSource("local", DenseRetriever(Embedder(), retriever))
    assert source.run("ccc", top_k=1)["documents"][0].id == "c"
    documents = (await source.run_async("bb", top_k=2))["documents"]
    assert (documents[0].id, documents[0].embedding, len(documents)) == ("b", None, 2)
    await retriever.close_async()

    with pytest.raises(ValueError, match="holds vectors of letters, not of other"):
        embed_index(ElasticCollection(name), model="other", embedder=first)


async def test_words_and_vectors_of_one_index_are_fused(elasticsearch_url: str, name: str, tmp_path: Path):
    corpus = write(tmp_path / "c.jsonl", both="ccc", vector="cccc b", word="ccc aaaaaaaaaaaa bbbbbbbbb", none="x")
    index([corpus], ElasticCollection(name))
    embed_index(ElasticCollection(name), model="letters", embedder=DocumentEmbedder())
    store = elasticsearch_store(elasticsearch_url, name)
    words, vectors = ElasticsearchMultiMatchRetriever(store), ElasticsearchEmbeddingRetriever(document_store=store)
    source = RetrievalSource("local", HybridRetriever([words, DenseRetriever(Embedder(), vectors)], candidates=2))

    documents = (await source.run_async("ccc", top_k=3))["documents"]

    assert documents[0].id == "both"
    assert {document.id for document in documents} == {"both", "vector", "word"}
    await vectors.close_async()


def test_an_index_that_is_not_there_is_named(name: str):
    with pytest.raises(FileNotFoundError, match=name):
        embed_index(ElasticCollection(name), embedder=DocumentEmbedder())
