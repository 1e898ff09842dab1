"""A collection: the documents under one name, their passages, and what was decided about them."""

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

# The passages that a split corpus has for the web are in a collection whose name ends so.
WEB_SUFFIX = "-web"
# For each kind of document, the metadata field that holds its path.
PATH_FIELDS = {kind: field for field, kind in ORIGIN_FIELDS.items()}
# What a listing says of a document besides its name: fields of its first passage, with their types.
# Elasticsearch takes no more values in one query.
_MOST_PATHS = 10_000
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
    """How much has been uploaded, to compare with the limits of uploads."""

    files: int  # in one collection
    bytes: int  # in one collection
    collections: int  # the number of all collections that uploads have made
    is_there: bool  # whether this collection has passages


@dataclass(frozen=True)
class CollectionSummary:
    """What a list of collections says about one of them."""

    name: str
    passages: int | None  # None if the collection cannot be read
    files: int | None  # the number of files and corpora; None if the collection cannot be read
    bytes: int
    web: bool | None  # whether the user allows web searches; None if the user has not decided
    changed: str | None  # the time of the last change; None for Elasticsearch
    problem: str | None = None  # why the collection cannot be read


@dataclass(frozen=True)
class CollectionDocument:
    """A document of a collection, uploaded or not, as a client sees it."""

    id: str
    entry: IndexedFile
    uploaded: bool
    folder: str  # as `name_folders` names it


class Changes(Protocol):
    """One change to a locked collection."""

    folder: Path

    def open(self) -> PassageStore:
        """Open the passages. A collection that does not exist counts as empty."""

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
        """Make the change, and return the reasons why passages were refused, by their ids."""


@dataclass(frozen=True)
class Collection(ABC):
    """The documents under one name. It need not exist yet.

    :param name: The name.
    """

    name: str = DEFAULT_INDEX

    #: What options and settings call this kind of collection.
    store: ClassVar[str]
    #: Whether the files of the documents can be opened on this machine.
    has_files: ClassVar[bool]
    #: Whether requests may name every collection of this kind where PREFRAG_COLLECTIONS is `all`.
    in_all: ClassVar[bool]

    @classmethod
    @abstractmethod
    def all(cls) -> Iterator[Self]:
        """Iterate over the collections of this kind that exist, by name."""

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
        """Make Haystack's store of the passages."""

    @abstractmethod
    def passages(self, *, language: str | None = None, change: bool = False, make: bool = False) -> PassageStore:
        """Open the passages to read them or, with ``change``, to change them.

        :param language: Refuse a collection of another language; with ``make``, the language of a new one.
        :param make: Make the collection if it is missing.
        :raises FileNotFoundError: When there is no such collection.
        """

    @abstractmethod
    def change(self) -> AbstractContextManager[Changes]:
        """Lock the documents against changes by others. What an interrupted change has left is settled first."""

    @abstractmethod
    def settle(self) -> None:
        """Settle what an interrupted change has left, unless somebody is changing the documents now."""

    @abstractmethod
    def room(self) -> Room:
        """Measure what has been uploaded."""

    @abstractmethod
    def drop(self) -> None:
        """Delete the passages, the vectors and the uploaded files. Users' own files stay.

        :raises Missing: When there is no such collection.
        """

    @abstractmethod
    def _measure(self) -> tuple[int, str | None]:
        """Return the size in bytes and the time of the last change."""

    def entries(self) -> list[IndexedFile]:
        """List the files and corpora by path. Passages without a path form one entry at the end."""
        with closing(self.passages()) as passages:
            return entries_of(passages.count_origins())

    @property
    def web(self) -> Self:
        """The collection that a split corpus has in place of the web."""
        return type(self)(self.name + WEB_SUFFIX)

    @property
    def options(self) -> str:
        """The options of a command that name this collection. Default values are left out."""
        named = f" --collection {self.name}" if self.name != DEFAULT_INDEX else ""
        return named + self._store_option

    @property
    def _store_option(self) -> str:
        return f" --store {self.store}"

    @property
    def follows(self) -> str | None:
        """The folder with which the collection is kept up to date. None if there is no such folder."""
        return None

    @property
    def changed(self) -> str | None:
        """The time of the last change, in UTC and ISO 8601. None where this is not kept.

        :raises FileNotFoundError: When there is no such collection.
        """
        return None

    def would_index_again(self, path: str) -> bool:
        """Check whether a deleted file would be read again, because it is still in the folder that is followed."""
        folder = self.follows
        return folder is not None and path.startswith(folder.rstrip(os.sep) + os.sep) and is_there(path)

    def skipped(self) -> dict[str, str] | None:
        """Return why each skipped file could not be read. None where this is not kept."""
        return None

    @abstractmethod
    def keep_skipped(self, report: IndexReport, paths: Sized[str]) -> None:
        """Record which files were skipped when ``paths`` were indexed."""

    def read_consent(self) -> bool | None:
        """Read whether the user allows web searches. None if this is undecided."""
        return web_consent.read_web_consent(self.document_store())

    def keep_consent(self, answer: bool) -> None:
        """Store whether the user allows web searches. This replaces an earlier decision."""
        web_consent.keep_web_consent(self.document_store(), answer)

    def documents(self) -> list[CollectionDocument]:
        """List the documents, uploaded or not."""
        uploads = self.uploads
        entries = [(entry.path, entry) for entry in self.entries() if entry.path is not None]
        folders = name_folders((path for path, _ in entries), uploads)
        return [
            CollectionDocument(_document_id(entry.kind, path, uploads), entry, _is_below(path, uploads), folders[path])
            for path, entry in entries
        ]

    def document(self, id: str) -> CollectionDocument:
        """Find a document by its id.

        :raises Missing: When there is no such document.
        """
        for document in self.documents():
            if document.id == id:
                return document
        raise Missing("The collection has no such document.")

    def count(self) -> tuple[int, int]:
        """Count the documents and the passages."""
        entries = self.entries()
        documents = sum(entry.path is not None for entry in entries)
        passages = sum(entry.passages for entry in entries)
        return documents, passages

    def metadata(self, paths: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
        """Read what is known of each file, by its path: title, kind, date, standing and size, from its first passage.

        :param paths: The paths of the files; all if None.
        :returns: For each path, the fields that the file has.
        """
        if paths is not None and len(paths) > _MOST_PATHS:
            wanted = set(paths)
            return {path: meta for path, meta in self.metadata().items() if path in wanted}
        with closing(self.passages()) as passages:
            first = passages.where("split_id", [0]) if paths is None else passages.where("file_path", paths, first=True)
            return {str(passage.meta.get("file_path")): _known_fields(passage.meta) for passage in first}

    def uploaded_id(self, file: str) -> str:
        """Make the id of an uploaded file, which must not be a corpus (a file with one passage on each line)."""
        return self.document_id("file", str(self.uploads / file))

    def document_id(self, kind: str, path: str) -> str:
        """Make the id that clients use for a document. It does not reveal the document's path.

        All versions of an uploaded file have the same id, although each is in a folder of its own.
        """
        return _document_id(kind, path, self.uploads)

    def delete_document(self, id: str) -> tuple[int, CollectionDocument]:
        """Delete a document, and its file if that was uploaded. Return how many passages it had, and the document.

        :raises Missing: When there is no such document.
        """
        with self.change() as changes:
            document = self.document(id)
            path = str(document.entry.path)
            with closing(changes.open()) as passages:
                outdated = [passage.id for passage in passages.where(PATH_FIELDS[document.entry.kind], [path])]
            changes.make(removed=[Path(path).name] if document.uploaded else [], outdated=outdated)
        return len(outdated), document

    def summary(self) -> CollectionSummary:
        """Describe the collection.

        :raises Missing: When there is no such collection.
        """
        size, changed = self._measure()
        try:
            files, passages = self.count()
            web = self.read_consent()
        except (DocumentStoreError, ValueError) as error:
            return CollectionSummary(self.name, None, None, size, None, changed, str(error))
        return CollectionSummary(self.name, passages, files, size, web, changed)


def _known_fields(meta: Mapping[str, Any]) -> dict[str, Any]:
    return {name: meta[name] for name, kind in _METADATA_FIELDS.items() if type(meta.get(name)) is kind}


def _document_id(kind: str, path: str, uploads: Path) -> str:
    if _is_below(path, uploads):
        path = str(uploads / Path(path).name)
    return hashlib.blake2b(f"{kind}\0{path}".encode(), digest_size=12).hexdigest()


def _is_below(path: str, folder: Path) -> bool:
    # A comparison of paths instead of texts takes seconds for 100,000 documents.
    return os.path.normcase(path).startswith(os.path.normcase(f"{folder}{os.sep}"))


def entries_of(origins: Mapping[tuple[str, str | None], int]) -> list[IndexedFile]:
    """List files and corpora by path. ``origins`` maps the kind and path of each to the number of its passages."""
    entries = [IndexedFile(path, kind, os.path.basename(path or ""), count) for (kind, path), count in origins.items()]
    return sorted(entries, key=lambda entry: (entry.path is None, entry.path or ""))
