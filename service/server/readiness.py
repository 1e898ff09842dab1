"""Check whether the servers behind the served pipelines answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from prefrag.components.parts import ELASTICSEARCH_STORE, find_stores

DEADLINE_SECONDS = 3.0
_ADVICE = {
    "unreachable": "Elasticsearch does not answer: start it, or set PREFRAG_ELASTICSEARCH_URL to where it runs.",
    "no_index": "Elasticsearch has no such index: make it with prefrag index YOUR_FILES --store elasticsearch.",
    "refused": "Elasticsearch refuses the search: check PREFRAG_ELASTICSEARCH_API_KEY.",
}


class Outage(NamedTuple):
    """The reason why a pipeline cannot answer.

    :param advice: What to do, without addresses, names and paths, because anybody may read it.
    :param details: What happened, for the log.
    """

    advice: str
    details: str


async def find_outages(pipelines: Mapping[str, Any]) -> dict[str, Outage]:
    """Send an empty search to every Elasticsearch of some pipelines; it has :data:`DEADLINE_SECONDS` to answer.

    :param pipelines: The loaded pipelines, by name.
    :returns: The outages of those whose index cannot be searched, by name.
    """
    stores = {name: {_locate(store): store for store in _find_stores(pipeline)} for name, pipeline in pipelines.items()}
    places = {place: store for own in stores.values() for place, store in own.items()}
    found = dict(zip(places, await asyncio.gather(*map(_find_outage, places.values())), strict=True))
    return {name: outage for name, own in stores.items() for place in own if (outage := found[place]) is not None}


def _find_stores(pipeline: Any) -> list[Any]:
    return [store for store in find_stores(pipeline) if type(store).__name__ == ELASTICSEARCH_STORE]


def _locate(store: Any) -> tuple[str, str]:
    return str(store._hosts), store._index


async def _find_outage(store: Any) -> Outage | None:
    from elasticsearch import ApiError, NotFoundError
    from haystack.document_stores.errors import DocumentStoreError

    from prefrag.components.document_stores.elasticsearch.requests import explain_failures

    try:
        with explain_failures(store):
            # A client of its own, because nothing would close the pipeline's in this event loop.
            async with asyncio.timeout(DEADLINE_SECONDS), store._create_async_client() as client:
                once = client.options(request_timeout=DEADLINE_SECONDS, max_retries=0)
                # A search, because a key may be limited to searching.
                await once.search(index=store._index, size=0, terminate_after=1)
    except TimeoutError:
        return Outage(_ADVICE["unreachable"], f"no answer within {DEADLINE_SECONDS:g} s")
    except DocumentStoreError as error:
        cause = error.__cause__
        kind = "no_index" if isinstance(cause, NotFoundError) else "refused" if isinstance(cause, ApiError) else ""
        return Outage(_ADVICE[kind or "unreachable"], str(error))
    except Exception as error:
        # A probe gets an answer even when the settings are broken.
        return Outage(_ADVICE["unreachable"], str(error) or type(error).__name__)
    return None
