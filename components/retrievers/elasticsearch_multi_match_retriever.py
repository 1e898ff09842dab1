"""The retriever that searches Elasticsearch by BM25, in title and text.

The retriever also splits texts into the tokens of the index and counts documents by word. The trees of a pair
classifier need both, because rare words count more in their features.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import punctuation
from typing import Any

from elasticsearch import BadRequestError
from haystack import Document, component
from haystack.document_stores.errors import DocumentStoreError
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.block import Block
from prefrag.components.both_ways import as_blocking, call_matching
from prefrag.components.document_stores.elasticsearch.fields import TITLE_FIELD, KnownFields
from prefrag.components.document_stores.elasticsearch.filters import filter_clause
from prefrag.components.document_stores.elasticsearch.requests import check_whole, explain_failures, read_hits, send
from prefrag.components.document_stores.ties import sort_ties
from prefrag.components.retrievers.provider import Retrieved
from prefrag.components.retrievers.search_settings import wanted_top_k
from prefrag.components.state.filters import Filters
from prefrag.components.text.title_mentions import TITLE_KEY_FIELD
from prefrag.components.text.unicode_form import normalize_unicode

# The fields in which words are searched and counted.
_FIELDS = ["title", "content"]
# The maximum number of characters of the texts in one request to split texts into tokens. The server allows 10,000
# tokens per request, and a text rarely has more tokens than characters.
_CHARACTERS_PER_REQUEST = 10_000


@component
class ElasticsearchMultiMatchRetriever(Block):
    """Find the documents of an `ElasticsearchDocumentStore` whose title and text match a query best.

    The score is the score of the text plus 1.25 times the score of the title. Haystack's BM25 retriever gives all
    fields the same weight. Create the index with `recommended_mapping`, because words are not stemmed without this
    mapping.

    Usage example, with a running server:
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

    To write many documents fast, call `store.write_documents(documents, policy, refresh=False)`. After the last call,
    call `store.client.indices.refresh(index="my-index")`.
    """

    def __init__(self, document_store: ElasticsearchDocumentStore, top_k: int = 10) -> None:
        """Set the store and the defaults of a search. The server is not called yet.

        :param document_store: The store to search.
        :param top_k: The maximum number of documents to return.
        :raises ValueError: When the store is of another class, or top_k is under 1.
        """
        if not isinstance(document_store, ElasticsearchDocumentStore):
            raise ValueError(
                f"document_store must be an ElasticsearchDocumentStore, not {type(document_store).__name__}."
            )
        self.document_store = document_store
        self.top_k = wanted_top_k(top_k)
        self._fields = KnownFields(document_store)

    @staticmethod
    def recommended_mapping(language: str = "english") -> dict[str, object]:
        """Make the `custom_mapping` of a store for this retriever.

        :param language: The name of an analyzer of the server, such as `english` or `german`. With `standard`, words
            are not stemmed.
        :returns: The mapping. Title and content are analysed in the language. Every other string is stored whole, for
            filters. `prefrag index` fills the field `title_key`, which `TitleMentionRetriever` searches.
        """
        return {
            # With date detection, a field whose first value looks like a date would accept only dates.
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
                        # `ignore_above` is in characters of 1 to 4 bytes. Lucene refuses keywords over 32,766 bytes.
                        "mapping": {"type": "keyword", "ignore_above": 8191},
                    }
                }
            ],
        }

    async def close_async(self) -> None:
        """Close the connections of the store."""
        await call_matching(self.document_store.close, self.document_store.close_async)

    close = as_blocking(close_async)

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None, filters: Filters | None = None) -> Retrieved:
        """Find documents by the words of a query.

        :param query: Any text.
        :param top_k: The maximum number of documents to return. If None, the `top_k` of the constructor is used.
        :param filters: Haystack metadata filters. None searches all documents.
        :returns: A dictionary with the key `documents`: the documents with their scores, best first. The list is empty
            for a blank query.
        :raises ValueError: When top_k is under 1.
        :raises FilterError: When the filters cannot be understood, compare titles or texts, or name a field that no
            document has.
        :raises DocumentStoreError: When the server cannot be reached, refuses the request, or has no such index.
        """
        request = self._request(query, top_k, filters)
        if not query.strip():
            return {"documents": []}
        await self._fields.check_async(filters)
        with explain_failures(self.document_store):
            reply = await send(self.document_store, lambda client: client.search(**request))
            hits = read_hits(self.document_store, reply)
        documents = [Document.from_dict({**hit["_source"], "score": hit["_score"]}) for hit in hits]
        return {"documents": sort_ties(documents)}

    run = as_blocking(run_async)

    def analyze(self, text: str) -> list[str]:
        """Split a text into tokens as the index does.

        :param text: The text.
        :returns: The tokens, in the order of the text.
        """
        (tokens,) = self.analyze_many([text])
        return tokens

    def analyze_many(self, texts: Sequence[str]) -> list[list[str]]:
        """Split texts into tokens as the index does, with as few requests as the server allows.

        :param texts: The texts.
        :returns: For each text, its tokens in order.
        """
        normalised = [normalize_unicode(text) for text in texts]
        # Each text is analysed once. A blank text has no tokens.
        different = list(dict.fromkeys(text for text in normalised if text.strip()))
        tokens_of_texts: dict[str, list[str]] = {}
        with explain_failures(self.document_store):
            for batch in _batches(different):
                tokens_of_batch = self._analyze(batch)
                tokens_of_texts.update(zip(batch, tokens_of_batch, strict=True))
        return [list(tokens_of_texts.get(text, ())) for text in normalised]

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """Count the documents that contain each word in title or text.

        :param words: The words, which may already be stems.
        :returns: The number of all documents, and for each word the number of documents that contain it.
        """
        different = list(dict.fromkeys(words))
        with explain_failures(self.document_store):
            total = self.document_store.client.count(index=self._index)["count"]
            # A word may already be a stem. So each word is looked up unchanged first, and stemmed only if no document
            # has it.
            unchanged = {word: _as_term(normalize_unicode(word)) for word in different}
            counts = self._counts(unchanged)
            absent = [word for word in different if not counts[word]]
            stemmed = {word: _as_word(normalize_unicode(word)) for word in absent}
            counts |= self._counts(stemmed)
        return total, counts

    def _counts(self, queries: Mapping[str, dict[str, object]]) -> dict[str, int]:
        """Count the documents for each query, all in one request. The keys are the words that the queries look up."""
        searches: list[dict[str, object]] = []
        for query in queries.values():
            searches += [{}, {"size": 0, "track_total_hits": True, "query": query}]
        if not searches:
            return {}
        parts = "responses.hits.total,responses.error,responses.timed_out,responses._shards.failed"
        reply = self.document_store.client.msearch(index=self._index, searches=searches, filter_path=parts)
        replies = reply["responses"]
        return {word: self._count(reply) for word, reply in zip(queries, replies, strict=True)}

    def _analyze(self, texts: list[str]) -> list[list[str]]:
        """Split texts into tokens in one request. If this is impossible, send a request for each text."""
        try:
            reply = self.document_store.client.indices.analyze(
                index=self._index,
                field="content",
                text=texts,
                filter_path="tokens.token,tokens.start_offset,tokens.end_offset",
            )
            # If none of the texts has a token, `filter_path` makes the reply empty.
            tokens_of_texts = _by_text(reply.get("tokens", []), texts)
        except BadRequestError:
            if len(texts) == 1:
                raise
            # The texts may have too many tokens for one request, so each text is sent alone.
            tokens_of_texts = None
        if tokens_of_texts is not None:
            return tokens_of_texts

        tokens_of_single_texts = []
        for text in texts:
            tokens_of_single_texts += self._analyze([text])
        return tokens_of_single_texts

    @property
    def _index(self) -> str:
        """The name of the index of the store."""
        return self.document_store._index

    def _request(self, query: str, top_k: int | None, filters: Filters | None) -> dict[str, object]:
        """Make the arguments of a search request."""
        text: dict[str, object] = {
            "multi_match": {
                "query": _each_word_once(normalize_unicode(query)),
                "type": "most_fields",
                "fields": [TITLE_FIELD, "content"],
            }
        }
        clause = text
        if filters:
            clause = {"bool": {"must": [text], "filter": [filter_clause(filters)]}}
        return {
            "index": self._index,
            "size": wanted_top_k(self.top_k, top_k),
            "_source": {"excludes": [TITLE_KEY_FIELD]},
            "query": clause,
        }

    def _count(self, reply: Any) -> int:
        """Read the number of documents from the reply to one search. Raise DocumentStoreError if the search failed."""
        if "error" in reply:
            raise DocumentStoreError(f"Elasticsearch could not count words in '{self._index}': {reply['error']}")
        check_whole(self.document_store, reply)
        return int(reply["hits"]["total"]["value"])


def _each_word_once(text: str) -> str:
    """Remove repeated words from a text, so that each word counts once. Searches of the tantivy index do the same.

    For example, ``_each_word_once("The yard, the boat and the yard")`` returns ``"The yard, boat and"``.
    """
    # If the query is a passage, counting repeated words costs 2 points of recall at 5 on MuSiQue.
    words: dict[str, str] = {}
    for word in text.split():
        words.setdefault(word.strip(punctuation).lower(), word)
    return " ".join(words.values())


def _as_term(word: str) -> dict[str, object]:
    """Make the query for documents with exactly this token in title or text."""
    return {"bool": {"should": [{"term": {field: word}} for field in _FIELDS]}}


def _as_word(word: str) -> dict[str, object]:
    """Make the query for documents with a word in title or text. The server stems the word first."""
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
    """Count the characters of a text as the server does: a character above U+FFFF counts as two.

    For example, ``_characters("a𝄞")`` returns ``3``.
    """
    return len(text) + sum(character > "\uffff" for character in text)


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Split a list of texts into lists that fit into one request. A longer text gets a list of its own."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        length = _characters(text)
        if batch and characters + length > _CHARACTERS_PER_REQUEST:
            yield batch
            batch = []
            characters = 0
        batch.append(text)
        characters += length
    if batch:
        yield batch


def _by_text(tokens: Iterable[Mapping[str, Any]], texts: Sequence[str]) -> list[list[str]] | None:
    """Group tokens by the text from which they come. Return None if a token reaches into the next text.

    The server counts the places of tokens over all texts, with one character between two texts.
    """
    groups: list[list[str]] = [[] for _ in texts]
    # The places at which the texts begin and end.
    starts: list[int] = []
    ends: list[int] = []
    start = 0
    for text in texts:
        end = start + _characters(text)
        starts.append(start)
        ends.append(end)
        start = end + 1

    for token in tokens:
        # The last text that begins at the token or before it.
        place = bisect_right(starts, token["start_offset"]) - 1
        if len(texts) > 1 and token["end_offset"] > ends[place]:
            return None
        groups[place].append(token["token"])
    return groups
