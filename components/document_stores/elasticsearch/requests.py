"""Send requests to Elasticsearch, and turn its failures into errors that say what to do.

Haystack's store has only one asynchronous client. Such a client works only in the event loop that opened its
connections. So this module keeps a client for each store and event loop.
"""

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

# The asynchronous clients of each store, by event loop.
_clients: WeakKeyDictionary[object, dict[asyncio.AbstractEventLoop, AsyncElasticsearch]] = WeakKeyDictionary()
# Held while a store's client is exchanged, so that two threads do not exchange it at the same time.
_one_at_a_time = Lock()


async def send(store: ElasticsearchDocumentStore, request: Callable[[Any], Any]) -> object:
    """Send a request with the store's client.

    :param store: The store.
    :param request: A function that gets the client and sends the request. With an asynchronous client, it returns an
        awaitable.
    :returns: The server's reply.
    """
    return await call_matching(partial(_send, store, request), partial(_send_async, store, request))


def _send(store: ElasticsearchDocumentStore, request: Callable[[object], object]) -> object:
    """Send a request with the store's blocking client."""
    return request(store.client)


async def _send_async(
    store: ElasticsearchDocumentStore, request: Callable[[AsyncElasticsearch], Awaitable[object]]
) -> object:
    """Send a request with the store's asynchronous client for the running event loop."""
    clients = _clients.setdefault(store, {})
    loop = asyncio.get_running_loop()

    # The clients of event loops that have been closed are of no use any more.
    closed_loops = [client_loop for client_loop in clients if client_loop.is_closed()]
    for closed_loop in closed_loops:
        client = clients.pop(closed_loop)
        if store._async_client is client:
            store._async_client = None
        with suppress(RuntimeError):
            await client.close()

    with _one_at_a_time:
        # The store has a single client. If it belongs to another loop, it is replaced by the client of this loop. If
        # this loop has none, it is set to None, and the store makes a new one in the last line.
        if loop in clients or store._async_client in clients.values():
            store._async_client = clients.get(loop)
        clients[loop] = store.async_client
    return await request(clients[loop])


@contextmanager
def explain_failures(store: ElasticsearchDocumentStore) -> Iterator[None]:
    """Turn the failures of Elasticsearch in this block into a :class:`DocumentStoreError` with advice.

    :param store: The store to which the requests are sent.
    :raises DocumentStoreError: When the server does not answer in time, cannot be reached, has no such index, or
        refuses a request.
    """
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
    """Read the hits from the server's reply to a search.

    :param store: The store that was searched.
    :param reply: The reply.
    :returns: The hits, best first.
    :raises DocumentStoreError: When the server searched only a part of the index, or did not send a search result.
    """
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
    """Check that the server has searched or counted the whole index.

    :param store: The store that was searched.
    :param reply: The server's reply.
    :raises DocumentStoreError: When the search timed out, or failed in a part of the index.
    """
    if reply.get("timed_out") or reply.get("_shards", {}).get("failed"):
        raise DocumentStoreError(f"Elasticsearch searched only part of the index '{store._index}': check its health.")
