"""Check whether the indexes and model servers that the served pipelines need can be reached.

The route ``/ready`` uses this for load balancers. The checks ask each index and each server only once, even if several
pipelines use it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from prefrag.components.document_stores.store_kinds import is_tantivy_store
from prefrag.components.parts import STORES, is_class, walk_parts

if TYPE_CHECKING:
    from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
    from prefrag.components.generators.model_server import ModelServer

# Each check must end within this many seconds. Otherwise the index or server counts as unreachable.
DEADLINE_SECONDS = 3.0
# A model server is asked at most once in this many seconds, because load balancers send readiness probes often.
_MODEL_SECONDS = 5.0
# The class of the component that calls a model server.
_MODEL = "prefrag.components.generators.chat_model.ChatModel"
# The classes of all components that can be checked.
EVERYTHING = (*STORES, _MODEL)
# Set when the process has been told to stop.
leaving = threading.Event()
# The advice for clients, by the cause of the outage.
_ADVICE = {
    "unreachable": "Elasticsearch does not answer: start it, or set PREFRAG_ELASTICSEARCH_URL to where it runs.",
    "no_index": "Elasticsearch has no such index: make it with prefrag index YOUR_FILES --store elasticsearch.",
    "refused": "Elasticsearch refuses the search: check PREFRAG_ELASTICSEARCH_API_KEY.",
    "missing": "An index does not exist (the server's log says which): make it with prefrag index YOUR_FILES.",
    "damaged": "The index cannot be searched: restore it, or move its folder away and index the documents again.",
    "no_model": "The model server does not answer: start it, or set {prefix}BASE_URL to where it runs.",
    "no_key": "The model server refuses the key: check {prefix}API_KEY.",
}


class Outage(NamedTuple):
    """Why a pipeline cannot answer."""

    # What to do about it. Clients see this text, so it has no addresses and no paths.
    advice: str
    # The error, for the log.
    details: str


async def find_outages(pipelines: Mapping[str, object], kinds: Sequence[str] = EVERYTHING) -> dict[str, Outage]:
    """Find the pipelines whose index or model server does not answer within :data:`DEADLINE_SECONDS`.

    A model server is only asked for a list of its models, which costs no tokens.

    :param pipelines: The pipelines, by name.
    :param kinds: The paths of the classes to check. By default, all stores and models.
    :returns: The outage of each pipeline that cannot answer, by the name of the pipeline.
    """
    # The components to check, by the index or server that they use. Several pipelines may use the same one, which is
    # then asked only once.
    parts: dict[tuple[object, ...], object] = {}
    places_by_pipeline: dict[str, list[tuple[object, ...]]] = {}
    for name, pipeline in pipelines.items():
        own_parts = {_locate(part): part for part in _find_parts(pipeline, kinds)}
        places_by_pipeline[name] = list(own_parts)
        parts |= own_parts

    checks = [_find_outage(part) for part in parts.values()]
    outages = dict(zip(parts, await asyncio.gather(*checks), strict=True))
    outages_by_pipeline: dict[str, Outage] = {}
    for name, places in places_by_pipeline.items():
        for place in places:
            outage = outages[place]
            if outage is not None:
                # If a pipeline has several outages, the last one is returned.
                outages_by_pipeline[name] = outage
    return outages_by_pipeline


def _find_parts(pipeline: object, kinds: Sequence[str]) -> list[object]:
    """Find the components of these classes, also those inside other components."""

    def is_wanted(part: object) -> bool:
        return any(is_class(type(part), kind) for kind in kinds)

    # Do not look inside a wanted component for further ones.
    parts = walk_parts(pipeline, descend=lambda part: not is_wanted(part))
    return [part for _, part in parts if is_wanted(part)]


def _locate(part: Any) -> tuple[object, ...]:
    """Return what identifies the index or server that a component uses."""
    kind = type(part).__name__
    if is_class(type(part), _MODEL):
        return kind, part.server
    if is_tantivy_store(part):
        return kind, part.path, part.index
    return kind, str(part._hosts), part._index


async def _find_outage(part: Any) -> Outage | None:
    """Check what a component uses. Return None if it answers."""
    if is_class(type(part), _MODEL):
        return await _find_model_outage(part.server)
    if is_tantivy_store(part):
        return await _find_index_outage(part)
    return await _find_elasticsearch_outage(part)


async def _find_index_outage(store: TantivyDocumentStore) -> Outage | None:
    """Check an index on this machine. None if it can be searched."""
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await asyncio.to_thread(store.check)
    except FileNotFoundError as error:
        return Outage(_ADVICE["missing"], str(error))
    except Exception as error:
        return Outage(_ADVICE["damaged"], str(error) or type(error).__name__)
    return None


# For each model server: when it was last asked, by the monotonic clock, and what was wrong. None if it answered.
_models: dict[ModelServer, tuple[float, Outage | None]] = {}


async def _find_model_outage(server: ModelServer | None) -> Outage | None:
    """Check a model server, unless it was just checked. None if it answers, or if no server is set."""
    if server is None:
        return None
    now = time.monotonic()
    if server in _models:
        last_asked, last_outage = _models[server]
        if now - last_asked <= _MODEL_SECONDS:
            return last_outage
    outage = await _call_model_server(server)
    _models[server] = (now, outage)
    return outage


async def _call_model_server(server: ModelServer) -> Outage | None:
    """Ask a model server for the list of its models. None if it answers."""
    import httpx

    unreachable = _ADVICE["no_model"].format(prefix=server.prefix)
    headers = {"Authorization": f"Bearer {server.api_key}"} if server.api_key else {}
    try:
        async with (
            asyncio.timeout(DEADLINE_SECONDS),
            httpx.AsyncClient(timeout=DEADLINE_SECONDS) as client,
            client.stream("GET", f"{server.base_url.rstrip('/')}/models", headers=headers) as response,
        ):
            status = response.status_code
    except Exception as error:
        reason = str(error) or type(error).__name__
        return Outage(unreachable, f"{server.address}: {reason}")
    if status in (401, 403):
        return Outage(_ADVICE["no_key"].format(prefix=server.prefix), f"{server.address} answers {status}")
    # Some servers cannot list their models, and answer with a status such as 404. They are running all the same.
    return Outage(unreachable, f"{server.address} answers {status}") if status >= 500 else None


async def _find_elasticsearch_outage(store: ElasticsearchDocumentStore) -> Outage | None:
    """Check an index in Elasticsearch with a search. None if it answers."""
    from elasticsearch import ApiError, NotFoundError
    from haystack.document_stores.errors import DocumentStoreError

    from prefrag.components.document_stores.elasticsearch.connection import count_other_nodes
    from prefrag.components.document_stores.elasticsearch.requests import explain_failures

    try:
        with explain_failures(store):
            # Make a new client and close it here. Nothing would close the store's own client in this event loop.
            async with asyncio.timeout(DEADLINE_SECONDS), store._create_async_client() as client:
                once = client.options(request_timeout=DEADLINE_SECONDS, max_retries=count_other_nodes(store._hosts))
                # Try a search, because the Elasticsearch key may allow no other request.
                await once.search(index=store._index, size=0, terminate_after=1)
    except TimeoutError:
        return Outage(_ADVICE["unreachable"], f"no answer within {DEADLINE_SECONDS:g} s")
    except DocumentStoreError as error:
        cause = error.__cause__
        kind = "unreachable"
        if isinstance(cause, NotFoundError):
            kind = "no_index"
        elif isinstance(cause, ApiError):
            kind = "refused"
        return Outage(_ADVICE[kind], str(error))
    except Exception as error:
        # The readiness probe must be answered even if the settings are broken.
        return Outage(_ADVICE["unreachable"], str(error) or type(error).__name__)
    return None
