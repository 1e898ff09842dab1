"""Change uploaded documents in Elasticsearch, where several servers may change them at the same time.

Elasticsearch has no transactions. So each collection has a lock, which is a document in the index `prefrag-uploads`. A
change has these steps:

1. The server takes the lock.
2. It writes the steps of the change into the same index.
3. It lists the steps in the lock, in a single write. From now on, the change is decided.
4. It does the steps, and then deletes the lock.

If the server stops, the next server that takes the lock finishes a decided change. If the change was not decided yet,
the next server deletes what was written for it. Only the name and the size of an uploaded file are stored. Its passages
are all that is ever read.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import threading
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from haystack import Document
from haystack.document_stores.errors import DocumentStoreError

from prefrag.collections import stores
from prefrag.collections.changes.uploaded_files import WAIT_SECONDS
from prefrag.collections.collection import Room
from prefrag.file_lock import Busy

# This import is only for type checkers. The client is slow to import, and most servers that import this module do not
# use the client.
if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

logger = logging.getLogger(__name__)

# The index with the locks, the steps of changes, and the names and sizes of uploaded files.
UPLOAD_INDEX = "prefrag-uploads"
# The key in `_meta` of an index that an upload has made.
MADE_BY_UPLOAD = "prefrag_uploaded"
# The mapping of that index.
_MAPPING = {
    "dynamic": False,
    "properties": {
        "kind": {"type": "keyword"},
        "collection": {"type": "keyword"},
        "change": {"type": "keyword"},
        "bytes": {"type": "long"},
    },
}
# The steps are stored in parts of this many bytes, one document for each part. In base64, a part is a third larger.
_PART_BYTES = 750_000
# The maximum number of bytes of one request with such parts.
_BULK_BYTES = 10_000_000
# If a server does not renew its lock for this many seconds, another server may take the lock. The other server counts
# the seconds with its own clock, because the clocks of two servers may differ.
LEASE_SECONDS = 15.0
# The seconds after which a server renews its lock.
_BEAT_SECONDS = 3.0
# The seconds between two attempts of another server to take the lock.
_POLL_SECONDS = 0.1
# The message if another server may have taken the lock.
_LOST_LOCK = "The change paused for too long, so another server may have begun a change: try again."
# The version of a document. With these parameters, Elasticsearch writes the document only if nobody else has written it
# meanwhile.
_Version = Mapping[str, Any]


class SharedChanges:
    """Takes the lock of a collection, makes one change of the collection, and releases the lock.

    :param folder: The path under which the uploaded documents of the collection are listed.
    :param over: An event that ends the thread which renews the lock.
    """

    def __init__(self, client: Elasticsearch, collection: str) -> None:
        """Prepare a change.

        :param client: The client of Elasticsearch.
        :param collection: The name of the collection.
        """
        self.folder = uploaded_path(collection)
        self._client = client
        self._collection = collection
        # The ID of the change.
        self._id = uuid.uuid4().hex
        # The change, as the lock lists it. None until the change is decided.
        self._change: dict[str, Any] | None = None
        # The version of the lock that this server has written.
        self._version: _Version = {}
        # When this server has written the lock last, in seconds of `time.monotonic`.
        self._renewed = 0.0
        # Keeps two threads from writing the lock at the same time.
        self._one_at_a_time = threading.Lock()
        self.over = threading.Event()
        # The thread that renews the lock.
        self._heart = threading.Thread(target=self._beat, daemon=True)

    def take(self, wait: float) -> None:
        """Take the lock. If a stopped server has left an unfinished change, finish or undo this change.

        :param wait: The maximum number of seconds to wait for another server.
        :raises Busy: If another server still has the lock after ``wait`` seconds.
        """
        abandoned_lock = self._wait_for_lock(wait)
        self._heart.start()
        if self._change is not None:
            self._finish(self._change)
            self._change = None
            self._write_lock(self._version)
        elif abandoned_lock is not None:
            # The change of the stopped server was not decided.
            forget_uploads(self._client, change=abandoned_lock["change"])

    def _wait_for_lock(self, wait: float) -> dict[str, Any] | None:
        """Write the lock as soon as no other server has it.

        :param wait: The maximum number of seconds to wait for another server.
        :returns: The lock of a stopped server, if this server has taken it over. Its decided change is then the change
            of this server. None if there was no lock.
        :raises Busy: If another server still has the lock after ``wait`` seconds.
        """
        from elasticsearch import ConflictError

        deadline = time.monotonic() + wait
        # The version of the lock of another server.
        seen_version: _Version = {}
        # When this version was first seen.
        seen_since = 0.0
        while True:
            try:
                self._write_lock({"op_type": "create"})
                return None
            except ConflictError:
                lock = self._read_lock()

            now = time.monotonic()
            lock_of_other, version = lock or (None, {})
            if version != seen_version:
                seen_version = version
                seen_since = now
            elif lock_of_other is not None and now - seen_since > LEASE_SECONDS:
                # The other server has stopped. Take its lock together with its change.
                self._change = lock_of_other["holds"]
                with suppress(ConflictError):
                    self._write_lock(version)
                    return lock_of_other
                self._change = None
            if now >= deadline:
                raise Busy(
                    f"Another server is still changing the documents of {self._collection} after {wait:g} seconds: "
                    "try again."
                )
            time.sleep(_POLL_SECONDS)

    def open(self) -> stores.PassageStore:
        """Open the passages of the index. An index that does not exist counts as empty.

        :returns: The passages.
        """
        try:
            return stores.open_elasticsearch(self._collection)
        except FileNotFoundError:
            from haystack.document_stores.in_memory import InMemoryDocumentStore

            return stores.PassageStore(InMemoryDocumentStore())

    def make(
        self,
        *,
        added: Mapping[str, Path] = MappingProxyType({}),
        removed: Iterable[str] = (),
        written: Iterable[Document] = (),
        outdated: Iterable[str] = (),
        language: str | None = None,
        drops: bool = False,
    ) -> dict[str, str]:
        """Make a change.

        :param added: The paths of the new files, by their names.
        :param removed: The names of the uploaded files to delete from the list of uploads.
        :param written: The passages to write.
        :param outdated: The IDs of the passages to delete.
        :param language: The language of a new index. None means English.
        :param drops: Whether to delete the index and the list of its uploads instead.
        :returns: The reasons why Elasticsearch refused passages, by the IDs of the passages. If a passage of a file is
            refused, the whole file is not indexed. If a passage of a corpus is refused, only this passage is left out.
        :raises Busy: If the change paused for so long that another server may have taken the lock.
        """
        from elasticsearch import ConflictError

        files = [{"name": name, "bytes": path.stat().st_size} for name, path in added.items()]
        steps = {"written": [passage.to_dict() for passage in written], "outdated": [*outdated]}
        redo = self._put_steps(zlib.compress(json.dumps(steps).encode()))
        self._check()
        self._change = {
            "id": self._id,
            "files": files,
            "removed": [*removed],
            "redo": redo,
            "language": language,
            "drops": drops,
        }

        # This write decides the change.
        try:
            self._write_lock(self._version)
        except ConflictError as error:
            self._change = None
            raise Busy(_LOST_LOCK) from error
        return self._finish(self._change)

    def release(self) -> None:
        """Delete the lock. If a decided change is unfinished, the lock stays, so that another server finishes it."""
        from elasticsearch import ConflictError, NotFoundError

        self.over.set()
        if self._heart.ident is not None:
            self._heart.join()

        if self._change is None:
            forget_uploads(self._client, change=self._id)
        elif not self._change.get("done"):
            return
        with self._one_at_a_time, suppress(ConflictError, NotFoundError):
            self._client.delete(index=UPLOAD_INDEX, id=self._lock_id, **self._version)

    @property
    def _lock_id(self) -> str:
        """The ID of the document that is the lock."""
        return f"lock:{self._collection}"

    def _read_lock(self) -> tuple[dict[str, Any], _Version] | None:
        """Return the lock of the collection and its version; None if there is no lock."""
        from elasticsearch import NotFoundError

        try:
            document = self._client.get(index=UPLOAD_INDEX, id=self._lock_id)
        except NotFoundError:
            return None
        version = {"if_seq_no": document["_seq_no"], "if_primary_term": document["_primary_term"]}
        return document["_source"], version

    def _write_lock(self, condition: Mapping[str, Any]) -> None:
        """Write the lock with the present change.

        :param condition: The version that the lock must have, or ``{"op_type": "create"}`` if there must be no lock.
        :raises ConflictError: If the condition is not true. This is an error of the client.
        """
        with self._one_at_a_time:
            began = time.monotonic()
            lock = {"kind": "lock", "collection": self._collection, "change": self._id, "holds": self._change}
            if "if_seq_no" in condition and self._version:
                # The thread that renews the lock may have written it in the meantime. So use the newest version.
                condition = self._version
            reply = self._client.index(index=UPLOAD_INDEX, id=self._lock_id, document=lock, **condition)
            self._version = {"if_seq_no": reply["_seq_no"], "if_primary_term": reply["_primary_term"]}
            self._renewed = began

    def _beat(self) -> None:
        """Renew the lock again and again. Runs in a thread of its own."""
        from elastic_transport import TransportError
        from elasticsearch import ApiError, ConflictError

        while not self.over.wait(_BEAT_SECONDS):
            try:
                self._write_lock(self._version)
            except ConflictError:
                self._renewed = float("-inf")
                return
            except (ApiError, TransportError):
                # The next attempt may still be in time.
                continue

    def _check(self) -> None:
        """Raise :class:`Busy` if another server may have taken the lock, as when this process was suspended."""
        if time.monotonic() - self._renewed > LEASE_SECONDS - _BEAT_SECONDS:
            raise Busy(_LOST_LOCK)

    def _put_steps(self, data: bytes) -> list[str]:
        """Write the compressed steps of the change into the upload index. Return the IDs of the parts."""
        from elasticsearch import helpers

        ids = [f"{self._id}:redo:{start}" for start in range(0, len(data), _PART_BYTES)]
        common = {"kind": "redo", "collection": self._collection, "change": self._id}

        def parts() -> Iterator[dict[str, Any]]:
            """Yield the document of each part."""
            for number, part_id in enumerate(ids):
                self._check()
                part = data[number * _PART_BYTES : (number + 1) * _PART_BYTES]
                yield {"_id": part_id, **common, "data": base64.b64encode(part).decode("ascii")}

        helpers.bulk(self._client, parts(), index=UPLOAD_INDEX, max_chunk_bytes=_BULK_BYTES)
        return ids

    def _finish(self, change: dict[str, Any]) -> dict[str, str]:
        """Do the steps of a decided change. Another server may have done some of them before.

        :param change: The change, as the lock lists it.
        :returns: The reasons why Elasticsearch refused passages, by the IDs of the passages.
        """
        refused: dict[str, str] = {}
        if change["drops"]:
            # Delete the index only if an upload made it. Meanwhile, the command line may have made another index with
            # the same name.
            _, is_made_by_upload = describe_index(self._collection)
            if is_made_by_upload:
                self._client.indices.delete(index=self._collection, ignore_unavailable=True)
            forget_uploads(self._client, collection=self._collection)
        else:
            steps = self._read_steps(change["redo"])
            if steps is not None:
                refused, left_out = self._change_passages(steps, change["language"])
                self._list_files(change, left_out)
                # An earlier version of the program also stored the files, in parts.
                forget_uploads(self._client, collection=self._collection, kind="part")
                # Delete the steps last. Without its steps, a change counts as done.
                _delete(self._client, change["redo"])
        change["done"] = True
        return refused

    def _list_files(self, change: dict[str, Any], left_out: set[str]) -> None:
        """Add the new files of a change to the list of uploads, except some of them, and delete its removed files."""
        from elasticsearch import helpers

        common = {"kind": "file", "collection": self._collection, "change": change["id"]}
        actions = []
        for file in change["files"]:
            name = file["name"]
            if name not in left_out:
                actions.append({"_id": self._record_id(name), **common, "name": name, "bytes": file["bytes"]})
        helpers.bulk(self._client, actions, index=UPLOAD_INDEX)
        _delete(self._client, [self._record_id(name) for name in change["removed"]])

    def _read_steps(self, redo: list[str]) -> dict[str, Any] | None:
        """Read the steps of a change. Return None if they were deleted, which means that all of them are done.

        :param redo: The IDs of the parts.
        """
        parts = self._client.mget(index=UPLOAD_INDEX, ids=redo)["docs"]
        if not all(part.get("found") for part in parts):
            return None
        data = b"".join(base64.b64decode(part["_source"]["data"]) for part in parts)
        steps: dict[str, Any] = json.loads(zlib.decompress(data))
        return steps

    def _change_passages(self, steps: dict[str, Any], language: str | None) -> tuple[dict[str, str], set[str]]:
        """Write and delete the passages of a change.

        :param steps: The steps of the change.
        :param language: The language of a new index. None means English.
        :returns: The reasons why passages were refused, by their IDs, and the names of the files that are left out.
        """
        from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever

        written = [Document.from_dict(fields) for fields in steps["written"]]
        outdated = set(steps["outdated"])
        refused: dict[str, str] = {}
        if not self._client.indices.exists(index=self._collection):
            if not written:
                return {}, set()
            mapping = ElasticsearchMultiMatchRetriever.recommended_mapping(language or "english")
            meta = {"prefrag_web": False, MADE_BY_UPLOAD: True}
            stores.make_index(self._client, self._collection, {**mapping, "_meta": meta})

        with closing(stores.open_elasticsearch(self._collection)) as store:
            for start in range(0, len(written), store.batch):
                self._check()
                refused |= store.write(written[start : start + store.batch])

            # A file is left out if one of its passages was refused. Its new passages are deleted, and its earlier
            # passages stay.
            left_out = set()
            for passage in written:
                if passage.id in refused and "file_path" in passage.meta:
                    left_out.add(passage.meta["file_path"])
            for path in left_out:
                for field in stores.ORIGIN_FIELDS:
                    outdated -= {passage.id for passage in store.where(field, [path])}
                outdated |= {passage.id for passage in written if passage.meta.get("file_path") == path}

            self._check()
            store.delete_in_batches(outdated)
            store.finish()
        return refused, {Path(path).name for path in left_out}

    def _record_id(self, name: str) -> str:
        """Return the ID of the document with the name and the size of an uploaded file."""
        return f"file:{self._collection}:{_digest(name)}"


@contextmanager
def change_shared(collection: str, wait: float | None = None) -> Iterator[SharedChanges]:
    """Lock a collection against changes by other servers during the block.

    If an earlier change was interrupted, it is first finished or undone.

    :param collection: The name of the collection.
    :param wait: The maximum number of seconds to wait for another server. None means 60 seconds.
    :returns: A context manager. It provides the object with which to make one change.
    :raises Busy: If another server is changing the collection for too long.
    """
    with stores.connect_elasticsearch() as client:
        stores.make_index(client, UPLOAD_INDEX, _MAPPING, number_of_shards=1, hidden=True)
        changes = SharedChanges(client, collection)
        seconds = WAIT_SECONDS if wait is None else wait
        try:
            changes.take(seconds)
        except BaseException:
            changes.over.set()
            raise
        try:
            yield changes
        finally:
            changes.release()


def settle_shared_changes() -> None:
    """Finish or undo the changes that stopped servers have left unfinished, in all collections.

    Errors are only logged.
    """
    from elasticsearch import helpers

    try:
        with stores.connect_elasticsearch() as client:
            if not client.indices.exists(index=UPLOAD_INDEX):
                return
            query = {"query": {"term": {"kind": "lock"}}}
            names = [hit["_source"]["collection"] for hit in helpers.scan(client, index=UPLOAD_INDEX, query=query)]
        for collection in names:
            with suppress(Busy), change_shared(collection, LEASE_SECONDS + _BEAT_SECONDS):
                pass
    except DocumentStoreError as error:
        logger.error("Changes of collections could not be finished or undone. %s", error)


def forget_uploads(client: Elasticsearch, **term: str) -> None:
    """Delete documents from the upload index, except locks.

    :param client: The client of Elasticsearch.
    :param term: The values that the documents must have, by their fields. For example, ``collection="notes"`` deletes
        all documents of this collection.
    """
    from elasticsearch import helpers

    client.indices.refresh(index=UPLOAD_INDEX)
    terms = [{"term": {field: value}} for field, value in term.items()]
    query = {"bool": {"filter": terms, "must_not": {"term": {"kind": "lock"}}}}
    hits = helpers.scan(client, index=UPLOAD_INDEX, query={"query": query, "_source": False})
    _delete(client, [hit["_id"] for hit in hits])


def measure_uploads(collection: str) -> Room:
    """Measure how much has been uploaded.

    :param collection: The name of the collection.
    :returns: The number and the size of its uploaded files, the number of collections that uploads have made, and
        whether this collection exists.
    """
    query = {"bool": {"filter": [{"term": {"kind": "file"}}, {"term": {"collection": collection}}]}}
    with stores.connect_elasticsearch() as client:
        number_of_files = 0
        size = 0
        if client.indices.exists(index=UPLOAD_INDEX):
            result = client.search(
                index=UPLOAD_INDEX,
                size=0,
                query=query,
                track_total_hits=True,
                aggs={"bytes": {"sum": {"field": "bytes"}}},
                allow_partial_search_results=False,
            )
            number_of_files = result["hits"]["total"]["value"]
            size = int(result["aggregations"]["bytes"]["value"])
        # With this filter, the reply has only the indexes that uploads have made.
        made_by_uploads = client.indices.get_mapping(index="*", filter_path=f"*.mappings._meta.{MADE_BY_UPLOAD}")
        is_there = bool(client.indices.exists(index=collection))
        return Room(files=number_of_files, bytes=size, collections=len(made_by_uploads), is_there=is_there)


def describe_index(collection: str) -> tuple[str | None, bool]:
    """Find the language of an index, and whether an upload has made the index.

    :param collection: The name of the collection.
    :returns: The language of the stemmer, and whether an upload has made the index and not the command line. None and
        False if there is no such index.
    """
    from elasticsearch import NotFoundError

    with stores.connect_elasticsearch() as client, suppress(NotFoundError):
        for description in client.indices.get_mapping(index=collection).values():
            mappings = description["mappings"]
            language = mappings.get("properties", {}).get("content", {}).get("analyzer")
            return language, MADE_BY_UPLOAD in mappings.get("_meta", {})
    return None, False


def uploaded_path(collection: str) -> Path:
    """Make the path under which an index lists uploaded files. It is the same on all machines, but exists on none.

    :param collection: The name of the collection.
    :returns: The path, such as "upload:notes".
    """
    return Path(f"{stores.UPLOADED}{collection}")


def _delete(client: Elasticsearch, ids: list[str]) -> None:
    """Delete documents from the upload index by their IDs."""
    from elasticsearch import helpers

    actions = ({"_op_type": "delete", "_id": document_id} for document_id in ids)
    # Ignore errors, because some of the documents may already be deleted.
    helpers.bulk(client, actions, index=UPLOAD_INDEX, refresh=True, raise_on_error=False)


def _digest(name: str) -> str:
    """Return the digest of the name of a file as 32 hexadecimal digits."""
    return hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
