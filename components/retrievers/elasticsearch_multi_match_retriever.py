"""Retrieves from Elasticsearch by BM25 over title and text."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from string import punctuation
from typing import Any

from elasticsearch import BadRequestError
from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.errors import DocumentStoreError
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.elasticsearch.filters import filter_clause
from prefrag.components.document_stores.elasticsearch.requests import ask_async, explained
from prefrag.components.retrievers.search_settings import wanted_top_k
from prefrag.components.text.title_mentions import TITLE_KEY_FIELD
from prefrag.components.text.unicode_form import one_form

_FIELDS = ["title", "content"]
# The server analyses up to 10,000 tokens a request, and few analyzers make more than one of a character.
_CHARACTERS_A_REQUEST = 10_000


@component
class ElasticsearchMultiMatchRetriever:
    """
    Finds the documents of an `ElasticsearchDocumentStore` whose title and text fit a query best.

    The packaged BM25 retriever searches every field alike; this one sums title and text, the title counting more.
    The store's index should be made with `recommended_mapping`: without it neither field is stemmed.

    ```python
    from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
    from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

    store = ElasticsearchDocumentStore(
        hosts="http://localhost:9200",
        index="my-index",
        custom_mapping=ElasticsearchMultiMatchRetriever.recommended_mapping("english"),
    )
    print(ElasticsearchMultiMatchRetriever(store, top_k=5).run(query="squares of Vienna")["documents"])
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
        if title_boost <= 0:
            raise ValueError(f"title_boost must be above 0, not {title_boost}.")
        self.document_store = document_store
        self.top_k = wanted_top_k(top_k)
        self.title_boost = title_boost
        self.filters = filters

    @staticmethod
    def recommended_mapping(language: str = "english") -> dict[str, Any]:
        """
        The `custom_mapping` for a store whose index this retriever searches.

        :param language: the name of an analyzer of the server: `english`, `german`, ... or `standard` for none.
        :returns: title and content analysed in that language, every other string kept whole for filters, and
            `title_key`, which `prefrag index` fills and by which `TitleMentionRetriever` finds.
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
    def from_dict(cls, data: dict[str, Any]) -> "ElasticsearchMultiMatchRetriever":
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
        :raises FilterError: if the filters cannot be understood, or compare titles or texts.
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
        :raises FilterError: if the filters cannot be understood, or compare titles or texts.
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
        return self.analyze_many([text])[0]

    def analyze_many(self, texts: Sequence[str]) -> list[list[str]]:
        """
        Split texts into the tokens that the index compares, with as few requests as the server allows.

        :param texts: any texts.
        :returns: for each text its tokens in order, repetitions included.
        :raises DocumentStoreError: if the server cannot be reached, refuses, or has no such index.
        """
        texts = [one_form(text) for text in texts]
        wanted = list(dict.fromkeys(text for text in texts if text.strip()))
        tokens: dict[str, list[str]] = {}
        with explained(self.document_store):
            for batch in _batches(wanted):
                tokens |= zip(batch, self._analyzed(batch), strict=True)
        return [list(tokens.get(text, ())) for text in texts]

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """
        Count in how many documents words occur, in title or text, in any inflection that stems alike.

        :param words: words as they stand in a text, or terms as `analyze` gives them.
        :returns: the number of documents, and for every word the number that holds it. A word that says nothing to
            the index, such as a stop word, is said to be in every document, so that its idf is lowest.
        :raises DocumentStoreError: if the server cannot be reached, refuses, or has no such index.
        """
        words = list(dict.fromkeys(words))
        with explained(self.document_store):
            total = self.document_store.client.count(index=self._index)["count"]
            # Stemming a stem can change it again, so what is a term of the index already is counted as it is.
            counts = self._counts({word: _as_term(one_form(word)) for word in words})
            counts |= self._counts({word: _as_word(one_form(word)) for word in words if not counts[word]})
        return total, counts

    def _counts(self, queries: Mapping[str, dict[str, Any]]) -> dict[str, int]:
        searches: list[dict[str, Any]] = []
        for query in queries.values():
            searches += [{}, {"size": 0, "track_total_hits": True, "query": query}]
        if not searches:
            return {}
        replies = self.document_store.client.msearch(
            index=self._index, searches=searches, filter_path="responses.hits.total,responses.error"
        )["responses"]
        return {word: self._count(reply) for word, reply in zip(queries, replies, strict=True)}

    def _analyzed(self, texts: list[str]) -> list[list[str]]:
        try:
            reply = self.document_store.client.indices.analyze(
                index=self._index,
                field="content",
                text=texts,
                filter_path="tokens.token,tokens.start_offset,tokens.end_offset",
            )
            # Where none of the texts has a token, the filter leaves nothing.
            apart = _by_text(reply.get("tokens", []), texts)
        except BadRequestError:
            if len(texts) == 1:
                raise
            # Together they may have too many tokens.
            apart = None
        return [self._analyzed([text])[0] for text in texts] if apart is None else apart

    @property
    def _index(self) -> str:
        return self.document_store._index

    def _request(self, query: str, top_k: int | None, filters: dict[str, Any] | None) -> dict[str, Any]:
        text = {
            "multi_match": {
                "query": _each_word_once(one_form(query)),
                "type": "most_fields",
                "fields": [f"title^{self.title_boost:g}", "content"],
            }
        }
        clauses = [filter_clause(part) for part in (self.filters, filters) if part]
        return {
            "index": self._index,
            "size": wanted_top_k(self.top_k, top_k),
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


def _each_word_once(text: str) -> str:
    """:returns: A text without words that it holds already: as in the embedded index, they count once."""
    # Counted twice, as the server does, they cost 2 points of recall at 5 on MuSiQue where a passage is the query.
    found: dict[str, str] = {}
    for word in text.split():
        found.setdefault(word.strip(punctuation).lower(), word)
    return " ".join(found.values())


def _as_term(word: str) -> dict[str, Any]:
    return {"bool": {"should": [{"term": {field: word}} for field in _FIELDS]}}


def _as_word(word: str) -> dict[str, Any]:
    return {
        "multi_match": {
            "query": word,
            "type": "cross_fields",
            "operator": "and",
            "zero_terms_query": "all",
            "fields": _FIELDS,
        }
    }


def _characters(text: str) -> int:
    """:returns: The length of a text as the server counts it, in UTF-16."""
    return len(text) + sum(character > "\uffff" for character in text)


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    held = 0
    for text in texts:
        length = _characters(text)
        if batch and held + length > _CHARACTERS_A_REQUEST:
            yield batch
            batch, held = [], 0
        batch.append(text)
        held += length
    if batch:
        yield batch


def _by_text(tokens: Iterable[Mapping[str, Any]], texts: Sequence[str]) -> list[list[str]] | None:
    """
    Tell the tokens of one text from those of the next.

    :param tokens: the tokens of all texts. Their offsets go on from text to text, with one character between two.
    :param texts: the texts.
    :returns: the tokens of each text; None where one lies in no text, so that the offsets must be counted otherwise.
    """
    found: list[list[str]] = [[] for _ in texts]
    lengths = [_characters(text) for text in texts]
    starts = list(accumulate((length + 1 for length in lengths[:-1]), initial=0))
    for token in tokens:
        place = bisect_right(starts, token["start_offset"]) - 1
        if len(texts) > 1 and token["end_offset"] > starts[place] + lengths[place]:
            return None
        found[place].append(token["token"])
    return found
