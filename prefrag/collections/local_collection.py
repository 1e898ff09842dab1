"""A collection on this machine.

The passages are in a Tantivy index in the data directory. Lists of documents are cached until the index changes,
because they are slow to make for many files.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection as Sized
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self

from haystack.document_stores.errors import DocumentStoreError

from prefrag.collections.changes.uploaded_files import (
    LocalChanges,
    change_collection,
    count_made_by_uploads,
    measure_files,
    settle_changes,
    uploads_folder,
    was_made_by_upload,
)
from prefrag.collections.collection import Collection, CollectionDocument, Room
from prefrag.collections.folder_collection import find_collection, followed_folder
from prefrag.collections.listings import Listings
from prefrag.collections.skipped_files import keep_skipped, read_skipped
from prefrag.collections.stores import PassageStore
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import index_exists, open_index
from prefrag.components.document_stores.tantivy.index_location import (
    data_directory,
    index_path,
    list_names,
    resolve_index,
    suggest_indexes,
)
from prefrag.errors import Missing
from prefrag.indexing.report import IndexedFile, IndexReport

# The maximum number of seconds to wait for a process that is still writing to the index.
_WRITER_SECONDS = 2.0
# The cache for the results of `entries`.
_entries: Listings[list[IndexedFile]] = Listings()
# The cache for the results of `documents`.
_documents: Listings[list[CollectionDocument]] = Listings()
# The cache for the results of `metadata`.
_metadata: Listings[dict[str, dict[str, Any]]] = Listings()


@dataclass(frozen=True)
class LocalCollection(Collection):
    """A collection whose passages are in a Tantivy index in the data directory. Its uploads are there, too."""

    store: ClassVar[str] = "tantivy"
    has_files: ClassVar[bool] = True
    in_all: ClassVar[bool] = True

    @classmethod
    def all(cls) -> Iterator[Self]:
        """Iterate over the collections in the data directory.

        :returns: The collections, in the order of their names.
        """
        return map(cls, list_names())

    @classmethod
    def of_folder(cls, folder: Path) -> Self:
        """Find the collection that is kept up to date with a folder. If there is none, make an empty collection.

        :param folder: The folder.
        :returns: The collection.
        """
        return cls(find_collection(folder))

    @property
    def path(self) -> Path:
        """The folder of the index, whether the index exists or not.

        :raises ValueError: If the name cannot be the name of an index, or is the name of the demo.
        """
        return index_path(self.name)

    @property
    def exists(self) -> bool:
        """Whether there is an index under this name."""
        return index_exists(self.path)

    @property
    def version(self) -> int:
        """A number that changes whenever the index changes. It is the time of the last change in nanoseconds.

        :raises FileNotFoundError: If there is no such collection.
        """
        return _read_version(resolve_index(self.name))

    @property
    def uploads(self) -> Path:
        """The folder of the uploaded documents."""
        return uploads_folder(self.name)

    @property
    def is_uploaded(self) -> bool:
        """Whether an upload has made the index."""
        return was_made_by_upload(self.name)

    @property
    def language(self) -> str | None:
        """The language of the stemmer of the index. None if the index does not exist."""
        try:
            index = open_index(resolve_index(self.name))
        except FileNotFoundError:
            return None
        return index.language if index else None

    @property
    def follows(self) -> str | None:
        """The folder with which the collection is kept up to date. None if there is no such folder."""
        return followed_folder(self.name)

    @property
    def _store_option(self) -> str:
        """The option that names the kind of collection. It is empty, because this kind is the default."""
        return ""

    @property
    def changed(self) -> str:
        """The time of the last change of the index, in UTC and ISO 8601."""
        return _say_time(self.version)

    def document_store(self) -> TantivyDocumentStore:
        """Make Haystack's store of the index.

        :returns: The store.
        """
        return TantivyDocumentStore(index=self.name)

    def passages(self, *, language: str | None = None, change: bool = False, make: bool = False) -> PassageStore:
        """Open the passages of the index.

        :param language: The language of the stemmer. An index of another language is refused. None accepts every
            language, and stands for English in a new index.
        :param change: Whether the passages will be changed. The demo cannot be changed.
        :param make: Whether to make the index if it is missing.
        :returns: The passages.
        :raises FileNotFoundError: If there is no such index and ``make`` is false.
        :raises ValueError: If the name is invalid or the language differs.
        """
        if change or make:
            # The demo has no such path, so it is refused here.
            path = self.path
        if not make:
            # Refuses an index that does not exist.
            path = resolve_index(self.name)

        opened = TantivyDocumentStore(path=str(path), language=language)
        if index_exists(path):
            # If the language differs or files are damaged, this call raises an error now, and not at the first write.
            opened.count_documents()
        return PassageStore(opened)

    def change(self) -> AbstractContextManager[LocalChanges]:
        """Lock the documents against changes by other processes during the block.

        If an earlier change was interrupted, it is first finished or undone.

        :returns: A context manager. It provides the object with which to make one change.
        """
        return change_collection(self.name)

    def settle(self) -> None:
        """Finish or undo a change that was interrupted. Do nothing if another process is changing the documents."""
        settle_changes(self.name)

    def room(self) -> Room:
        """Measure how much has been uploaded.

        :returns: The numbers and sizes.
        """
        sizes = measure_files(self.name)
        return Room(files=len(sizes), bytes=sum(sizes), collections=count_made_by_uploads(), is_there=self.exists)

    def drop(self) -> None:
        """Delete the index with its passages and vectors, the uploaded files, and the reports of `prefrag prove`.

        :raises Missing: If there is no such collection.
        :raises DocumentStoreError: If the index cannot be deleted.
        """
        if not self.exists:
            raise Missing(f"There is no collection '{self.name}'.{suggest_indexes(self.name)} {_LIST_ALL}")
        try:
            with ExitStack() as stack:
                changes = stack.enter_context(self.change())
                self._stop_writers(stack)
                changes.make(drops=True)
            reports = data_directory() / "proofs" / self.name
            if reports.is_dir():
                shutil.rmtree(reports)
        except OSError as error:
            raise DocumentStoreError(
                f"The index {self.path} cannot be deleted ({error.strerror}): stop programs that use it, and try again."
            ) from error

    def _stop_writers(self, stack: ExitStack) -> None:
        """Keep other processes from writing until the stack is closed. Nobody can write to a damaged index anyway."""
        try:
            index = open_index(self.path)
        except DocumentStoreError:
            return
        if index is not None:
            stack.enter_context(index.no_writers(_WRITER_SECONDS))

    def skipped(self) -> dict[str, str]:
        """Return why files could not be read.

        :returns: The reasons by the paths of the files.
        """
        return read_skipped(resolve_index(self.name))

    def keep_skipped(self, report: IndexReport, paths: Sized[str]) -> None:
        """Record which files were skipped.

        :param report: The report of the indexing.
        :param paths: The files and folders that were indexed.
        """
        keep_skipped(self.path, report, paths)

    def read_consent(self) -> bool | None:
        """Read whether the user allows web searches.

        :returns: The decision of the user. None if the user has not decided, or if there is no such collection.
        """
        try:
            return super().read_consent()
        except FileNotFoundError:
            return None

    def keep_consent(self, answer: bool) -> None:
        """Store whether the user allows web searches. This replaces an earlier decision.

        :param answer: The decision of the user.
        :raises FileNotFoundError: If there is no such collection.
        """
        if not self.exists:
            raise FileNotFoundError(f"There is no collection '{self.name}'.{suggest_indexes(self.name)} {_LIST_ALL}")
        super().keep_consent(answer)

    def metadata(self, paths: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
        """Read the title, kind, date, standing and size of files from their first passages.

        The result for all files is cached, because 20,000 files take a third of a second.

        :param paths: The paths of the files. None stands for all files.
        :returns: The fields that each file has, by its path.
        """
        if paths is not None:
            return super().metadata(paths)
        path = resolve_index(self.name)
        return dict(_metadata.read(path, self.version, super().metadata))

    def documents(self) -> list[CollectionDocument]:
        """List the documents, uploaded or not.

        The list is cached. It takes a second for 100,000 files, and clients read it page by page.

        :returns: The documents, sorted by path.
        """
        path = resolve_index(self.name)
        uploads = self.uploads
        with closing(self.passages()):
            return list(_documents.read(path, (self.version, uploads), super().documents))

    def entries(self) -> list[IndexedFile]:
        """List the files and corpora. The list is cached.

        :returns: The entries, sorted by path. All passages without a path form one entry at the end.
        """
        path = resolve_index(self.name)
        # Open the index even if the list is cached. So a damaged index is reported.
        with closing(self.passages()):
            return list(_entries.read(path, self.version, super().entries))

    def _measure(self) -> tuple[int, str | None]:
        """Return the size of the index in bytes, and the time of its last change."""
        if self.name not in list_names() and not index_exists(self.path):
            raise Missing(f"There is no collection '{self.name}'.{suggest_indexes(self.name)} {_LIST_ALL}")

        # `self.path` is not used here, because it refuses some names, such as "a (copy)".
        folder = data_directory() / "indexes" / self.name
        files: list[str] = []
        for root, _, names in os.walk(folder):
            files += [os.path.join(root, name) for name in names]
        # A file may be gone by now, because another process may be merging the segments of the index.
        size = sum(os.path.getsize(file) for file in files if os.path.exists(file))
        return size, _say_time(_read_version(folder))


def _read_version(index: Path) -> int:
    """Return the time of the last change of an index, in nanoseconds since 1970."""
    # Every commit replaces the file `meta.json`. If an index has lost it, the time of the folder is used.
    file = index / "meta.json"
    dated_path = file if file.exists() else index
    return os.stat(dated_path).st_mtime_ns


def _say_time(version: int) -> str:
    """Write a time in nanoseconds since 1970 in ISO 8601."""
    return datetime.fromtimestamp(version / 1e9, UTC).isoformat(timespec="seconds")


# The end of messages about a missing collection.
_LIST_ALL = "List all with: prefrag collections list"
