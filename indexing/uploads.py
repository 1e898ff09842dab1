"""Keep and index the documents of a collection that are uploaded, and delete what it holds."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import index_exists
from prefrag.components.document_stores.tantivy.index_location import data_directory, index_path, resolve_index
from prefrag.components.errors import BadInput, Missing
from prefrag.indexing import IndexedFile, list_documents
from prefrag.indexing.discovery import real_path
from prefrag.indexing.file_conversion import fingerprint
from prefrag.indexing.lock import index_lock
from prefrag.indexing.report import IndexReport
from prefrag.indexing.stores import open_passages

# Changes of one collection wait so long for each other.
WAIT_SECONDS = 60.0
# The file in the folder of an index that an upload has made. It goes when the index goes.
_MARK = "prefrag-uploaded"
# No upload takes so long.
_LEFT_SECONDS = 24 * 3600.0
_ORIGINS = {"file": "file_path", "corpus": "corpus"}
_one_listing = threading.Lock()


class NotOurs(BadInput):
    """Refuse to delete an index that no upload has made."""

    http_status = 403


@dataclass(frozen=True)
class UploadedFile:
    """A document of a collection as a client sees it.

    :param id: A name without the path.
    :param entry: What the index knows of it.
    :param uploaded: Whether it was uploaded.
    """

    id: str
    entry: IndexedFile
    uploaded: bool


def uploads_folder(collection: str) -> Path:
    """Find the folder in which the uploaded documents of a collection are kept."""
    return real_path(data_directory() / "uploads" / collection)


@contextmanager
def make_incoming() -> Iterator[Path]:
    """Make a folder beside the collections' for files on their way; what is left in it is deleted."""
    uploads = real_path(data_directory() / "uploads")
    uploads.mkdir(parents=True, exist_ok=True, mode=0o700)
    for left in uploads.glob(".incoming-*"):
        # A server that was killed could not tidy up.
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    incoming = Path(tempfile.mkdtemp(prefix=".incoming-", dir=uploads))
    try:
        yield incoming
    finally:
        shutil.rmtree(incoming, ignore_errors=True)


def add_uploads(collection: str, incoming: Path, index: Callable[[Sequence[str]], IndexReport]) -> IndexReport:
    """Move uploaded files to their place and index them; those that cannot be read are not kept.

    However the indexing ends, each file that is kept is the one whose passages the index holds.
    """
    folder = uploads_folder(collection)
    files = sorted(path for path in incoming.iterdir() if path.is_file())
    if not files:
        return IndexReport()
    with change_collection(collection), make_incoming() as earlier:
        is_new = not index_exists(index_path(collection))
        folder.mkdir(exist_ok=True, mode=0o700)
        for file in files:
            if (folder / file.name).exists():
                (folder / file.name).replace(earlier / file.name)
            file.replace(folder / file.name)
        placed = [folder / file.name for file in files]
        refused: set[str] = set()
        try:
            report = index([str(path) for path in placed])
            refused = {each.path for each in report.skipped if each.line is None}
        finally:
            _keep_what_is_indexed(collection, placed, earlier, refused)
            if is_new and index_exists(index_path(collection)):
                (index_path(collection) / _MARK).touch()
                store = TantivyDocumentStore(index=collection)
                if store.read_web_consent() is None:
                    store.keep_web_consent(False)
    return report


def list_uploads(collection: str) -> list[UploadedFile]:
    """List the documents of a collection."""
    folder = uploads_folder(collection)
    return [
        UploadedFile(
            hashlib.blake2b(f"{entry.kind}\0{entry.path}".encode(), digest_size=12).hexdigest(),
            entry,
            Path(entry.path).parent == folder,
        )
        for entry in _list(collection)
        if entry.path is not None
    ]


def count_passages(collection: str) -> int:
    """Count the passages of a collection."""
    return TantivyDocumentStore(path=str(resolve_index(collection))).count_documents()


def delete_upload(collection: str, document_id: str) -> tuple[int, bool]:
    """Delete a document from a collection; its file only if it was uploaded."""
    with change_collection(collection):
        document = next((each for each in list_uploads(collection) if each.id == document_id), None)
        if document is None or document.entry.path is None:
            raise Missing("The collection has no such document.")
        passages = open_passages("tantivy", collection, change=True)
        found = [each.id for each in passages.where(_ORIGINS[document.entry.kind], [document.entry.path])]
        if document.uploaded:
            # First, because a document without passages is not listed, and could not be deleted once more.
            Path(document.entry.path).unlink(missing_ok=True)
        passages.delete_in_batches(found)
        passages.finish()
    return len(found), document.uploaded


def delete_collection(collection: str) -> int:
    """Delete an index that an upload has made, and all documents that were uploaded to it."""
    with change_collection(collection):
        deleted = count_passages(collection)
        if not (index_path(collection) / _MARK).exists():
            raise NotOurs(
                "This collection was made on the command line, and is only deleted there. Its documents can be deleted "
                "one by one."
            )
        remove_index(collection)
    return deleted


def remove_index(collection: str) -> None:
    """Remove an index from the disk with its vectors and what was uploaded to it, while nothing else changes it."""
    folder = uploads_folder(collection)
    with make_incoming() as rubbish:
        # First, because without its index nobody could have the rest deleted, should this end in between.
        if folder.exists():
            folder.replace(rubbish / "uploads")
        try:
            # At once, so that a question finds all of it or nothing.
            index_path(collection).replace(rubbish / "index")
        except OSError:
            if (rubbish / "uploads").exists():
                (rubbish / "uploads").replace(folder)
            raise


@contextmanager
def change_collection(collection: str) -> Iterator[None]:
    """Keep other processes from uploading to a collection and deleting from it."""
    index_path(collection)
    with index_lock(f"uploads-{collection}", WAIT_SECONDS, f"changing the documents of {collection}"):
        yield


def _keep_what_is_indexed(collection: str, files: Sequence[Path], earlier: Path, refused: Set[str]) -> None:
    """Take back each file that was not indexed, and put the earlier one of its name in its place."""
    versions: dict[str, set[str]] = {}
    try:
        versions = _read_versions(collection, files)
    finally:
        # Where the index cannot be read, the upload has failed, and nothing of it is kept.
        for file in files:
            known = versions.get(str(file), set())
            # The passages of a corpus do not tell its version.
            if ("" in known and str(file) not in refused) or (known and fingerprint(file.read_bytes()) in known):
                continue
            if (earlier / file.name).exists():
                (earlier / file.name).replace(file)
            else:
                file.unlink()
        if not any(files[0].parent.iterdir()):
            files[0].parent.rmdir()


def _read_versions(collection: str, files: Sequence[Path]) -> dict[str, set[str]]:
    """Read from the index which versions of files it holds; those of a corpus are one without a name."""
    versions: dict[str, set[str]] = {}
    if index_exists(index_path(collection)):
        passages = open_passages("tantivy", collection)
        for kind in _ORIGINS.values():
            for passage in passages.where(kind, [str(file) for file in files]):
                version = str(passage.meta.get("file_hash") or "")
                versions.setdefault(str(passage.meta[kind]), set()).add(version)
    return versions


def _list(collection: str) -> list[IndexedFile]:
    path = resolve_index(collection)
    store = TantivyDocumentStore(path=str(path))
    listed = [
        IndexedFile(origin, kind, Path(origin).name, passages)
        for kind, name in _ORIGINS.items()
        for origin, passages in store.count_values(name).items()
    ]
    if sum(entry.passages for entry in listed) == store.count_documents():
        return sorted(listed, key=lambda entry: entry.path or "")
    # Some passages have another origin, or a path too long to be a term. Reading them all takes seconds.
    with _one_listing:
        return _read_list(collection, path, (path / "meta.json").stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _read_list(collection: str, path: Path, version: int) -> list[IndexedFile]:
    return list_documents(collection)
