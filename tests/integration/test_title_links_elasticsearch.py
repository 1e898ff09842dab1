"""Links by title over a real Elasticsearch, compared with the embedded index."""

import asyncio
import json
from pathlib import Path

import pytest
from haystack import Document
from haystack.document_stores.errors import DocumentStoreError

from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever
from prefrag.components.text.passage_record import read_passages

PASSAGES = [
    Document(id="bridge", content="It leads to Linz, Upper Austria.", meta={"title": "Nibelungen Bridge"}),
    Document(id="linz", content="A town with steel works.", meta={"title": "Linz", "country": "at"}),
    Document(id="linz-rhine", content="A town in Germany.", meta={"title": "Linz (Rhine)", "country": "de"}),
    Document(id="upper", content="A state.", meta={"title": "Upper Austria", "country": "at"}),
    Document(id="austria", content="A country.", meta={"title": "Austria", "country": "at"}),
    Document(id="untitled", content="Nothing."),
]


def write(index: str, passages: list[Document]) -> None:
    passage_store = ElasticCollection(index).passages(make=True)
    assert passage_store.write(passages) == {}
    passage_store.finish()


def ids(result: dict[str, list[Document]]) -> list[str]:
    return [document.id for document in result["documents"]]


async def test_finds_what_the_texts_mention(name, store):
    write(name, PASSAGES)
    retriever = TitleMentionRetriever(store, per_title=1)
    result = retriever.run(query="Which steel town does it lead to?", documents=PASSAGES[:1])
    assert ids(result) == ["linz", "upper"]
    assert result["documents"][0].meta == PASSAGES[1].meta
    assert await retriever.run_async(query="Which steel town does it lead to?", documents=PASSAGES[:1]) == result
    german = {"field": "meta.country", "operator": "==", "value": "de"}
    assert ids(retriever.run(query="Linz in Austria", filters=german)) == ["linz-rhine"]
    assert (
        retriever.run(query="Nothing here")
        == await retriever.run_async(query="Salzburg")
        == {"documents": [], "lookups": 1}
    )
    await store.close_async()


def test_titles_come_and_go_with_their_passages(name, store):
    write(name, PASSAGES)
    write(name, [Document(id="upper", content="Renamed.", meta={"title": "Land ob der Enns"})])
    passage_store = ElasticCollection(name).passages()
    passage_store.delete(["linz", "linz-rhine"])
    passage_store.finish()
    retriever = TitleMentionRetriever(store)
    assert ids(retriever.run(query="Linz, Upper Austria, Land ob der Enns")) == ["austria", "upper"]


def test_the_key_is_no_metadata_of_the_passages(name, store):
    write(name, PASSAGES)
    passage_store = ElasticCollection(name).passages()
    assert passage_store.by_id(["linz"])["linz"].meta == PASSAGES[1].meta
    assert ElasticsearchMultiMatchRetriever(store).run(query="steel")["documents"][0].meta == PASSAGES[1].meta


async def test_an_index_of_an_earlier_version_works_for_all_else(name, store, client):
    mapping = ElasticsearchMultiMatchRetriever.recommended_mapping()
    del mapping["properties"]["title_key"]
    client.indices.create(index=name, mappings=mapping)
    write(name, PASSAGES)
    [document] = ElasticsearchMultiMatchRetriever(store).run(query="steel")["documents"]
    assert document.meta == PASSAGES[1].meta
    retriever = TitleMentionRetriever(store)
    with pytest.raises(DocumentStoreError, match=r"without title keys.*Index the documents again"):
        retriever.run(query="Linz")
    with pytest.raises(DocumentStoreError, match=r"without title keys.*Index the documents again"):
        await retriever.run_async(query="Linz")
    await store.close_async()


def test_one_retriever_serves_one_event_loop_after_another(name, store):
    write(name, PASSAGES)
    retriever = TitleMentionRetriever(store)

    async def ask() -> list[str]:
        return ids(await retriever.run_async(query="Upper Austria"))

    assert [asyncio.run(ask()) for _ in range(3)] == [["upper"]] * 3
    asyncio.run(store.close_async())


def test_finds_what_the_embedded_index_finds(name, store, hotpotqa: Path, tmp_path: Path):
    passages = list(read_passages(hotpotqa / "corpus.jsonl"))
    write(name, passages)
    embedded = TantivyDocumentStore(path=str(tmp_path / "index"))
    embedded.write_documents(passages)
    lines = (hotpotqa / "train.jsonl").read_text(encoding="utf-8").splitlines()
    number = 0
    for question in [json.loads(line)["question"] for line in lines]:
        inputs = {"query": question, "documents": embedded.search(question, top_k=3), "top_k": 50}
        expected = set(ids(TitleMentionRetriever(embedded, per_title=10).run(**inputs)))
        assert set(ids(TitleMentionRetriever(store, per_title=10).run(**inputs))) == expected
        number += len(expected)
    assert number > len(lines)
