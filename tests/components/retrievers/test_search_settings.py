"""Which settings of a search count."""

from typing import Any

import pytest

from prefrag.components.retrievers.search_settings import both_filters, wanted_top_k
from tests.for_each import for_each

OWN: dict[str, Any] = {"field": "meta.year", "operator": ">", "value": 1900}
ASKED: dict[str, Any] = {"field": "meta.language", "operator": "==", "value": "en"}


@for_each("own, given, wanted", (10, None, 10), (10, 3, 3), (1, 50, 50))
def test_the_number_of_a_call_takes_the_place_of_the_retrievers_own(own: int, given: int | None, wanted: int):
    assert wanted_top_k(own, given) == wanted


@for_each("own, given", (0, None), (10, 0), (10, -1))
def test_fewer_than_one_document_cannot_be_wanted(own: int, given: int | None):
    with pytest.raises(ValueError, match="set it to a whole number of at least 1"):
        wanted_top_k(own, given)


def test_filters_of_a_call_come_on_top_of_the_retrievers_own():
    assert both_filters(OWN, ASKED) == {"operator": "AND", "conditions": [OWN, ASKED]}
    assert both_filters(OWN, None) == both_filters(OWN, {}) == OWN
    assert both_filters(None, ASKED) == both_filters({}, ASKED) == ASKED
    assert not both_filters(None, None)
