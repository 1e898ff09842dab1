"""Find the metadata fields that filters use, and report a field that no document has.

Both kinds of document store use these functions. Without the report, a filter with a misspelt field would silently find
nothing.
"""

from collections.abc import Iterable, Mapping

from haystack import Document
from haystack.errors import FilterError

# The maximum number of fields that a message lists.
_LISTED = 20


def named_fields(filters: object) -> list[str]:
    """List the metadata fields that filters use.

    For example, the filter ``{"field": "meta.year", "operator": ">", "value": 1990}`` uses the field ``year``.

    :param filters: Haystack's filters, with conditions inside conditions. Parts that are malformed are ignored.
    :returns: The names without ``meta.``, each once. Fields of a document that are not metadata, such as ``content``,
        are left out.
    """
    # A dictionary with the names as keys lists each name once, in the order of the filters.
    fields: dict[str, None] = {}
    # The conditions that have not been read yet.
    waiting = [filters]
    while waiting:
        condition = waiting.pop(0)
        if not isinstance(condition, Mapping):
            continue
        conditions = condition.get("conditions")
        if isinstance(conditions, list):
            waiting += conditions

        field = condition.get("field")
        if isinstance(field, str) and field not in Document.__dataclass_fields__:
            fields[field.removeprefix("meta.")] = None
    return list(fields)


def unknown_field(name: str, fields: Iterable[str]) -> FilterError:
    """Make the error for a filter on a field that no document has.

    :param name: The name of the field, without ``meta.``.
    :param fields: The names of the fields that documents have. The message lists them.
    :returns: The error.
    """
    names = sorted(fields)
    listed = [f"meta.{field}" for field in names[:_LISTED]]
    if len(names) > _LISTED:
        listed.append("...")
    choices = ", ".join(listed) or "none"
    return FilterError(f"No document has the field 'meta.{name}'. The fields are: {choices}.")
