"""Change uploaded documents so that the uploaded files and the index agree, even if the change is interrupted.

Only the index says which files belong to a collection. A change has these steps:

1. The files of an upload arrive in a folder of their own, and stay there (:func:`make_incoming`).
2. Each file that the change replaces or deletes gets a mark, which is an empty file beside it.
3. A single commit of the index adds the new passages, and deletes the passages of the replaced files.
4. The sweep deletes files that no passage names (:func:`_sweep`). It deletes only the files of an interrupted upload
   and the files with a mark.

If the change is interrupted, the sweep comes with the next change or the next start of a server. The sweep never
deletes any other file, because the index may have been lost and made again, or restored from a backup.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
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

# The place of an uploaded file: the last two parts of its path.
_Place = tuple[str, ...]

# The maximum number of seconds that a change waits for another change of the same collection.
WAIT_SECONDS = 60.0
# The name of a file in the folder of an upload, until the upload is in the index or deleted. The process that receives
# the upload has a lock on this file.
_ALIVE = ".alive"
# The name of the mark of a file that a change replaces or deletes: this text and the name of the file. The mark is
# beside the file until the change has ended.
_LEAVING = ".leaving-"
# The beginning of the name of a folder beside the index of a collection. This folder has an index that is being made.
_MADE = ".made-"
# The beginning of the name of another folder beside it. This folder is an index that is being deleted.
_DROPPED = ".dropped-"
# If the folder of an index has a file with this name, an upload has made the index, and not the command line.
_MARK = "prefrag-uploaded"
# No upload takes this many seconds. If the folder of an upload is older, its process has stopped.
_ABANDONED_SECONDS = 24 * 3600.0
# The folders in which this process receives uploads now. Their age is not asked for, because it would be wrong if the
# clock of the system was set ahead.
_receiving: set[Path] = set()


def uploads_folder(collection: str) -> Path:
    """Find the folder with the uploads of a collection. Each upload has a folder of its own in it.

    :param collection: The name of the collection.
    :returns: The path of the folder. The folder need not exist.
    """
    return _uploads() / collection


@contextmanager
def make_incoming(collection: str) -> Iterator[Path]:
    """Make a folder for the files of an upload. After the block, only the files stay that the index names.

    :param collection: The name of the collection.
    :returns: A context manager. It provides the folder.
    :raises ValueError: If the name cannot be the name of a collection.
    :raises DiskFull: If the disk is full.
    """
    # This call raises an error if the name is invalid.
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
            # If the file system has no locks, the age of the folder says that the upload has ended. So make it very
            # old.
            os.utime(folder, (0, 0))
            # Whatever the index does not name is deleted.
            settle_changes(collection)


def list_arrived(incoming: Path) -> list[Path]:
    """List the uploaded files in a folder of :func:`make_incoming`.

    :param incoming: The folder.
    :returns: The paths of the files, in alphabetical order. Hidden files are left out.
    """
    names = [name for name in os.listdir(incoming) if not name.startswith(".")]
    return [incoming / name for name in sorted(names)]


@contextmanager
def change_collection(collection: str, wait: float | None = None) -> Iterator[LocalChanges]:
    """Lock a collection against changes by other processes during the block.

    The files that interrupted changes have left are deleted.

    :param collection: The name of the collection.
    :param wait: The maximum number of seconds to wait for another process. None means 60 seconds.
    :returns: A context manager. It provides the object with which to make one change.
    :raises ValueError: If the name cannot be the name of a collection.
    :raises Busy: If another process is changing the collection for too long.
    """
    # This call raises an error if the name is invalid.
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
    """Delete the files that interrupted changes have left, in all collections. Errors are only logged."""
    collections = set(map(collection_of, _uploads().glob("*")))
    for mark in (_MADE, _DROPPED):
        collections |= {path.name.removeprefix(mark) for path in data_directory().glob(f"indexes/{mark}*")}
    for collection in sorted(collections):
        try:
            settle_changes(collection)
        except (OSError, DocumentStoreError) as error:
            logger.error("What a change of the collection %s has left could not be removed. %s", collection, error)


def settle_changes(collection: str) -> None:
    """Delete the files that interrupted changes have left in one collection.

    :param collection: The name of the collection.
    """
    # If another process has the lock, that process deletes these files.
    with suppress(Busy, ValueError), change_collection(collection, wait=0):
        pass


def was_made_by_upload(collection: str) -> bool:
    """Check whether an index was made by an upload, and not by the command line.

    :param collection: The name of the collection.
    :returns: Whether the index has the file that says so.
    """
    return (index_path(collection) / _MARK).exists()


def count_made_by_uploads() -> int:
    """Count the indexes that uploads have made.

    :returns: The number of indexes.
    """
    return len(list(data_directory().glob(f"indexes/*/{_MARK}")))


def measure_files(collection: str) -> list[int]:
    """Measure the uploaded files of a collection.

    :param collection: The name of the collection.
    :returns: The size of each file in bytes. Files that are still arriving are left out.
    """
    sizes = []
    for folder, folders, names in os.walk(uploads_folder(collection)):
        # `os.walk` does not enter the folders that are removed from this list. So hidden folders are left out.
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
    """Makes one change to a locked collection on this machine.

    :param folder: The folder with the uploads of the collection.
    """

    def __init__(self, collection: str) -> None:
        """Prepare a change. The caller has the lock of the collection.

        :param collection: The name of the collection.
        """
        self.folder = uploads_folder(collection)
        self._index = index_path(collection)

    def open(self) -> PassageStore:
        """Open the passages of the index. An index that does not exist counts as empty.

        :returns: The passages.
        """
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
        """Make a change, as a whole or not at all.

        :param added: The paths of the new files, by their names. All are in one folder of :func:`make_incoming`.
        :param removed: Not used here. The uploaded files of deleted or replaced passages are deleted in any case, if no
            passage names them afterwards.
        :param written: The passages to write.
        :param outdated: The IDs of the passages to delete.
        :param language: The language of a new index. None means English.
        :param drops: Whether to delete the index with its vectors and files instead.
        :returns: The reasons why passages were refused. Always empty here, because only Elasticsearch refuses passages.
        """
        if drops:
            # Move the index in one step. So a search finds either the whole index or nothing.
            dropped = _aside(self._index, _DROPPED)
            shutil.rmtree(dropped, ignore_errors=True)
            self._index.replace(dropped)
            _sync(self._index.parent)
            return {}

        # The files must be safe on disk before the index names them.
        for path in added.values():
            _sync(path)
        for folder in {path.parent for path in added.values()}:
            for above in (folder, self.folder, self.folder.parent):
                _sync(above)

        if not index_exists(self._index):
            self._make_index(list(written), language)
        elif written or outdated:
            store = TantivyDocumentStore(path=str(self._index))
            ids = {passage.id for passage in written}
            ids.update(outdated)
            self._mark_leaving(store, ids)
            store.replace_documents(list(written), sorted(outdated))
        return {}

    def _mark_leaving(self, store: TantivyDocumentStore, ids: set[str]) -> None:
        """Mark the uploaded files of passages that are deleted or written again. No passage may name them any more.

        :param store: The index.
        :param ids: The IDs of the passages.
        """
        files = set()
        for passage in store.documents_by_id(sorted(ids)):
            _, path = origin_of(passage)
            if path:
                files.add(self.folder.joinpath(*_below(path, self.folder)))
        for file in files:
            # A passage may also name a file of the user, or only the folder of the uploads.
            if self.folder in file.parents and file.is_file():
                (file.parent / f"{_LEAVING}{file.name}").touch()
                _sync(file.parent)

    def _make_index(self, written: list[Document], language: str | None) -> None:
        """Make a new index with some passages. It is made beside its place, and then moved there in one step."""
        # The new index is in a folder of its own. If its making is interrupted, it leaves further files beside it, and
        # all of them are in this folder.
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
    """Delete the files that no passage names, if they are of an interrupted upload or have a mark.

    :param collection: The name of the collection.
    """
    folder = uploads_folder(collection)
    index = index_path(collection)
    dropped = _aside(index, _DROPPED)
    shutil.rmtree(_aside(index, _MADE), ignore_errors=True)
    try:
        named = _places_in(index)
    except DocumentStoreError as error:
        logger.error("The uploads of the collection %s stay until its index can be read. %s", collection, error)
        return

    # The index is lost if somebody else has removed it. Then the uploads may be all that remains of the documents.
    is_lost = not index_exists(index) and not dropped.exists()
    # The files of an index that was dropped are deleted together with the index.
    leaving = _places_in_dropped(dropped)
    with _incoming_lock():
        if folder.exists():
            # An earlier version of the program stored all files directly in the folder of the collection.
            _sweep_folder(folder, named, leaving, is_lost)
            # Leave out links, because a link may lead to files that were never uploaded.
            uploads = [path for path in folder.glob("*") if path.is_dir() and not path.is_symlink()]
            for upload in uploads:
                _sweep_folder(upload, named, leaving, is_lost)
                with suppress(OSError):
                    upload.rmdir()
            with suppress(OSError):
                folder.rmdir()
        shutil.rmtree(dropped, ignore_errors=True)


def _aside(index: Path, mark: str) -> Path:
    """Return the path of a folder beside an index. Its name is a mark and the name of the index."""
    return index.with_name(f"{mark}{index.name}")


def _places_in_dropped(index: Path) -> set[_Place] | None:
    """Return the places of the files that a dropped index names.

    The result is empty if there is no such index. It is None, which stands for all files, if the index cannot be read.
    """
    if not index.exists():
        return set()
    try:
        return _places_in(index)
    except DocumentStoreError:
        return None


def _sweep_folder(folder: Path, named: set[_Place], leaving: set[_Place] | None, is_lost: bool) -> None:
    """Delete the files of a folder that no passage names, if their upload was interrupted or if they have a mark.

    :param folder: The folder of an upload.
    :param named: The places of the files that passages name.
    :param leaving: The places of the files of an index that was dropped. They count as marked. None stands for all
        files.
    :param is_lost: Whether the index is lost. Then no mark counts.
    """
    alive = folder / _ALIVE
    is_interrupted = alive.exists()
    if is_interrupted and not _is_abandoned(alive):
        return

    for file in list_arrived(folder):
        is_real_file = file.is_file() and not file.is_symlink()
        if not is_real_file or _place(file) in named:
            continue
        is_marked = (folder / f"{_LEAVING}{file.name}").exists()
        is_dropped = leaving is None or _place(file) in leaving
        may_leave = not is_lost and (is_marked or is_dropped)
        if is_interrupted or may_leave:
            _delete(file)

    for mark in folder.glob(f"{_LEAVING}*"):
        marked_file = folder / mark.name.removeprefix(_LEAVING)
        # The marks of a lost index stay as long as their files do, because the index may be restored.
        if is_lost and marked_file.exists():
            continue
        _delete(mark)
    _delete(alive)


def _places_in(index: Path) -> set[_Place]:
    """Return the places of the files that an index names."""
    store = PassageStore(TantivyDocumentStore(path=str(index)))
    return {_place(path) for _, path in store.count_origins()}


def _below(path: str, folder: Path) -> tuple[str, ...]:
    """Return the parts of a path below the folder of a collection.

    The index may have been made when the data directory was elsewhere, so only the last three parts are compared. For
    example, the path "/old/uploads/notes/upload-1/a.txt" and the folder "/data/uploads/notes" give ("upload-1",
    "a.txt"). The result is empty if the path is not in the folder.
    """
    # The two empty texts are for a path with fewer than three parts.
    *_, above, upload, name = ("", "", *Path(path).parts)
    if upload == folder.name:
        # An earlier version of the program stored all files directly in the folder of the collection.
        return (name,)
    if above == folder.name:
        return (upload, name)
    return ()


def _place(path: object) -> _Place:
    """Return the place of a file: the last two parts of its path.

    They stay the same if the data directory is moved, or if a link leads to it. For example, "/data/upload-1/a.txt"
    gives ("upload-1", "a.txt").
    """
    # Some file systems return a name in another Unicode form than the form in which it was written.
    normalized = unicodedata.normalize("NFC", str(path))
    parts = normalized.replace("\\", "/").split("/")
    return tuple(parts[-2:])


def _delete(file: Path) -> None:
    """Delete a file. If that is impossible, only log the error."""
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        # On Windows, a file that somebody reads cannot be deleted. The next change tries again.
        logger.error("%s could not be deleted (%s).", file, error.strerror)


def _is_abandoned(alive: Path) -> bool:
    """Check whether the process that received an upload has ended.

    :param alive: The file in the folder of the upload on which that process has a lock.
    """
    if alive.parent in _receiving:
        return False
    with alive.open("ab") as first, alive.open("ab") as second:
        is_free = take_lock(first.fileno())
        # If the lock can be taken twice, the file system has no locks.
        has_locks = not take_lock(second.fileno())
        if not is_free:
            return False
        if has_locks:
            return True
        return time.time() - alive.parent.stat().st_mtime > _ABANDONED_SECONDS


def _is_receiving(folder: Path) -> bool:
    """Check whether a running process still receives an upload in a folder."""
    alive = folder / _ALIVE
    return alive.exists() and not _is_abandoned(alive)


@contextmanager
def _explain_full_disk() -> Iterator[None]:
    """Turn the error of a full disk during the block into one that says what to do."""
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
    """Return the lock that keeps the sweep from a folder that is being made for an upload."""
    return index_lock(".incoming", WAIT_SECONDS, "making a folder for uploads")


def _uploads() -> Path:
    """Return the folder of all uploads, without links."""
    return real_path(data_directory() / "uploads")


def _sync(path: Path) -> None:
    """Make sure that the content of a file, or the list of files in a folder, is safe on the disk."""
    if not path.is_dir():
        _sync_opened(path, os.O_RDWR)
        return
    # Windows cannot open folders, and some network file systems cannot sync them.
    with suppress(OSError):
        _sync_opened(path, os.O_RDONLY)


def _sync_opened(path: Path, flags: int) -> None:
    """Open a file or folder with these flags, make sure that it is safe on the disk, and close it."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
