"""Change uploaded documents so that the uploaded files and the index agree, even if the change is interrupted.

The index alone says which files belong to a collection. The files of an upload arrive in a folder of their own, and
stay there. A single commit of the index adds their passages, and deletes those of the versions that they replace. Two
kinds of files are then swept away if no passage names them: those of an upload that was interrupted, and those that a
change has marked, before its commit, as replaced or deleted. The sweep comes at the end of the change, or after an
interruption with the next change or the next start of a server. Any other file stays, whatever the index says: the
index may have been lost and made anew, or restored from a backup.
"""

from __future__ import annotations

import logging
import math
import os
import shutil
import tempfile
import time
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from haystack import Document
from haystack.document_stores.errors import DocumentStoreError

from prefrag.collections.changes.earlier_uploads import collection_of, settle_earlier_changes
from prefrag.collections.stores import PassageStore, index_lock, origin_of
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import DiskFull, index_exists
from prefrag.components.document_stores.tantivy.index_location import data_directory, index_path
from prefrag.errors import NO_ROOM
from prefrag.file_lock import Busy, take_lock
from prefrag.indexing.discovery import real_path

logger = logging.getLogger(__name__)

# The last two parts of a path.
_Place = tuple[str, ...]

# The maximum number of seconds that a change waits for another change of the same collection.
WAIT_SECONDS = 60.0
# In the folder of an upload, until it is settled. The process that receives the upload holds a lock on this file.
_ALIVE = ".alive"
# Beside an uploaded file that a change replaces or deletes: a file of this name says so, until the change has ended.
_LEAVING = ".leaving-"
# Beside the index of a collection, what the names begin with of the index that is being made, and of the index that is
# being deleted.
_MADE, _DROPPED = ".made-", ".dropped-"
# If the folder of an index has a file with this name, an upload has made the index, and not the command line.
_MARK = "prefrag-uploaded"
# No upload takes this many seconds. An older folder was left behind by a process that has stopped.
_ABANDONED_SECONDS = 24 * 3600.0
# The folders in which this process receives uploads. Their age would be wrong after the system's clock was set ahead.
_receiving: set[Path] = set()


def uploads_folder(collection: str) -> Path:
    """Find the folder in which the uploads of a collection are kept, each in a folder of its own."""
    return _uploads() / collection


@contextmanager
def make_incoming(collection: str) -> Iterator[Path]:
    """Make a folder for the files of an upload. After the block, the files stay that the index names."""
    index_path(collection)
    with _explain_full_disk(), _incoming_lock():
        uploads_folder(collection).mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = Path(tempfile.mkdtemp(prefix="upload-", dir=uploads_folder(collection)))
        alive = (folder / _ALIVE).open("wb")
        take_lock(alive.fileno())
        _receiving.add(folder)
    try:
        yield folder
    finally:
        _receiving.discard(folder)
        alive.close()
        with suppress(OSError, DocumentStoreError):
            # Where the file system has no locks, the age says that nothing arrives here any more.
            os.utime(folder, (0, 0))
            settle_changes(collection)


def list_arrived(incoming: Path) -> list[Path]:
    """List the files that have arrived in a folder of :func:`make_incoming`."""
    return [incoming / name for name in sorted(os.listdir(incoming)) if not name.startswith(".")]


@contextmanager
def change_collection(collection: str, wait: float | None = None) -> Iterator[LocalChanges]:
    """Lock a collection against changes by other processes. What interrupted changes have left is swept away."""
    index_path(collection)
    seconds = WAIT_SECONDS if wait is None else wait
    lock = index_lock(f"uploads-{collection}", seconds, f"changing the documents of {collection}")
    with _explain_full_disk(), lock:
        settle_earlier_changes(uploads_folder(collection), index_path(collection), _is_receiving)
        try:
            yield LocalChanges(collection)
        finally:
            _sweep(collection)


def settle_all_changes() -> None:
    """Sweep away what stopped processes have left, in all collections."""
    collections = set(map(collection_of, _uploads().glob("*")))
    for mark in (_MADE, _DROPPED):
        collections |= {path.name.removeprefix(mark) for path in data_directory().glob(f"indexes/{mark}*")}
    for collection in sorted(collections):
        try:
            settle_changes(collection)
        except (OSError, DocumentStoreError) as error:
            logger.error("What a change of the collection %s has left could not be removed. %s", collection, error)


def settle_changes(collection: str) -> None:
    """Sweep away what stopped processes have left, in one collection."""
    # If another process holds the lock, that process does this.
    with suppress(Busy, ValueError), change_collection(collection, wait=0):
        pass


def was_made_by_upload(collection: str) -> bool:
    """Check whether an index was made by an upload rather than by the command line."""
    return (index_path(collection) / _MARK).exists()


def count_made_by_uploads() -> int:
    """Count the indexes that uploads have made."""
    return len(list(data_directory().glob(f"indexes/*/{_MARK}")))


def measure_files(collection: str) -> list[int]:
    """Measure the uploaded files of a collection, in bytes. Files that are still arriving do not count."""
    sizes = []
    for folder, folders, names in os.walk(uploads_folder(collection)):
        # This leaves hidden folders out of the walk.
        folders[:] = [name for name in folders if not name.startswith(".")]
        is_arriving = _ALIVE in names
        for name in names:
            if is_arriving or name.startswith("."):
                continue
            # A file may be gone by now, because another process has replaced or deleted it.
            with suppress(FileNotFoundError):
                sizes.append(os.path.getsize(os.path.join(folder, name)))
    return sizes


class LocalChanges:
    """Makes one change to a locked collection on this machine."""

    def __init__(self, collection: str) -> None:
        self.folder = uploads_folder(collection)
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

        ``added`` maps the names of new files to their paths, all in one folder from `make_incoming`. ``written`` are
        passages to write, and ``outdated`` are ids of passages to delete. The files of the passages that are deleted
        or replaced are deleted too, if no passage names them after that, whether or not they are in ``removed``.
        ``language`` is the language of a new index. With ``drops``,
        the index is deleted with its vectors and files. Returns why passages were refused. Only Elasticsearch refuses
        passages, so the mapping is always empty here.
        """
        if drops:
            # The index is moved in one step, so that a search finds either all of it or nothing.
            dropped = _aside(self._index, _DROPPED)
            shutil.rmtree(dropped, ignore_errors=True)
            self._index.replace(dropped)
            _sync(self._index.parent)
            return {}
        for path in added.values():
            _sync(path)
        for folder in {path.parent for path in added.values()}:
            for above in (folder, self.folder, self.folder.parent):
                _sync(above)
        if not index_exists(self._index):
            self._make_index(list(written), language)
        elif written or outdated:
            store = TantivyDocumentStore(path=str(self._index))
            self._mark_leaving(store, {*outdated, *(passage.id for passage in written)})
            store.replace_documents(list(written), sorted(outdated))
        return {}

    def _mark_leaving(self, store: TantivyDocumentStore, ids: set[str]) -> None:
        """Mark the uploaded files of passages that the commit may be the last to know."""
        origins = {origin_of(passage)[1] for passage in store.documents_by_id(sorted(ids))}
        for file in {self.folder.joinpath(*_below(path, self.folder)) for path in origins if path}:
            if file.parent != file and file.is_file() and self.folder in file.parents:
                (file.parent / f"{_LEAVING}{file.name}").touch()
                _sync(file.parent)

    def _make_index(self, written: list[Document], language: str | None) -> None:
        # A folder of its own, because an index that is being made leaves more beside it when it is cut off.
        made = _aside(self._index, _MADE) / "index"
        shutil.rmtree(made.parent, ignore_errors=True)
        made.parent.mkdir(parents=True, mode=0o700)
        store = TantivyDocumentStore(path=str(made), language=language)
        store.replace_documents(written, [])
        store.keep_web_consent(False)
        (made / _MARK).touch()
        # Close the files of the index, because Windows does not move a folder with open files.
        del store
        for path in (*made.iterdir(), made):
            _sync(path)
        self._index.parent.mkdir(parents=True, exist_ok=True)
        made.rename(self._index)
        _sync(self._index.parent)


def _sweep(collection: str) -> None:
    """Delete the files that no passage names, of those that an interrupted upload has left or a change has marked."""
    folder, index = uploads_folder(collection), index_path(collection)
    dropped = _aside(index, _DROPPED)
    shutil.rmtree(_aside(index, _MADE), ignore_errors=True)
    try:
        named = _places_in(index)
    except DocumentStoreError as error:
        logger.error("The uploads of the collection %s stay until its index can be read. %s", collection, error)
        return
    # If somebody else has removed the index, the uploads may be all that is left of the documents.
    is_lost = not index_exists(index) and not dropped.exists()
    # The files of an index that was dropped leave with it.
    leaving = _places_in_dropped(dropped)
    with _incoming_lock():
        if folder.exists():
            # An earlier version of the program kept all files in the folder of the collection.
            _sweep_folder(folder, named, leaving, is_lost)
            # A link may lead to files that were never uploaded.
            for upload in [path for path in folder.glob("*") if path.is_dir() and not path.is_symlink()]:
                _sweep_folder(upload, named, leaving, is_lost)
                with suppress(OSError):
                    upload.rmdir()
            with suppress(OSError):
                folder.rmdir()
        shutil.rmtree(dropped, ignore_errors=True)


def _aside(index: Path, mark: str) -> Path:
    return index.with_name(f"{mark}{index.name}")


def _places_in_dropped(index: Path) -> set[_Place] | None:
    """Return the places of the files that a dropped index names; None, for all files, if it cannot be read."""
    if not index.exists():
        return set()
    try:
        return _places_in(index)
    except DocumentStoreError:
        return None


def _sweep_folder(folder: Path, named: set[_Place], leaving: set[_Place] | None, is_lost: bool) -> None:
    """Delete the files of a folder that no passage names, if their upload was interrupted or a change marked them.

    ``named`` are the files that passages name. ``leaving`` are those of an index that was dropped; None for all files.
    With ``is_lost``, the index itself is gone, so that no mark counts.
    """
    alive = folder / _ALIVE
    is_interrupted = alive.exists()
    if is_interrupted and not _is_abandoned(alive):
        return
    for file in list_arrived(folder):
        if not file.is_file() or file.is_symlink() or _place(file) in named:
            continue
        is_marked = (folder / f"{_LEAVING}{file.name}").exists()
        is_dropped = leaving is None or _place(file) in leaving
        may_leave = not is_lost and (is_marked or is_dropped)
        if is_interrupted or may_leave:
            _delete(file)
    for mark in folder.glob(f"{_LEAVING}*"):
        if not is_lost or not (folder / mark.name.removeprefix(_LEAVING)).exists():
            _delete(mark)
    _delete(alive)


def _places_in(index: Path) -> set[_Place]:
    """Return the places of the files that an index names."""
    return {_place(path) for _, path in PassageStore(TantivyDocumentStore(path=str(index))).count_origins()}


def _below(path: str, folder: Path) -> tuple[str, ...]:
    """Return the parts of a path below the folder of a collection, wherever the data directory was at the time."""
    *_, above, upload, name = ("", "", *Path(path).parts)
    if upload == folder.name:
        # An earlier version of the program kept all files in the folder of the collection.
        return (name,)
    return (upload, name) if above == folder.name else ()


def _place(path: object) -> _Place:
    """Return the last two parts of a path, which a data directory that is moved or linked does not change."""
    # Some file systems return a name in another Unicode form than the one in which it was written.
    return tuple(unicodedata.normalize("NFC", str(path)).replace("\\", "/").split("/")[-2:])


def _delete(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        # On Windows, for example, somebody may be reading the file. The next change tries again.
        logger.error("%s could not be deleted (%s).", file, error.strerror)


def _is_abandoned(alive: Path) -> bool:
    """Check whether the process that receives an upload has ended."""
    if alive.parent in _receiving:
        return False
    with alive.open("ab") as first, alive.open("ab") as second:
        is_free = take_lock(first.fileno())
        has_no_locks = take_lock(second.fileno())  # if the same lock can be taken twice
        if not is_free:
            return False
        age = time.time() - alive.parent.stat().st_mtime if has_no_locks else math.inf
        return age > _ABANDONED_SECONDS


def _is_receiving(folder: Path) -> bool:
    alive = folder / _ALIVE
    return alive.exists() and not _is_abandoned(alive)


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


def _uploads() -> Path:
    return real_path(data_directory() / "uploads")


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
