"""What is reported if Elasticsearch fails, and which client a request is sent by."""

import asyncio
from typing import Any

import pytest
from elastic_transport import ConnectionError as ServerUnreachable
from haystack.document_stores.errors import DocumentStoreError
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.elasticsearch.fields import count_values
from prefrag.components.document_stores.elasticsearch.requests import explain_failures, send
from prefrag.components.document_stores.elasticsearch.titles import ElasticsearchTitles
from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
from tests.for_each import for_each


@for_each("hosts", "http://elastic:SECRETPW@es:9200", ["http://es:9200", "https://elastic:SECRETPW@es2:9200"])
def test_no_message_has_the_password(hosts: str | list[str]):
    store = ElasticsearchDocumentStore(hosts=hosts)

    advice = r"http://es:9200.*PREFRAG_ELASTICSEARCH_URL"
    with pytest.raises(DocumentStoreError, match=advice) as failure, explain_failures(store):
        raise ServerUnreachable("refused")

    assert "SECRETPW" not in str(failure.value)


class Partial:
    """A server that has searched only part of the index."""

    def __init__(self, **fault: Any):
        hits = {"hits": [], "total": {"value": 0}}
        self.reply = {"hits": hits, "aggregations": {"keys": {"buckets": []}, "values": {"buckets": []}}, **fault}

    def search(self, **request: Any) -> dict[str, Any]:
        return self.reply

    def msearch(self, searches: list[Any], **request: Any) -> dict[str, Any]:
        return {"responses": [self.reply] * (len(searches) // 2)}

    def count(self, **request: Any) -> dict[str, Any]:
        return {"count": 1}


@for_each("fault", {"timed_out": True}, {"_shards": {"total": 5, "failed": 1}})
def test_what_only_a_part_of_the_index_has_told_is_refused(fault: dict[str, Any]):
    store = ElasticsearchDocumentStore(hosts="http://es:9200", index="towns")
    store._client = Partial(**fault)  # type: ignore[assignment]
    titles = ElasticsearchTitles(store)

    for ask in (
        lambda: titles.known_title_keys(["linz"]),
        lambda: titles.documents_by_title({"linz": "Linz"}),
        lambda: ElasticsearchMultiMatchRetriever(store).document_frequencies(["linz"]),
        lambda: count_values(store, "folder"),
    ):
        with pytest.raises(DocumentStoreError, match="searched only part of the index 'towns'"):
            ask()


def test_an_event_loop_has_its_own_client_until_it_ends():
    store, closed = ElasticsearchDocumentStore(hosts="http://es:9200"), []

    async def name_client(client: Any) -> Any:
        client.close = lambda: closing(client)
        return client

    async def closing(client: Any) -> None:
        closed.append(client)

    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    ones = [first.run_until_complete(send(store, name_client)) for _ in range(2)]
    others = [second.run_until_complete(send(store, name_client)) for _ in range(2)]
    ones.append(first.run_until_complete(send(store, name_client)))
    assert len(set(map(id, ones))) == len(set(map(id, others))) == 1
    assert ones[0] is not others[0]

    first.close()
    second.run_until_complete(send(store, name_client))
    assert closed == [ones[0]]
    second.close()
