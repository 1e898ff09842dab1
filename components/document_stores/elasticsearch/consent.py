"""Read and store whether the user allows queries about an Elasticsearch index to be sent to the web.

The answer is stored in `_meta`, a dictionary that Elasticsearch keeps with each index for its clients.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from elasticsearch import Elasticsearch
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.elasticsearch.connection import count_other_nodes
from prefrag.components.document_stores.elasticsearch.requests import explain_failures

# The key of the answer in `_meta`.
_META_KEY = "prefrag_web"
# The timeout of a request, in seconds.
_SECONDS = 3.0


def read_web_consent(store: ElasticsearchDocumentStore) -> bool | None:
    """Read the user's answer about the web.

    :param store: The store. Its index may be an alias that names several indexes.
    :returns: None if one of the indexes has no answer. Otherwise, True if all answers are yes, else False.
    :raises DocumentStoreError: When the server does not answer or has no such index.
    """
    with _connect(store) as client:
        answers = [meta.get(_META_KEY) for meta in _read_metas(client, store._index).values()]
    if None in answers:
        return None
    return all(answer is True for answer in answers)


def keep_web_consent(store: ElasticsearchDocumentStore, answer: bool) -> None:
    """Store the user's answer about the web in every index of the store. It replaces an earlier answer.

    :param store: The store.
    :param answer: Whether queries may be sent to the web.
    :raises DocumentStoreError: When the server does not answer, refuses the request or has no such index.
    """
    with _connect(store) as client:
        for index, meta in _read_metas(client, store._index).items():
            # The server replaces `_meta` as a whole, so the other keys are sent again.
            client.indices.put_mapping(index=index, meta={**meta, _META_KEY: answer})


def check_index(store: ElasticsearchDocumentStore) -> None:
    """Check that the index of a store exists and can be searched.

    :param store: The store.
    :raises DocumentStoreError: When the index does not exist or the server does not answer.
    """
    with _connect(store) as client:
        # An API key may permit searches but not the question whether an index exists. So the check is a search for 0
        # hits.
        client.search(index=store._index, size=0, terminate_after=1)


@contextmanager
def _connect(store: ElasticsearchDocumentStore) -> Iterator[Elasticsearch]:
    """Open a client with the store's settings and a short timeout."""
    # The store's own client is not used, because it would create a missing index.
    with (
        explain_failures(store),
        Elasticsearch(store._hosts, api_key=store._handle_auth(), headers=store._headers, **store._kwargs) as client,
    ):
        yield client.options(request_timeout=_SECONDS, max_retries=count_other_nodes(store._hosts))


def _read_metas(client: Elasticsearch, index: str) -> dict[str, dict[str, object]]:
    """Read the `_meta` of each index, by its name. It is empty if an index has none."""
    reply = client.indices.get_mapping(index=index)
    return {name: mapping["mappings"].get("_meta") or {} for name, mapping in reply.items()}
