"""List the indexes of a store, and delete an index together with the files that were uploaded to it."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from haystack.document_stores.errors import DocumentStoreError
from haystack.document_stores.types import DocumentStore

from prefrag.collections import stores
from prefrag.collections.changes.journal import change_collection
from prefrag.collections.changes.shared_uploads import UPLOAD_INDEX, forget_uploads
from prefrag.components.document_stores import web_consent
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import index_exists, open_index
from prefrag.components.document_stores.tantivy.index_location import (
    DEFAULT_INDEX,
    index_path,
    list_names,
    suggest_indexes,
)
from prefrag.errors import Missing
from prefrag.indexing.report import IndexedFile

# How many seconds to wait for a process that is still writing to the index.
_WRITER_SECONDS = 2.0


@dataclass(frozen=True)
class IndexSummary:
    """What :func:`list_indexes` says about one index."""

    name: str
    passages: int | None  # None if the index cannot be read
    files: int | None  # the number of files and corpora; None if the index cannot be read
    bytes: int
    web: bool | None  # whether the user allows web searches; None if the user has not decided
    changed: str | None  # the time of the last change; None for Elasticsearch
    problem: str | None = None  # why the index cannot be read


def list_indexes(store: str = "tantivy") -> list[IndexSummary]:
    """List the indexes that prefrag has made."""
    found = _local_indexes() if store == "tantivy" else _server_indexes()
    return [_summarise(name, store, size, changed) for name, size, changed in sorted(found)]


def summarise_index(name: str, store: str = "tantivy") -> IndexSummary:
    """Describe one index in the same way as `list_indexes`. Raises :class:`Missing` if there is no such index."""
    index_path(name)
    found = _local_indexes() if store == "tantivy" else _server_indexes()
    for known, size, changed in found:
        if known == name:
            return _summarise(name, store, size, changed)
    others = f".{suggest_indexes(name)}" if store == "tantivy" else " that prefrag made."
    raise Missing(f"There is no index '{name}'{others} List all with: prefrag indexes list")


def drop_index(name: str, store: str = "tantivy") -> None:
    """Delete an index with its passages, its vectors and the files uploaded to it. Users' own files stay."""
    path = index_path(name)
    if store != "tantivy":
        from prefrag.collections.changes.rebuilding import find_rebuilt

        summarise_index(name, store)
        with stores.connect_elasticsearch() as client:
            client.indices.delete(index=find_rebuilt(client, name) or name)
            if client.indices.exists(index=UPLOAD_INDEX):
                forget_uploads(client, collection=name)
        return
    if not index_exists(path):
        raise Missing(f"There is no index '{name}'.{suggest_indexes(name)} List all with: prefrag indexes list")
    try:
        with ExitStack() as held:
            changes = held.enter_context(change_collection(name))
            _stop_writers(path, held)
            changes.make(drops=True)
    except OSError as error:
        raise DocumentStoreError(
            f"The index {path} cannot be deleted ({error.strerror}): stop programs that use it, and try again."
        ) from error


def _stop_writers(path: Path, held: ExitStack) -> None:
    """Keep other processes from writing to an index. A damaged index is skipped, because nobody can write to it."""
    try:
        index = open_index(path)
    except DocumentStoreError:
        return
    if index is not None:
        held.enter_context(index.no_writers(_WRITER_SECONDS))


def _summarise(name: str, store: str, size: int, changed: str | None) -> IndexSummary:
    try:
        origins = stores.open_passages(store, name).count_origins()
        web = read_web_choice(name, store)
    except (DocumentStoreError, ValueError) as error:
        return IndexSummary(name, None, None, size, None, changed, str(error))
    files = sum(path is not None for _, path in origins)
    return IndexSummary(name, origins.total(), files, size, web, changed)


def _local_indexes() -> Iterator[tuple[str, int, str | None]]:
    """Yield the name, the size in bytes and the time of the last change of each index of the data directory."""
    for name in list_names():
        path = index_path(DEFAULT_INDEX).with_name(name)  # `index_path(name)` would refuse "a (copy)", for example
        files = [os.path.join(root, file) for root, _, names in os.walk(path) for file in names]
        # Some files may be gone by now, because another process may be merging the segments of the index.
        size = sum(os.path.getsize(file) for file in files if os.path.exists(file))
        # Every commit replaces this file.
        changed = datetime.fromtimestamp((path / "meta.json").stat().st_mtime, UTC).isoformat(timespec="seconds")
        yield name, size, changed


def _server_indexes() -> Iterator[tuple[str, int, str | None]]:
    from prefrag.collections.changes.rebuilding import REBUILD_OF, find_rebuilt

    with stores.connect_elasticsearch() as client:
        mappings = client.indices.get_mapping(index="*", expand_wildcards="open")
        own = [name for name, one in mappings.items() if stores.is_own_mapping(one["mappings"].get("properties", {}))]
        statistics = client.indices.stats(index=own, metric="store")["indices"] if own else {}
        rebuilt = {name: mappings[name]["mappings"].get("_meta", {}).get(REBUILD_OF) for name in own}
        # A rebuilt index is listed under its alias, and the new index of an unfinished rebuild under its own name.
        shown = {name: of if of and find_rebuilt(client, of) == name else name for name, of in rebuilt.items()}
    for name in own:
        yield shown[name], int(statistics.get(name, {}).get("total", {}).get("store", {}).get("size_in_bytes", 0)), None


def read_web_choice(index: str = DEFAULT_INDEX, store: str = "tantivy") -> bool | None:
    """Read whether the user allows web searches for questions about an index. Returns None if this is undecided."""
    from elasticsearch import NotFoundError

    try:
        return web_consent.read_web_consent(_open(index, store))
    except DocumentStoreError as error:
        if isinstance(error.__cause__, NotFoundError):
            return None
        raise


def store_web_choice(answer: bool, index: str = DEFAULT_INDEX, store: str = "tantivy") -> None:
    """Store whether the user allows web searches for questions about an index. This replaces an earlier decision."""
    if store == "tantivy" and not index_exists(index_path(index)):
        raise FileNotFoundError(f"There is no index '{index}'.{suggest_indexes(index)} List all: prefrag indexes list")
    web_consent.keep_web_consent(_open(index, store), answer)


def _open(index: str, store: str) -> Any:
    if store == "tantivy":
        return TantivyDocumentStore(path=str(index_path(index)))
    return stores.elasticsearch_store(index=index)


def list_documents(index: str = DEFAULT_INDEX, store: str | DocumentStore = "tantivy") -> list[IndexedFile]:
    """List the files and corpora of an index, sorted by path. Passages without a path form one entry at the end."""
    found: dict[tuple[str, str | None], IndexedFile] = {}
    for passage in stores.open_passages(store, index).all():
        kind, path = stores.origin_of(passage)
        if (entry := found.get((kind, path))) is None:
            title = str(passage.meta.get("title") or "") if kind == "file" else Path(path or "").name
            entry = found[(kind, path)] = IndexedFile(path, kind, title)
        entry.passages += 1
    return sorted(found.values(), key=lambda entry: (entry.path is None, entry.path or ""))
