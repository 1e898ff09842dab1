"""The builders over a Haystack store that counts no words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from prefrag import pipelines
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.pipelines.mspr import build_mspr
from prefrag.pipelines.prefrag import build_prefrag, build_prefrag_classifier, term_statistics
from tests.fakes import ScriptedChatGenerator, ScriptedRetriever
from tests.pipelines.scripted import answer, search

BUILDERS = [
    (build_prefrag, "Search_Engine"),
    (build_prefrag_classifier, "Search_Engine"),
    (build_mspr, "Search_Local"),
]


@pytest.mark.parametrize(("build", "tool"), BUILDERS, ids=["prefrag", "prefrag_classifier", "mspr"])
async def test_is_judged_without_them(build: Callable[..., Any], tool: str):
    store = InMemoryDocumentStore()
    store.write_documents([Document(content="Alpha was built by Beta."), Document(content="Beta is a yard in Gamma.")])
    sources = [
        RetrievalSource("local", InMemoryBM25Retriever(store)),
        RetrievalSource("web", ScriptedRetriever({}, "web"), external=True),
    ]
    replies = [search("alpha", tool), search("beta", tool), answer("Gamma")]

    result = await pipelines.ask_async(build(sources, chat_generator=ScriptedChatGenerator(replies)), "Where is Beta?")

    assert (result["answer"], result["errors"]) == ("Gamma", [])


def test_words_are_weighed_by_the_store_or_the_retriever_that_counts_them():
    class Counting:
        def run(self, query: str) -> dict[str, Any]:
            return {"documents": []}

        def document_frequencies(self, words: Any) -> tuple[int, dict[str, int]]:
            return 0, {}

    store, retriever = TantivyDocumentStore(), Counting()

    assert term_statistics(RetrievalSource("local", TantivyBM25Retriever(store))) is store
    assert term_statistics(RetrievalSource("local", retriever)) is retriever
