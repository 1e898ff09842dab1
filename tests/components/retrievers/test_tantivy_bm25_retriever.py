import threading
from pathlib import Path

import pytest
from haystack import Document
from haystack.errors import FilterError

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from tests.components.two_ways import both_give
from tests.for_each import for_each
from tests.indexes import index_of

AUSTRIAN = {"field": "meta.country", "operator": "==", "value": "at"}
OLD = {"field": "meta.year", "operator": "<", "value": 1000}


@pytest.fixture
def store(tmp_path: Path) -> TantivyDocumentStore:
    return index_of(
        [
            Document(id="vienna", content="On the Danube", meta={"country": "at", "year": 1137}),
            Document(id="linz", content="On the Danube", meta={"country": "at", "year": 799}),
            Document(id="passau", content="On the Danube", meta={"country": "de", "year": 739}),
        ],
        tmp_path / "index",
    )


def found(result: dict[str, list[Document]]) -> set[str]:
    return {document.id for document in result["documents"]}


def test_finds_documents_best_first(store):
    store.write_documents([Document(id="inn", content="The Inn meets the Danube at a confluence")])
    documents = TantivyBM25Retriever(store).run(query="Danube confluence")["documents"]
    assert documents[0].id == "inn"
    assert [d.score for d in documents] == sorted((d.score for d in documents), reverse=True)


async def test_top_k_of_the_run_goes_before_that_of_the_retriever(store):
    retriever = TantivyBM25Retriever(store, top_k=2)
    assert len((await both_give(retriever, query="danube"))["documents"]) == 2
    assert len((await both_give(retriever, query="danube", top_k=1, filters=OLD))["documents"]) == 1
    assert retriever.run(query="")["documents"] == []


@pytest.mark.parametrize(("documents", "in_loop"), [(200_000, False), (199_999, True)])
async def test_a_search_of_a_large_index_does_not_hold_the_event_loop(store, monkeypatch, documents, in_loop):
    searched_by = []
    monkeypatch.setattr(store, "count_documents", lambda: documents)
    monkeypatch.setattr(store, "search", lambda *_, **__: searched_by.append(threading.current_thread()) or [])
    await TantivyBM25Retriever(store).run_async("danube")
    assert (searched_by == [threading.current_thread()]) is in_loop


@for_each(
    "filters, expected",
    (None, {"vienna", "linz", "passau"}),
    ({}, {"vienna", "linz", "passau"}),
    (OLD, {"linz", "passau"}),
    ({"operator": "AND", "conditions": [AUSTRIAN, OLD]}, {"linz"}),
)
def test_a_run_can_be_filtered(store, filters, expected):
    assert found(TantivyBM25Retriever(store).run(query="danube", filters=filters)) == expected


def test_a_filter_or_number_that_makes_no_sense_is_refused(store):
    with pytest.raises(ValueError, match="at least 1"):
        TantivyBM25Retriever(store).run(query="danube", top_k=0)
    with pytest.raises(FilterError, match="lacks"):
        TantivyBM25Retriever(store).run(query="danube", filters={"country": "at"})
