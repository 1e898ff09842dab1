"""How a component is written to YAML, and which settings are refused."""

import math
from typing import Any

import pytest

from prefrag.components.block import Block, check_above_zero, check_choice, check_range, check_whole_number
from tests.for_each import for_each


class Plain:
    """A component without `to_dict`."""

    def __init__(self, size: int = 1):
        self.size = size

    def run(self) -> dict[str, Any]:
        return {}


class Part(Block):
    def __init__(self, name: str, parts: list[Any], inner: Any = None):
        self.name, self.parts, self.inner = name, parts, inner


def test_a_part_is_written_by_its_parameters_and_made_again():
    written = Part("a", [Plain(2)], Part("b", [])).to_dict()
    assert written["type"].endswith("test_block.Part")
    assert written["init_parameters"]["name"] == "a"
    assert written["init_parameters"]["parts"][0]["init_parameters"] == {"size": 2}
    assert written["init_parameters"]["inner"]["init_parameters"] == {"name": "b", "parts": [], "inner": None}
    again = Part.from_dict(Part("a", [1], Part("b", [])).to_dict())
    assert (again.name, again.parts, again.inner.name) == ("a", [1], "b")


def test_values_that_fit_and_those_that_are_not_set_pass():
    check_whole_number(1, top_k=1, candidates=None)
    check_range(0, 1, threshold=0, upper=1.0, other=None)
    check_range(0, cost=math.inf)
    check_above_zero(timeout=0.1, other=None)
    check_choice(("keep", "end"), on_doubt="end", other=None)


@for_each(
    "check, message",
    (lambda: check_whole_number(1, k=3, top_k=0), "top_k is 0: set it to a whole number of at least 1."),
    (lambda: check_whole_number(0, k=2.5), "k is 2.5: set it to a whole number of at least 0."),
    (lambda: check_whole_number(0, k=True), "k is True: set it"),
    (lambda: check_whole_number(0, k="5"), "k is '5': set it"),
    (lambda: check_range(-1, 1, lower=1.1), "lower is 1.1: set it to a number from -1 to 1."),
    (lambda: check_range(0, cost=math.nan), "cost is nan: set it to a number of at least 0."),
    (lambda: check_above_zero(timeout=0), "timeout is 0: set it to a number above 0."),
    (lambda: check_above_zero(timeout=math.inf), "timeout is inf: set it"),
    (lambda: check_choice(("a", "b", "c"), kind="d"), "kind is 'd': set it to a, b or c."),
    (lambda: check_choice(("a",), kind="d"), "kind is 'd': set it to a."),
)
def test_others_are_refused_with_what_to_set(check: Any, message: str):
    with pytest.raises(ValueError, match=message):
        check()
