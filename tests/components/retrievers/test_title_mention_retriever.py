from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.errors import DocumentStoreError
from haystack.errors import FilterError
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever
from tests.components.serialisation import rebuilt
from tests.components.two_ways import both_fail, both_give
from tests.for_each import for_each
from tests.indexes import index_of

AUSTRIAN = {"field": "meta.country", "operator": "==", "value": "at"}
BRIDGE = Document(
    id="bridge", content="The Nibelungen Bridge leads to Linz, Upper Austria.", meta={"title": "Nibelungen Bridge"}
)


def passage(key: str, title: str, content: str, **meta: Any) -> Document:
    return Document(id=key, content=content, meta={"title": title, **meta})


@pytest.fixture
def store(tmp_path: Path) -> TantivyDocumentStore:
    return index_of(
        [
            BRIDGE,
            passage("linz", "Linz", "A town with steel works.", country="at"),
            passage("linz-history", "Linz", "In Roman times it was called Lentia.", country="at"),
            passage("linz-rhine", "Linz (Rhine)", "A town in Germany.", country="de"),
            passage("austria", "Austria", "A country.", country="at"),
            passage("upper", "Upper Austria", "A state, its capital is Linz.", country="at"),
        ],
        tmp_path / "index",
    )


def ids(result: dict[str, list[Document]]) -> list[str]:
    return [document.id for document in result["documents"]]


ROMAN = passage("roman", "Roman roads", "Lentia, as Linz was called in Roman times.")


@for_each(
    "per_title, query, documents, expected",
    pytest.param(3, "How large is Upper Austria's steel town?", [], ["upper"], id="those that a query mentions"),
    pytest.param(1, "A bridge to a steel town", [BRIDGE], ["linz", "upper"], id="but for their own titles"),
    pytest.param(1, "", [ROMAN], ["linz-history"], id="ranked by the text that mentions them"),
)
def test_finds_the_passages_whose_titles_are_mentioned(store, per_title, query, documents, expected):
    assert ids(TitleMentionRetriever(store, per_title=per_title).run(query=query, documents=documents)) == expected


def test_passages_of_the_call_are_not_returned(store):
    [linz] = store.documents_by_id(["linz"])
    other = passage("linz", "Bridges", "The longest one is in Linz.")
    documents = TitleMentionRetriever(store, per_title=2).run(query="The steel works of Linz", documents=[linz])
    assert set(ids(documents)) == {"linz-history", "linz-rhine"}
    assert "linz" in ids(TitleMentionRetriever(store).run(documents=[other]))


def test_gives_the_best_of_every_title_before_the_second_ones(store):
    order = ids(TitleMentionRetriever(store).run(query="Roman times in Linz and in Austria"))
    assert (order[:2], set(order[2:])) == (["linz-history", "austria"], {"linz", "linz-rhine"})
    assert ids(TitleMentionRetriever(store, per_title=1).run(query="Roman times in Austria, Linz")) == [
        *("austria", "linz-history")
    ]


async def test_top_k_is_a_setting_of_component_and_run_on_both_ways(store):
    for top_k, number in ((None, 2), (3, 3)):
        documents = await both_give(TitleMentionRetriever(store, top_k=2), query="Linz, Austria", top_k=top_k)
        assert len(ids(documents)) == number


def test_a_run_can_be_filtered(store):
    german = {"field": "meta.country", "operator": "==", "value": "de"}
    assert ids(TitleMentionRetriever(store).run(query="Linz", filters=german)) == ["linz-rhine"]
    assert set(ids(TitleMentionRetriever(store).run(query="Linz", filters=AUSTRIAN))) == {"linz", "linz-history"}


async def test_a_text_without_a_mention_finds_nothing_and_counts(store):
    retriever = TitleMentionRetriever(store)
    assert retriever.run() == retriever.run(documents=[]) == {"documents": [], "lookups": 0}
    assert retriever.run(query="a town") == {"documents": [], "lookups": 1}
    assert retriever.run(documents=[Document(content=None), Document(content="A town.")])["documents"] == []
    assert (await both_give(retriever, query="Which town?", documents=[BRIDGE, BRIDGE]))["lookups"] == 3


def test_serialises_with_a_store_in_elasticsearch():
    store = ElasticsearchDocumentStore(hosts="http://search.example:9200", index="towns")

    assert type(rebuilt(TitleMentionRetriever(store)).document_store) is type(store)


def test_a_filter_or_number_that_makes_no_sense_is_refused(store):
    with pytest.raises(ValueError, match="top_k"):
        TitleMentionRetriever(store).run(query="Linz", top_k=0)
    with pytest.raises(FilterError, match="lacks"):
        TitleMentionRetriever(store).run(query="Linz", filters={"country": "at"})


def test_a_foreign_index_is_reported_before_the_first_question(store):
    settings = Path(store.path) / "prefrag-index.json"
    settings.write_text(settings.read_text().replace('"format": 2', '"format": 1'))
    with pytest.raises(DocumentStoreError, match="index the documents again"):
        TitleMentionRetriever(TantivyDocumentStore(path=store.path)).warm_up()


async def test_an_absent_server_is_reported_as_absent():
    retriever = TitleMentionRetriever(ElasticsearchDocumentStore(hosts="http://127.0.0.1:9", max_retries=0))
    await both_fail(retriever, DocumentStoreError, "No Elasticsearch answers", query="Linz")
    retriever.document_store.close()
    await retriever.document_store.close_async()


def test_many_mentions_cost_no_more_searches_than_places(store, monkeypatch):
    store.write_documents([passage(f"p{n}", f"Place{n}x", "A place.") for n in range(40)])
    looked_up = []
    look_up = TantivyDocumentStore.documents_by_title

    def counted(self: TantivyDocumentStore, titles: dict[str, str], *arguments: Any) -> dict[str, list[Document]]:
        looked_up.extend(titles)
        return look_up(self, titles, *arguments)

    monkeypatch.setattr(TantivyDocumentStore, "documents_by_title", counted)
    text = ", ".join(f"Place{n}x" for n in range(40))
    order = ids(TitleMentionRetriever(store, top_k=3).run(query=text, documents=store.documents_by_id(["p1"])))
    assert order == ["p0", "p2", "p3"]
    assert len(looked_up) == 4
