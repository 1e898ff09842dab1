"""A tantivy index in a folder: how it is opened, made, searched and written.

Tantivy is a search library that runs inside this process. :class:`TantivyDocumentStore` is the class that the rest of
the application uses. This module does its work on the files:

- :func:`open_index` and :func:`open_for_writing` open the index in a folder. All callers in a process share one object.
- :class:`Index` searches the latest commit and writes new commits. A commit is the state of the index after a write.
"""

import errno
import json
import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from weakref import WeakValueDictionary, finalize

import tantivy
from haystack import Document
from haystack.document_stores.errors import DocumentStoreError, DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from tantivy import Occur, Query

from prefrag.components.document_stores.tantivy.analysis import DEFAULT_LANGUAGE, text_analyzer
from prefrag.components.document_stores.tantivy.commit import Commit
from prefrag.components.document_stores.tantivy.damage import explain_failure
from prefrag.components.document_stores.tantivy.schema import ANALYZER, exact_term, index_schema, to_tantivy
from prefrag.components.text.title_mentions import title_key
from prefrag.errors import NO_ROOM

# Increase this number when you change the schema or the analysis: indexes with another number are refused.
_FORMAT = 2
# The file in the folder of an index with the format and the language. It never changes after the index was made.
_SETTINGS_FILE = "prefrag-index.json"
# Tantivy's own file, which lists the other files of the index. Tantivy replaces this file at every commit.
_COMMIT_FILE = "meta.json"
# The memory of a writer, in bytes. A writer whose memory is full writes a part of its documents to the disk.
_WRITER_MEMORY = 100_000_000
# The seconds between two attempts to get the write lock while another process writes.
_LOCK_POLL_SECONDS = 0.05
# If a write fails while fewer bytes than this are free, a full disk is reported as the cause.
_LITTLE_SPACE = 10_000_000
# Titles with at most this many documents are looked up in one common search, which reads all of their documents. Each
# title with more documents has a search of its own.
_FEW_DOCUMENTS = 16

# What tells one version of a file from another: its inode, the time of its last change in nanoseconds, and its size in
# bytes.
_Version = tuple[int, int, int]


class DiskFull(DocumentStoreError):
    """The error when a write fails because the disk is full."""

    # The status of HTTP replies: "Insufficient Storage".
    http_status = 507


class Index:
    """An opened index: tantivy's handles and the methods to search and write."""

    def __init__(self, path: Path) -> None:
        """Open the index in a folder.

        :param path: The folder.
        :raises DocumentStoreError: When the index was made by a version with another format.
        :raises OSError: When a file cannot be read.
        :raises ValueError: When the files are damaged.
        """
        self.path = path
        # Every search checks both files, so their paths are strings, which are faster than `Path` objects.
        self.settings_file = str(path / _SETTINGS_FILE)
        self._commit_file = str(path / _COMMIT_FILE)
        self.settings_version = _file_version(self.settings_file)
        try:
            settings = json.loads(Path(self.settings_file).read_text(encoding="utf-8"))
            written_format = settings["format"]
            self.language = str(settings["language"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{_SETTINGS_FILE} is cut off or overwritten") from error
        if written_format != _FORMAT:
            raise DocumentStoreError(
                f"The index {path} has format {written_format}, but this version reads only format {_FORMAT}. "
                "Move the folder away and index the documents again."
            )

        # To read a commit, tantivy locks a file in the folder of the index. If this folder cannot be written, tantivy
        # gets a temporary folder with links to the files. `_links` is this temporary folder.
        self._links: Path | None = None
        if not os.access(path, os.W_OK):
            self._links = Path(tempfile.mkdtemp(prefix="prefrag-"))
            finalize(self, shutil.rmtree, self._links, ignore_errors=True)
        self._link_files()

        self._index = tantivy.Index.open(str(self._links or path))
        # Tantivy does not store analyzers on disk, so they are registered whenever an index is opened.
        self._index.register_tokenizer(ANALYZER, text_analyzer(self.language))
        # With "manual", tantivy reads a new commit only when `_reload` asks for it.
        self._index.config_reader("manual")
        self._reload_lock = threading.Lock()
        self._commit: Commit | None = None
        # The size in bytes of each file that tantivy has mapped into memory, by the path of the file.
        self._sizes: dict[str, int] = {}

    def commit(self) -> Commit:
        """Return the latest commit of any process. The disk is read only if there is a new commit.

        :returns: The commit.
        :raises DocumentStoreError: When the files are damaged.
        """
        # Checking the file takes a microsecond and never misses a commit made before the call. Tantivy's own watcher
        # may miss a commit, because it looks only twice a second.
        current = _file_version(self._commit_file)
        latest = self._commit
        self._check_sizes()
        if latest is None or latest.version != current:
            with self._reload_lock:
                self._reload()
                searcher = self._index.searcher()
                whole = self._has_no_deleted(searcher, current)
                self._sizes = self._read_sizes()
                latest = Commit(searcher, current, whole, self._index.schema, self.language)
                self._commit = latest
        return latest

    def _read_sizes(self) -> dict[str, int]:
        """Return the size in bytes of each file that tantivy maps into memory, by the path of the file."""
        sizes = {}
        with os.scandir(self.path) as files:
            for file in files:
                # Only the files of segments are mapped. Their names begin with 32 hexadecimal digits.
                name, _, _ = file.name.partition(".")
                if len(name) == 32:
                    sizes[file.path] = file.stat().st_size
        return sizes

    def search(self, text: str, top_k: int, filters: dict[str, object] | None) -> list[Document]:
        """Find the documents that match a text best by BM25.

        :param text: The text of the query.
        :param top_k: The maximum number of documents to return.
        :param filters: Haystack's filters on the metadata; None or empty for none.
        :returns: The documents with their scores, best first.
        :raises FilterError: When the filters cannot be applied, or name a field that no document has.
        """
        commit = self.commit()
        if filters:
            commit.check_fields(filters)
        query = commit.text_query(text, filters)
        return [] if query is None else commit.best(query, top_k, filters)

    def documents_by_title(
        self, titles: Mapping[str, str], per_title: int, filters: dict[str, object] | None
    ) -> dict[str, list[Document]]:
        """Read the documents with each title, best first.

        :param titles: A query for each title key that `title_key` makes. The query ranks the documents that have this
            title.
        :param per_title: The maximum number of documents to return for each title.
        :param filters: Haystack's filters on the metadata; None or empty for none.
        :returns: The documents of each title by its key. Titles without documents are left out. The score is usually
            None if a title has only one document.
        :raises FilterError: When the filters cannot be applied, or name a field that no document has.
        """
        commit = self.commit()
        if filters:
            commit.check_fields(filters)

        # Ranking by a long text takes longer than reading documents. So nothing is ranked for a title with only one
        # document. Titles with few documents and the same query share one search.
        # `unranked` has the keys of titles with at most one document. `together` has the keys with few documents by
        # their query, each with its number of documents. `alone` has a query and a single key with its limit.
        unranked: list[str] = []
        together: dict[str, dict[str, int]] = {text: {} for text in titles.values()}
        alone: list[tuple[str, dict[str, int]]] = []
        for key, text in titles.items():
            document_count = commit.searcher.doc_freq("title_key", exact_term(key))
            if document_count <= 1:
                unranked.append(key)
            elif document_count <= max(per_title, _FEW_DOCUMENTS):
                together[text][key] = document_count
            else:
                alone.append((text, {key: per_title}))

        by_key: dict[str, list[Document]] = {key: [] for key in titles}
        if unranked:
            documents = commit.best(commit.title_query(unranked), len(unranked), filters)
            _add_by_title(by_key, [replace(document, score=None) for document in documents])

        # The query object of each text, so that a text which occurs twice is analysed once.
        text_queries: dict[str, Query | None] = {}
        for text, limits in (*together.items(), *alone):
            if not any(limits.values()):
                # Each title with this text has a search of its own, or needs none.
                continue
            if text not in text_queries:
                text_queries[text] = commit.text_query(text, filters)
            # A document must have one of the titles. The text only adds to its score.
            clauses = [(Occur.Must, commit.title_query(limits))]
            text_query = text_queries[text]
            if text_query is not None:
                clauses.append((Occur.Should, text_query))
            _add_by_title(by_key, commit.best(Query.boolean_query(clauses), sum(limits.values()), filters))
        return {key: documents[:per_title] for key, documents in by_key.items() if documents}

    def write(
        self, documents: list[Document], policy: DuplicatePolicy, timeout: float, outdated: Iterable[str] = ()
    ) -> int:
        """Add all the documents in one commit, or none of them if an error is raised.

        :param documents: The documents.
        :param policy: What to do if an id exists already, or occurs twice among the documents. FAIL and NONE raise an
            error. SKIP keeps the first document, and OVERWRITE keeps the last document.
        :param timeout: The maximum number of seconds to wait while another process writes.
        :param outdated: The ids of documents to delete in the same commit.
        :returns: The number of documents written. With OVERWRITE, this is ``len(documents)``.
        :raises ValueError: When metadata cannot be stored unchanged.
        :raises DuplicateDocumentError: When the policy is FAIL or NONE and an id is not new.
        :raises DocumentStoreError: When another process writes for too long, or the disk cannot be written.
        """
        with self.writer(timeout) as writer:
            # Ids are looked up while the writer holds the lock, so that no other process adds the same ids.
            present = self.commit().existing("id", (document.id for document in documents))

            by_id = _choose_documents(documents, policy, present)

            for document_id in outdated:
                writer.delete_documents_by_term("id", exact_term(document_id))

            for document in by_id.values():
                converted = to_tantivy(document)
                with self._explain_write_errors():
                    if document.id in present:
                        writer.delete_documents_by_term("id", exact_term(document.id))
                    writer.add_document(converted)
        return len(documents) if policy == DuplicatePolicy.OVERWRITE else len(by_id)

    def delete_all(self, timeout: float) -> None:
        """Delete every document. The empty index keeps its language.

        :param timeout: The maximum number of seconds to wait while another process writes.
        :raises DocumentStoreError: When another process writes for too long, or the disk cannot be written.
        """
        with self.writer(timeout) as writer:
            writer.delete_all_documents()

    @contextmanager
    def writer(self, timeout: float) -> Iterator[tantivy.IndexWriter]:
        """Open a writer that commits at the end, or leaves the index unchanged when an error is raised.

        :param timeout: The maximum number of seconds to wait while another process writes.
        :raises DocumentStoreError: When another process writes for too long, or the disk cannot be written.
        """
        writer = self._open_writer(timeout)
        try:
            yield writer
            with self._explain_write_errors():
                writer.commit()
        except BaseException:
            writer.rollback()
            raise
        finally:
            # Waits for a merge that the commit began, and releases the lock.
            writer.wait_merging_threads()

    @contextmanager
    def no_writers(self, timeout: float) -> Iterator[None]:
        """Hold the write lock without writing anything, for example to move the folder away.

        :param timeout: The maximum number of seconds to wait while another process writes.
        :raises DocumentStoreError: When another process writes for too long, or the index can only be read.
        """
        writer = self._open_writer(timeout)
        try:
            yield
        finally:
            writer.wait_merging_threads()

    def _reload(self) -> None:
        """Make tantivy read the latest commit from the disk."""
        # Another account may write while the files are linked one by one. Its commit then names a file without a link.
        # So the files are linked and read up to three times.
        for is_last in (False, False, True):
            self._link_files()
            try:
                return self._index.reload()
            except ValueError as error:
                if is_last or self._links is None:
                    raise DocumentStoreError(explain_failure(self.path, error)) from error

    def _link_files(self) -> None:
        """Make links to the files of the index in the temporary folder, if the index is read through links."""
        if self._links is None:
            return
        for file in self.path.iterdir():
            link = self._links / file.name
            if file.suffix != ".lock" and not link.is_symlink():
                link.symlink_to(file.absolute())

    def _open_writer(self, timeout: float) -> tantivy.IndexWriter:
        """Open a writer, which holds the write lock. While another process holds the lock, wait and try again."""
        if self._links is not None:
            raise DocumentStoreError(
                f"The index {self.path} can only be read: its disk is read-only, or this account may not write in the "
                "folder. Change that, and start the program again."
            )

        deadline = time.monotonic() + timeout
        while True:
            try:
                return self._index.writer(_WRITER_MEMORY, 1)
            except ValueError as error:
                if "LockBusy" not in str(error):
                    raise self._write_error(error) from error
                if time.monotonic() >= deadline:
                    raise DocumentStoreError(
                        f"Another process is still writing to the index {self.path} after {timeout:g} seconds. "
                        "Wait for it to end, or stop it, and try again."
                    ) from error
            time.sleep(_LOCK_POLL_SECONDS)

    @contextmanager
    def _explain_write_errors(self) -> Iterator[None]:
        """Turn tantivy's errors in this block into a DocumentStoreError that says what to do."""
        try:
            yield
        except ValueError as error:
            raise self._write_error(error) from error

    def _write_error(self, error: ValueError) -> DocumentStoreError:
        """Make the error for a failed write of this index. If little space is free, a full disk is the cause."""
        free = shutil.disk_usage(self.path).free
        # Tantivy writes in another thread, and its error does not always give the cause.
        reason: OSError | ValueError = error
        if free < _LITTLE_SPACE:
            reason = OSError(errno.ENOSPC, f"{free / 1e6:,.0f} MB are free")
        return write_error(reason, f"The index {self.path} cannot be written: {reason}.")

    def _check_sizes(self) -> None:
        """Raise a DocumentStoreError if a mapped file has become shorter.

        Reading a mapped file past its end kills the process (SIGBUS). Tantivy never changes a file, so another program
        must have changed it. Checking a file takes about a microsecond.
        """
        for path, size in self._sizes.items():
            try:
                actual_size = os.stat(path).st_size
            except FileNotFoundError:
                continue
            if actual_size < size:
                raise DocumentStoreError(
                    f"The index {self.path} is damaged ({os.path.basename(path)} has become shorter): restore its "
                    "files, or move the folder away and index the documents again."
                )

    def _has_no_deleted(self, searcher: tantivy.Searcher, version: _Version | None) -> bool:
        """Check whether the files contain no deleted documents.

        The result is False if another commit was made meanwhile, because the numbers would not belong together.
        """
        # Only the commit file contains `max_doc`, which counts deleted documents too. `num_docs` does not count them.
        try:
            segments = json.loads(Path(self._commit_file).read_bytes())["segments"]
            total = sum(segment["max_doc"] for segment in segments)
        except (OSError, ValueError, KeyError, TypeError):
            return False
        return bool(total == searcher.num_docs) and _file_version(self._commit_file) == version


def _add_by_title(by_key: dict[str, list[Document]], documents: Sequence[Document]) -> None:
    """Add documents to the lists of their titles, by the keys of the titles."""
    for document in documents:
        key = title_key(str(document.meta["title"]))
        # The index may have been made by a Python with other Unicode tables. The key of a document may then differ from
        # the key that was looked up. Such a document is left out.
        if key in by_key:
            by_key[key].append(document)


def _choose_documents(
    documents: Sequence[Document], policy: DuplicatePolicy, present: Collection[str]
) -> dict[str, Document]:
    """Choose the documents to write by their ids, as the policy demands. ``present`` has the ids in the index."""
    if policy == DuplicatePolicy.SKIP:
        new: dict[str, Document] = {}
        for document in documents:
            if document.id not in present:
                new.setdefault(document.id, document)
        return new

    if policy in (DuplicatePolicy.NONE, DuplicatePolicy.FAIL):
        counts = Counter(document.id for document in documents)
        repeated = [document_id for document_id, count in counts.items() if count > 1]
        taken = sorted({*present, *repeated})
        if taken:
            listed = ", ".join(taken[:5])
            if len(taken) > 5:
                listed += ", ..."
            raise DuplicateDocumentError(
                f"{len(taken)} ids exist already or are given twice ({listed}). Nothing was written; "
                "choose DuplicatePolicy.SKIP or OVERWRITE to accept them."
            )
    return {document.id: document for document in documents}


def write_error(error: OSError | ValueError, message: str) -> DocumentStoreError:
    """Make the error for a failed write.

    :param error: The error of the operating system or of tantivy. Tantivy names a full disk only in the error's text.
    :param message: What failed.
    :returns: :class:`DiskFull` if the disk is full, otherwise a DocumentStoreError.
    """
    # The errors of tantivy have the number of the operating system's error only in their text.
    names_full_disk = any(f"os error {code})" in str(error) for code in NO_ROOM)
    is_full = getattr(error, "errno", None) in NO_ROOM
    if not is_full and not names_full_disk:
        return DocumentStoreError(message)
    return DiskFull(f"The disk is full: make room and try again. What was indexed before is still there. {message}")


# The opened indexes of this process by their folders. An index that nobody uses any more disappears from here.
_OPEN: WeakValueDictionary[Path, Index] = WeakValueDictionary()
# Held while an index is opened, so that two threads do not open the same index twice.
_OPEN_LOCK = threading.Lock()


def index_exists(path: Path) -> bool:
    """Check whether there is an index in a folder.

    :param path: The folder.
    :returns: True if the folder contains anything, so also for a damaged index that has lost some of its files.
    """
    # A new index is moved into place as a whole. So a folder with anything in it is never an index that is being made.
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False


def open_index(path: Path, latest: Index | None = None) -> Index | None:
    """Open the index in a folder. All callers in this process share one object per folder.

    :param path: The folder.
    :param latest: The index that the caller opened last. It is returned if the folder still contains the same index.
    :returns: The index; None if the folder is empty or does not exist.
    :raises DocumentStoreError: When the index cannot be read, or when the folder has other files but no settings file.
    """
    if latest is not None and latest.path != path:
        latest = None
    settings_file = path / _SETTINGS_FILE if latest is None else latest.settings_file
    version = _file_version(settings_file)
    if version is None:
        # Another process may just have made the index.
        if index_exists(path) and _file_version(path / _SETTINGS_FILE) is None:
            raise DocumentStoreError(explain_failure(path, ValueError(f"{_SETTINGS_FILE} is missing")))
        return None

    # The settings file of an index never changes. So another version of the file means that the index was replaced.
    if latest is not None and latest.settings_version == version:
        return latest

    with _OPEN_LOCK:
        index = _OPEN.get(path)
        if index is None or index.settings_version != version:
            try:
                index = Index(path)
            except (OSError, ValueError) as error:
                raise DocumentStoreError(explain_failure(path, error)) from error
            _OPEN[path] = index
        return index


def open_for_writing(path: Path, language: str | None = None) -> Index:
    """Open the index in a folder, and make an empty index first if there is none.

    :param path: The folder.
    :param language: The language of a new index. None means :data:`DEFAULT_LANGUAGE`.
    :returns: The index. An existing index may have another language.
    :raises DocumentStoreError: When the index cannot be made or read, or when the folder has other files.
    """
    if _file_version(path / _SETTINGS_FILE) is None:
        _make_index(path, language or DEFAULT_LANGUAGE)
    index = open_index(path)
    if index is None:
        raise DocumentStoreError(f"The index {path} vanished while it was being written. Try again.")
    return index


def _make_index(path: Path, language: str) -> None:
    """Make an empty index.

    It is made in a temporary folder, which is then moved into place. So no process sees an incomplete index.
    """
    is_empty_folder = path.is_dir() and not index_exists(path)
    if path.exists() and not is_empty_folder:
        if _file_version(path / _COMMIT_FILE) is not None:
            return
        raise DocumentStoreError(
            f"{path} is neither empty nor an index: restore its files, move the folder away, or choose another one."
        )

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        workplace = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as error:
        raise write_error(error, f"Cannot make an index in {path.parent} ({error.strerror}).") from error

    try:
        tantivy.Index(index_schema(), path=str(workplace))
        settings = {"format": _FORMAT, "language": language}
        (workplace / _SETTINGS_FILE).write_text(json.dumps(settings) + "\n", encoding="utf-8")
        workplace.rename(path)
    except (OSError, ValueError) as error:
        # Another process may have made the same index first. Then there is a settings file, and nothing is wrong.
        if _file_version(path / _SETTINGS_FILE) is None:
            reason = getattr(error, "strerror", None) or error
            raise write_error(error, f"Cannot make an index in {path} ({reason}).") from error
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


def _file_version(path: str | Path) -> _Version | None:
    """Return what tells this version of a file from others; None if there is no file."""
    try:
        stat = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
