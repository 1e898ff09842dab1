from pathlib import Path

import pytest
from haystack import Document, Pipeline
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.errors import FilterError

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from tests.components.serialisation import rebuilt
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


def test_top_k_of_the_run_goes_before_that_of_the_retriever(store):
    retriever = TantivyBM25Retriever(store, top_k=2)
    assert len(retriever.run(query="danube")["documents"]) == 2
    assert len(retriever.run(query="danube", top_k=1)["documents"]) == 1


@pytest.mark.parametrize(
    ("own", "of_the_run", "expected"),
    [
        (None, None, {"vienna", "linz", "passau"}),
        (AUSTRIAN, None, {"vienna", "linz"}),
        (None, OLD, {"linz", "passau"}),
        (AUSTRIAN, OLD, {"linz"}),
        (AUSTRIAN, {}, {"vienna", "linz"}),
        (AUSTRIAN, {"operator": "OR", "conditions": [OLD, OLD]}, {"linz"}),
        # A request cannot widen what the retriever is narrowed to.
        (AUSTRIAN, {"field": "meta.country", "operator": "==", "value": "de"}, set()),
    ],
)
def test_filters_of_the_run_come_on_top(store, own, of_the_run, expected):
    retriever = TantivyBM25Retriever(store, filters=own)
    assert found(retriever.run(query="danube", filters=of_the_run)) == expected
    assert retriever.filters == own


def test_an_empty_query_finds_nothing(store):
    assert TantivyBM25Retriever(store).run(query="")["documents"] == []


@pytest.mark.parametrize("top_k", [0, -1])
def test_top_k_must_be_positive(store, top_k):
    with pytest.raises(ValueError, match="at least 1"):
        TantivyBM25Retriever(store, top_k=top_k)
    with pytest.raises(ValueError, match="at least 1"):
        TantivyBM25Retriever(store).run(query="danube", top_k=top_k)


def test_a_filter_that_makes_no_sense_is_named(store):
    with pytest.raises(FilterError, match="lacks"):
        TantivyBM25Retriever(store).run(query="danube", filters={"country": "at"})


def test_takes_only_its_own_store():
    with pytest.raises(ValueError, match="must be a TantivyDocumentStore, not InMemoryDocumentStore"):
        TantivyBM25Retriever(InMemoryDocumentStore())


def test_serialises(store):
    loaded = rebuilt(TantivyBM25Retriever(store, top_k=3, filters=AUSTRIAN))
    assert found(loaded.run(query="danube")) == {"vienna", "linz"}


def test_loads_within_a_pipeline(store):
    pipeline = Pipeline()
    pipeline.add_component("retriever", TantivyBM25Retriever(store, top_k=2))
    loaded = Pipeline.loads(pipeline.dumps())
    assert len(loaded.run({"retriever": {"query": "danube"}})["retriever"]["documents"]) == 2
