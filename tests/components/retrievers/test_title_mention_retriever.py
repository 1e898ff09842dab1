from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline
from haystack.document_stores.errors import DocumentStoreError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.errors import FilterError
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever
from tests.components.serialisation import rebuilt
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


def test_finds_the_passages_whose_titles_a_query_mentions(store):
    found = TitleMentionRetriever(store).run(query="How large is Upper Austria's steel town?")
    assert ids(found) == ["upper"]


def test_finds_those_that_given_passages_mention_but_for_their_own_titles(store):
    found = TitleMentionRetriever(store, per_title=1).run(query="A bridge to a steel town", documents=[BRIDGE])
    assert ids(found) == ["linz", "upper"]


def test_passages_that_were_given_are_not_returned_and_take_no_place(store):
    [linz] = store.documents_by_id(["linz"])
    found = TitleMentionRetriever(store, per_title=2).run(query="The steel works of Linz", documents=[linz])
    assert set(ids(found)) == {"linz-history", "linz-rhine"}


def test_a_passage_of_another_source_with_the_same_id_hides_none(store):
    other = passage("linz", "Bridges", "The longest one is in Linz.")
    assert "linz" in ids(TitleMentionRetriever(store).run(documents=[other]))


def test_gives_the_best_of_every_title_before_the_second_ones(store):
    found = ids(TitleMentionRetriever(store).run(query="Roman times in Linz and in Austria"))
    assert found[:2] == ["linz-history", "austria"]
    assert set(found[2:]) == {"linz", "linz-rhine"}
    assert ids(TitleMentionRetriever(store, per_title=1).run(query="Roman times in Austria, Linz")) == [
        *("austria", "linz-history")
    ]


def test_without_a_query_the_text_that_mentions_a_title_ranks_its_passages(store):
    text = passage("roman", "Roman roads", "Lentia, as Linz was called in Roman times.")
    assert ids(TitleMentionRetriever(store, per_title=1).run(documents=[text])) == ["linz-history"]


def test_top_k_is_a_setting_of_component_and_run(store):
    assert len(ids(TitleMentionRetriever(store, top_k=2).run(query="Linz, Austria"))) == 2
    assert len(ids(TitleMentionRetriever(store, top_k=2).run(query="Linz, Austria", top_k=3))) == 3


def test_filters_of_the_run_come_on_top(store):
    german = {"field": "meta.country", "operator": "==", "value": "de"}
    assert ids(TitleMentionRetriever(store).run(query="Linz", filters=german)) == ["linz-rhine"]
    assert ids(TitleMentionRetriever(store, filters=AUSTRIAN).run(query="Linz", filters=german)) == []
    assert set(ids(TitleMentionRetriever(store, filters=AUSTRIAN).run(query="Linz"))) == {"linz", "linz-history"}


def test_finds_nothing_without_a_mention(store):
    retriever = TitleMentionRetriever(store)
    assert retriever.run() == retriever.run(documents=[]) == {"documents": [], "lookups": 0}
    assert retriever.run(query="a town") == {"documents": [], "lookups": 1}
    assert retriever.run(documents=[Document(content=None), Document(content="A town.")])["documents"] == []


def test_counts_a_look_up_for_each_text_however_many_titles_it_mentions(store):
    assert TitleMentionRetriever(store).run(query="Which town?", documents=[BRIDGE, BRIDGE])["lookups"] == 3


async def test_run_async_gives_the_same(store):
    retriever = TitleMentionRetriever(store, filters=AUSTRIAN)
    arguments = {"query": "Which town?", "documents": [BRIDGE], "top_k": 2}
    assert await retriever.run_async(**arguments) == retriever.run(**arguments)
    assert len((await retriever.run_async(**arguments))["documents"]) == 2


def test_stands_behind_another_retriever_in_a_pipeline(store):
    pipeline = Pipeline()
    pipeline.add_component("words", TantivyBM25Retriever(store, top_k=1))
    pipeline.add_component("links", TitleMentionRetriever(store, per_title=1))
    pipeline.connect("words.documents", "links.documents")
    loaded = Pipeline.loads(pipeline.dumps())
    question = "Where does the Nibelungen Bridge lead to?"
    answer = loaded.run({"words": {"query": question}, "links": {"query": question}})
    assert ids(answer["links"]) == ["linz", "upper"]


def test_serialises_with_either_store(store):
    for one in (store, ElasticsearchDocumentStore(hosts="http://search.example:9200", index="towns")):
        retriever = TitleMentionRetriever(one, per_title=1, top_k=2, filters=AUSTRIAN)
        loaded = rebuilt(retriever)
        assert (loaded.per_title, loaded.top_k, loaded.filters) == (1, 2, AUSTRIAN)
        assert type(loaded.document_store) is type(one)


@pytest.mark.parametrize("settings", [{"top_k": 0}, {"per_title": 0}])
def test_settings_that_make_no_sense_are_named(store, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        TitleMentionRetriever(store, **settings)
    with pytest.raises(ValueError, match="top_k"):
        TitleMentionRetriever(store).run(query="Linz", top_k=0)


def test_a_filter_that_makes_no_sense_is_named(store):
    with pytest.raises(FilterError, match="lacks"):
        TitleMentionRetriever(store).run(query="Linz", filters={"country": "at"})


def test_takes_only_stores_that_look_up_titles():
    with pytest.raises(ValueError, match="other stores cannot look up titles"):
        TitleMentionRetriever(InMemoryDocumentStore())


def test_an_index_of_another_format_is_reported_before_the_first_question(store):
    settings = Path(store.path) / "prefrag-index.json"
    settings.write_text(settings.read_text().replace('"format": 2', '"format": 1'))
    with pytest.raises(DocumentStoreError, match="index the documents again"):
        TitleMentionRetriever(TantivyDocumentStore(path=store.path)).warm_up()


async def test_an_absent_server_is_reported_as_absent():
    retriever = TitleMentionRetriever(ElasticsearchDocumentStore(hosts="http://127.0.0.1:9", max_retries=0))
    with pytest.raises(DocumentStoreError, match="No Elasticsearch answers"):
        retriever.run(query="Linz")
    with pytest.raises(DocumentStoreError, match="No Elasticsearch answers"):
        await retriever.run_async(query="Linz")
    retriever.document_store.close()
    await retriever.document_store.close_async()


def test_many_mentions_cost_no_more_searches_than_there_are_places(store, monkeypatch):
    store.write_documents([passage(f"p{n}", f"Place{n}x", "A place.") for n in range(40)])
    looked_up = []
    look_up = TantivyDocumentStore.documents_by_title

    def counted(self: TantivyDocumentStore, titles: dict[str, str], *arguments: Any) -> dict[str, list[Document]]:
        looked_up.extend(titles)
        return look_up(self, titles, *arguments)

    monkeypatch.setattr(TantivyDocumentStore, "documents_by_title", counted)
    text = ", ".join(f"Place{n}x" for n in range(40))
    found = ids(TitleMentionRetriever(store, top_k=3).run(query=text, documents=store.documents_by_id(["p1"])))
    assert found == ["p0", "p2", "p3"]
    assert len(looked_up) == 4
