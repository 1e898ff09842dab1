"""Haystack's filters: check their form, translate them for the index, and apply them to a document.

The index can look up only exact values, not ranges such as `>=`. So filters are applied in two steps. The index first
leaves out documents that cannot match. Haystack's own function then checks each of the other documents.
"""

import tantivy
from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from tantivy import Occur, Query

from prefrag.components.document_stores.tantivy.schema import exact_term, metadata_term
from prefrag.components.state.filters import Filters


def check_filters(filters: Filters | None) -> None:
    """Check the form of filters.

    Haystack checks filters only when it applies them to a document. So it misses mistakes if a search finds nothing.

    :param filters: Haystack's filters. For example, `{"field": "meta.year", "operator": ">", "value": 1990}` is a
        comparison, and `{"operator": "AND", "conditions": [...]}` is a combination of filters.
    :raises FilterError: When the filters are malformed. The message says what is missing or wrong.
    """
    if not isinstance(filters, dict):
        raise FilterError(f"A filter is a dictionary, not {type(filters).__name__}.")
    keys = ["operator", "conditions"]
    if "field" in filters:
        keys = ["field", "operator", "value"]
    missing = [key for key in keys if key not in filters]
    if missing:
        raise FilterError(
            f"The filter {filters} lacks {' and '.join(missing)}: a comparison has field, operator and value, "
            "a combination has operator and conditions."
        )

    if "field" not in filters:
        if filters["operator"] not in ("AND", "OR", "NOT") or not isinstance(filters["conditions"], list):
            raise FilterError(f"The filter {filters} needs the operator AND, OR or NOT and a list of conditions.")
        for condition in filters["conditions"]:
            check_filters(condition)
    elif not isinstance(filters["field"], str):
        raise FilterError(f"The field of the filter {filters} is not a string.")
    elif filters["operator"] in ("in", "not in") and not isinstance(filters["value"], list):
        raise FilterError(f"The filter {filters} needs a list as its value.")
    elif filters["operator"] not in ("==", "!=", ">", ">=", "<", "<=", "in", "not in"):
        raise FilterError(f"Unknown operator in the filter {filters}: use ==, !=, >, >=, <, <=, in or not in.")


def candidate_query(schema: tantivy.Schema, filters: Filters) -> Query | None:
    """Build a query for all documents that may match filters.

    The query may also find documents that do not match. It never misses a document that matches.

    :param schema: The schema of the index.
    :param filters: Haystack's filters, checked by :func:`check_filters`.
    :returns: The query; None if the index cannot exclude any documents.
    """
    operator = filters["operator"]
    if "field" not in filters:
        parts = [candidate_query(schema, condition) for condition in filters["conditions"]]
        clauses = [part for part in parts if part is not None]
        # A condition without a query cannot exclude documents. With AND, the other conditions still can. With OR, no
        # document can be excluded.
        if operator == "AND" and clauses:
            return Query.boolean_query([(Occur.Must, part) for part in clauses])
        if operator == "OR" and clauses and len(clauses) == len(parts):
            return Query.boolean_query([(Occur.Should, part) for part in clauses])
        return None

    if operator not in ("==", "in"):
        return None
    values = filters["value"] if operator == "in" else [filters["value"]]
    if not all(isinstance(value, str | int | float) for value in values):
        return None

    field = filters["field"]
    if field == "id":
        terms = [exact_term(value) for value in values if isinstance(value, str)]
        return Query.term_set_query(schema, "id", terms)
    # The index has no exact terms for other fields of a document, such as its content.
    if not field.startswith("meta.") and field in Document.__dataclass_fields__:
        return None
    key = field.removeprefix("meta.")
    return Query.term_set_query(schema, "meta", [metadata_term(key, value) for value in values])


def matches_filters(filters: Filters, document: Document) -> bool:
    """Check whether a document matches filters.

    :param filters: Haystack's filters.
    :param document: The document.
    :returns: Whether the document matches.
    :raises FilterError: When the filters cannot be applied to the document, for example if `>` compares texts.
    """
    try:
        return document_matches_filter(filters, document)
    except (TypeError, AttributeError) as error:
        raise FilterError(
            f"The filter {filters} cannot be applied to document '{document.id}' ({error}). Write a metadata field "
            "as meta.NAME, and use <, <=, > and >= only with numbers and ISO dates."
        ) from error
