"""Linked retrieval over a real Elasticsearch."""

import pytest
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
from prefrag.components.retrievers.linked_retriever import LinkedRetriever
from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever
from tests.components.samples import document

PASSAGES = {
    "Aurora": "The Aurora was a ship that Holm built in 1971.",
    "Holm": "Their greatest success came in 1974.",
    "Sea Trophy": "A trophy that shipyards win.",
}


@pytest.fixture
def store(name: str, store: ElasticsearchDocumentStore) -> ElasticsearchDocumentStore:
    passages = ElasticCollection(name).passages(make=True)
    assert passages.write([document(title, text) for title, text in PASSAGES.items()]) == {}
    passages.finish()
    return store


async def test_what_an_observed_document_names_is_found_on_both_ways(store: ElasticsearchDocumentStore):
    retriever = LinkedRetriever(ElasticsearchMultiMatchRetriever(store), TitleMentionRetriever(store))
    inputs = {
        "query": "trophy",
        "question": "Who built the Aurora?",
        "observed": [document("Aurora", PASSAGES["Aurora"])],
    }

    output = retriever.run(**inputs)
    again = await retriever.run_async(**inputs)
    await store.close_async()

    assert {one.id for one in output["documents"]} == {"Sea Trophy", "Holm"}
    assert [one.id for one in again["documents"]] == [one.id for one in output["documents"]]
    assert output["errors"] == again["errors"] == []
