"""Send requests to Elasticsearch, and turn its failures into errors that say what to do."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from elastic_transport import ConnectionError as ServerUnreachable
from elastic_transport import ConnectionTimeout
from elasticsearch import ApiError, AsyncElasticsearch, NotFoundError
from haystack.document_stores.errors import DocumentStoreError
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.both_ways import call_matching
from prefrag.components.text.addresses import without_userinfo

_clients: WeakKeyDictionary[Any, dict[asyncio.AbstractEventLoop, AsyncElasticsearch]] = WeakKeyDictionary()
_one_at_a_time = Lock()


async def send(store: ElasticsearchDocumentStore, request: Callable[[Any], Any]) -> Any:
    """Call ``request`` with the store's client. Each event loop has a client of its own."""
    return await call_matching(partial(_send, store, request), partial(_send_async, store, request))


def _send(store: ElasticsearchDocumentStore, request: Callable[[Any], Any]) -> Any:
    return request(store.client)


async def _send_async(
    store: ElasticsearchDocumentStore, request: Callable[[AsyncElasticsearch], Awaitable[Any]]
) -> object:
    clients, loop = _clients.setdefault(store, {}), asyncio.get_running_loop()
    for ended in [other for other in clients if other.is_closed()]:
        client = clients.pop(ended)
        if store._async_client is client:
            store._async_client = None
        with suppress(RuntimeError):
            await client.close()
    with _one_at_a_time:
        # The store has a single client, which works only in the loop that opened its connections.
        if loop in clients or store._async_client in clients.values():
            store._async_client = clients.get(loop)
        clients[loop] = store.async_client
    return await request(clients[loop])


@contextmanager
def explain_failures(store: ElasticsearchDocumentStore) -> Iterator[None]:
    """Turn the failures of Elasticsearch into a :class:`DocumentStoreError` with advice."""
    hosts = without_userinfo(str(store._hosts or "http://localhost:9200"))
    try:
        yield
    except ConnectionTimeout as error:
        raise DocumentStoreError(
            f"Elasticsearch at {hosts} did not answer in time ({error}). Check its load, or raise "
            "request_timeout of the ElasticsearchDocumentStore."
        ) from error
    except ServerUnreachable as error:
        raise DocumentStoreError(
            f"No Elasticsearch answers at {hosts} ({error.message}). Start it, or set PREFRAG_ELASTICSEARCH_URL or "
            "`hosts` of the ElasticsearchDocumentStore to its address."
        ) from error
    except NotFoundError as error:
        raise DocumentStoreError(
            f"Elasticsearch at {hosts} has no index '{store._index}'. Make it with: prefrag index YOUR_FILES "
            f"--store elasticsearch --collection {store._index}"
        ) from error
    except ApiError as error:
        advice = " Check the API key (PREFRAG_ELASTICSEARCH_API_KEY)." if error.status_code in (401, 403) else ""
        raise DocumentStoreError(f"Elasticsearch at {hosts} refused the request: {error}.{advice}") from error


def read_hits(store: ElasticsearchDocumentStore, reply: Any) -> list[dict[str, Any]]:
    """Read the hits from the server's reply to a search; raises DocumentStoreError if the search was not complete."""
    index = store._index
    try:
        check_whole(store, reply)
        hits = list(reply["hits"]["hits"])
    except (AttributeError, KeyError, TypeError) as error:
        raise DocumentStoreError(
            f"The server of index '{index}' did not send a search result: check that "
            "PREFRAG_ELASTICSEARCH_URL is the address of an Elasticsearch server."
        ) from error
    return hits


def check_whole(store: ElasticsearchDocumentStore, reply: Any) -> None:
    """Raise a DocumentStoreError if the server has searched or counted only part of the index."""
    if reply.get("timed_out") or reply.get("_shards", {}).get("failed"):
        raise DocumentStoreError(f"Elasticsearch searched only part of the index '{store._index}': check its health.")
