"""Find the metadata fields that filters use, and report a field that no document has."""

from collections.abc import Iterable, Mapping

from haystack import Document
from haystack.errors import FilterError

_LISTED = 20  # the maximum number of fields that a message lists


def named_fields(filters: object) -> list[str]:
    """List the metadata fields that filters use."""
    fields: dict[str, None] = {}
    waiting = [filters]
    while waiting:
        condition = waiting.pop(0)
        if not isinstance(condition, Mapping):
            continue
        conditions = condition.get("conditions")
        waiting += conditions if isinstance(conditions, list) else ()
        field = condition.get("field")
        if isinstance(field, str) and field not in Document.__dataclass_fields__:
            fields[field.removeprefix("meta.")] = None
    return list(fields)


def unknown_field(name: str, fields: Iterable[str]) -> FilterError:
    """Make the error for a filter on a field that no document has. Without the error, the search would find nothing."""
    names = sorted(fields)
    listed = [f"meta.{field}" for field in names[:_LISTED]]
    if len(names) > _LISTED:
        listed.append("...")
    return FilterError(f"No document has the field 'meta.{name}'. The fields are: {', '.join(listed) or 'none'}.")
