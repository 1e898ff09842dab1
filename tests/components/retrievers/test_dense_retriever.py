from __future__ import annotations

import threading
from typing import Any

import pytest
from haystack import Document, component, default_from_dict, default_to_dict
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.errors import FilterError
from haystack_integrations.components.retrievers.elasticsearch import ElasticsearchEmbeddingRetriever
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.retrievers.dense_retriever import DenseRetriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.retry_policy import RetryPolicy
from tests.components.serialisation import rebuilt
from tests.components.two_ways import both_fail, both_give

ABSENT = {"type": "haystack_integrations.absent.Embedder", "init_parameters": {"model": "m"}}


@component
class LetterEmbedder:
    """An embedder whose vectors count the letters a and b."""

    threads: list[str] = []
    warmed = 0

    def __init__(self, model: str = "letters"):
        self.model = model

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, model=self.model)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LetterEmbedder:
        return default_from_dict(cls, data)

    def warm_up(self) -> None:
        LetterEmbedder.warmed += 1

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        LetterEmbedder.threads.append(threading.current_thread().name)
        return {"embedding": [float(text.count("a")), float(text.count("b"))]}


SERIALISED = {"type": f"{__name__}.LetterEmbedder", "init_parameters": {"model": "letters"}}


def in_memory() -> InMemoryEmbeddingRetriever:
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(
        [Document(id=letter, content=letter, embedding=vector) for letter, vector in (("a", [1.0, 0]), ("b", [0, 1.0]))]
    )
    return InMemoryEmbeddingRetriever(store)


def ids(output: dict[str, Any]) -> list[str]:
    return [document.id for document in output["documents"]]


def test_the_nearest_that_pass_the_filters_come_first():
    LetterEmbedder.warmed = 0
    retriever = DenseRetriever(LetterEmbedder(), in_memory())
    retriever.warm_up()
    assert ids(retriever.run("bbba")) == ["b", "a"]
    assert ids(retriever.run("aaab", top_k=1)) == ["a"]
    assert ids(retriever.run("bbb", filters={"field": "id", "operator": "==", "value": "a"})) == ["a"]
    assert LetterEmbedder.warmed == 1


async def test_an_asynchronous_embedding_runs_outside_the_event_loop():
    LetterEmbedder.threads.clear()

    assert ids(await DenseRetriever(LetterEmbedder(), in_memory()).run_async("bbba")) == ["b", "a"]
    assert LetterEmbedder.threads != [threading.current_thread().name]
    assert len(LetterEmbedder.threads) == 1


async def test_an_embedder_that_is_not_installed_can_be_saved():
    retriever = DenseRetriever(ABSENT, in_memory())

    assert rebuilt(retriever).text_embedder == ABSENT
    assert await both_give(retriever, "  ") == await both_give(retriever, "") == {"documents": []}
    with pytest.raises(ImportError, match=r'pip install "prefrag\[dense\]"'):
        retriever.warm_up()


def test_saved_and_loaded_in_a_source(monkeypatch: pytest.MonkeyPatch):
    import sys

    monkeypatch.setitem(sys.modules, LetterEmbedder.__module__, sys.modules[__name__])
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", f"prefrag,{__name__}")
    source = RetrievalSource("local", DenseRetriever(SERIALISED, in_memory()), retry_policy=RetryPolicy(retries=0))

    assert rebuilt(source).retriever.text_embedder == SERIALISED
    assert ids(source.run("bbba", top_k=1)) == ["b"]
    assert source.run("bbba", top_k=1)["documents"][0].embedding is None


async def test_a_filter_that_elasticsearch_gets_wrong_is_refused():
    store = ElasticsearchDocumentStore(hosts="http://search.invalid:9200")
    retriever = DenseRetriever(LetterEmbedder(), ElasticsearchEmbeddingRetriever(document_store=store))
    filters = {"field": "meta.title", "operator": "!=", "value": "Linz"}

    await both_fail(retriever, FilterError, "meta.title", "a", filters=filters)
