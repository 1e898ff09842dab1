"""Refuse filters on a field that no document of an Elasticsearch index has, and count a field's values."""

from typing import Any

from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.both_ways import as_blocking
from prefrag.components.document_stores.elasticsearch.filters import filter_clause
from prefrag.components.document_stores.elasticsearch.requests import check_whole, explain_failures, send
from prefrag.components.document_stores.filter_fields import named_fields, unknown_field
from prefrag.components.text.title_mentions import TITLE_KEY_FIELD

# A word in the title weighs 1.25 times as much as a word in the text.
TITLE_FIELD = "title^1.25"
_NOT_METADATA = ("content", "embedding", "sparse_embedding", "blob", "id", "score", TITLE_KEY_FIELD)


class KnownFields:
    """Remember which fields an index has, so that the server is asked about each field only once."""

    def __init__(self, store: ElasticsearchDocumentStore) -> None:
        self._store = store
        self._known: set[str] = set()

    async def check_async(self, filters: object) -> None:
        """Raise a FilterError for filters on a metadata field that no document has."""
        names = [name for name in named_fields(filters) if name not in self._known]
        if not names:
            return
        index = self._store._index
        with explain_failures(self._store):
            if self._lacks(names, await send(self._store, lambda client: client.field_caps(index=index, fields=names))):
                self._refuse(names, await send(self._store, lambda client: client.field_caps(index=index, fields="*")))

    check = as_blocking(check_async)

    def _lacks(self, names: list[str], reply: Any) -> bool:
        self._known.update(name for name in names if name in reply["fields"])
        return not self._known.issuperset(names)

    def _refuse(self, names: list[str], reply: Any) -> None:
        fields = [name for name in reply["fields"] if not name.startswith("_") and name not in _NOT_METADATA]
        # An index without documents has no fields, so all filters are accepted and find nothing.
        if fields:
            raise unknown_field(next(name for name in names if name not in self._known), fields)


def count_values(store: ElasticsearchDocumentStore, name: str, filters: dict[str, Any] | None = None) -> dict[str, int]:
    """For each text value of a metadata field, count the documents with this value."""
    counted = {"values": {"terms": {"field": name, "size": 65_536}}}  # the server's maximum
    with explain_failures(store):
        query = filter_clause(filters) if filters else None
        reply = store.client.search(index=store._index, size=0, query=query, aggs=counted)
        check_whole(store, reply)
    return {str(bucket["key"]): bucket["doc_count"] for bucket in reply["aggregations"]["values"]["buckets"]}
