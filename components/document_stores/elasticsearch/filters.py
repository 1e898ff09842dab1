"""Translate Haystack's filters for Elasticsearch, and refuse filters that the server would apply wrongly."""

from haystack.errors import FilterError
from haystack_integrations.document_stores.elasticsearch.filters import _normalize_filters

from prefrag.components.state.filters import Filters

# The fields whose words are stored as stems, so that a filter cannot compare their values.
_ANALYSED = ("title", "content")


def filter_clause(filters: Filters) -> dict[str, object]:
    """Translate filters into a clause of an Elasticsearch query.

    :param filters: Haystack's filters on the metadata.
    :returns: The clause, as the server expects it in JSON.
    :raises FilterError: When the filters are malformed, or compare titles or texts.
    """
    refuse_analysed_fields(filters)
    return _normalize_filters(filters)


def refuse_analysed_fields(filters: object) -> None:
    """Refuse filters that compare titles or texts.

    The server would compare their word stems. With `==`, it would find nothing. With `!=`, it would find what it should
    exclude. A comparison with None is accepted, because it only checks whether there is a title or text.

    :param filters: Haystack's filters. Parts that are malformed are ignored.
    :raises FilterError: When a condition compares the title or the text.
    """
    if not isinstance(filters, dict):
        return

    conditions = filters.get("conditions")
    if isinstance(conditions, list):
        for condition in conditions:
            refuse_analysed_fields(condition)

    field = filters.get("field")
    is_analysed = isinstance(field, str) and field.removeprefix("meta.") in _ANALYSED
    checks_presence = filters.get("operator") in ("==", "!=") and filters.get("value") is None
    if is_analysed and not checks_presence:
        raise FilterError(
            f"Elasticsearch cannot filter by '{field}', because it stores this field as word stems: filter by another "
            "metadata field, or index the passages with a copy of the field under another name."
        )
