from typing import Any

import pytest
from haystack.errors import FilterError

from prefrag.components.document_stores.elasticsearch.filters import filter_clause
from tests.for_each import for_each

COUNTRY = {"field": "meta.country", "operator": "==", "value": "at"}


def title(operator: str, value: Any, field: str = "meta.title") -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


@for_each(
    "filters",
    title("==", "Linz"),
    title("!=", "Linz"),
    title("in", ["Linz"]),
    title("not in", ["Linz"]),
    title(">", None),
    title("==", "Linz", field="title"),
    title("==", "A town.", field="content"),
    {"operator": "OR", "conditions": [COUNTRY, {"operator": "NOT", "conditions": [title("==", "Linz")]}]},
)
def test_a_comparison_of_titles_or_texts_is_refused(filters: dict[str, Any]):
    with pytest.raises(FilterError, match="cannot filter by '(meta.)?(title|content)'.*another metadata field"):
        filter_clause(filters)


def test_other_fields_are_compared_and_whether_there_is_a_title():
    keyword = title("==", "Linz", field="meta.title.keyword")
    assert filter_clause(COUNTRY) == {"bool": {"must": {"term": {"country": "at"}}}}
    assert filter_clause(keyword) == {"bool": {"must": {"term": {"title.keyword": "Linz"}}}}
    assert filter_clause(title("!=", None)) == {"bool": {"must": {"exists": {"field": "title"}}}}


@for_each("wrong", "a text", {"operator": "AND"}, {"operator": "AND", "conditions": [{"field": "x"}]})
def test_what_is_no_filter_is_refused(wrong: Any):
    with pytest.raises(FilterError):
        filter_clause(wrong)
