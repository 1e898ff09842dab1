"""Look up passages in Elasticsearch by title.

Titles are compared by their keys, which `title_key` makes. A key is a normalised form of a title. All look-ups of a
call are sent in one request (`msearch`), because every request takes time.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from haystack import Document
from haystack.document_stores.errors import DocumentStoreError
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.both_ways import as_blocking
from prefrag.components.document_stores.elasticsearch.fields import TITLE_FIELD
from prefrag.components.document_stores.elasticsearch.filters import filter_clause
from prefrag.components.document_stores.elasticsearch.requests import check_whole, explain_failures, send
from prefrag.components.document_stores.ties import sort_ties
from prefrag.components.text.title_mentions import TITLE_KEY_FIELD
from prefrag.components.text.unicode_form import normalize_unicode

# The maximum number of title keys in one search. The server accepts up to 65,536 terms.
_KEYS_PER_SEARCH = 10_000
# Two searches: for any document with a title, and for any document with a title key. In a request of `msearch`, each
# search has a header before it, which is empty here.
_ANY_TITLES: list[dict[str, object]] = [
    {},
    {"size": 0, "terminate_after": 1, "query": {"exists": {"field": "title"}}},
    {},
    {"size": 0, "terminate_after": 1, "query": {"exists": {"field": TITLE_KEY_FIELD}}},
]


class ElasticsearchTitles:
    """Look up passages of an Elasticsearch index by title. `TantivyDocumentStore` has the same methods.

    The index must have been written by `prefrag index`, which fills the field `title_key`.
    """

    def __init__(self, store: ElasticsearchDocumentStore) -> None:
        """Set the store.

        :param store: The store whose passages are looked up.
        """
        self._store = store

    async def known_titles_async(self, keys: Iterable[str]) -> set[str]:
        """Find the title keys that occur in the index.

        :param keys: Title keys, as `title_key` makes them.
        :returns: The keys that at least one passage has.
        :raises DocumentStoreError: When the server does not answer, or when the index has titles but no title keys.
        """
        searches = self._key_searches(keys)
        if not searches:
            return set()

        with explain_failures(self._store):
            present: set[str] = set()
            for response in self._responses(await self._send(searches)):
                buckets = response["aggregations"]["keys"]["buckets"]
                present.update(bucket["key"] for bucket in buckets)

            # If no key occurs, the index may have been made without title keys.
            if not present:
                self._check_keys(await self._send(_ANY_TITLES))
        return present

    known_title_keys = as_blocking(known_titles_async)

    async def documents_by_title_async(
        self, titles: Mapping[str, str], per_title: int = 3, filters: dict[str, object] | None = None
    ) -> dict[str, list[Document]]:
        """Read the best passages of each title.

        :param titles: A query for each title key. The query ranks the passages that have this title.
        :param per_title: The maximum number of passages to return for each title.
        :param filters: Haystack's filters on the metadata.
        :returns: The passages of each title by its key, best first. Titles without passages are left out.
        :raises FilterError: When the filters are malformed, or compare titles or texts.
        :raises DocumentStoreError: When the server does not answer, or searched only a part of the index.
        """
        searches = self._title_searches(titles, per_title, filters)
        if not searches:
            return {}
        with explain_failures(self._store):
            reply = await self._send(searches)
        return _documents(titles, self._responses(reply))

    documents_by_title = as_blocking(documents_by_title_async)

    async def _send(self, searches: Sequence[Mapping[str, object]]) -> object:
        """Send searches, each with its header, in one request."""
        return await send(self._store, lambda client: client.msearch(index=self._index, searches=searches))

    @property
    def _index(self) -> str:
        """The name of the store's index."""
        return self._store._index

    def _key_searches(self, keys: Iterable[str]) -> list[dict[str, object]]:
        """Make the searches, each with its header, that count the passages of each key."""
        unique_keys = list(dict.fromkeys(keys))
        searches: list[dict[str, object]] = []
        for start in range(0, len(unique_keys), _KEYS_PER_SEARCH):
            part = unique_keys[start : start + _KEYS_PER_SEARCH]
            # The hint `map` is faster here, because few passages match.
            terms = {"field": TITLE_KEY_FIELD, "size": len(part), "execution_hint": "map"}
            query = {"bool": {"filter": [{"terms": {TITLE_KEY_FIELD: part}}]}}
            searches += [{}, {"size": 0, "query": query, "aggs": {"keys": {"terms": terms}}}]
        return searches

    def _title_searches(
        self, titles: Mapping[str, str], per_title: int, filters: dict[str, object] | None
    ) -> list[dict[str, object]]:
        """Make the searches, each with its header, that find the passages of each title."""
        filter_clauses = [filter_clause(filters)] if filters else []
        searches: list[dict[str, object]] = []
        for key, text in titles.items():
            ranked = {
                "multi_match": {
                    "query": normalize_unicode(text),
                    "type": "most_fields",
                    "fields": [TITLE_FIELD, "content"],
                }
            }
            # A passage must have the title key and match the filters. The text only adds to its score.
            query = {"bool": {"filter": [{"term": {TITLE_KEY_FIELD: key}}, *filter_clauses], "should": [ranked]}}
            searches += [{}, {"size": per_title, "query": query, "_source": {"excludes": [TITLE_KEY_FIELD]}}]
        return searches

    def _responses(self, reply: Any) -> list[Any]:
        """Return the server's response to each search; raise a DocumentStoreError if a search failed."""
        for response in reply["responses"]:
            if "error" in response:
                raise DocumentStoreError(
                    f"Elasticsearch could not look up titles in '{self._index}': {response['error']}"
                )
            check_whole(self._store, response)
        return list(reply["responses"])

    def _check_keys(self, reply: object) -> None:
        """Raise a DocumentStoreError if the index has titles but no title keys."""
        with_title, with_key = (response["hits"]["total"]["value"] for response in self._responses(reply))
        if with_title and not with_key:
            raise DocumentStoreError(
                f"The Elasticsearch index '{self._index}' was made without title keys, so passages cannot be found by "
                "the titles that a text mentions. Index the documents again with: "
                "prefrag index YOUR_FILES --store elasticsearch --collection ANOTHER_NAME"
            )


def _documents(titles: Mapping[str, str], responses: Sequence[Any]) -> dict[str, list[Document]]:
    """Make documents of the hits for each title, best first."""
    documents = {}
    for key, response in zip(titles, responses, strict=True):
        titled = []
        for hit in response["hits"]["hits"]:
            titled.append(Document.from_dict({**hit["_source"], "score": hit["_score"]}))
        if titled:
            documents[key] = sort_ties(titled)
    return documents
