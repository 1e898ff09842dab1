"""Read and store, in the `_meta` of an Elasticsearch index, whether the user allows questions to be sent to the web."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from elasticsearch import Elasticsearch
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.elasticsearch.connection import count_other_nodes
from prefrag.components.document_stores.elasticsearch.requests import explain_failures

_META_KEY = "prefrag_web"
_SECONDS = 3.0  # the timeout of a request


def read_web_consent(store: ElasticsearchDocumentStore) -> bool | None:
    """Return None if an index of the store (an alias may name many) has no answer, True if all say yes, else False."""
    with _connect(store) as client:
        answers = [meta.get(_META_KEY) for meta in _read_metas(client, store._index).values()]
    if None in answers:
        return None
    return all(answer is True for answer in answers)


def keep_web_consent(store: ElasticsearchDocumentStore, answer: bool) -> None:
    """Store the answer, replacing an earlier answer."""
    with _connect(store) as client:
        for index, meta in _read_metas(client, store._index).items():
            # The server replaces `_meta` as a whole, so the other keys are sent again.
            client.indices.put_mapping(index=index, meta={**meta, _META_KEY: answer})


def check_index(store: ElasticsearchDocumentStore) -> None:
    """Check that the index of a store exists and can be searched."""
    with _connect(store) as client:
        # An API key may permit searches, but not asking whether an index exists. So this is a search, for 0 hits.
        client.search(index=store._index, size=0, terminate_after=1)


@contextmanager
def _connect(store: ElasticsearchDocumentStore) -> Iterator[Elasticsearch]:
    # This needs a client of its own, because the store's client would create a missing index.
    with (
        explain_failures(store),
        Elasticsearch(store._hosts, api_key=store._handle_auth(), headers=store._headers, **store._kwargs) as client,
    ):
        yield client.options(request_timeout=_SECONDS, max_retries=count_other_nodes(store._hosts))


def _read_metas(client: Elasticsearch, index: str) -> dict[str, dict[str, Any]]:
    reply = client.indices.get_mapping(index=index)
    return {name: mapping["mappings"].get("_meta") or {} for name, mapping in reply.items()}
