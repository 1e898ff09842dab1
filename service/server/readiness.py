"""Whether the servers behind the served pipelines answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

DEADLINE_SECONDS = 3.0
_ADVICE = {
    "unreachable": "Elasticsearch does not answer: start it, or set PREFRAG_ELASTICSEARCH_URL to where it runs.",
    "no_index": "Elasticsearch has no such index: make it with prefrag index YOUR_FILES --store elasticsearch.",
    "refused": "Elasticsearch refuses the search: check PREFRAG_ELASTICSEARCH_API_KEY.",
}


class Outage(NamedTuple):
    """Why a pipeline cannot answer.

    :param advice: What to do, in words that anybody may read: without addresses, names and paths.
    :param details: What happened, for the log.
    """

    advice: str
    details: str


async def outages(pipelines: Mapping[str, Any]) -> dict[str, Outage]:
    """Ask every Elasticsearch that a pipeline searches for nothing; it has :data:`DEADLINE_SECONDS` to answer.

    :param pipelines: The loaded pipelines, by name.
    :returns: Those whose index cannot be searched.
    """
    stores = {name: {_place(store): store for store in _stores(pipeline)} for name, pipeline in pipelines.items()}
    places = {place: store for own in stores.values() for place, store in own.items()}
    found = dict(zip(places, await asyncio.gather(*map(_outage, places.values())), strict=True))
    return {name: outage for name, own in stores.items() for place in own if (outage := found[place]) is not None}


def _stores(pipeline: Any) -> Iterator[Any]:
    """:returns: The Elasticsearch stores of a pipeline, however deep they lie in its components."""
    waiting = [part for _, part in pipeline.walk()]
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or not hasattr(part, "to_dict"):
            continue
        seen.add(id(part))
        # By name, because whoever has no such store should not wait for the import of its client.
        if type(part).__name__ == "ElasticsearchDocumentStore":
            yield part
        else:
            waiting.extend(getattr(part, "__dict__", {}).values())


def _place(store: Any) -> tuple[str, str]:
    return str(store._hosts), store._index


async def _outage(store: Any) -> Outage | None:
    from elasticsearch import ApiError, NotFoundError
    from haystack.document_stores.errors import DocumentStoreError

    from prefrag.components.document_stores.elasticsearch.requests import explained

    try:
        with explained(store):
            # A client of its own: the searches of the pipeline keep theirs, and nobody else would close it.
            async with asyncio.timeout(DEADLINE_SECONDS), store._create_async_client() as client:
                once = client.options(request_timeout=DEADLINE_SECONDS, max_retries=0)
                # As a search asks for: a key that may do no more is good enough.
                await once.search(index=store._index, size=0, terminate_after=1)
    except TimeoutError:
        return Outage(_ADVICE["unreachable"], f"no answer within {DEADLINE_SECONDS:g} s")
    except DocumentStoreError as error:
        cause = error.__cause__
        kind = "no_index" if isinstance(cause, NotFoundError) else "refused" if isinstance(cause, ApiError) else ""
        return Outage(_ADVICE[kind or "unreachable"], str(error))
    except Exception as error:
        # Whatever is wrong with its settings: a probe gets an answer.
        return Outage(_ADVICE["unreachable"], str(error) or type(error).__name__)
    return None
