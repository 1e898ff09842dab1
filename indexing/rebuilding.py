"""Rebuild an Elasticsearch index beside the one that is searched, and swap the two in one step."""

import secrets
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

from elastic_transport import TransportError
from elasticsearch import ApiError, Elasticsearch, helpers
from haystack.document_stores.errors import DocumentStoreError

from prefrag.components.errors import BadInput
from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
from prefrag.indexing.shared_uploads import UPLOAD_INDEX, change_shared
from prefrag.indexing.stores import ORIGIN_FIELDS, UPLOADED, connect_elasticsearch, is_own_mapping, make_index

# In the `_meta` of a new index: the index that it will replace.
REBUILD_OF = "prefrag_rebuild_of"
_COPY_SECONDS = 20
_CONFLICT = 409
# Long enough for an upload to be indexed.
_UPLOAD_SECONDS = 900.0


def rebuild_index(name: str, fill: Callable[[str], int], *, language: str | None = None, dense: bool = False) -> None:
    """Replace an index with a new one that ``fill`` fills; a question sees all of the old one or all of the new one.

    The name becomes an alias. The old index answers until the new one is complete and counted, even if this process is
    killed; the next rebuild deletes the leftovers. Only one rebuild of an index may run at a time: if two do, the
    earlier one ends with an error. Whatever others write to the old index in the meantime is lost. ``fill`` gets the
    name of the new index, fills it, and returns how many passages it must hold; with ``dense``, which is required if
    the old index has vectors, it also embeds them. Raises :class:`BadInput` when the old index cannot be replaced, and
    DocumentStoreError when the new one is incomplete.
    """
    if name != name.lower():
        raise BadInput(f"Elasticsearch takes only lower-case names of indexes: use '{name.lower()}'.")
    new = f"{name}.{secrets.token_hex(4)}"
    with connect_elasticsearch() as client:
        old, mappings = _find_old(client, name)
        meta = {key: value for key, value in mappings.get("_meta", {}).items() if key == "prefrag_web"}
        if "embedding" in mappings.get("properties", {}) and not dense:
            raise BadInput(f"The index '{name}' has vectors: rebuild it with --dense and the --model that made them.")
        for left in _find_left(client, name):
            client.indices.delete(index=left, ignore_unavailable=True)
        language = language or mappings.get("properties", {}).get("content", {}).get("analyzer") or "english"
        mapping = ElasticsearchMultiMatchRetriever.recommended_mapping(language)
        make_index(client, new, {**mapping, "_meta": {**meta, REBUILD_OF: name}})
        made = _identify(client, new)
        try:
            expected = fill(new)
            with change_shared(name, _UPLOAD_SECONDS) if client.indices.exists(index=UPLOAD_INDEX) else nullcontext():
                # An index with nothing but copied uploads does not count as rebuilt.
                expected += _copy_uploads(client, old, new) if expected else 0
                _check_whole(client, new, made, expected)
                _swap(client, name, old, new)
        except BaseException:
            # Whatever cannot be deleted now is deleted by the next rebuild.
            with suppress(ApiError, TransportError):
                if not _holds_name(client, name, new):
                    client.indices.delete(index=new, ignore_unavailable=True)
            raise


def find_rebuilt(client: Elasticsearch, name: str) -> str | None:
    """Find the index that a rebuild has put behind a name."""
    if not client.indices.exists_alias(name=name):
        return None
    found = client.indices.get_mapping(index=name)
    names = [index for index, one in found.items() if one["mappings"].get("_meta", {}).get(REBUILD_OF) == name]
    return names[0] if len(found) == len(names) == 1 else None


def _find_old(client: Elasticsearch, name: str) -> tuple[str | None, dict[str, Any]]:
    if not client.indices.exists(index=name):
        return None, {}
    found = client.indices.get_mapping(index=name)
    if len(found) > 1:
        raise BadInput(f"'{name}' is an alias of {len(found)} indexes: rebuild them one by one, by their own names.")
    [(old, description)] = found.items()
    if not is_own_mapping(description["mappings"].get("properties", {})):
        raise BadInput(f"The Elasticsearch index '{name}' was not made by prefrag: choose another --index.")
    return old, description["mappings"]


def _find_left(client: Elasticsearch, name: str) -> list[str]:
    """Find the leftovers of rebuilds that were killed."""
    found = client.indices.get(index=f"{name}.*", features="aliases,mappings", expand_wildcards="all")
    return [
        index
        for index, one in found.items()
        if one["mappings"].get("_meta", {}).get(REBUILD_OF) == name and name not in one["aliases"]
    ]


def _copy_uploads(client: Elasticsearch, old: str | None, new: str) -> int:
    """Copy and count the passages that were uploaded to an index, except those whose id the new index already has."""
    if old is None:
        return 0
    uploaded = [{"prefix": {field: UPLOADED}} for field in ORIGIN_FIELDS]
    hits = helpers.scan(client, index=old, query={"query": {"bool": {"should": uploaded}}})
    actions = ({"_op_type": "create", "_id": hit["_id"], "_source": hit["_source"]} for hit in hits)
    replies = list(helpers.streaming_bulk(client, actions, index=new, raise_on_error=False))
    if refused := [reply["create"] for taken, reply in replies if not taken and reply["create"]["status"] != _CONFLICT]:
        raise DocumentStoreError(f"Passages that were uploaded could not be copied ({refused[0].get('error')}).")
    return sum(taken for taken, _ in replies)


def _identify(client: Elasticsearch, index: str) -> str:
    [one] = client.indices.get_settings(index=index).values()
    return str(one["settings"]["index"]["uuid"])


def _check_whole(client: Elasticsearch, index: str, made: str, expected: int) -> None:
    """Refuse an index that does not hold, on all its nodes, what was written to it."""
    # While a replica is still being made, there would be only a single copy.
    health = client.options(ignore_status=408).cluster.health(
        index=index,
        wait_for_status="yellow",
        wait_for_no_initializing_shards=True,
        timeout=f"{_COPY_SECONDS}s",
    )
    client.indices.refresh(index=index)
    reply = client.search(index=index, size=0, track_total_hits=True, allow_partial_search_results=False)
    counted = reply["hits"]["total"]["value"]
    if health["timed_out"] or not expected or counted != expected or _identify(client, index) != made:
        raise DocumentStoreError(
            f"The new index holds {counted:,} of {expected:,} passages and its health is {health['status']}, so the "
            "earlier one still answers. Check the nodes, and that no other rebuild of it is running; then run it again."
        )


def _swap(client: Elasticsearch, name: str, old: str | None, new: str) -> None:
    actions: list[dict[str, Any]] = []
    aliases = {name}
    if old is not None:
        [one] = client.indices.get_alias(index=old).values()
        aliases |= one["aliases"].keys()
        # The cluster makes all these changes in one step, even if the old index itself has the name.
        actions.append({"remove_index": {"index": old}})
    actions += [{"add": {"index": new, "alias": alias}} for alias in sorted(aliases)]
    try:
        client.indices.update_aliases(actions=actions)
    except (ApiError, TransportError):
        # The node that was asked may have failed after making the change.
        if not _holds_name(client, name, new):
            raise


def _holds_name(client: Elasticsearch, name: str, index: str) -> bool:
    return bool(client.indices.exists_alias(name=name, index=index))
