"""Work with the metadata fields of an Elasticsearch index.

Filters on a field that no document has are refused, because a search with such a filter would silently find nothing.
The values of a field can be counted.
"""

from typing import Any

from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.both_ways import as_blocking
from prefrag.components.document_stores.elasticsearch.filters import filter_clause
from prefrag.components.document_stores.elasticsearch.requests import check_whole, explain_failures, send
from prefrag.components.document_stores.filter_fields import named_fields, unknown_field
from prefrag.components.text.title_mentions import TITLE_KEY_FIELD

# The title as a field to search. A word in the title weighs 1.25 times as much as a word in the text.
TITLE_FIELD = "title^1.25"
# The fields of an index that are not metadata of documents. A message with the existing fields leaves them out.
_NOT_METADATA = ("content", "embedding", "sparse_embedding", "blob", "id", "score", TITLE_KEY_FIELD)


class KnownFields:
    """Check the fields of filters, and remember which fields an index has.

    The server is asked about each existing field only once.
    """

    def __init__(self, store: ElasticsearchDocumentStore) -> None:
        """Set the store. The server is not asked yet.

        :param store: The store whose index has the fields.
        """
        self._store = store
        # The names of the fields that the server has confirmed.
        self._known: set[str] = set()

    async def check_async(self, filters: object) -> None:
        """Check that documents have the metadata fields that filters use.

        :param filters: Haystack's filters.
        :raises FilterError: When no document has a field of the filters. The message lists the existing fields.
        :raises DocumentStoreError: When the server does not answer or refuses the request.
        """
        names = [name for name in named_fields(filters) if name not in self._known]
        if not names:
            return

        # The server is first asked about these names alone. All fields are read only for the message of an error.
        index = self._store._index
        with explain_failures(self._store):
            reply = await send(self._store, lambda client: client.field_caps(index=index, fields=names))
            if self._lacks(names, reply):
                all_fields = await send(self._store, lambda client: client.field_caps(index=index, fields="*"))
                self._refuse(names, all_fields)

    check = as_blocking(check_async)

    def _lacks(self, names: list[str], reply: Any) -> bool:
        """Remember the fields in the server's reply, and check whether one of the names is still missing."""
        self._known.update(name for name in names if name in reply["fields"])
        return not self._known.issuperset(names)

    def _refuse(self, names: list[str], reply: Any) -> None:
        """Raise the FilterError for the first missing name. The reply lists all fields of the index."""
        fields = [name for name in reply["fields"] if not name.startswith("_") and name not in _NOT_METADATA]
        # An index without documents has no fields, so all filters are accepted and find nothing.
        if fields:
            raise unknown_field(next(name for name in names if name not in self._known), fields)


def count_values(
    store: ElasticsearchDocumentStore, name: str, filters: dict[str, object] | None = None
) -> dict[str, int]:
    """For each text value of a metadata field, count the documents with this value.

    :param store: The store.
    :param name: The name of the field, without `meta.`.
    :param filters: Haystack's filters on the metadata. None counts all documents.
    :returns: The number of documents by value.
    :raises FilterError: When the filters compare titles or texts.
    :raises DocumentStoreError: When the server does not answer, or searched only a part of the index.
    """
    # The size is the maximum number of values, which is also the server's own maximum.
    counted = {"values": {"terms": {"field": name, "size": 65_536}}}
    with explain_failures(store):
        query = filter_clause(filters) if filters else None
        reply = store.client.search(index=store._index, size=0, query=query, aggs=counted)
        check_whole(store, reply)
    return {str(bucket["key"]): bucket["doc_count"] for bucket in reply["aggregations"]["values"]["buckets"]}
