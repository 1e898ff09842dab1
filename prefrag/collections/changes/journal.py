"""Change uploaded documents so that the uploaded files and the index agree, even if the change is interrupted.

A change first writes a journal, a file that says what will be done, into the folder of the new files. Then it makes a
single commit to the index. If the change is interrupted, the next process that changes the collection or starts a
server reads the journal. If the commit was made, that process finishes the change. Otherwise it undoes the change.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from haystack import Document
from haystack.document_stores.errors import DocumentStoreError

from prefrag.collections.stores import PassageStore, index_lock
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import DiskFull, index_exists
from prefrag.components.document_stores.tantivy.index_location import data_directory, index_path
from prefrag.errors import NO_ROOM
from prefrag.file_lock import Busy, take_lock
from prefrag.indexing.discovery import real_path

logger = logging.getLogger(__name__)

# The maximum number of seconds that a change waits for another change of the same collection.
WAIT_SECONDS = 60.0
# The folders of changes have this prefix. They are beside the folders of collections, which never begin with a dot.
_INCOMING = ".incoming-"
_JOURNAL, _ALIVE = ".journal.json", ".alive"  # the process that receives an upload holds a lock on `.alive`
# Inside the folder of a change: the folders for an index that is being made or deleted, and for its deleted uploads.
_INDEX_ASIDE, _UPLOADS_ASIDE = ".index", ".uploads"
# If the folder of an index has a file with this name, an upload has made the index, and not the command line.
_MARK = "prefrag-uploaded"
# No upload takes this many seconds. An older folder was left behind by a process that has stopped.
_ABANDONED_SECONDS = 24 * 3600.0


def uploads_folder(collection: str) -> Path:
    """Find the folder in which the uploaded documents of a collection are kept."""
    return _uploads() / collection


@contextmanager
def make_incoming(collection: str) -> Iterator[Path]:
    """Make a folder for the files of an upload. Delete it after the block, unless an unfinished change needs it."""
    with _explain_full_disk(), _incoming_lock():
        folder = _make_folder(collection)
        alive = (folder / _ALIVE).open("wb")
        take_lock(alive.fileno())
    try:
        yield folder
    finally:
        alive.close()
        # A journal means that a change is unfinished. The next process that locks the collection finishes or undoes it.
        if not (folder / _JOURNAL).exists():
            shutil.rmtree(folder, ignore_errors=True)


def list_arrived(incoming: Path) -> list[Path]:
    """List the files that have arrived in a folder of :func:`make_incoming`."""
    return sorted(each for each in incoming.iterdir() if not each.name.startswith("."))


@contextmanager
def change_collection(collection: str, wait: float | None = None) -> Iterator[LocalChanges]:
    """Lock a collection against changes by other processes. Interrupted changes are first finished or undone."""
    index_path(collection)
    seconds = WAIT_SECONDS if wait is None else wait
    lock = index_lock(f"uploads-{collection}", seconds, f"changing the documents of {collection}")
    with _explain_full_disk(), lock:
        _settle_changes(collection)
        try:
            yield LocalChanges(collection)
        finally:
            _settle_changes(collection)


def settle_all_changes() -> None:
    """Finish or undo the changes that stopped processes have left unfinished, in all collections."""
    for collection in sorted({_collection_of(folder) for folder in _uploads().glob(f"{_INCOMING}*")}):
        try:
            settle_changes(collection)
        except (OSError, DocumentStoreError) as error:
            logger.error("A change of the collection %s could not be finished or undone. %s", collection, error)


def settle_changes(collection: str) -> None:
    """Finish or undo the changes that stopped processes have left unfinished, in one collection."""
    # If another process holds the lock, that process has already done this.
    with suppress(Busy, ValueError), change_collection(collection, wait=0):
        pass


def was_made_by_upload(collection: str) -> bool:
    """Check whether an index was made by an upload rather than by the command line."""
    return (index_path(collection) / _MARK).exists()


def count_made_by_uploads() -> int:
    """Count the indexes that uploads have made."""
    return len(list(data_directory().glob(f"indexes/*/{_MARK}")))


class LocalChanges:
    """Makes one change to a locked collection on this machine."""

    def __init__(self, collection: str) -> None:
        self.folder = uploads_folder(collection)
        self._collection = collection
        self._index = index_path(collection)

    def open(self) -> PassageStore:
        """Open the passages of the index. An index that does not exist counts as empty."""
        return PassageStore(TantivyDocumentStore(path=str(self._index)))

    def make(
        self,
        *,
        added: Mapping[str, Path] = MappingProxyType({}),
        removed: Collection[str] = (),
        written: Collection[Document] = (),
        outdated: Collection[str] = (),
        language: str | None = None,
        drops: bool = False,
    ) -> dict[str, str]:
        """Make a change, either all of it or nothing.

        ``added`` maps the names of new files to their paths, all in one folder from `make_incoming`. ``removed`` are
        the names of files to delete. ``written`` are passages to write, and ``outdated`` are ids of passages to delete.
        ``language`` is the language of a new index. With ``drops``, the index is deleted with its vectors and files.
        Returns why passages were refused. Only Elasticsearch refuses passages, so the mapping is always empty here.
        """
        store = TantivyDocumentStore(path=str(self._index))
        if not (added or removed or drops):
            # A single commit is all or nothing, so no journal is needed.
            store.replace_documents(list(written), sorted(outdated))
            return {}
        incoming = next((path.parent for path in added.values()), None) or _make_folder(self._collection)
        passage, before = _find_difference(store, written, outdated)
        _write_journal(incoming, self.folder, added=added, removed=removed, passage=passage, before=before, drops=drops)
        if drops:
            # The index is moved in one step, so that a search finds either all of it or nothing.
            self._index.replace(incoming / _INDEX_ASIDE)
            _sync(self._index.parent)
            return {}
        if is_new := not index_exists(self._index):
            store = TantivyDocumentStore(path=str(incoming / _INDEX_ASIDE), language=language)
        if written or outdated:
            store.replace_documents(list(written), sorted(outdated))
        if is_new:
            store.keep_web_consent(False)
            (incoming / _INDEX_ASIDE / _MARK).touch()
            # Close the files of the index, because Windows does not move a folder with open files.
            del store
            for made in (*(incoming / _INDEX_ASIDE).iterdir(), incoming / _INDEX_ASIDE):
                _sync(made)
            self._index.parent.mkdir(parents=True, exist_ok=True)
            (incoming / _INDEX_ASIDE).rename(self._index)
            _sync(self._index.parent)
        return {}


def _write_journal(incoming: Path, folder: Path, added: Iterable[str], removed: Iterable[str], **journal: Any) -> None:
    """Write the journal of a change, so that the change can be finished or undone after a power cut.

    The journal names one `passage` that the commit changes, if any, and its state `before`. If the passage has another
    state when the journal is read, the commit was made. An index is deleted by moving it into the folder of the change.
    """
    if hashes := {name: _hash(incoming / name) for name in added}:
        # Make the folder now, so that no disk space is needed after the commit.
        folder.mkdir(exist_ok=True, mode=0o700)
    for name in hashes:
        _sync(incoming / name)
    written = incoming / f"{_JOURNAL}.new"
    written.write_text(json.dumps({"added": hashes, "removed": [*removed], **journal}), encoding="utf-8")
    _sync(written)
    written.replace(incoming / _JOURNAL)
    _sync(incoming)
    _sync(incoming.parent)


def _find_difference(
    store: TantivyDocumentStore, written: Iterable[Document], outdated: Iterable[str]
) -> tuple[str | None, str | None]:
    """Find one passage that the commit will change. Returns its id and its present state, or None for both."""
    for passage_id in outdated:
        return passage_id, _passage_state(store, passage_id)
    for passage in written:
        if (before := _passage_state(store, passage.id)) != _passage_state(store, passage):
            return passage.id, before
    return None, None


def _passage_state(store: TantivyDocumentStore, passage: str | Document) -> str | None:
    """Compute a digest of a passage or, for an id, of the passage in the index. Returns None for an unknown id."""
    if isinstance(passage, str):
        if not (found := store.documents_by_id([passage])):
            return None
        [passage] = found
    state = json.dumps([passage.content, passage.meta], sort_keys=True, default=str)
    return hashlib.blake2b(state.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _settle_changes(collection: str) -> None:
    """Finish or undo each unfinished change. Delete a folder without a journal if its process has ended."""
    for incoming in sorted(_uploads().glob(f"{_INCOMING}*")):
        if _collection_of(incoming) != collection:
            continue
        if not (incoming / _JOURNAL).exists():
            if _is_abandoned(incoming):
                shutil.rmtree(incoming, ignore_errors=True)
            continue
        journal = json.loads((incoming / _JOURNAL).read_text(encoding="utf-8"))
        try:
            is_committed = _is_committed(collection, incoming, journal)
        except DocumentStoreError as error:
            logger.error("A change of the collection %s waits until its index can be read. %s", collection, error)
            continue
        if is_committed:
            _finish(collection, incoming, journal)
        # Delete the journal first. As long as it exists, the change counts as unfinished, and its files must stay.
        (incoming / _JOURNAL).unlink()
        _sync(incoming)
        shutil.rmtree(incoming, ignore_errors=True)
    if (folder := uploads_folder(collection)).exists() and not any(folder.iterdir()):
        folder.rmdir()


def _is_committed(collection: str, incoming: Path, journal: dict[str, Any]) -> bool:
    if journal["drops"]:
        return (incoming / _INDEX_ASIDE).exists()
    if not index_exists(index_path(collection)):
        return False
    passage = journal["passage"]
    store = TantivyDocumentStore(path=str(index_path(collection)))
    return passage is None or _passage_state(store, passage) != journal["before"]


def _finish(collection: str, incoming: Path, journal: dict[str, Any]) -> None:
    folder = uploads_folder(collection)
    if journal["drops"]:
        if folder.exists():
            folder.replace(incoming / _UPLOADS_ASIDE)
        return
    for name, digest in journal["added"].items():
        if (incoming / name).exists():
            (incoming / name).replace(folder / name)
        if not (folder / name).exists() or _hash(folder / name) != digest:
            logger.error("%s is missing or differs from the indexed file: upload it again.", folder / name)
    for name in journal["removed"]:
        (folder / name).unlink(missing_ok=True)
    _sync(folder)


def _is_abandoned(incoming: Path) -> bool:
    """Check whether the process that made a folder has ended."""
    with _incoming_lock(), (incoming / _ALIVE).open("ab") as one, (incoming / _ALIVE).open("ab") as two:
        # If the same lock can be taken twice, the file system has no locks. Then the age of the folder decides.
        is_free, are_free = take_lock(one.fileno()), take_lock(two.fileno())
        return is_free and (not are_free or time.time() - incoming.stat().st_mtime > _ABANDONED_SECONDS)


@contextmanager
def _explain_full_disk() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise DiskFull(
            f"The disk is full ({error.strerror}): make room on the disk of {_uploads()} and try again. What was "
            "indexed before is still there."
        ) from error


def _incoming_lock() -> Any:
    return index_lock(".incoming", WAIT_SECONDS, "making a folder for uploads")


def _make_folder(collection: str) -> Path:
    _uploads().mkdir(parents=True, exist_ok=True, mode=0o700)
    return Path(tempfile.mkdtemp(prefix=f"{_INCOMING}{collection}-", dir=_uploads()))


def _collection_of(incoming: Path) -> str:
    return incoming.name.removeprefix(_INCOMING).rpartition("-")[0]


def _uploads() -> Path:
    return real_path(data_directory() / "uploads")


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    """Make sure that the content of a file, or the list of files in a folder, is written to the disk."""
    is_folder = path.is_dir()
    # Windows cannot open folders, and some network file systems cannot sync them.
    with suppress(OSError) if is_folder else nullcontext():
        descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
