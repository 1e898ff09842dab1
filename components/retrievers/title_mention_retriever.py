"""The retriever that finds the passages whose titles a text mentions.

Titles are compared as title keys, which are normalised titles: without case, accents and punctuation. The module
`title_mentions` makes these keys and defines what a mention is.
"""

from collections.abc import Mapping, Sequence
from itertools import islice

from haystack import Document, component
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.block import check_whole_number
from prefrag.components.both_ways import as_blocking, in_thread_async
from prefrag.components.document_stores.elasticsearch.titles import ElasticsearchTitles
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.provider import Retrieved
from prefrag.components.retrievers.search_settings import wanted_top_k
from prefrag.components.state.filters import Filters
from prefrag.components.state.state import identity
from prefrag.components.text.title_mentions import MAX_WORDS, longest_mentions, mentioned_keys, title_key

# If several passages have the same title, they are ranked by at most this many characters at the beginning of a text. A
# longer text would slow down the search.
_RANKED_BY_CHARACTERS = 2_000


@component
class TitleMentionRetriever:
    """Find the passages whose titles a query or other passages mention.

    Some questions need two passages, such as "Who designed the church at the square where Mahler lived?" A search by
    words often misses the second passage, because this passage is not similar to the question. But the first passage
    often mentions the title of the second passage. Every call looks up the titles in the store, so it sees every change
    of the store.

    Usage example:
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
        """Set the store and the defaults of a search. Nothing is opened yet.

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
        """Whether titles are looked up in this process. Parallel calls then save no time, because no server works."""
        return isinstance(self.document_store, TantivyDocumentStore)

    def warm_up(self) -> None:
        """Open an on-disk index, so that a missing or damaged index is reported before the first question."""
        if isinstance(self.document_store, TantivyDocumentStore):
            # Looking up no titles only opens the index.
            self.document_store.known_title_keys([])

    @component.output_types(documents=list[Document], lookups=int)
    async def run_async(
        self,
        query: str = "",
        documents: list[Document] | None = None,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> Retrieved:
        """Find the passages whose titles are mentioned.

        :param query: A text that may mention titles. Passages with the same title are ranked by the query. With a blank
            query, they are ranked by the text that mentions the title.
        :param documents: Passages that may mention the titles of other passages. These passages are not returned.
        :param top_k: The maximum number of passages to return. If None, the `top_k` of the constructor is used.
        :param filters: Haystack metadata filters. None searches all documents.
        :returns: A dictionary with the following keys:
            - `documents`: First the best passage of each title by BM25, then the second-best passage of each title, and
              so on. The titles are in the order of their first mention in the query, then in the documents. The score
              is the BM25 score. It is usually None if a `TantivyDocumentStore` has only one passage with the title.
            - `lookups`: The number of texts that were searched for titles.
        :raises ValueError: When top_k is under 1.
        :raises FilterError: When the filters cannot be understood or applied.
        :raises DocumentStoreError: When the index was made without title keys, or the server fails.
        """
        passages = documents or []
        most = wanted_top_k(self.top_k, top_k)
        store = self.document_store

        if isinstance(store, TantivyDocumentStore):
            # The calls run in threads, because the thousands of keys of a long text would block the event loop.
            find_titles = in_thread_async(store.known_title_keys)
            find_documents = in_thread_async(store.documents_by_title)
        else:
            titles = ElasticsearchTitles(store)
            find_titles = titles.known_titles_async
            find_documents = titles.documents_by_title_async

        known_titles = await find_titles(self._possible_keys(query, passages))
        mentioned = self._find_mentioned(query, passages, known_titles)
        if not filters:
            # Each title has at least one passage, and only `passages` themselves are left out later. So each of them
            # can leave at most one title without a passage. With this many titles, at least `most` titles remain. With
            # filters, this does not hold, because they may leave out any passage.
            mentioned = dict(islice(mentioned.items(), most + len(passages)))

        # The `passages` with a mentioned title are left out later. So this number of further passages is requested.
        left_out = [document for document in passages if _own_key(document) in mentioned]
        by_title = await find_documents(mentioned, self.per_title + len(left_out), filters)
        texts_searched = len(passages)
        if query.strip():
            texts_searched += 1
        return {"documents": self._choose(by_title, passages, most), "lookups": texts_searched}

    run = as_blocking(run_async)

    def _possible_keys(self, query: str, documents: Sequence[Document]) -> list[str]:
        """List the keys of the titles that the texts may mention, each once."""
        keys = dict.fromkeys(mentioned_keys(query, MAX_WORDS))
        for document in documents:
            keys |= dict.fromkeys(mentioned_keys(document.content or "", MAX_WORDS))
        return list(keys)

    def _find_mentioned(self, query: str, documents: Sequence[Document], known_titles: set[str]) -> dict[str, str]:
        """Find the keys of the mentioned titles, each with the text by which the passages with this title are ranked.

        If a passage mentions its own title, this does not count.
        """
        mentioned = dict.fromkeys(longest_mentions(query, known_titles, MAX_WORDS), query)
        for document in documents:
            text = document.content or ""
            ranking_text = query if query.strip() else text
            for key in longest_mentions(text, known_titles, MAX_WORDS):
                if key != _own_key(document):
                    mentioned.setdefault(key, ranking_text)
        return {key: text[:_RANKED_BY_CHARACTERS] for key, text in mentioned.items()}

    def _choose(
        self, by_title: Mapping[str, Sequence[Document]], passages: Sequence[Document], top_k: int
    ) -> list[Document]:
        """Choose the passages to return. The titles take turns, so that each title gets a place."""
        excluded = {identity(document) for document in passages}
        remaining = []
        for documents in by_title.values():
            remaining.append([document for document in documents if identity(document) not in excluded])

        chosen: list[Document] = []
        for turn in range(self.per_title):
            for documents in remaining:
                # A title without so many passages misses its turn.
                if turn < len(documents):
                    chosen.append(documents[turn])
        return chosen[:top_k]


def _own_key(document: Document) -> str:
    """Return the key of the title of a passage, or an empty text if it has no title."""
    return title_key(str(document.meta.get("title") or ""))
