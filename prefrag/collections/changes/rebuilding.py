"""Build a new Elasticsearch index while the old index is still searched, and then swap the two in one step.

The new index gets a name of its own, such as "notes.1a2b3c4d". At the end, the name of the collection becomes an alias
of the new index. So no search finds only a part of the passages.
"""

import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from elastic_transport import TransportError
from elasticsearch import ApiError, Elasticsearch, helpers
from haystack.document_stores.errors import DocumentStoreError

from prefrag.collections.changes.shared_uploads import UPLOAD_INDEX, change_shared
from prefrag.collections.stores import ORIGIN_FIELDS, UPLOADED, connect_elasticsearch, is_own_mapping, make_index
from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
from prefrag.errors import BadInput

# The key in `_meta` under which a new index stores the name of the index that it replaces.
REBUILD_OF = "prefrag_rebuild_of"
# The maximum number of seconds to wait for the copies of the shards of the new index.
_REPLICA_SECONDS = 20
# The HTTP status of a write whose ID is taken.
_CONFLICT = 409
# The maximum number of seconds to wait for an upload that is being indexed.
_UPLOAD_SECONDS = 900.0


def rebuild_index(name: str, fill: Callable[[str], int], *, language: str | None = None, dense: bool = False) -> None:
    """Replace an index with a new index in one step, so that no search finds only a part of the passages.

    - The old index is searched until the new index is complete.
    - Uploads to the old index are copied. Anything else that is written to the old index meanwhile is lost.
    - If this process is killed, the old index stays. The next rebuild deletes the unfinished index.
    - If two rebuilds of an index run at the same time, the earlier rebuild fails.

    :param name: The name of the index, or its alias.
    :param fill: A function that gets the name of the new index, fills this index, and returns how many passages the
        index must have.
    :param language: The language of the stemmer of the new index. None takes the language of the old index, or English.
    :param dense: Whether ``fill`` embeds the passages. It must do so if the old index has vectors.
    :raises BadInput: If the old index cannot be replaced.
    :raises DocumentStoreError: If the new index is incomplete. The old index then stays.
    """
    if name != name.lower():
        raise BadInput(f"Elasticsearch takes only lower-case names of indexes: use '{name.lower()}'.")
    new = f"{name}.{secrets.token_hex(4)}"
    with connect_elasticsearch() as client:
        old, mappings = _find_old(client, name)
        meta = {REBUILD_OF: name}
        old_meta = mappings.get("_meta", {})
        if "prefrag_web" in old_meta:
            # The decision whether questions about the collection may go to the web. The new index takes it over.
            meta["prefrag_web"] = old_meta["prefrag_web"]
        if "embedding" in mappings.get("properties", {}) and not dense:
            raise BadInput(
                f"The collection '{name}' has vectors: rebuild it with --dense and the --model that made them."
            )

        # If another rebuild is running, its index is deleted here, too. So the other rebuild fails.
        for unfinished in _find_unfinished(client, name):
            client.indices.delete(index=unfinished, ignore_unavailable=True)

        old_language = mappings.get("properties", {}).get("content", {}).get("analyzer")
        mapping = ElasticsearchMultiMatchRetriever.recommended_mapping(language or old_language or "english")
        make_index(client, new, {**mapping, "_meta": meta})
        new_uuid = _identify(client, new)

        try:
            expected = fill(new)
            # From the copying of the uploads until the swap, no upload may change the old index. So take the lock of
            # the collection. Without the index of uploads, nothing was uploaded yet.
            lock: AbstractContextManager[object] = nullcontext()
            if client.indices.exists(index=UPLOAD_INDEX):
                lock = change_shared(name, _UPLOAD_SECONDS)
            with lock:
                # If ``fill`` wrote nothing, copy no uploads either. Then `_check_whole` refuses the new index.
                if expected:
                    expected += _copy_uploads(client, old, new)
                _check_whole(client, new, new_uuid, expected)
                _swap(client, name, old, new)
        except BaseException:
            # Delete the new index, unless the name already stands for it. If the new index cannot be deleted now, the
            # next rebuild deletes it.
            with suppress(ApiError, TransportError):
                if not _holds_name(client, name, new):
                    client.indices.delete(index=new, ignore_unavailable=True)
            raise


def find_rebuilt(client: Elasticsearch, name: str) -> str | None:
    """Find the rebuilt index that an alias stands for.

    :param client: The client of Elasticsearch.
    :param name: The alias.
    :returns: The name of the index; None if ``name`` is not the alias of a single rebuilt index.
    """
    if not client.indices.exists_alias(name=name):
        return None
    descriptions = client.indices.get_mapping(index=name)
    if len(descriptions) != 1:
        return None
    [(index, description)] = descriptions.items()
    return str(index) if _is_rebuild_of(name, description) else None


def _is_rebuild_of(name: str, description: Mapping[str, Any]) -> bool:
    """Check by the description of an index whether a rebuild has made it for this name."""
    return bool(description["mappings"].get("_meta", {}).get(REBUILD_OF) == name)


def _find_old(client: Elasticsearch, name: str) -> tuple[str | None, dict[str, Any]]:
    """Return the name and the mapping of the index that a name or alias stands for; None and {} if there is none.

    Raise :class:`BadInput` if the name stands for several indexes, or for an index of another program.
    """
    if not client.indices.exists(index=name):
        return None, {}
    descriptions = client.indices.get_mapping(index=name)
    if len(descriptions) > 1:
        raise BadInput(
            f"'{name}' is an alias of {len(descriptions)} indexes: rebuild them one by one, by their own names."
        )
    [(old, description)] = descriptions.items()
    if not is_own_mapping(description["mappings"].get("properties", {})):
        raise BadInput(f"The Elasticsearch index '{name}' was not made by prefrag: choose another --collection.")
    return old, description["mappings"]


def _find_unfinished(client: Elasticsearch, name: str) -> list[str]:
    """Return the names of the indexes that unfinished rebuilds have left. The name is no alias of them."""
    descriptions = client.indices.get(index=f"{name}.*", features="aliases,mappings", expand_wildcards="all")
    unfinished = []
    for index, description in descriptions.items():
        if _is_rebuild_of(name, description) and name not in description["aliases"]:
            unfinished.append(index)
    return unfinished


def _copy_uploads(client: Elasticsearch, old: str | None, new: str) -> int:
    """Copy the uploaded passages whose IDs are not in the new index yet. Return how many were copied."""
    if old is None:
        return 0

    uploaded = [{"prefix": {field: UPLOADED}} for field in ORIGIN_FIELDS]
    hits = helpers.scan(client, index=old, query={"query": {"bool": {"should": uploaded}}})
    actions = ({"_op_type": "create", "_id": hit["_id"], "_source": hit["_source"]} for hit in hits)
    replies = list(helpers.streaming_bulk(client, actions, index=new, raise_on_error=False))
    failures = [reply["create"] for is_copied, reply in replies if not is_copied]
    # A conflict means that the new index already has a passage with this ID.
    refused = [failure for failure in failures if failure["status"] != _CONFLICT]
    if refused:
        raise DocumentStoreError(f"Uploaded passages could not be copied ({refused[0].get('error')}).")
    return len(replies) - len(failures)


def _identify(client: Elasticsearch, index: str) -> str:
    """Return the UUID of an index. An index that is deleted and made again has another UUID."""
    [description] = client.indices.get_settings(index=index).values()
    return str(description["settings"]["index"]["uuid"])


def _check_whole(client: Elasticsearch, index: str, uuid: str, expected: int) -> None:
    """Check that a new index is complete, and is still the index that this rebuild made.

    If another rebuild has deleted the index, a later write has made another index with the same name. The two have
    different UUIDs.

    :param client: The client of Elasticsearch.
    :param index: The name of the new index.
    :param uuid: The UUID of the index that this rebuild made.
    :param expected: How many passages the index must have.
    :raises DocumentStoreError: If the index is incomplete or another index.
    """
    # Wait for the copies of the shards that are still being made. Until they exist, the new index has no copy. If the
    # wait takes too long, Elasticsearch answers with status 408, and with `timed_out`.
    health = client.options(ignore_status=408).cluster.health(
        index=index, wait_for_status="yellow", wait_for_no_initializing_shards=True, timeout=f"{_REPLICA_SECONDS}s"
    )

    client.indices.refresh(index=index)
    reply = client.search(index=index, size=0, track_total_hits=True, allow_partial_search_results=False)
    counted = reply["hits"]["total"]["value"]
    is_complete = expected > 0 and counted == expected
    if health["timed_out"] or not is_complete or _identify(client, index) != uuid:
        raise DocumentStoreError(
            f"The new index holds {counted:,} of {expected:,} passages and its health is {health['status']}, so the "
            "old index stays in use. Check the nodes, and that no other rebuild of it is running. Then run this again."
        )


def _swap(client: Elasticsearch, name: str, old: str | None, new: str) -> None:
    """Delete the old index, and make its name and all its aliases stand for the new index, in one step."""
    actions: list[dict[str, object]] = []
    aliases = {name}
    if old is not None:
        [description] = client.indices.get_alias(index=old).values()
        aliases |= description["aliases"].keys()
        # The cluster makes all these changes in one step, even if the new alias has the name of the old index.
        actions.append({"remove_index": {"index": old}})
    actions += [{"add": {"index": new, "alias": alias}} for alias in sorted(aliases)]
    try:
        client.indices.update_aliases(actions=actions)
    except (ApiError, TransportError):
        # The node may have failed only after it made the change. So check whether the alias has changed.
        if not _holds_name(client, name, new):
            raise


def _holds_name(client: Elasticsearch, name: str, index: str) -> bool:
    """Check whether a name is an alias of an index."""
    return bool(client.indices.exists_alias(name=name, index=index))
