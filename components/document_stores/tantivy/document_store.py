"""The document store of an on-disk BM25 index, which needs no server.

:class:`TantivyDocumentStore` is the class that pipelines and the command line use. It finds the folder of the index,
checks arguments and offers the methods of Haystack's stores. The work on the files is done by :class:`Index` and
:class:`Commit`.

The module also stores the user's answer to the question whether the web may be searched about these documents.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from haystack import Document
from haystack.document_stores.errors import DocumentStoreError
from haystack.document_stores.types import DuplicatePolicy
from tantivy import Query

from prefrag.components.block import Block, check_range
from prefrag.components.both_ways import in_thread_async
from prefrag.components.document_stores.tantivy import analysis
from prefrag.components.document_stores.tantivy.damage import report_damage
from prefrag.components.document_stores.tantivy.filters import check_filters
from prefrag.components.document_stores.tantivy.index import (
    Index,
    index_exists,
    open_for_writing,
    open_index,
    write_error,
)
from prefrag.components.document_stores.tantivy.index_location import (
    data_directory,
    index_path,
    make_data_directory,
    own_index,
    resolve_index,
)
from prefrag.settings import settings

# The number of characters of a document that `check` searches for.
_CHECKED_CHARACTERS = 200
# The names of Haystack's stores for the types of metadata. Every other type is a "keyword".
_TYPE_NAMES = {bool: "boolean", int: "int", float: "float"}


class TantivyDocumentStore(Block):
    """Store documents in a tantivy index on disk and find them by BM25 (k1 1.2, b 0.75) over title and text.

    The store needs no server. Any number of processes can read an index while one process writes to it. Every call sees
    the latest commit. `write_documents` returns once the documents are on disk.

    The title is `meta["title"]`. A word in the title weighs 1.25 times as much as a word in the text. Words are
    lower-cased and stemmed, and stop words are left out.

    Documents are stored with their id, content, metadata and embedding. Metadata may contain JSON values and dates. The
    store keeps embeddings, but it searches by words only. :class:`VectorRetriever` searches by vectors.

    Objects of this class are cheap, because all stores of the same folder in one process share the opened index. A
    store may be used from several threads.

    Usage example:
    ```python
    from haystack import Document

    store = TantivyDocumentStore(path="my-index")
    store.write_documents([Document(content="A square in Vienna.", meta={"title": "Karlsplatz"})])
    print(store.search("squares of Vienna", top_k=5))
    ```
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        index: str | None = None,
        language: str | None = None,
        lock_timeout: float = 10.0,
    ) -> None:
        """Set the folder of the index. The index is opened or created when it is first used.

        :param path: The folder of the index. The first write creates it. If None, every call looks for the index that
            `index` or `PREFRAG_INDEX` names. If neither is set, the first existing index of these three is used:
            `default`, the index that `prefrag FOLDER` made, the demo. The demo is never written to.
        :param index: The name of an index in the data directory, instead of a path.
        :param language: The language of the stemmer and the stop words, one of `LANGUAGES`. A new index gets this
            language, or `english` if None. An existing index must have this language. With None, an existing index may
            have any language.
        :param lock_timeout: The maximum number of seconds to wait while another process writes.
        :raises ValueError: When `path` and `index` are both set, `path` is empty, the language is unknown, or the
            timeout is negative.
        """
        if path is not None and index is not None:
            raise ValueError("Give the store a path or the name of an index, not both.")
        if path is not None and not path:
            raise ValueError("path is empty: give the folder of the index, or leave path out.")
        if language is not None:
            language = language.lower()
            analysis.check_language(language)
        check_range(0, lock_timeout=lock_timeout)

        self.path = path
        self.index = index
        self.language = language
        self.lock_timeout = lock_timeout
        # The index that the last call used. A call opens the index again only if the folder has another one now.
        self._latest: Index | None = None

    def __deepcopy__(self, memo: dict[int, object]) -> TantivyDocumentStore:
        """Make a copy that shares the opened index."""
        copied = TantivyDocumentStore(
            self.path, index=self.index, language=self.language, lock_timeout=self.lock_timeout
        )
        copied._latest = self._latest
        return copied

    @report_damage
    def count_documents(self) -> int:
        """Count the documents.

        :returns: The number of documents. It is 0 for a folder without an index.
        """
        index = self._open()
        return index.commit().searcher.num_docs if index else 0

    @report_damage
    def search(self, query: str, top_k: int = 10, filters: dict[str, object] | None = None) -> list[Document]:
        """Find the documents that match a text best by BM25.

        :param query: Any text. There are no operators.
        :param top_k: The maximum number of documents to return.
        :param filters: Haystack's filters on the metadata. They apply to all documents, not only to the best `top_k`.
        :returns: The documents that contain a word of the query, with their scores, best first. Documents with equal
            scores are sorted by their ids.
        :raises ValueError: When `top_k` is under 1.
        :raises FilterError: When the filters cannot be understood or applied, or name a field that no document has.
        """
        if top_k < 1:
            raise ValueError(f"top_k must be at least 1, not {top_k}.")
        if filters:
            check_filters(filters)
        index = self._open()
        return index.search(query, top_k, filters) if index else []

    @report_damage
    def check_fields(self, filters: dict[str, object]) -> None:
        """Check that documents have the metadata fields that filters use.

        :param filters: Haystack's filters.
        :raises FilterError: When no document has a field of the filters. The message lists the existing fields.
        """
        index = self._open()
        if index:
            index.commit().check_fields(filters)

    def filter_documents(self, filters: dict[str, object] | None = None) -> list[Document]:
        """List the documents that match filters.

        :param filters: Haystack's filters on the metadata. None lists all documents.
        :returns: The documents, in no particular order.
        :raises FilterError: When the filters cannot be understood or applied.
        """
        return list(self.iterate_documents(filters))

    @report_damage
    def iterate_documents(self, filters: dict[str, object] | None = None) -> Iterator[Document]:
        """Yield the documents that `filter_documents` lists, without keeping them all in memory.

        :param filters: Haystack's filters on the metadata. None yields all documents.
        :returns: An iterator over the documents, in no particular order.
        :raises FilterError: When the filters cannot be understood or applied.
        """
        if filters:
            check_filters(filters)
        index = self._open()
        if index:
            yield from index.commit().all_matching(filters)

    @report_damage
    def documents_by_id(self, document_ids: Iterable[str]) -> list[Document]:
        """Read documents by their ids.

        :param document_ids: The ids. Ids that do not exist are ignored, and an id that occurs twice is read once.
        :returns: The documents, in the order of the ids.
        """
        index = self._open()
        wanted = list(dict.fromkeys(document_ids))
        return index.commit().by_id(wanted) if index and wanted else []

    @report_damage
    def known_title_keys(self, keys: Iterable[str]) -> set[str]:
        """Find the title keys that occur in the index. This takes a few microseconds per key.

        :param keys: Title keys, as `title_key` makes them.
        :returns: The keys that at least one document has.
        """
        index = self._open()
        return index.commit().existing("title_key", keys) if index else set()

    @report_damage
    def documents_by_title(
        self, titles: Mapping[str, str], per_title: int = 3, filters: dict[str, object] | None = None
    ) -> dict[str, list[Document]]:
        """Read documents by their titles, with their BM25 scores, best first.

        :param titles: A query for each title key that `title_key` makes. The query ranks the documents that have this
            title.
        :param per_title: The maximum number of documents to return for each title.
        :param filters: Haystack's filters on the metadata.
        :returns: The documents of each title by its key. Titles without documents are left out. If only one document
            has the title, it usually has no score, because there is nothing to rank.
        :raises ValueError: When `per_title` is under 1.
        :raises FilterError: When the filters cannot be understood or applied, or name a field that no document has.
        """
        if per_title < 1:
            raise ValueError(f"per_title must be at least 1, not {per_title}.")
        if filters:
            check_filters(filters)
        index = self._open()
        return index.documents_by_title(titles, per_title, filters) if index else {}

    @report_damage
    def count_values(self, name: str, filters: dict[str, object] | None = None) -> dict[str, int]:
        """For each text value of a metadata field, count the documents with this value. No document is read.

        :param name: The name of the field, without `meta.`.
        :param filters: Haystack's filters. Only the operators `in` and `==` are applied, because the index cannot check
            others.
        :returns: The number of documents by value. Values over 200 characters are left out.
        """
        index = self._open()
        return index.commit().count_values(name, filters) if index else {}

    @report_damage
    def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """For each word, count the documents that have a word with the same stem in title or text.

        :param words: Words of a text, or tokens from `analyze`. A word such as `U.S.` has several tokens. A document
            contains such a word if it contains all these tokens.
        :returns: The number of all documents, and the count by word. A word that the index leaves out, such as a stop
            word, gets the number of all documents. It then has the lowest inverse document frequency.
        """
        index = self._open()
        if index is None:
            return 0, dict.fromkeys(words, 0)
        return index.commit().document_frequencies(words)

    def analyze(self, text: str) -> list[str]:
        """Split a text into the tokens that the index compares.

        For example, "The squares of Vienna" becomes `["squar", "vienna"]`.

        :param text: The text.
        :returns: The stemmed words in order, without stop words.
        """
        (tokens,) = self.analyze_many([text])
        return tokens

    @report_damage
    def analyze_many(self, texts: Iterable[str]) -> list[list[str]]:
        """Split texts into tokens, each in the same way as `analyze`.

        :param texts: The texts.
        :returns: The tokens of each text.
        """
        index = self._open()
        language = self.language or analysis.DEFAULT_LANGUAGE
        if index:
            language = index.language
        analyzer = analysis.text_analyzer(language)
        return [analyzer.analyze(analysis.indexed_form(text)) for text in texts]

    @report_damage
    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Add all the documents, or none of them if an error is raised.

        The documents are on disk when this returns. Every call opens the index for writing and commits once, so one
        call with thousands of documents is faster than many small calls.

        :param documents: The documents.
        :param policy: What to do if an id exists already, or occurs twice among the documents. FAIL and NONE raise an
            error. SKIP keeps the first document, and OVERWRITE keeps the last document.
        :returns: The number of documents written. With OVERWRITE, this is the length of `documents`.
        :raises ValueError: When an element is not a Document, its metadata cannot be stored unchanged, or it has a blob
            or a sparse embedding.
        :raises DuplicateDocumentError: When the policy is FAIL or NONE and an id is not new.
        :raises DocumentStoreError: When another process writes for too long, or the disk cannot be written.
        """
        documents = list(documents)
        for document in documents:
            if not isinstance(document, Document):
                raise ValueError(f"write_documents takes a list of haystack Documents, not of {type(document)}.")
            if document.blob is not None or document.sparse_embedding is not None:
                part = "blob" if document.blob is not None else "sparse embedding"
                raise ValueError(f"Document '{document.id}' has a {part}, which this store does not keep: remove it.")
        if not documents:
            return 0
        return self._open_for_writing().write(documents, policy, self.lock_timeout)

    @report_damage
    def replace_documents(self, documents: list[Document], outdated: list[str]) -> None:
        """Write documents, overwriting those with the same ids, and delete those whose ids are in `outdated`.

        Both happen in one commit. The errors are those of `write_documents`.

        :param documents: The documents to write.
        :param outdated: The ids of the documents to delete. Ids that do not exist are ignored.
        """
        self._open_for_writing().write(documents, DuplicatePolicy.OVERWRITE, self.lock_timeout, outdated)

    @report_damage
    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents.

        :param document_ids: The ids of the documents. Ids that do not exist are ignored.
        """
        if document_ids and self._open():
            self.replace_documents([], document_ids)

    @report_damage
    def delete_all_documents(self) -> None:
        """Delete every document. The empty index keeps its language."""
        if self._open():
            self._open_for_writing().delete_all(self.lock_timeout)

    def delete_by_filter(self, filters: dict[str, object]) -> int:
        """Delete the documents that match filters.

        :param filters: Haystack's filters on the metadata.
        :returns: The number of deleted documents.
        :raises FilterError: When the filters have no condition or cannot be understood or applied.
        """
        check_filters(filters)
        matching = [document.id for document in self.iterate_documents(filters)]
        self.delete_documents(matching)
        return len(matching)

    def update_by_filter(self, filters: dict[str, object], meta: dict[str, object]) -> int:
        """Set metadata fields of the documents that match filters.

        :param filters: Haystack's filters on the metadata.
        :param meta: The fields to set, with their new values. Other fields stay as they are.
        :returns: The number of changed documents.
        :raises FilterError: When the filters have no condition, because this would change all documents, or when they
            cannot be understood or applied.
        """
        check_filters(filters)
        changed = [replace(document, meta={**document.meta, **meta}) for document in self.iterate_documents(filters)]
        self.write_documents(changed, DuplicatePolicy.OVERWRITE)
        return len(changed)

    def count_documents_by_filter(self, filters: dict[str, object]) -> int:
        """Count the documents that match filters.

        :param filters: Haystack's filters on the metadata. Empty filters count all documents.
        :returns: The number of documents.
        """
        if not filters:
            return self.count_documents()
        return sum(1 for _ in self.iterate_documents(filters))

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Return the type of each metadata field. All documents are read.

        :returns: For each field a dictionary such as `{"type": "int"}`. The types are `boolean`, `int`, `float` and
            `keyword`.
        """
        types: dict[str, dict[str, str]] = {}
        for document in self.iterate_documents():
            for name, value in document.meta.items():
                if value is not None:
                    types[name] = {"type": _TYPE_NAMES.get(type(value), "keyword")}
        return types

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, object]:
        """Return the lowest and the highest value of a metadata field. All documents are read.

        :param metadata_field: The name of the field, with or without `meta.`.
        :returns: A dictionary with the keys `min` and `max`. Both values are None if no document has a value, or if the
            values cannot be compared.
        """
        values = self._values_of(metadata_field)
        try:
            return {"min": min(values, default=None), "max": max(values, default=None)}
        except TypeError:
            return {"min": None, "max": None}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, object] | None = None,
    ) -> tuple[list[object], int]:
        """List the different values of a metadata field, ordered by their texts. All documents are read.

        :param metadata_field: The name of the field, with or without `meta.`.
        :param search_term: List only values that contain this text, in upper or lower case. None lists all values.
        :param from_: The number of values to leave out at the beginning.
        :param size: The maximum number of values to return.
        :param filters: Read only documents that match these filters. None reads all documents.
        :returns: The values, and the number of different values before `from_` and `size` are applied.
        """
        values = self._values_of(metadata_field, filters)
        wanted = (search_term or "").casefold()
        # 1 and "1" are two values, and so are 1 and 1.0.
        different = {_as_json(value): value for value in values if wanted in str(value).casefold()}
        ordered = sorted(different, key=lambda text: (str(different[text]), text))
        wanted_values = [different[text] for text in ordered[from_ : from_ + size]]
        return wanted_values, len(ordered)

    def count_unique_metadata_by_filter(self, filters: dict[str, object], metadata_fields: list[str]) -> dict[str, int]:
        """Count the different values of metadata fields in the documents that match filters.

        :param filters: Haystack's filters on the metadata.
        :param metadata_fields: The names of the fields, with or without `meta.`.
        :returns: The number of different values by field, without `meta.`.
        """
        counts = {}
        for name in metadata_fields:
            different = {_as_json(value) for value in self._values_of(name, filters)}
            counts[name.removeprefix("meta.")] = len(different)
        return counts

    def _values_of(self, name: str, filters: dict[str, object] | None = None) -> list[Any]:
        """List the values of a metadata field in the documents that match filters, repetitions included."""
        field = name.removeprefix("meta.")
        values = (document.meta.get(field) for document in self.iterate_documents(filters))
        return [value for value in values if value is not None]

    count_documents_async = in_thread_async(count_documents)
    filter_documents_async = in_thread_async(filter_documents)
    write_documents_async = in_thread_async(write_documents)
    delete_documents_async = in_thread_async(delete_documents)
    delete_all_documents_async = in_thread_async(delete_all_documents)
    delete_by_filter_async = in_thread_async(delete_by_filter)
    update_by_filter_async = in_thread_async(update_by_filter)
    count_documents_by_filter_async = in_thread_async(count_documents_by_filter)
    get_metadata_fields_info_async = in_thread_async(get_metadata_fields_info)
    get_metadata_field_min_max_async = in_thread_async(get_metadata_field_min_max)
    get_metadata_field_unique_values_async = in_thread_async(get_metadata_field_unique_values)
    count_unique_metadata_by_filter_async = in_thread_async(count_unique_metadata_by_filter)

    @report_damage
    def check(self) -> None:
        """Check that the index can be searched, by reading a document and searching for its text.

        :raises FileNotFoundError: When there is no index.
        :raises DocumentStoreError: When the index is damaged or cannot be read.
        """
        index = self._open()
        if index is None:
            raise FileNotFoundError(f"There is no collection in {self.locate()}.")
        commit = index.commit()
        for document in commit.best(Query.all_query(), 1, None):
            title = document.meta.get("title", "")
            beginning = (document.content or "")[:_CHECKED_CHARACTERS]
            index.search(f"{title} {beginning}", top_k=1, filters=None)

    def read_web_consent(self) -> bool | None:
        """Read the user's answer to the question whether queries about these documents may be sent to the web.

        :returns: The answer. None if the user has not answered.
        """
        return read_web_consent(self.locate())

    def keep_web_consent(self, answer: bool) -> None:
        """Store the user's answer about the web in the folder of the index. It replaces an earlier answer.

        :param answer: Whether queries about these documents may be sent to the web.
        :raises DocumentStoreError: When there is no index, or the disk cannot be written.
        """
        keep_web_consent(self.locate(), answer)

    def locate(self) -> Path:
        """Return the folder of the index.

        :returns: The folder. The folder of a `path` may not exist yet.
        :raises FileNotFoundError: When the store has no `path` and no index with the name exists.
        """
        if self.path is None:
            return resolve_index(self.index)
        return Path(self.path).expanduser().absolute()

    def _open(self) -> Index | None:
        """Return the opened index; None if the folder has no index."""
        # The path is looked up at every call. So a server switches from the demo to `default` once `default` exists.
        return self._check_language(open_index(self.locate(), self._latest))

    def _open_for_writing(self) -> Index:
        """Return the opened index, and make an empty index first if there is none."""
        if self.path is not None:
            path = Path(self.path).expanduser().absolute()
        else:
            path = index_path(self.index or settings.index or own_index())
        if path.is_relative_to(data_directory()):
            make_data_directory()
        index = open_for_writing(path, self.language)
        self._check_language(index)
        return index

    def _check_language(self, index: Index | None) -> Index | None:
        """Check the language of an index, and remember the index for the next call."""
        if index is not None and self.language not in (None, index.language):
            raise ValueError(
                f"The index {index.path} was made for '{index.language}', not for '{self.language}'. Set language to "
                f"'{index.language}' (or leave it out), or index the documents again into another index."
            )
        self._latest = index
        return index


def _as_json(value: object) -> str:
    """Write a value as JSON, by which two values of different types differ: 1 becomes `1`, and "1" becomes `"1"`."""
    return json.dumps(value, default=str, sort_keys=True)


# The file of the user's answer about the web. The answer is not in the settings file, because each change of that file
# makes all stores open the index again.
_FILE = "prefrag-web.json"


def read_web_consent(path: Path) -> bool | None:
    """Read the user's answer about the web from the folder of an index.

    :param path: The folder.
    :returns: The answer. None if there is no file or the file has no valid answer.
    """
    try:
        answer = json.loads((path / _FILE).read_text(encoding="utf-8"))["web"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return answer if isinstance(answer, bool) else None


def keep_web_consent(path: Path, answer: bool) -> None:
    """Store the user's answer about the web in the folder of an index. It replaces an earlier answer.

    :param path: The folder.
    :param answer: Whether queries about the documents of this index may be sent to the web.
    :raises DocumentStoreError: When there is no index, or the disk cannot be written.
    """
    if not index_exists(path):
        raise DocumentStoreError(f"There is no collection in {path}: index documents first.")

    # The file is written under another name first, so that no reader sees an incomplete answer.
    written = path / f".{_FILE}.{os.getpid()}"
    try:
        written.write_text(json.dumps({"web": answer}) + "\n", encoding="utf-8")
        written.replace(path / _FILE)
    except OSError as error:
        raise write_error(error, f"Cannot write to the index {path} ({error.strerror}).") from error
