"""Retrieves the passages whose titles a text mentions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Any

from haystack import Document, component
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.elasticsearch.titles import ElasticsearchTitles
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.search_settings import both_filters, wanted_top_k
from prefrag.components.state.state import identity
from prefrag.components.text.title_mentions import MAX_WORDS, longest_mentions, mentioned_keys, title_key

# The beginning of a long text shows what it is about, and every word makes the search longer.
_RANKED_BY_CHARACTERS = 2_000


@component
class TitleMentionRetriever:
    """Finds the passages whose titles a query or other passages mention: the links that the words of a text make.

    A search by words finds what is like the question; the second passage of a question with two hops is often like
    the first passage only in that this one names it. `title_mentions` defines what counts as a mention.
    The titles are kept by the store, so passages that come and go are found, or not, at the next call.

    ```python
    from haystack import Document
    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
    from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever

    store = TantivyDocumentStore(path="my-index")
    store.write_documents([Document(content="A square in Vienna.", meta={"title": "Karlsplatz"})])
    print(TitleMentionRetriever(store).run(query="Who designed the church at Karlsplatz?")["documents"])
    ```
    """

    def __init__(
        self,
        document_store: TantivyDocumentStore | ElasticsearchDocumentStore,
        per_title: int = 3,
        top_k: int = 8,
        max_title_words: int = MAX_WORDS,
        filters: dict[str, Any] | None = None,
    ) -> None:
        """Set the store and the defaults of a run; nothing is opened yet.

        :param document_store: Where the passages are.
        :param per_title: The most passages of one title, where several share it.
        :param top_k: The most passages to return.
        :param max_title_words: Titles of more words are not looked for.
        :param filters: Haystack's filters, which every run obeys; those of a run come on top.
        :raises ValueError: When the store is none of the two, or a number is under 1.
        """
        if not isinstance(document_store, TantivyDocumentStore | ElasticsearchDocumentStore):
            raise ValueError(
                "document_store must be a TantivyDocumentStore or an ElasticsearchDocumentStore, not "
                f"{type(document_store).__name__}: other stores cannot look up titles."
            )
        for name, number in (("per_title", per_title), ("top_k", top_k), ("max_title_words", max_title_words)):
            if number < 1:
                raise ValueError(f"{name} must be at least 1, not {number}.")
        self.document_store = document_store
        self.per_title = per_title
        self.top_k = top_k
        self.max_title_words = max_title_words
        self.filters = filters

    @property
    def embedded(self) -> bool:
        """Tell whether the titles are looked up in this process, so that parallel calls gain nothing."""
        return isinstance(self.document_store, TantivyDocumentStore)

    def warm_up(self) -> None:
        """Open an on-disk index, so that one that is missing or keeps no titles is reported before the first question.

        :raises FileNotFoundError: When the store names an index that does not exist.
        :raises DocumentStoreError: When the index was made before titles were kept.
        """
        if isinstance(self.document_store, TantivyDocumentStore):
            self.document_store.known_titles([])

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str = "",
        documents: list[Document] | None = None,
        top_k: int | None = None,
        filters: dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Find the passages whose titles are mentioned.

        :param query: A text that may mention titles. It also decides which of the passages of one title come first;
            without a query the text that mentions them does.
        :param documents: Passages whose contents may mention titles, but for their own title. They are not among
            those returned.
        :param top_k: The most passages to return, in place of the retriever's own.
        :param filters: Haystack's filters, in addition to the retriever's own: a passage must match both.
        :returns: `documents`: of every title the passage with the best BM25 score, in the order of first mention, the
            query before the documents; then the second of every title, and so on. They come with that score, but the
            embedded store scores none that is alone under its title.
        :raises ValueError: When top_k is under 1.
        :raises FilterError: When the filters cannot be understood or applied.
        :raises DocumentStoreError: When the index keeps no titles, or the server fails.
        """
        top_k, filters, given = wanted_top_k(self.top_k, top_k), both_filters(self.filters, filters), documents or []
        store = self.document_store
        titles = store if isinstance(store, TantivyDocumentStore) else ElasticsearchTitles(store)
        known = titles.known_titles(self._possible(query, given))
        # Every title has a passage, unless filters or the given ones take it: more titles would not be seen.
        mentioned = self._mentioned(query, given, known, None if filters else top_k + len(given))
        found = titles.documents_by_title(mentioned, self._enough(given, mentioned), filters)
        return {"documents": self._chosen(found, given, top_k)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str = "",
        documents: list[Document] | None = None,
        top_k: int | None = None,
        filters: dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Find passages without blocking the event loop; otherwise the same as :meth:`run`."""
        if isinstance(self.document_store, TantivyDocumentStore):
            # Long texts have thousands of keys to look up, and everybody else would wait.
            return await asyncio.to_thread(self.run, query, documents, top_k, filters)
        top_k, filters, given = wanted_top_k(self.top_k, top_k), both_filters(self.filters, filters), documents or []
        titles = ElasticsearchTitles(self.document_store)
        known = await titles.known_titles_async(self._possible(query, given))
        # Every title has a passage, unless filters or the given ones take it: more titles would not be seen.
        mentioned = self._mentioned(query, given, known, None if filters else top_k + len(given))
        found = await titles.documents_by_title_async(mentioned, self._enough(given, mentioned), filters)
        return {"documents": self._chosen(found, given, top_k)}

    def _possible(self, query: str, documents: Sequence[Document]) -> list[str]:
        """List the keys that any of the texts may mention."""
        texts = [query, *(document.content or "" for document in documents)]
        return list(dict.fromkeys(chain.from_iterable(mentioned_keys(text, self.max_title_words) for text in texts)))

    def _mentioned(
        self, query: str, documents: Sequence[Document], known: set[str], most: int | None
    ) -> dict[str, str]:
        """Find the first keys that are mentioned, in that order, each with the text that ranks its passages."""
        mentioned = dict.fromkeys(longest_mentions(query, known, self.max_title_words), query)
        for document in documents:
            text = document.content or ""
            for key in longest_mentions(text, known, self.max_title_words):
                if key != _own_key(document):
                    mentioned.setdefault(key, query if query.strip() else text)
        return {key: text[:_RANKED_BY_CHARACTERS] for key, text in islice(mentioned.items(), most)}

    def _enough(self, given: Sequence[Document], mentioned: Mapping[str, str]) -> int:
        """Count the passages to fetch of a title: those that were given take no place."""
        return self.per_title + sum(_own_key(document) in mentioned for document in given)

    def _chosen(self, found: Mapping[str, Sequence[Document]], given: Sequence[Document], top_k: int) -> list[Document]:
        # In turns: a title with many passages would else crowd out the later ones.
        held = {identity(document) for document in given}
        titles = [[document for document in one if identity(document) not in held] for one in found.values()]
        turns = ([one[turn] for one in titles if turn < len(one)] for turn in range(self.per_title))
        return [document for turn in turns for document in turn][:top_k]


def _own_key(document: Document) -> str:
    return title_key(str(document.meta.get("title") or ""))
