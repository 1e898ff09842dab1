"""A collection: the documents under one name, their passages, and the user's decisions about them.

:class:`Collection` is the common interface of all collections. ``LocalCollection`` stores the passages on this machine.
``ElasticCollection`` stores them in Elasticsearch, which several servers share. Commands and the server use only the
interface. Documents may be the user's own files or may have been uploaded to the server.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Collection as Sized
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

from haystack.document_stores.errors import DocumentStoreError

from prefrag.collections.stores import ORIGIN_FIELDS, PassageStore, is_there
from prefrag.components.document_stores import web_consent
from prefrag.components.document_stores.folder_names import name_folders
from prefrag.components.document_stores.tantivy.index_location import DEFAULT_INDEX
from prefrag.errors import Missing
from prefrag.indexing.report import IndexedFile, IndexReport

if TYPE_CHECKING:
    from haystack import Document
    from haystack.document_stores.types import DocumentStore

# A corpus may be split into passages for the collection and passages that are searched in place of the web. The latter
# are in a second collection, and its name ends with this suffix.
WEB_SUFFIX = "-web"
# The metadata field that has the path of a document, by the kind of document.
PATH_FIELDS = {kind: field for field, kind in ORIGIN_FIELDS.items()}
# At most this many paths are looked up in one query, because Elasticsearch takes no more values.
_MOST_PATHS = 10_000
# The metadata fields that a list shows for each document, with their types. They come from the document's first
# passage.
_METADATA_FIELDS = {
    "title": str,
    "kind": str,
    "date": str,
    "date_in": str,
    "modified": str,
    "standing": str,
    "file_size": int,
}


class Room(NamedTuple):
    """How much has been uploaded. These numbers are compared with the limits of uploads.

    :param files: The number of uploaded files in the collection.
    :param bytes: The size of these files in bytes.
    :param collections: The number of all collections that uploads have made.
    :param is_there: Whether this collection has passages.
    """

    files: int
    bytes: int
    collections: int
    is_there: bool


@dataclass(frozen=True)
class CollectionSummary:
    """What a list of collections says about one collection.

    :param name: The name of the collection.
    :param passages: The number of passages. None if the collection cannot be read.
    :param files: The number of files and corpora. None if the collection cannot be read.
    :param bytes: The size of the index in bytes.
    :param web: Whether the user allows web searches. None if the user has not decided.
    :param changed: The time of the last change. None for Elasticsearch.
    :param problem: Why the collection cannot be read. None if it can be read.
    """

    name: str
    passages: int | None
    files: int | None
    bytes: int
    web: bool | None
    changed: str | None
    problem: str | None = None


@dataclass(frozen=True)
class CollectionDocument:
    """A document of a collection, uploaded or not, as a client sees it.

    :param id: The ID that clients use for the document. It does not reveal the path.
    :param entry: The path, the kind and the number of passages.
    :param uploaded: Whether the document was uploaded.
    :param folder: The name of its folder, as :func:`name_folders` returns it.
    """

    id: str
    entry: IndexedFile
    uploaded: bool
    folder: str


class Changes(Protocol):
    """One change to a locked collection. All changes of uploaded documents are made through this protocol.

    :param folder: The folder in which uploaded documents are listed.
    """

    folder: Path

    def open(self) -> PassageStore:
        """Open the passages. A collection that does not exist counts as empty.

        :returns: The passages.
        """

    def make(
        self,
        *,
        added: Mapping[str, Path] = ...,
        removed: Sized[str] = (),
        written: Sized[Document] = (),
        outdated: Sized[str] = (),
        language: str | None = None,
        drops: bool = False,
    ) -> dict[str, str]:
        """Make the change.

        :param added: The paths of the new files, by their names.
        :param removed: The names of the uploaded files to delete.
        :param written: The passages to write.
        :param outdated: The IDs of the passages to delete.
        :param language: The language of a new collection. None means English.
        :param drops: Whether to delete the whole collection instead.
        :returns: The reasons why passages were refused, by their IDs.
        """


@dataclass(frozen=True)
class Collection(ABC):
    """The documents under one name. The collection need not exist yet.

    :param name: The name of the collection.
    """

    name: str = DEFAULT_INDEX

    #: The name of this kind of collection in options and settings, such as "elasticsearch".
    store: ClassVar[str]
    #: Whether the files of the documents can be opened on this machine.
    has_files: ClassVar[bool]
    #: Whether requests may name every collection of this kind if PREFRAG_COLLECTIONS is `all`.
    in_all: ClassVar[bool]

    @classmethod
    @abstractmethod
    def all(cls) -> Iterator[Self]:
        """Iterate over the collections of this kind that exist.

        :returns: The collections, in the order of their names.
        """

    @property
    @abstractmethod
    def exists(self) -> bool:
        """Whether there are passages under this name."""

    @property
    @abstractmethod
    def uploads(self) -> Path:
        """The folder in which uploaded documents are listed. It need not exist on this machine."""

    @property
    @abstractmethod
    def is_uploaded(self) -> bool:
        """Whether an upload has made the collection, and not the command line."""

    @property
    @abstractmethod
    def language(self) -> str | None:
        """The language of the stemmer. None if the collection does not exist."""

    @abstractmethod
    def document_store(self) -> DocumentStore:
        """Make Haystack's store of the passages.

        :returns: The store.
        """

    @abstractmethod
    def passages(self, *, language: str | None = None, change: bool = False, make: bool = False) -> PassageStore:
        """Open the passages.

        :param language: The language of the stemmer. A collection of another language is refused. None accepts every
            language, and stands for English in a new collection.
        :param change: Whether the passages will be changed.
        :param make: Whether to make the collection if it is missing.
        :returns: The passages.
        :raises FileNotFoundError: If there is no such collection and ``make`` is false.
        """

    @abstractmethod
    def change(self) -> AbstractContextManager[Changes]:
        """Lock the documents against changes by others during the block.

        If an earlier change was interrupted, it is first finished or undone.

        :returns: A context manager. It provides the object with which to make one change.
        """

    @abstractmethod
    def settle(self) -> None:
        """Finish or undo a change that was interrupted. Do nothing if somebody is changing the documents now."""

    @abstractmethod
    def room(self) -> Room:
        """Measure how much has been uploaded.

        :returns: The numbers and sizes.
        """

    @abstractmethod
    def drop(self) -> None:
        """Delete the passages, the vectors and the uploaded files. Users' own files stay.

        :raises Missing: If there is no such collection.
        """

    @abstractmethod
    def _measure(self) -> tuple[int, str | None]:
        """Return the size of the index in bytes, and the time of the last change."""

    def entries(self) -> list[IndexedFile]:
        """List the files and corpora.

        :returns: The entries, sorted by path. All passages without a path form one entry at the end.
        """
        with closing(self.passages()) as passages:
            return entries_of(passages.count_origins())

    @property
    def web(self) -> Self:
        """The second collection of a split corpus, which is searched in place of the web."""
        return type(self)(self.name + WEB_SUFFIX)

    @property
    def options(self) -> str:
        """The options that name this collection in a command, such as " --collection notes". Defaults are left out."""
        named = f" --collection {self.name}" if self.name != DEFAULT_INDEX else ""
        return named + self._store_option

    @property
    def _store_option(self) -> str:
        """The option that names the kind of collection."""
        return f" --store {self.store}"

    @property
    def follows(self) -> str | None:
        """The folder with which the collection is kept up to date. None if there is no such folder."""
        return None

    @property
    def changed(self) -> str | None:
        """The time of the last change, in UTC and ISO 8601. None if this kind of collection does not store it.

        :raises FileNotFoundError: If there is no such collection.
        """
        return None

    def would_index_again(self, path: str) -> bool:
        """Check whether a file that is deleted from the collection would be indexed again.

        :param path: The path of the file.
        :returns: Whether the file still exists in the folder with which the collection is kept up to date.
        """
        folder = self.follows
        return folder is not None and path.startswith(folder.rstrip(os.sep) + os.sep) and is_there(path)

    def skipped(self) -> dict[str, str] | None:
        """Return why files could not be read.

        :returns: The reasons by the paths of the files. None if this kind of collection does not store them.
        """
        return None

    @abstractmethod
    def keep_skipped(self, report: IndexReport, paths: Sized[str]) -> None:
        """Record which files were skipped.

        :param report: The report of the indexing.
        :param paths: The files and folders that were indexed.
        """

    def read_consent(self) -> bool | None:
        """Read whether the user allows web searches.

        :returns: The decision of the user. None if the user has not decided.
        """
        return web_consent.read_web_consent(self.document_store())

    def keep_consent(self, answer: bool) -> None:
        """Store whether the user allows web searches. This replaces an earlier decision.

        :param answer: The decision of the user.
        """
        web_consent.keep_web_consent(self.document_store(), answer)

    def documents(self) -> list[CollectionDocument]:
        """List the documents, uploaded or not.

        :returns: The documents, sorted by path.
        """
        uploads = self.uploads
        # Passages without a path are of no document.
        entries = [(entry.path, entry) for entry in self.entries() if entry.path is not None]
        folders = name_folders((path for path, _ in entries), uploads)
        documents = []
        for path, entry in entries:
            document_id = _document_id(entry.kind, path, uploads)
            is_uploaded = _is_below(path, uploads)
            documents.append(CollectionDocument(document_id, entry, is_uploaded, folders[path]))
        return documents

    def document(self, id: str) -> CollectionDocument:
        """Find a document by its ID.

        :param id: The ID.
        :returns: The document.
        :raises Missing: If there is no such document.
        """
        for document in self.documents():
            if document.id == id:
                return document
        raise Missing("The collection has no such document.")

    def count(self) -> tuple[int, int]:
        """Count the documents and the passages.

        :returns: The number of documents, and the number of passages.
        """
        entries = self.entries()
        documents = sum(entry.path is not None for entry in entries)
        passages = sum(entry.passages for entry in entries)
        return documents, passages

    def metadata(self, paths: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
        """Read the title, kind, date, standing and size of files from their first passages.

        :param paths: The paths of the files. None stands for all files.
        :returns: The fields that each file has, by its path.
        """
        if paths is not None and len(paths) > _MOST_PATHS:
            wanted = set(paths)
            return {path: meta for path, meta in self.metadata().items() if path in wanted}

        with closing(self.passages()) as passages:
            if paths is None:
                first_passages = passages.where("split_id", [0])
            else:
                first_passages = passages.where("file_path", paths, first=True)
            return {str(passage.meta.get("file_path")): _known_fields(passage.meta) for passage in first_passages}

    def uploaded_id(self, file: str) -> str:
        """Make the ID of an uploaded file.

        :param file: The name of the file. It must not be a corpus, which is a file with one passage on each line.
        :returns: The ID.
        """
        return self.document_id("file", str(self.uploads / file))

    def document_id(self, kind: str, path: str) -> str:
        """Make the ID that clients use for a document. It does not reveal the path of the document.

        All versions of an uploaded file have the same ID, although each version is in a folder of its own.

        :param kind: The kind of document: "file" or "corpus".
        :param path: The path of the document.
        :returns: The ID as 24 hexadecimal digits.
        """
        return _document_id(kind, path, self.uploads)

    def delete_document(self, id: str) -> tuple[int, CollectionDocument]:
        """Delete a document. Its file is deleted, too, if it was uploaded.

        :param id: The ID of the document.
        :returns: The number of deleted passages, and the document.
        :raises Missing: If there is no such document.
        """
        with self.change() as changes:
            document = self.document(id)
            path = str(document.entry.path)
            with closing(changes.open()) as passages:
                outdated = [passage.id for passage in passages.where(PATH_FIELDS[document.entry.kind], [path])]
            removed = [Path(path).name] if document.uploaded else []
            changes.make(removed=removed, outdated=outdated)
        return len(outdated), document

    def summary(self) -> CollectionSummary:
        """Describe the collection.

        :returns: The summary. It states the problem if the collection cannot be read.
        :raises Missing: If there is no such collection.
        """
        size, changed = self._measure()
        try:
            files, passages = self.count()
            web = self.read_consent()
        except (DocumentStoreError, ValueError) as error:
            return CollectionSummary(
                self.name,
                passages=None,
                files=None,
                bytes=size,
                web=None,
                changed=changed,
                problem=str(error),
            )
        return CollectionSummary(self.name, passages=passages, files=files, bytes=size, web=web, changed=changed)


def _known_fields(meta: Mapping[str, object]) -> dict[str, object]:
    """Return those of the `_METADATA_FIELDS` that have a value of the right type."""
    return {name: meta[name] for name, kind in _METADATA_FIELDS.items() if type(meta.get(name)) is kind}


def _document_id(kind: str, path: str, uploads: Path) -> str:
    """Make the ID of a document. ``uploads`` is the folder in which uploaded documents are listed."""
    if _is_below(path, uploads):
        path = str(uploads / Path(path).name)
    return hashlib.blake2b(f"{kind}\0{path}".encode(), digest_size=12).hexdigest()


def _is_below(path: str, folder: Path) -> bool:
    """Check whether a path is inside a folder."""
    # Texts are compared, because the comparison of `Path` objects takes seconds for 100,000 documents.
    return os.path.normcase(path).startswith(os.path.normcase(f"{folder}{os.sep}"))


def entries_of(origins: Mapping[tuple[str, str | None], int]) -> list[IndexedFile]:
    """List files and corpora.

    :param origins: The number of passages of each file and corpus, by its kind and its path.
    :returns: The entries, sorted by path. All passages without a path form one entry at the end.
    """
    entries = []
    for (kind, path), count in origins.items():
        name = os.path.basename(path or "")
        entries.append(IndexedFile(path, kind, name, count))
    # The entry without a path comes last.
    return sorted(entries, key=lambda entry: (entry.path is None, entry.path or ""))
