"""Retrieves from Elasticsearch by BM25 over title and text."""

from collections.abc import Iterable
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.errors import DocumentStoreError
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore
from haystack_integrations.document_stores.elasticsearch.filters import _normalize_filters

from components.elasticsearch_requests import ask_async, explained
from components.elasticsearch_titles import TITLE_KEY_FIELD


@component
class ElasticsearchTitleRetriever:
    """
    Finds the documents of an `ElasticsearchDocumentStore` whose title and text fit a query best.

    The packaged BM25 retriever searches every field alike; this one sums title and text, the title counting more.
    The store's index should be made with `recommended_mapping`: without it neither field is stemmed.

    ```python
    from components.elasticsearch_title_retriever import ElasticsearchTitleRetriever
    from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

    store = ElasticsearchDocumentStore(
        hosts="http://localhost:9200",
        index="my-index",
        custom_mapping=ElasticsearchTitleRetriever.recommended_mapping("english"),
    )
    print(ElasticsearchTitleRetriever(store, top_k=5).run(query="squares of Vienna")["documents"])
    ```

    Many documents are written fastest with `store.write_documents(documents, policy, refresh=False)`, and once at the
    end `store.client.indices.refresh(index="my-index")`.
    """

    def __init__(
        self,
        document_store: ElasticsearchDocumentStore,
        top_k: int = 10,
        title_boost: float = 1.25,
        filters: dict[str, Any] | None = None,
    ) -> None:
        """
        Set the store and the defaults of a search; the server is not asked yet.

        :param document_store: where to search.
        :param top_k: the most documents to return.
        :param title_boost: how much more a word in the title counts than one in the text.
        :param filters: Haystack's filters, which every search obeys; those of a run come on top.
        :raises ValueError: if the store is no `ElasticsearchDocumentStore`, top_k is under 1 or the boost not above 0.
        """
        if not isinstance(document_store, ElasticsearchDocumentStore):
            raise ValueError(
                f"document_store must be an ElasticsearchDocumentStore, not {type(document_store).__name__}."
            )
        if top_k < 1:
            raise ValueError(f"top_k must be at least 1, not {top_k}.")
        if title_boost <= 0:
            raise ValueError(f"title_boost must be above 0, not {title_boost}.")
        self.document_store = document_store
        self.top_k = top_k
        self.title_boost = title_boost
        self.filters = filters

    @staticmethod
    def recommended_mapping(language: str = "english") -> dict[str, Any]:
        """
        The `custom_mapping` for a store whose index this retriever searches.

        :param language: the name of an analyzer of the server: `english`, `german`, ... or `standard` for none.
        :returns: title and content analysed in that language, every other string kept whole for filters, and
            `title_key`, which `prefrag index` fills and by which `TitleLinkRetriever` finds.
        """
        return {
            # A text that looks like a date would otherwise make every other text in its place an error.
            "date_detection": False,
            "properties": {
                "title": {"type": "text", "analyzer": language},
                "content": {"type": "text", "analyzer": language},
                TITLE_KEY_FIELD: {"type": "keyword", "ignore_above": 8191},
            },
            "dynamic_templates": [
                {
                    "strings": {
                        "match_mapping_type": "string",
                        # Lucene refuses a document with a longer keyword: 8,191 characters of up to 4 bytes.
                        "mapping": {"type": "keyword", "ignore_above": 8191},
                    }
                }
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """
        Serialise the retriever.

        :returns: its parameters as plain values; the keys of the server as the names of their variables.
        """
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            top_k=self.top_k,
            title_boost=self.title_boost,
            filters=self.filters,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "ElasticsearchTitleRetriever":
        """
        Make a retriever from its serialised form.

        :param data: what `to_dict` gave.
        :returns: the retriever.
        """
        parameters = dict(data.get("init_parameters", {}))
        if isinstance(store := parameters.get("document_store"), dict):
            parameters["document_store"] = ElasticsearchDocumentStore.from_dict(store)
        return default_from_dict(cls, {**data, "init_parameters": parameters})

    def close(self) -> None:
        """Close the store's connections."""
        self.document_store.close()

    async def close_async(self) -> None:
        """Close the store's connections of `run_async`."""
        await self.document_store.close_async()

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        """
        Find documents.

        :param query: any text.
        :param top_k: the most documents to return, in place of the retriever's own.
        :param filters: Haystack's filters, in addition to the retriever's own: a document must match both.
        :returns: `documents` with their score, best first; none for a blank query.
        :raises ValueError: if top_k is under 1.
        :raises FilterError: if the filters cannot be understood.
        :raises DocumentStoreError: if the server cannot be reached, refuses, or has no such index.
        """
        request = self._request(query, top_k, filters)
        if not query.strip():
            return {"documents": []}
        with explained(self.document_store):
            return self._documents(self.document_store.client.search(**request))

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        """
        Find documents, without blocking the event loop.

        :param query: any text.
        :param top_k: the most documents to return, in place of the retriever's own.
        :param filters: Haystack's filters, in addition to the retriever's own: a document must match both.
        :returns: `documents` with their score, best first; none for a blank query.
        :raises ValueError: if top_k is under 1.
        :raises FilterError: if the filters cannot be understood.
        :raises DocumentStoreError: if the server cannot be reached, refuses, or has no such index.
        """
        request = self._request(query, top_k, filters)
        if not query.strip():
            return {"documents": []}
        with explained(self.document_store):
            reply = await ask_async(self.document_store, lambda client: client.search(**request))
        return self._documents(reply)

    def analyze(self, text: str) -> list[str]:
        """
        Split a text into the tokens that the index compares.

        :param text: any text.
        :returns: its tokens in order, repetitions included.
        :raises DocumentStoreError: if the server cannot be reached, refuses, or has no such index.
        """
        if not text.strip():
            return []
        with explained(self.document_store):
            reply = self.document_store.client.indices.analyze(index=self._index, field="content", text=text)
        return [token["token"] for token in reply["tokens"]]

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """
        Count in how many documents words occur, in title or text, in any inflection that stems alike.

        :param words: words as they stand in a text, or terms as `analyze` gives them.
        :returns: the number of documents, and for every word the number that holds it. A word that says nothing to
            the index, such as a stop word, is said to be in every document, so that its idf is lowest.
        :raises DocumentStoreError: if the server cannot be reached, refuses, or has no such index.
        """
        words = list(dict.fromkeys(words))
        fields = ["title", "content"]
        searches: list[dict[str, Any]] = []
        for word in words:
            # Stemming a stem can change it again, so what is a term of the index already is counted as it is.
            as_term = {"bool": {"should": [{"term": {field: word}} for field in fields]}}
            as_word = {
                "multi_match": {
                    "query": word,
                    "type": "cross_fields",
                    "operator": "and",
                    "zero_terms_query": "all",
                    "fields": fields,
                }
            }
            for query in (as_term, as_word):
                searches += [{}, {"size": 0, "track_total_hits": True, "query": query}]
        with explained(self.document_store):
            client = self.document_store.client
            total = client.count(index=self._index)["count"]
            if not words:
                return total, {}
            replies = client.msearch(index=self._index, searches=searches)["responses"]
        counts = [self._count(reply) for reply in replies]
        return total, {word: counts[2 * i] or counts[2 * i + 1] for i, word in enumerate(words)}

    @property
    def _index(self) -> str:
        return self.document_store._index

    def _request(self, query: str, top_k: int | None, filters: dict[str, Any] | None) -> dict[str, Any]:
        top_k = self.top_k if top_k is None else top_k
        if top_k < 1:
            raise ValueError(f"top_k must be at least 1, not {top_k}.")
        text = {
            "multi_match": {
                "query": query,
                "type": "most_fields",
                "fields": [f"title^{self.title_boost:g}", "content"],
            }
        }
        clauses = [_normalize_filters(part) for part in (self.filters, filters) if part]
        return {
            "index": self._index,
            "size": top_k,
            "_source": {"excludes": [TITLE_KEY_FIELD]},
            "query": {"bool": {"must": [text], "filter": clauses}} if clauses else text,
        }

    def _documents(self, reply: Any) -> dict[str, list[Document]]:
        return {
            "documents": [
                Document.from_dict({**hit["_source"], "score": hit["_score"]}) for hit in reply["hits"]["hits"]
            ]
        }

    def _count(self, reply: Any) -> int:
        if "error" in reply:
            raise DocumentStoreError(f"Elasticsearch could not count words in '{self._index}': {reply['error']}")
        return reply["hits"]["total"]["value"]
