"""The state of an index after one commit, with queries and caches.

A commit is the state of the index after a write. :class:`Index` makes a :class:`Commit` whenever the files show a new
commit. All searches go to the latest commit. A commit never changes, so its caches are never out of date.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

import tantivy
from haystack import Document
from tantivy import Occur, Query

from prefrag.components.document_stores.filter_fields import named_fields, unknown_field
from prefrag.components.document_stores.tantivy.analysis import indexed_form, text_analyzer, with_joined_codes
from prefrag.components.document_stores.tantivy.filters import candidate_query, matches_filters
from prefrag.components.document_stores.tantivy.schema import (
    KEY_END,
    LONGEST_TERM,
    TEXT_FIELDS,
    all_names,
    exact_term,
    read_document,
)
from prefrag.components.document_stores.ties import is_tied, sort_ties

# A word in the title weighs this many times as much as a word in the text.
TITLE_BOOST = 1.25
# The maximum number of words whose document frequency is cached. A full cache takes a few megabytes.
_MAX_FREQUENCIES = 100_000
# The maximum number of words whose query clauses are cached. A full cache takes 6 MB. The queries of one question share
# most words.
_MAX_CLAUSES = 20_000
# In an index with at least this many documents, a search uses only the `_MAX_WORDS` rarest words of a query.
LARGE_INDEX = 200_000
# The number of words that such a search uses. The other words take most of the time and rarely change the result. With
# filters, all words are used, because a matching document may contain no rare word.
_MAX_WORDS = 16
# The maximum number of cached documents. The queries of one question often find the same documents.
_MAX_DOCUMENTS = 512

# A search for `top_k` documents may find more documents with the same score as the last of these. At most this many
# further documents are read, so that documents with equal scores can be sorted by their ids.
_MAX_TIED = 256

# What is cached for a word: the sum of its document frequencies in title and text, and a query clause for each field
# that contains the word.
_Word = tuple[int, list[tuple[Occur, Query]]]


@dataclass(eq=False)
class Commit:
    """The state of an index after one commit.

    It caches query clauses, documents and word counts. The next commit gets a new object, so no cache is out of date.
    """

    # Tantivy's handle on the commit.
    searcher: tantivy.Searcher
    # The version of the commit file: inode, time of the last change, size. None if there was no such file.
    version: tuple[int, int, int] | None
    # True if the files of the index contain no deleted documents. Tantivy's counts of words are then exact. Otherwise,
    # they include deleted documents.
    whole: bool
    _schema: tantivy.Schema
    _language: str
    # The number of documents by word.
    _frequencies: dict[str, int] = field(default_factory=dict)
    # The query clauses by word.
    _clauses: dict[str, _Word] = field(default_factory=dict)
    # The names of all metadata fields; None until they are needed.
    _names: set[str] | None = None
    # The id, content and metadata of documents, by the segment and the number in the segment.
    _documents: dict[tuple[int, int], tuple[str, str | None, dict[str, object]]] = field(default_factory=dict)

    def text_query(self, text: str, filters: dict[str, object] | None) -> Query | None:
        """Build a query that adds up the BM25 scores of title and text.

        :param text: The text of the query.
        :param filters: The filters of the search. With filters, all words of a long text are used.
        :returns: The query; None if no word of the text is in the index.
        """
        # The query is built from terms, because parsing would fail for some texts. A repeated word counts once.
        # Counting repetitions cost 3 points of recall at 5 on MuSiQue and gained nothing on other data.
        tokens = dict.fromkeys(text_analyzer(self._language).analyze(with_joined_codes(text)))
        words = [self._clauses.get(token) or self._clauses_of(token) for token in tokens]

        if len(words) > _MAX_WORDS and not filters and self.searcher.num_docs >= LARGE_INDEX:
            # The rarest words that occur in the index. The first part of a word is its frequency.
            words_in_index = [word for word in words if word[0]]
            words = sorted(words_in_index, key=itemgetter(0))[:_MAX_WORDS]

        clauses = list(chain.from_iterable(clauses_of_word for _, clauses_of_word in words))
        return Query.boolean_query(clauses) if clauses else None

    def title_query(self, keys: Iterable[str]) -> Query:
        """Build a query that finds all documents with one of these title keys, with a score of 0.

        :param keys: The title keys, as `title_key` makes them.
        :returns: The query.
        """
        terms = [Query.term_query(self._schema, "title_key", exact_term(key), "basic") for key in keys]
        return Query.const_score_query(Query.boolean_query([(Occur.Should, term) for term in terms]), 0.0)

    def best(self, query: Query, top_k: int, filters: dict[str, object] | None) -> list[Document]:
        """Find the documents that match a query best.

        :param query: The query.
        :param top_k: The maximum number of documents to return.
        :param filters: Haystack's filters on the metadata; None or empty for none.
        :returns: The documents, best first. Documents with equal scores are sorted by their ids.
        :raises FilterError: When the filters cannot be applied to a document.
        """
        if not filters:
            return self._best_of_all(query, top_k)

        searcher = self.searcher
        candidates = candidate_query(self._schema, filters)
        if candidates is not None:
            query = Query.boolean_query([(Occur.Must, query), (Occur.Must, Query.const_score_query(candidates, 0.0))])

        # The index can apply only a part of the filters, so each hit is checked here. If too few hits match, the search
        # is repeated with a higher limit. It begins again at the first hit, because hits with nearly equal scores may
        # swap places. `checked` has the document of each hit, or None if it does not match the filters.
        limit = max(1, min(searcher.num_docs, top_k + 1))
        checked: dict[tuple[int, int], Document | None] = {}
        while True:
            hits = searcher.search(query, limit=limit, count=False).hits
            documents = []
            for score, address in hits:
                key = (address.segment_ord, address.doc)
                if key not in checked:
                    document = read_document(searcher, address, score)
                    checked[key] = document if matches_filters(filters, document) else None
                match = checked[key]
                if match is not None:
                    documents.append(match)

            scores = [document.score or 0.0 for document in documents]
            # If the last wanted score is tied, all documents with this score are needed before they can be sorted.
            is_decided = limit > top_k + _MAX_TIED or not is_tied(scores, top_k)
            has_enough = len(documents) > top_k and is_decided
            has_all = len(hits) < limit or limit >= searcher.num_docs
            if has_enough or has_all:
                return sort_ties(documents)[:top_k]

            limit = min(searcher.num_docs, max(64, limit * 4))

    def _best_of_all(self, query: Query, top_k: int) -> list[Document]:
        """Find the documents that match a query best, without filters."""
        # One hit more than wanted shows whether the last score is tied. If so, all hits with this score are read.
        hits = self.searcher.search(query, limit=top_k + 1, count=False).hits
        if is_tied([score for score, _ in hits], top_k):
            more_hits = self.searcher.search(query, limit=top_k + _MAX_TIED, count=False).hits
            last_score, _ = more_hits[top_k - 1]
            tied_hits = [(score, address) for score, address in more_hits[top_k:] if is_tied((last_score, score), 1)]
            hits = more_hits[:top_k] + tied_hits
        return sort_ties(self._read(address, score) for score, address in hits)[:top_k]

    def check_fields(self, filters: dict[str, object]) -> None:
        """Check that documents have the metadata fields that filters use. In an empty index, every field is accepted.

        :param filters: Haystack's filters.
        :raises FilterError: When no document has a field of the filters.
        """
        if not self.searcher.num_docs:
            return
        for name in named_fields(filters):
            if not self._has_terms_of(name) and name not in self._metadata_names():
                raise unknown_field(name, self._metadata_names())

    def _has_terms_of(self, name: str) -> bool:
        """Check whether the index has a term for a value of this metadata field."""
        # If the value of a field is a dictionary, only the values inside it have terms. These begin with the name of
        # the field and a dot.
        prefixes = (f"{name}{KEY_END}", f"{name}.")
        return any(self.searcher.terms_with_prefix("meta", prefix, limit=1) for prefix in prefixes)

    def _metadata_names(self) -> set[str]:
        """Return the names of all metadata fields that documents have."""
        # Not every value has a term, so the documents are read. This is slow, but happens only for unknown fields.
        if self._names is None:
            names: set[str] = set()
            for document in self._read_all(Query.all_query()):
                names.update(all_names(document.meta))
            self._names = names
        return self._names

    def all_matching(self, filters: dict[str, object] | None) -> Iterator[Document]:
        """Yield the documents that match filters, without keeping them all in memory.

        :param filters: Haystack's filters on the metadata. None or empty yields all documents.
        :returns: An iterator over the documents, in no particular order.
        :raises FilterError: When the filters cannot be applied to a document.
        """
        query = candidate_query(self._schema, filters) if filters else None
        if query is None:
            query = Query.all_query()
        for document in self._read_all(query):
            if not filters or matches_filters(filters, document):
                yield document

    def by_id(self, document_ids: Sequence[str]) -> list[Document]:
        """Read documents by their ids.

        :param document_ids: The ids. Ids that do not exist are ignored.
        :returns: The documents, in the order of the ids.
        """
        query = Query.term_set_query(self._schema, "id", [exact_term(document_id) for document_id in document_ids])
        documents = {document.id: document for document in self._read_all(query)}
        return [documents[document_id] for document_id in document_ids if document_id in documents]

    def existing(self, field: str, values: Iterable[str]) -> set[str]:
        """Find the values that occur in a field of at least one document.

        :param field: A field of the index whose values are exact terms, such as ``id`` or ``title_key``.
        :param values: The values to look up.
        :returns: The values that occur.
        """
        searcher = self.searcher
        count_documents_with = searcher.doc_freq
        present = set()
        for value in values:
            # `exact_term` never changes short ASCII values. It is not called for these, because there may be a thousand
            # values.
            is_term = value.isascii() and len(value) <= LONGEST_TERM
            if count_documents_with(field, value if is_term else exact_term(value)):
                present.add(value)
        if self.whole:
            return present

        # The counts above include deleted documents, so each value is searched for.
        terms = {value: Query.term_query(self._schema, field, exact_term(value), "basic") for value in present}
        return {value for value, term in terms.items() if searcher.search(term, limit=1, count=False).hits}

    def count_values(self, name: str, filters: dict[str, object] | None = None) -> dict[str, int]:
        """For each text value of a metadata field, count the documents with this value.

        :param name: The name of the field, without `meta.`.
        :param filters: Haystack's filters. Only the operators `in` and `==` are applied.
        :returns: The number of documents by value.
        """
        # The terms of text values begin with the name of the field, the separator and an "s".
        prefix = f"{name}{KEY_END}s"
        query = candidate_query(self._schema, filters) if filters else None
        if query is None and not self.whole:
            # Without a query, deleted documents would be counted, too.
            query = Query.all_query()
        counted = self.searcher.terms_with_prefix("meta", prefix, filter_query=query)
        return {term.removeprefix(prefix): count for term, count in counted if count}

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """For each word, count the documents that contain the word in the title or the text.

        :param words: Words of a text, or tokens of the index.
        :returns: The number of all documents, and the number by word. A word that the index leaves out, such as a stop
            word, gets the number of all documents.
        """
        cache = self._frequencies
        total = self.searcher.num_docs
        frequencies = {}
        for word in words:
            if word in cache:
                frequencies[word] = cache[word]
                continue

            tokens = self._tokens_of(word)
            # A word without a token, such as a stop word, counts as a word of all documents.
            frequencies[word] = self._count_with(tokens) if tokens else total
            if tokens and len(cache) < _MAX_FREQUENCIES:
                cache[word] = frequencies[word]
        return total, frequencies

    def _tokens_of(self, word: str) -> list[str]:
        """Split a word into the tokens by which the index finds it, usually one."""
        # A word may be a stem already, and stemming could change a stem. So a word that is in the index is looked up
        # without stemming.
        text = indexed_form(word)
        is_indexed = any(self.searcher.doc_freq(field, text) for field in TEXT_FIELDS)
        return [text] if is_indexed else text_analyzer(self._language).analyze(text)

    def _clauses_of(self, token: str) -> _Word:
        """Make the query clauses of a word, and cache them."""
        # A field without the word gets no clause, because each clause costs several look-ups. Most words are in no
        # title.
        counts = {field: self.searcher.doc_freq(field, token) for field in TEXT_FIELDS}
        fields = [field for field, count in counts.items() if count]
        terms = {field: Query.term_query(self._schema, field, token, "freq") for field in fields}
        if "title" in terms:
            terms["title"] = Query.boost_query(terms["title"], TITLE_BOOST)

        word = sum(counts.values()), [(Occur.Should, term) for term in terms.values()]
        if len(self._clauses) < _MAX_CLAUSES:
            self._clauses[token] = word
        return word

    def _count_with(self, tokens: Sequence[str]) -> int:
        """Count the documents in which every token occurs in the title or the text."""
        if self.whole and len(tokens) == 1:
            (token,) = tokens
            counts = [self.searcher.doc_freq(field, token) for field in TEXT_FIELDS]
            total = sum(counts)
            if all(counts):
                # Documents with the word in both fields are in this sum twice, so their number is subtracted once.
                total -= self._count(self._in_fields(token, Occur.Must))
            return total
        clauses = [(Occur.Must, self._in_fields(token, Occur.Should)) for token in dict.fromkeys(tokens)]
        return self._count(Query.boolean_query(clauses))

    def _in_fields(self, token: str, occur: Occur) -> Query:
        """Build a query for a token in both fields (``Occur.Must``) or in at least one of them (``Occur.Should``)."""
        terms = [Query.term_query(self._schema, field, token, "freq") for field in TEXT_FIELDS]
        return Query.boolean_query([(occur, term) for term in terms])

    def _count(self, query: Query) -> int:
        """Count the documents that match a query."""
        # The type is Any, because `count` is missing in the type stubs of tantivy.
        result: Any = self.searcher.search(query, limit=1, count=True)
        return int(result.count)

    def _read(self, address: tantivy.DocAddress, score: float) -> Document:
        """Read a document from the cache or the index. Each call returns a new object."""
        key = address.segment_ord, address.doc
        cached = self._documents.get(key)
        if cached is not None:
            document_id, content, meta = cached
            return Document(id=document_id, content=content, meta=meta.copy(), score=score)

        document = read_document(self.searcher, address, score)
        # A document with lists or dictionaries in its metadata is not cached, because copies would share these objects.
        # A document with an embedding is not cached, because it takes too much memory.
        has_plain_values = all(isinstance(value, str | int | float | None) for value in document.meta.values())
        if has_plain_values and document.embedding is None:
            if len(self._documents) >= _MAX_DOCUMENTS:
                self._documents.clear()
            self._documents[key] = document.id, document.content, document.meta.copy()
        return document

    def _read_all(self, query: Query) -> Iterator[Document]:
        """Yield all documents that match a query, without scores."""
        total = self.searcher.num_docs
        if total:
            query = Query.const_score_query(query, 1.0)
            for _, address in self.searcher.search(query, limit=total, count=False).hits:
                yield read_document(self.searcher, address)
