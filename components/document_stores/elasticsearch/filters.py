"""Haystack's filters as Elasticsearch clauses; those that the server would apply wrongly are refused."""

from typing import Any

from haystack.errors import FilterError
from haystack_integrations.document_stores.elasticsearch.filters import _normalize_filters

_ANALYSED = ("title", "content")


def filter_clause(filters: dict[str, Any]) -> dict[str, Any]:
    """Translate filters into a query clause."""
    refuse_analysed_fields(filters)
    return _normalize_filters(filters)


def refuse_analysed_fields(filters: Any) -> None:
    """Refuse filters that compare titles or texts.

    The server would compare their stems, so that `==` finds nothing and `!=` finds what is excluded. A comparison with
    None, which checks whether there is a title at all, works.
    """
    if not isinstance(filters, dict):
        return
    conditions = filters.get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        refuse_analysed_fields(condition)
    field = filters.get("field")
    if (
        isinstance(field, str)
        and field.removeprefix("meta.") in _ANALYSED
        and not (filters.get("operator") in ("==", "!=") and filters.get("value") is None)
    ):
        raise FilterError(
            f"Elasticsearch cannot filter by '{field}', which it stores as word stems: filter by another field of "
            "the metadata, or give the passages a copy of it under another name."
        )
