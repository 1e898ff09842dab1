"""Retrieval from a real Elasticsearch, compared with the embedded index."""

import asyncio
import json
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.errors import DocumentStoreError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.elasticsearch.titles import ElasticsearchTitles
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.judge.switch_features import switch_features
from prefrag.components.pair_classifier.pair_features import pair_features
from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.text.passage_record import read_passages

SERVER = os.environ.get("PREFRAG_TEST_ELASTICSEARCH_URL")
SHARED = Path(os.environ.get("PREFRAG_TEST_SHARED") or Path(__file__).parents[2].parent / "shared")
HOTPOTQA = SHARED / "data" / "multihop" / "hotpotqa"

pytestmark = pytest.mark.skipif(not SERVER, reason="PREFRAG_TEST_ELASTICSEARCH_URL names no Elasticsearch")


@pytest.fixture
def new_store() -> Iterator[Callable[[], ElasticsearchDocumentStore]]:
    """Make stores on an index for this test, which is deleted afterwards."""
    index = f"prefrag-test-{uuid.uuid4().hex}"
    stores = []

    def new() -> ElasticsearchDocumentStore:
        mapping = ElasticsearchMultiMatchRetriever.recommended_mapping()
        stores.append(ElasticsearchDocumentStore(hosts=SERVER, index=index, custom_mapping=mapping))
        return stores[-1]

    yield new
    new().client.indices.delete(index=index, ignore_unavailable=True)
    for store in stores:
        store.close()


@pytest.fixture
def towns(new_store: Callable[[], ElasticsearchDocumentStore]) -> ElasticsearchDocumentStore:
    store = new_store()
    documents = [
        Document(id="vienna", content="The capital on the Danube", meta={"title": "Vienna", "country": "at"}),
        Document(id="linz", content="A town by the Danube with steel works", meta={"title": "Linz", "country": "at"}),
        Document(id="passau", content="Rivers meet", meta={"title": "Danube at Passau", "country": "de"}),
    ]
    store.write_documents(documents, refresh=True)
    return store


def ids(result: dict[str, Any]) -> list[str]:
    return [document.id for document in result["documents"]]


async def test_finds_inflected_words_in_title_and_content(towns):
    retriever = ElasticsearchMultiMatchRetriever(towns)
    assert ids(retriever.run(query="rivers of danubes")) == ["passau", "vienna", "linz"]
    documents = retriever.run(query="working steel")["documents"]
    assert [(d.id, d.content, d.meta["title"]) for d in documents] == [
        ("linz", "A town by the Danube with steel works", "Linz")
    ]
    assert await retriever.run_async(query="working steel") == {"documents": documents}
    await retriever.close_async()


async def test_filters_and_top_k(towns):
    austrian = {"field": "meta.country", "operator": "==", "value": "at"}
    retriever = ElasticsearchMultiMatchRetriever(towns)
    assert set(ids(retriever.run(query="danube", filters=austrian))) == {"vienna", "linz"}
    assert len(ids(retriever.run(query="danube", top_k=1))) == 1
    assert set(ids(await retriever.run_async(query="danube", filters=austrian))) == {"vienna", "linz"}
    await retriever.close_async()


def test_a_filter_that_compares_titles_is_refused(towns):
    retriever = ElasticsearchMultiMatchRetriever(towns)
    linz = {"field": "meta.title", "operator": "!=", "value": "Linz"}
    with pytest.raises(FilterError, match="meta.title"):
        retriever.run(query="danube", filters=linz)
    with pytest.raises(FilterError, match="meta.title"):
        ElasticsearchTitles(towns).documents_by_title({"linz": "Linz"}, filters=linz)
    titled = {"field": "meta.title", "operator": "!=", "value": None}
    assert len(ids(retriever.run(query="danube", filters=titled))) == 3


def test_counts_words_as_the_embedded_index_does(towns, tmp_path):
    embedded = TantivyDocumentStore(path=str(tmp_path / "index"))
    embedded.write_documents(towns.filter_documents())
    retriever = ElasticsearchMultiMatchRetriever(towns)
    words = ["Danube", "danubes", "working", "the", "zebra", "steel works", "!"]
    assert retriever.document_frequencies(words) == embedded.document_frequencies(words)
    assert retriever.document_frequencies([]) == (3, {})
    assert retriever.analyze("The working rivers") == embedded.analyze("The working rivers") == ["work", "river"]


# Texts that may shift the offsets of others: without any words, with characters of two UTF-16 units, with accents,
# long.
TEXTS = (
    *(
        "The working rivers",
        "",
        "the",
        "  ",
        "\U0001f600 rivers \U0001d4b3",
        "I\u0307stanbul\u2019s nai\u0308ve cats\u2019s",
    ),
    *(
        "\u6771\u4eac\u90fd",
        "a\x00b\nc\r\n",
        "\ufb01sh \U00020000",
        "x" * 300,
        "Danube " * 3_000,
        "steel",
        "steel",
        "\u200b",
    ),
)


def test_many_texts_are_analysed_as_each_alone(towns):
    retriever = ElasticsearchMultiMatchRetriever(towns)
    alone = [retriever.analyze(text) for text in TEXTS]
    assert retriever.analyze_many(TEXTS) == alone
    assert (alone[0], len(alone[10])) == (["work", "river"], 3_000)


def test_server_that_analyses_little_at_once_gets_more_requests(towns):
    retriever = ElasticsearchMultiMatchRetriever(towns)
    alone = [retriever.analyze(text) for text in TEXTS[:6]]
    settings = {"index.analyze.max_token_count": 5}
    towns.client.indices.put_settings(index=towns._index, settings=settings)
    assert retriever.analyze_many(TEXTS[:6]) == alone


class OneByOne:
    """Counts the words of an index with a request for each text."""

    def __init__(self, retriever: ElasticsearchMultiMatchRetriever) -> None:
        self.analyze = retriever.analyze
        self.document_frequencies = retriever.document_frequencies


def test_features_are_the_same_however_the_texts_are_analysed(towns):
    retriever = ElasticsearchMultiMatchRetriever(towns)
    documents = retriever.run(query="danube steel")["documents"]
    question = "Which town by the Danube has steel works, \U0001f600 Linz or Vienna?"
    pairs = [(first, second) for first in documents for second in documents if first is not second]
    assert len(pairs) == 6
    together, alone = (
        (
            pair_features(question, pairs, statistics).tolist(),
            switch_features(question, "steel Danube", documents[:2], documents[1:], 1, statistics),
        )
        for statistics in (retriever, OneByOne(retriever))
    )
    assert together == alone


def test_one_retriever_serves_one_event_loop_after_another(towns):
    retriever = ElasticsearchMultiMatchRetriever(towns)

    async def ask() -> list[str]:
        return ids(await retriever.run_async(query="steel"))

    assert [asyncio.run(ask()) for _ in range(3)] == [["linz"]] * 3
    asyncio.run(retriever.close_async())


async def test_a_missing_index_is_named(new_store):
    store = new_store()
    retriever = ElasticsearchMultiMatchRetriever(store)
    with pytest.raises(DocumentStoreError, match=r"has no index 'prefrag-test-.*prefrag index"):
        await retriever.run_async(query="danube")
    await retriever.close_async()


@pytest.mark.skipif(
    not HOTPOTQA.is_dir(), reason=f"HotpotQA is not in {HOTPOTQA}; set PREFRAG_TEST_SHARED to its folder"
)
def test_finds_gold_passages_as_the_embedded_index_does(new_store, tmp_path):
    passages = list(read_passages(HOTPOTQA / "corpus.jsonl"))
    with (HOTPOTQA / "dev.jsonl").open(encoding="utf-8") as lines:
        questions = [json.loads(line) for line in lines]

    embedded = TantivyDocumentStore(path=str(tmp_path / "index"))
    embedded.write_documents(passages)
    served = new_store()
    served.write_documents(passages, DuplicatePolicy.FAIL, refresh=False)
    served.client.indices.refresh(index="prefrag-test-*")
    ranker = TitleMatchRanker(top_k=5)

    def recall(retriever: TantivyBM25Retriever | ElasticsearchMultiMatchRetriever) -> float:
        """The mean share of gold passages among the first five found, in percent."""
        shares = []
        for question in questions:
            candidates = retriever.run(query=question["question"], top_k=50)["documents"]
            ranked = ids(ranker.run(query=question["question"], documents=candidates))
            gold = question["supporting_ids"]
            shares.append(len(set(gold) & set(ranked)) / len(gold))
        return 100 * mean(shares)

    of_embedded = recall(TantivyBM25Retriever(embedded))
    of_served = recall(ElasticsearchMultiMatchRetriever(served))
    assert of_embedded > 75
    assert of_served == pytest.approx(of_embedded, abs=3)
