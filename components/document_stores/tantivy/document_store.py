"""An on-disk BM25 index behind Haystack's DocumentStore protocol."""

import functools
import hashlib
import json
import logging
import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import tantivy
from haystack import Document, default_from_dict, default_to_dict
from haystack.document_stores.errors import DocumentStoreError, DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from tantivy import Filter, Occur, Query, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from prefrag.components.document_stores.tantivy.index_location import (
    DEFAULT_INDEX,
    INDEX_VARIABLE,
    index_path,
    resolve_index,
)
from prefrag.components.text.title_mentions import title_key
from prefrag.components.text.unicode_form import one_form

logger = logging.getLogger(__name__)

# Languages that tantivy 0.27 carries stop words for, and all those that it can stem.
_WITH_STOP_WORDS = (
    *("danish", "dutch", "english", "finnish", "french", "german", "hungarian", "italian", "norwegian"),
    *("portuguese", "russian", "spanish", "swedish"),
)
LANGUAGES = tuple(sorted((*_WITH_STOP_WORDS, "arabic", "greek", "romanian", "tamil", "turkish")))
DEFAULT_LANGUAGE = "english"
TITLE_BOOST = 1.25

# Raised when the schema or the analysis changes, so that an old index is refused rather than searched wrongly.
_FORMAT = 2
# Still read and written: it lacks only the keys of titles.
_FORMAT_WITHOUT_TITLES = 1
_SETTINGS_FILE = "prefrag-index.json"
_ANALYZER = "prefrag"
_TEXT_FIELDS = ("title", "content")
# Longer tokens are debris of encodings; in bytes, room for 80 letters of the scripts that take three each.
_LONGEST_TOKEN = 255
# An exact term longer than this is kept as its digest: tantivy drops terms over 65,530 bytes without a word.
_LONGEST_TERM = 200
_WRITER_MEMORY = 100_000_000
_LOCK_POLL_SECONDS = 0.05
# Words whose document frequency is kept; some megabytes.
_MOST_REMEMBERED = 100_000
# Words whose part of a query is kept; 6 megabytes. The queries of one question have most words in common.
_MOST_PREPARED = 20_000
# Documents that are kept as they were read, for as long as one question finds them again and again.
_MOST_AT_HAND = 512
# Documents of one title that are read although not all of them may be wanted.
_FEW_DOCUMENTS = 16


class TantivyDocumentStore:
    """
    Keeps documents in a tantivy index on disk and finds them by BM25 (k1 1.2, b 0.75) over title and text.

    It needs no server: any number of processes read an index while one at a time writes to it, and a reader sees
    what another process committed at its next call. `write_documents` returns once the documents are on disk. The
    title is `meta["title"]` and counts 1.25 times. Words are lower-cased, stop words left out, the others stemmed.

    Documents come back with their id, content and metadata; embeddings and blobs are not kept. Metadata holds what
    JSON holds, and dates.

    Objects of this class are light: those of one process that name the same folder share the opened index, and may
    be used from several threads.

    ```python
    from haystack import Document
    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore

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
        """
        Describe the store; nothing is opened or created before it is used.

        :param path: the folder of the index, created by the first write. Without it the folder is found at every use:
            `index`, else `PREFRAG_INDEX`, else the index `default` when there is one, else the demo, which is never
            written to.
        :param index: the name of an index in the data directory, in place of a path.
        :param language: the language of stemmer and stop words, one of `LANGUAGES`. It belongs to the index: a new
            one is made with it (`english` when None), and an existing one of another language is refused (None
            takes what there is).
        :param lock_timeout: seconds to wait while another process writes.
        :raises ValueError: if path and index are both given, the language is unknown or the timeout is negative.
        """
        if path is not None and index is not None:
            raise ValueError("Give the store a path or the name of an index, not both.")
        if path is not None and not path:
            raise ValueError("path is empty: give the folder of the index, or leave path out.")
        if language is not None:
            language = language.lower()
            _check_language(language)
        if lock_timeout < 0:
            raise ValueError(f"lock_timeout must be 0 seconds or more, not {lock_timeout}.")
        self.path = path
        self.index = index
        self.language = language
        self.lock_timeout = lock_timeout
        self._opened: _OpenIndex | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> "TantivyDocumentStore":
        """A copy that shares the opened index."""
        copied = TantivyDocumentStore(
            self.path, index=self.index, language=self.language, lock_timeout=self.lock_timeout
        )
        copied._opened = self._opened
        return copied

    def to_dict(self) -> dict[str, Any]:
        """
        Serialise the store.

        :returns: its parameters as plain values.
        """
        return default_to_dict(
            self, path=self.path, index=self.index, language=self.language, lock_timeout=self.lock_timeout
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "TantivyDocumentStore":
        """
        Make a store from its serialised form.

        :param data: what `to_dict` gave.
        :returns: the store.
        """
        return default_from_dict(cls, data)

    def count_documents(self) -> int:
        """
        Count the documents.

        :returns: their number; 0 for a folder without an index.
        """
        opened = self._open()
        return opened.commit().searcher.num_docs if opened else 0

    def search(self, query: str, top_k: int = 10, filters: dict[str, Any] | None = None) -> list[Document]:
        """
        Find the documents that fit a text best by BM25.

        :param query: any text; it has no operators.
        :param top_k: the most documents to return.
        :param filters: Haystack's filters on the metadata. Every matching document counts, however low its score.
        :returns: documents with their score, best first; those without a word of the query are not among them.
        :raises ValueError: if top_k is under 1.
        :raises FilterError: if the filters cannot be understood or applied.
        """
        if top_k < 1:
            raise ValueError(f"top_k must be at least 1, not {top_k}.")
        if filters:
            _check_filters(filters)
        opened = self._open()
        if opened is None:
            return []
        commit = opened.commit()
        text_query = commit.text_query(query)
        return [] if text_query is None else opened.best(commit, text_query, top_k, filters)

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """
        List the documents that match filters.

        :param filters: Haystack's filters; without them every document is listed.
        :returns: the matching documents, in no particular order.
        :raises FilterError: if the filters cannot be understood or applied.
        """
        return list(self.iterate_documents(filters))

    def iterate_documents(self, filters: dict[str, Any] | None = None) -> Iterator[Document]:
        """
        Go through the documents that match filters, without holding them all.

        :param filters: Haystack's filters; without them every document is given.
        :returns: the matching documents, in no particular order.
        :raises FilterError: if the filters cannot be understood or applied.
        """
        if filters:
            _check_filters(filters)
        opened = self._open()
        if opened is None:
            return
        searcher = opened.commit().searcher
        query = opened.necessary(filters) if filters else None
        for document in opened.read_all(searcher, query if query is not None else Query.all_query()):
            if not filters or _matches(filters, document):
                yield document

    def documents_by_id(self, document_ids: Iterable[str]) -> list[Document]:
        """
        Get documents by their ids.

        :param document_ids: the ids.
        :returns: the documents that exist, in the order of the ids.
        """
        opened = self._open()
        wanted = list(dict.fromkeys(document_ids))
        if opened is None or not wanted:
            return []
        searcher = opened.commit().searcher
        query = Query.term_set_query(opened.schema, "id", [_term(document_id) for document_id in wanted])
        found = {document.id: document for document in opened.read_all(searcher, query)}
        return [found[document_id] for document_id in wanted if document_id in found]

    def known_titles(self, keys: Iterable[str]) -> set[str]:
        """
        Tell which of many keys are titles of documents.

        :param keys: keys as `title_key` makes them. Each is a look-up of some microseconds.
        :returns: those that a document has.
        :raises DocumentStoreError: if the index was made before titles were kept for this.
        """
        opened = self._open()
        if opened is None:
            return set()
        opened.check_titles()
        return opened.existing("title_key", keys)

    def documents_by_title(
        self, titles: Mapping[str, str], per_title: int = 3, filters: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        """
        Get documents by their titles.

        :param titles: keys as `title_key` makes them, each with the text that tells which of
            the documents of this title come first.
        :param per_title: the most documents of a title.
        :param filters: Haystack's filters on the metadata.
        :returns: the documents of each title that has some, best BM25 for its text first and with it as their score.
            One that is alone under its title mostly has no score: there is nothing to rank.
        :raises ValueError: if per_title is under 1.
        :raises FilterError: if the filters cannot be understood or applied.
        :raises DocumentStoreError: if the index was made before titles were kept for this.
        """
        if per_title < 1:
            raise ValueError(f"per_title must be at least 1, not {per_title}.")
        if filters:
            _check_filters(filters)
        opened = self._open()
        if opened is None:
            return {}
        opened.check_titles()
        commit = opened.commit()
        # Ranking by a long text takes longer than reading documents: it is left out where it says nothing, and titles
        # that have few are asked for together.
        unranked: list[str] = []
        together: dict[str, dict[str, int]] = {text: {} for text in titles.values()}
        alone: list[tuple[str, dict[str, int]]] = []
        for key, text in titles.items():
            documents = commit.searcher.doc_freq("title_key", _term(key))
            if documents <= 1:
                unranked.append(key)
            elif documents <= max(per_title, _FEW_DOCUMENTS):
                together[text][key] = documents
            else:
                alone.append((text, {key: per_title}))
        # An earlier version may have kept another key for a title: such a document is left out.
        found: dict[str, list[Document]] = {key: [] for key in titles}
        if unranked:
            for document in opened.best(commit, opened.with_titles(unranked), len(unranked), filters):
                found.get(title_key(str(document.meta["title"])), []).append(replace(document, score=None))
        ranking: dict[str, Query | None] = {}
        for text, most in (*together.items(), *alone):
            if not any(most.values()):
                continue
            if text not in ranking:
                ranking[text] = commit.text_query(text)
            clauses = [(Occur.Must, opened.with_titles(most))]
            if (ranked := ranking[text]) is not None:
                clauses.append((Occur.Should, ranked))
            for document in opened.best(commit, Query.boolean_query(clauses), sum(most.values()), filters):
                found.get(title_key(str(document.meta["title"])), []).append(document)
        return {key: documents[:per_title] for key, documents in found.items() if documents}

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """
        Count in how many documents words occur, in title or text, in any inflection that stems alike.

        :param words: words as they stand in a text, or terms as `analyze` gives them.
        :returns: the number of documents, and for every word the number that holds it. A word that says nothing to
            the index, such as a stop word, is said to be in every document, so that its idf is lowest. A word of
            several tokens (`U.S.`) counts where all of them occur.
        """
        opened = self._open()
        if opened is None:
            return 0, dict.fromkeys(words, 0)
        commit = opened.commit()
        searcher, remembered = commit.searcher, commit.frequencies
        total = searcher.num_docs
        frequencies = {}
        for word in words:
            if word in remembered:
                frequencies[word] = remembered[word]
                continue
            # Stemming a stem can change it again, so what is a term of the index already is left alone.
            known = any(searcher.doc_freq(field, _text(word)) for field in _TEXT_FIELDS)
            tokens = [_text(word)] if known else opened.analyzer.analyze(_text(word))
            if not tokens:
                frequencies[word] = total
                continue
            frequencies[word] = commit.count_with(tokens)
            if len(remembered) < _MOST_REMEMBERED:
                remembered[word] = frequencies[word]
        return total, frequencies

    def analyze(self, text: str) -> list[str]:
        """
        Split a text into the tokens that the index compares: lower-cased, without stop words, stemmed.

        :param text: any text.
        :returns: its tokens in order, repetitions included.
        """
        return self.analyze_many([text])[0]

    def analyze_many(self, texts: Iterable[str]) -> list[list[str]]:
        """
        Split texts into tokens, as `analyze` does one.

        :param texts: any texts.
        :returns: the tokens of each.
        """
        opened = self._open()
        analyzer = opened.analyzer if opened else text_analyzer(self.language or DEFAULT_LANGUAGE)
        return [analyzer.analyze(_text(text)) for text in texts]

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """
        Add documents, all of them or, when this raises, none.

        The documents are on disk when this returns. A call opens the index for writing and commits once, so thousands
        of documents a call go faster than many small calls.

        :param documents: the documents.
        :param policy: what to do with an id that is there already, or twice among the documents: FAIL and NONE raise,
            SKIP keeps the first, OVERWRITE keeps the last.
        :returns: how many were written; with OVERWRITE the number given.
        :raises ValueError: if something is not a document, or its metadata would come back changed.
        :raises DuplicateDocumentError: if the policy is FAIL or NONE and an id is not new.
        :raises DocumentStoreError: if another process goes on writing, or the disk refuses.
        """
        documents = list(documents)
        for document in documents:
            if not isinstance(document, Document):
                raise ValueError(f"write_documents takes a list of haystack Documents, not of {type(document)}.")
        if not documents:
            return 0
        opened = self._open_for_writing()
        with opened.writer(self.lock_timeout) as writer:
            # Looked up under the writer's lock, so that no other process adds the same ids meanwhile.
            present = opened.existing("id", (document.id for document in documents))
            by_id = {document.id: document for document in documents}
            if policy in (DuplicatePolicy.NONE, DuplicatePolicy.FAIL):
                repeated = [key for key, count in Counter(d.id for d in documents).items() if count > 1]
                if known := sorted({*present, *repeated}):
                    listed = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
                    raise DuplicateDocumentError(
                        f"{len(known)} ids exist already or are given twice ({listed}). Nothing was written; "
                        "choose DuplicatePolicy.SKIP or OVERWRITE to accept them."
                    )
            elif policy == DuplicatePolicy.SKIP:
                by_id = {}
                for document in documents:
                    if document.id not in present:
                        by_id.setdefault(document.id, document)
            for document in by_id.values():
                if document.id in present:
                    writer.delete_documents_by_term("id", _term(document.id))
                writer.add_document(_to_tantivy(document, with_title_key=opened.keeps_titles))
        return len(documents) if policy == DuplicatePolicy.OVERWRITE else len(by_id)

    def delete_documents(self, document_ids: list[str]) -> None:
        """
        Delete documents; ids that do not exist are passed over.

        :param document_ids: the ids.
        :raises DocumentStoreError: if another process goes on writing, or the disk refuses.
        """
        if not document_ids or self._open() is None:
            return
        with self._open_for_writing().writer(self.lock_timeout) as writer:
            for document_id in document_ids:
                writer.delete_documents_by_term("id", _term(document_id))

    def delete_all_documents(self) -> None:
        """
        Delete every document; the index stays, with its language.

        :raises DocumentStoreError: if another process goes on writing, or the disk refuses.
        """
        if self._open() is None:
            return
        with self._open_for_writing().writer(self.lock_timeout) as writer:
            writer.delete_all_documents()

    def _open(self) -> "_OpenIndex | None":
        # The folder is looked up at every call: a running server moves from the demo to `default` when that appears.
        path = Path(self.path).expanduser().absolute() if self.path is not None else resolve_index(self.index)
        opened = _opened(path, self._opened)
        if opened is not None and self.language not in (None, opened.language):
            raise ValueError(
                f"The index {path} was made for '{opened.language}', not for '{self.language}'. Set language to "
                f"'{opened.language}' (or leave it out), or index the documents again into another index."
            )
        self._opened = opened
        return opened

    def _open_for_writing(self) -> "_OpenIndex":
        if self.path is not None:
            path = Path(self.path).expanduser().absolute()
        else:
            path = index_path(self.index or os.environ.get(INDEX_VARIABLE) or DEFAULT_INDEX)
        if _settings_version(path) is None:
            _create(path, self.language or DEFAULT_LANGUAGE)
        opened = self._open()
        if opened is None:
            raise DocumentStoreError(f"The index {path} vanished while it was being written. Try again.")
        return opened


class _OpenIndex:
    """One index of this process: tantivy's handles, the analyzer, and the way to read, search and write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Both files are looked at by every search.
        self.settings_file, self._meta_file = str(path / _SETTINGS_FILE), str(path / "meta.json")
        self.settings_version = _file_version(self.settings_file)
        settings = json.loads(Path(self.settings_file).read_text(encoding="utf-8"))
        if settings["format"] not in (_FORMAT_WITHOUT_TITLES, _FORMAT):
            raise DocumentStoreError(
                f"The index {path} has format {settings['format']} and this version reads {_FORMAT}. "
                "Delete the folder and index the documents again."
            )
        self.keeps_titles = settings["format"] != _FORMAT_WITHOUT_TITLES
        self.language: str = settings["language"]
        self.analyzer = text_analyzer(self.language)
        self._index = tantivy.Index.open(str(path))
        # tantivy keeps no analyzers on disk.
        self._index.register_tokenizer(_ANALYZER, self.analyzer)
        self._index.config_reader("manual")
        self.schema = self._index.schema
        self._reload_lock = threading.Lock()
        self._commit: _Commit | None = None

    def commit(self) -> "_Commit":
        """The index as it is on disk now."""
        # Every commit of any process replaces this file. Looking at it costs a microsecond, and unlike tantivy's own
        # watcher, which polls twice a second from a thread, it never misses a commit that came before the call.
        current = _file_version(self._meta_file)
        latest = self._commit
        if latest is None or latest.version != current:
            with self._reload_lock:
                try:
                    self._index.reload()
                except ValueError as error:
                    raise DocumentStoreError(f"The index {self.path} cannot be read: {error}") from error
                searcher = self._index.searcher()
                whole = self._is_whole(searcher, current)
                latest = self._commit = _Commit(searcher, current, self.schema, self.analyzer, whole)
        return latest

    def _is_whole(self, searcher: tantivy.Searcher, version: tuple[int, int, int] | None) -> bool:
        # tantivy tells the number of deleted documents nowhere else.
        try:
            segments = json.loads(Path(self._meta_file).read_bytes())["segments"]
            held = sum(segment["max_doc"] for segment in segments)
        except (OSError, ValueError, KeyError, TypeError):
            return False
        return bool(held == searcher.num_docs) and _file_version(self._meta_file) == version

    def check_titles(self) -> None:
        """Refuse to look for titles in an index that does not keep them."""
        if not self.keeps_titles:
            raise DocumentStoreError(
                f"The index {self.path} was made by an earlier version, which kept no titles to look up. Searches work "
                "as before; to find passages by the titles that a text mentions, delete the folder and index the "
                "documents again."
            )

    def best(self, commit: "_Commit", query: Query, top_k: int, filters: dict[str, Any] | None) -> list[Document]:
        """The documents that fulfil a query and match the filters, highest score first."""
        searcher = commit.searcher
        if not filters:
            hits = searcher.search(query, limit=top_k, count=False).hits
            return [commit.read(address, score) for score, address in hits]

        if (narrowed := self.necessary(filters)) is not None:
            query = Query.boolean_query([(Occur.Must, query), (Occur.Must, Query.const_score_query(narrowed, 0.0))])
        # The index knows only part of the filter, so candidates are checked one by one, in a window that grows until
        # it holds enough. Windows are searched from their beginning: the order of near-equal scores may differ.
        limit = max(1, min(searcher.num_docs, top_k))
        checked: dict[tuple[int, int], Document | None] = {}
        while True:
            hits = searcher.search(query, limit=limit, count=False).hits
            found = []
            for score, address in hits:
                key = (address.segment_ord, address.doc)
                if key not in checked:
                    document = _read(searcher, address, score)
                    checked[key] = document if _matches(filters, document) else None
                if (match := checked[key]) is not None:
                    found.append(match)
            if len(found) >= top_k or len(hits) < limit or limit >= searcher.num_docs:
                return found[:top_k]
            limit = min(searcher.num_docs, max(64, limit * 4))

    def necessary(self, filters: dict[str, Any]) -> Query | None:
        """A query that every document matching the filters fulfils, or None when the index cannot tell."""
        operator = filters["operator"]
        if "field" not in filters:
            parts = [self.necessary(condition) for condition in filters["conditions"]]
            known = [part for part in parts if part is not None]
            if operator == "AND" and known:
                return Query.boolean_query([(Occur.Must, part) for part in known])
            if operator == "OR" and known and len(known) == len(parts):
                return Query.boolean_query([(Occur.Should, part) for part in known])
            return None
        values = filters["value"] if operator == "in" else [filters["value"]]
        if operator not in ("==", "in") or not all(isinstance(value, str | int | float) for value in values):
            return None
        field = filters["field"]
        if field == "id":
            terms = [_term(value) for value in values if isinstance(value, str)]
            return Query.term_set_query(self.schema, "id", terms)
        if not field.startswith("meta.") and field in Document.__dataclass_fields__:
            return None
        key = field.removeprefix("meta.")
        return Query.term_set_query(self.schema, "meta", [_meta_term(key, value) for value in values])

    def with_titles(self, keys: Iterable[str]) -> Query:
        """The documents whose titles have one of these keys, all with the score 0."""
        terms = [Query.term_query(self.schema, "title_key", _term(key), "basic") for key in keys]
        return Query.const_score_query(Query.boolean_query([(Occur.Should, term) for term in terms]), 0.0)

    def read_all(self, searcher: tantivy.Searcher, query: Query) -> Iterator[Document]:
        """The documents that fulfil a query, without scores."""
        if searcher.num_docs:
            query = Query.const_score_query(query, 1.0)
            for _, address in searcher.search(query, limit=searcher.num_docs, count=False).hits:
                yield _read(searcher, address)

    def existing(self, field: str, values: Iterable[str]) -> set[str]:
        """Those of the values that a document has as an exact term."""
        commit = self.commit()
        found = {value for value in values if commit.searcher.doc_freq(field, _term(value))}
        if commit.whole:
            return found
        terms = {value: Query.term_query(self.schema, field, _term(value), "basic") for value in found}
        return {value for value, term in terms.items() if commit.searcher.search(term, limit=1, count=False).hits}

    @contextmanager
    def writer(self, timeout: float) -> Iterator[tantivy.IndexWriter]:
        """A writer for one call: commits at the end, or leaves the index as it was when the call raises."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                writer = self._index.writer(_WRITER_MEMORY, 1)
                break
            except ValueError as error:
                if "LockBusy" not in str(error):
                    raise DocumentStoreError(f"The index {self.path} cannot be written: {error}") from error
                if time.monotonic() >= deadline:
                    raise DocumentStoreError(
                        f"Another process is still writing to the index {self.path} after {timeout:g} seconds. "
                        "Wait for it to end, or stop it, and try again."
                    ) from error
            time.sleep(_LOCK_POLL_SECONDS)
        try:
            yield writer
            try:
                writer.commit()
            except ValueError as error:
                raise DocumentStoreError(f"The index {self.path} cannot be written: {error}") from error
        except BaseException:
            writer.rollback()
            raise
        finally:
            # Lets a merge end that the commit began, and gives the lock back.
            writer.wait_merging_threads()


class _Commit:
    """The index as one commit left it, and what has been asked of it before: after the next one there is another."""

    def __init__(
        self,
        searcher: tantivy.Searcher,
        version: tuple[int, int, int] | None,
        schema: tantivy.Schema,
        analyzer: TextAnalyzer,
        whole: bool,
    ) -> None:
        self.searcher = searcher
        # Of the file that every commit replaces.
        self.version = version
        # Whether nothing is deleted that the index still holds: the frequency of a term, quick to tell, counts that.
        self.whole = whole
        # In how many documents words are.
        self.frequencies: dict[str, int] = {}
        self._schema = schema
        self._analyzer = analyzer
        self._clauses: dict[str, list[tuple[Occur, Query]]] = {}
        self._documents: dict[tuple[int, int], tuple[str, str | None, dict[str, Any]]] = {}

    def text_query(self, text: str) -> Query | None:
        """BM25 over title and text, summed; None when no document holds a word of the text."""
        # Built from terms rather than parsed, so no text can be a syntax error or an operator. A word that comes
        # twice counts once: counted twice, it costs 3 points of recall at 5 on MuSiQue and gains nothing elsewhere.
        clauses: list[tuple[Occur, Query]] = []
        for token in dict.fromkeys(self._analyzer.analyze(_text(text))):
            known = self._clauses.get(token)
            clauses += self._asked_for(token) if known is None else known
        return Query.boolean_query(clauses) if clauses else None

    def count_with(self, tokens: Sequence[str]) -> int:
        """In how many documents all of the tokens are, in title or text."""
        if self.whole and len(tokens) == 1:
            # Of a frequent word all documents would be gone through; those that hold it twice are far fewer.
            held = [self.searcher.doc_freq(field, tokens[0]) for field in _TEXT_FIELDS]
            return sum(held) - (self._count(self._in_fields(tokens[0], Occur.Must)) if all(held) else 0)
        wanted = [(Occur.Must, self._in_fields(token, Occur.Should)) for token in dict.fromkeys(tokens)]
        return self._count(Query.boolean_query(wanted))

    def _in_fields(self, token: str, occur: Occur) -> Query:
        terms = [Query.term_query(self._schema, field, token, "freq") for field in _TEXT_FIELDS]
        return Query.boolean_query([(occur, term) for term in terms])

    def _count(self, query: Query) -> int:
        result: Any = self.searcher.search(query, limit=1, count=True)
        return int(result.count)  # missing in the type stubs

    def _asked_for(self, token: str) -> list[tuple[Occur, Query]]:
        # Most words are in no title, and tantivy looks for each clause several times.
        fields = [field for field in _TEXT_FIELDS if self.searcher.doc_freq(field, token)]
        terms = {field: Query.term_query(self._schema, field, token, "freq") for field in fields}
        if "title" in terms:
            terms["title"] = Query.boost_query(terms["title"], TITLE_BOOST)
        clauses = [(Occur.Should, term) for term in terms.values()]
        if len(self._clauses) < _MOST_PREPARED:
            self._clauses[token] = clauses
        return clauses

    def read(self, address: tantivy.DocAddress, score: float) -> Document:
        """A document, each time another object."""
        key = address.segment_ord, address.doc
        if (known := self._documents.get(key)) is not None:
            document_id, content, meta = known
            return Document(id=document_id, content=content, meta=meta.copy(), score=score)
        document = _read(self.searcher, address, score)
        # Of other values a copy would still hold the same lists.
        if all(isinstance(value, str | int | float | None) for value in document.meta.values()):
            if len(self._documents) >= _MOST_AT_HAND:
                self._documents.clear()
            self._documents[key] = document.id, document.content, document.meta.copy()
        return document


_OPENED: WeakValueDictionary[Path, _OpenIndex] = WeakValueDictionary()
_OPENED_LOCK = threading.Lock()


def text_analyzer(language: str) -> TextAnalyzer:
    """
    The analyzer of an index: words, lower case, no stop words, stems.

    :param language: one of `LANGUAGES`. Arabic, Greek, Romanian, Tamil and Turkish keep their stop words.
    :returns: the analyzer.
    :raises ValueError: if the language is unknown.
    """
    _check_language(language)
    return _text_analyzer(language)


@functools.cache
def _text_analyzer(language: str) -> TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(_LONGEST_TOKEN))
    builder = builder.filter(Filter.lowercase())
    if language in _WITH_STOP_WORDS:
        builder = builder.filter(Filter.stopword(language))
    return builder.filter(Filter.stemmer(language)).build()


def _check_language(language: str) -> None:
    if language not in LANGUAGES:
        raise ValueError(f"There is no stemmer for '{language}'. Choose one of: {', '.join(LANGUAGES)}.")


def _opened(path: Path, latest: _OpenIndex | None) -> _OpenIndex | None:
    latest = latest if latest is not None and latest.path == path else None
    version = _file_version(latest.settings_file) if latest else _settings_version(path)
    if version is None:
        return None
    # The settings are written once, so another version means that the index was deleted and made again.
    if latest is not None and latest.settings_version == version:
        return latest
    with _OPENED_LOCK:
        opened = _OPENED.get(path)
        if opened is None or opened.settings_version != version:
            try:
                opened = _OpenIndex(path)
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise DocumentStoreError(
                    f"The index {path} cannot be opened ({error}). If its files are damaged, delete the folder and "
                    "index the documents again."
                ) from error
            _OPENED[path] = opened
        return opened


def _create(path: Path, language: str) -> None:
    """Make an empty index elsewhere and move it into place, so that nobody sees half of one."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise DocumentStoreError(f"{path} is no index and not empty: choose a new folder for the index.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        workplace = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as error:
        raise DocumentStoreError(f"Cannot make an index in {path.parent} ({error.strerror}).") from error
    try:
        tantivy.Index(_schema(), path=str(workplace))
        settings = {"format": _FORMAT, "language": language}
        (workplace / _SETTINGS_FILE).write_text(json.dumps(settings) + "\n", encoding="utf-8")
        workplace.chmod(0o755)
        workplace.rename(path)
    except OSError as error:
        # Another process may have made the same index first.
        if _settings_version(path) is None:
            raise DocumentStoreError(f"Cannot make an index in {path} ({error.strerror}).") from error
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    for field in _TEXT_FIELDS:
        builder.add_text_field(field, tokenizer_name=_ANALYZER, index_option="freq")
    builder.add_text_field("title_key", tokenizer_name="raw", index_option="basic")
    # Scalars of the metadata as exact terms: what `necessary` looks up.
    builder.add_text_field("meta", tokenizer_name="raw", index_option="basic")
    # The document itself, as JSON.
    builder.add_bytes_field("stored", stored=True)
    return builder.build()


def _to_tantivy(document: Document, *, with_title_key: bool) -> tantivy.Document:
    title = document.meta.get("title")
    fields: dict[str, Any] = {"id": _term(document.id), "stored": _encode(document)}
    if title is not None:
        fields["title"] = _text(str(title))
        if with_title_key and (key := title_key(str(title))):
            fields["title_key"] = _term(key)
    if document.content:
        fields["content"] = _text(document.content)
    if terms := list(dict.fromkeys(_meta_terms(document.meta))):
        fields["meta"] = terms
    return tantivy.Document(**fields)


def _encode(document: Document) -> bytes:
    meta = document.meta
    try:
        stored = _ENCODER.encode([document.id, document.content, meta])
        plain = all(isinstance(value, str | int | None) for value in meta.values())
        if not plain and _decode(stored) != [document.id, document.content, meta]:
            raise ValueError("a tuple, a key that is no string, or a number that is none")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The metadata of document '{document.id}' cannot be stored unchanged ({error}). Use strings, numbers, "
            "booleans, None, dates, and lists and dictionaries of them."
        ) from error
    return stored.encode("ascii")


def _decode(stored: str) -> Any:
    # The hook makes parsing several times slower, and few documents hold dates.
    return json.loads(stored, object_hook=_untag_date if '{"__date' in stored else None)


def _tag_date(value: Any) -> dict[str, str]:
    if isinstance(value, datetime):
        return {"__datetime__": value.isoformat()}
    if isinstance(value, date):
        return {"__date__": value.isoformat()}
    raise TypeError(f"a value of {type(value)}")


_ENCODER = json.JSONEncoder(default=_tag_date, separators=(",", ":"))


def _untag_date(value: dict[str, Any]) -> Any:
    if len(value) == 1:
        [(key, text)] = value.items()
        if key == "__datetime__":
            return datetime.fromisoformat(text)
        if key == "__date__":
            return date.fromisoformat(text)
    return value


def _read(searcher: tantivy.Searcher, address: tantivy.DocAddress, score: float | None = None) -> Document:
    stored: Any = searcher.doc(address).get_first("stored")
    document_id, content, meta = _decode(stored.decode("ascii"))
    return Document(id=document_id, content=content, meta=meta, score=score)


def _text(text: str) -> str:
    # A lone surrogate, as some PDF readers give, cannot be encoded.
    return text if text.isascii() else one_form(text).encode("utf-8", "replace").decode("utf-8")


def _term(text: str) -> str:
    """An exact term for any string."""
    if text.isascii() and len(text) <= _LONGEST_TERM:
        return text
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= _LONGEST_TERM and b"\xed" not in encoded:
        return text
    return hashlib.blake2b(encoded, digest_size=24).hexdigest()


def _meta_term(key: str, value: str | int | float) -> str:
    if not isinstance(value, str) and value == value and abs(value) != float("inf") and value == int(value):
        # 1, 1.0 and True are equal to Python and so to a filter.
        value = int(value)
    return _term(f"{key}\x1f{'s' if isinstance(value, str) else 'n'}{value}")


def _meta_terms(meta: dict[str, Any], parents: str = "") -> Iterator[str]:
    for key, value in meta.items():
        if isinstance(value, dict):
            yield from _meta_terms(value, f"{parents}{key}.")
        elif isinstance(value, str | int | float):
            yield _meta_term(f"{parents}{key}", value)


def _check_filters(filters: Any) -> None:
    """Haystack finds a mistake only when a document reaches it, which a search without candidates never does."""
    if not isinstance(filters, dict):
        raise FilterError(f"A filter is a dictionary, not {type(filters).__name__}.")
    keys: Sequence[str] = ("field", "operator", "value") if "field" in filters else ("operator", "conditions")
    if missing := [key for key in keys if key not in filters]:
        raise FilterError(
            f"The filter {filters} lacks {' and '.join(missing)}: a comparison has field, operator and value, "
            "a combination has operator and conditions."
        )
    if "field" not in filters:
        if filters["operator"] not in ("AND", "OR", "NOT") or not isinstance(filters["conditions"], list):
            raise FilterError(f"The filter {filters} needs the operator AND, OR or NOT and a list of conditions.")
        for condition in filters["conditions"]:
            _check_filters(condition)
    elif not isinstance(filters["field"], str):
        raise FilterError(f"The field of the filter {filters} is no string.")
    elif filters["operator"] in ("in", "not in") and not isinstance(filters["value"], list):
        raise FilterError(f"The filter {filters} needs a list as its value.")
    elif filters["operator"] not in ("==", "!=", ">", ">=", "<", "<=", "in", "not in"):
        raise FilterError(f"Unknown operator in the filter {filters}: use ==, !=, >, >=, <, <=, in or not in.")


def _matches(filters: dict[str, Any], document: Document) -> bool:
    try:
        return document_matches_filter(filters, document)
    except (TypeError, AttributeError) as error:
        raise FilterError(
            f"The filter {filters} cannot be applied to document '{document.id}' ({error}). Fields of the metadata "
            "are written meta.NAME; only numbers and ISO dates can be compared by size."
        ) from error


def _settings_version(path: Path) -> tuple[int, int, int] | None:
    return _file_version(path / _SETTINGS_FILE)


def _file_version(path: str | Path) -> tuple[int, int, int] | None:
    try:
        stat = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
