"""The retriever that finds the passages whose titles a text mentions."""

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Any

from haystack import Document, component
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.block import check_whole_number
from prefrag.components.both_ways import as_blocking, in_thread_async
from prefrag.components.document_stores.elasticsearch.titles import ElasticsearchTitles
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.search_settings import wanted_top_k
from prefrag.components.state.state import identity
from prefrag.components.text.title_mentions import MAX_WORDS, longest_mentions, mentioned_keys, title_key

# Passages are ranked by at most this many characters of a text: that is enough, and more words slow the search.
_RANKED_BY_CHARACTERS = 2_000


@component
class TitleMentionRetriever:
    """Find the passages whose titles a query or other passages mention.

    A question with two hops needs two passages. A search by words often misses the second passage, because it is not
    similar to the question. But the first passage often mentions the title of the second. The module `title_mentions`
    defines what a mention is. Every call looks the titles up in the store, so it sees every change of the store.

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
        self, document_store: TantivyDocumentStore | ElasticsearchDocumentStore, per_title: int = 3, top_k: int = 8
    ) -> None:
        """Set the store and the defaults of a search; nothing is opened yet.

        :param document_store: The store of the passages.
        :param per_title: The maximum number of passages with the same title.
        :param top_k: The maximum number of passages to return.
        :raises ValueError: When the store is of another class, or a number is under 1.
        """
        if not isinstance(document_store, TantivyDocumentStore | ElasticsearchDocumentStore):
            raise ValueError(
                "document_store must be a TantivyDocumentStore or an ElasticsearchDocumentStore, not "
                f"{type(document_store).__name__}: other stores cannot look up titles."
            )
        check_whole_number(1, per_title=per_title, top_k=top_k)
        self.document_store = document_store
        self.per_title = per_title
        self.top_k = top_k

    @property
    def embedded(self) -> bool:
        """True if titles are looked up in this process. Calls in parallel are then no faster than one by one."""
        return isinstance(self.document_store, TantivyDocumentStore)

    def warm_up(self) -> None:
        """Open an on-disk index. If it is missing or damaged, this raises the error before the first question."""
        if isinstance(self.document_store, TantivyDocumentStore):
            self.document_store.known_title_keys([])

    @component.output_types(documents=list[Document], lookups=int)
    async def run_async(
        self,
        query: str = "",
        documents: list[Document] | None = None,
        top_k: int | None = None,
        filters: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Find the passages whose titles are mentioned.

        :param query: A text that may mention titles. Passages with the same title are ranked by the query, or if it is
            blank, by the text that mentions the title.
        :param documents: Passages that may mention the titles of other passages. These passages are not returned.
        :param top_k: The maximum number of passages to return, by default the `top_k` of the constructor.
        :param filters: Haystack's filters.
        :returns: `documents`: first each title's best passage by BM25, then each title's second best, and so on. The
            titles are in the order of their first mention in the query, then in the documents. The score is the BM25
            score; it is usually None if a `TantivyDocumentStore` has only one passage with that title. `lookups`: the
            number of texts that were searched for titles.
        :raises ValueError: When top_k is under 1.
        :raises FilterError: When the filters cannot be understood or applied.
        :raises DocumentStoreError: When the index was made without title keys, or the server fails.
        """
        top_k, passages = wanted_top_k(self.top_k, top_k), documents or []
        store = self.document_store
        if isinstance(store, TantivyDocumentStore):
            # The calls run in threads, because the thousands of keys of a long text would block the event loop.
            find_titles, find_documents = (
                in_thread_async(store.known_title_keys),
                in_thread_async(store.documents_by_title),
            )
        else:
            titles = ElasticsearchTitles(store)
            find_titles, find_documents = titles.known_titles_async, titles.documents_by_title_async
        known_titles = await find_titles(self._possible_keys(query, passages))
        # Every known title has a passage, but `passages` are left out later. So at most len(passages) titles may
        # be left without a passage. Without filters, top_k + len(passages) titles are therefore enough.
        mentioned = self._find_mentioned(query, passages, known_titles, None if filters else top_k + len(passages))
        # More than `per_title` passages are requested, because `passages` are left out later.
        wanted = self.per_title + sum(_own_key(document) in mentioned for document in passages)
        by_title = await find_documents(mentioned, wanted, filters)
        return {"documents": self._choose(by_title, passages, top_k), "lookups": bool(query.strip()) + len(passages)}

    run = as_blocking(run_async)

    def _possible_keys(self, query: str, documents: Sequence[Document]) -> list[str]:
        texts = [query, *(document.content or "" for document in documents)]
        return list(dict.fromkeys(chain.from_iterable(mentioned_keys(text, MAX_WORDS) for text in texts)))

    def _find_mentioned(
        self, query: str, documents: Sequence[Document], known_titles: set[str], most: int | None
    ) -> dict[str, str]:
        mentioned = dict.fromkeys(longest_mentions(query, known_titles, MAX_WORDS), query)
        for document in documents:
            text = document.content or ""
            for key in longest_mentions(text, known_titles, MAX_WORDS):
                if key != _own_key(document):
                    mentioned.setdefault(key, query if query.strip() else text)
        return {key: text[:_RANKED_BY_CHARACTERS] for key, text in islice(mentioned.items(), most)}

    def _choose(
        self, by_title: Mapping[str, Sequence[Document]], passages: Sequence[Document], top_k: int
    ) -> list[Document]:
        # Titles take turns, because a title with many passages would otherwise leave no room for later titles.
        excluded = {identity(document) for document in passages}
        titles = [
            [document for document in documents if identity(document) not in excluded]
            for documents in by_title.values()
        ]
        turns = ([documents[turn] for documents in titles if turn < len(documents)] for turn in range(self.per_title))
        return [document for turn in turns for document in turn][:top_k]


def _own_key(document: Document) -> str:
    return title_key(str(document.meta.get("title") or ""))
