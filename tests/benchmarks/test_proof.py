"""What the written questions count beside those of a proof."""

from typing import Any

import pytest

from prefrag.evaluation.prove.figures import Bound
from tests.for_each import for_each

benchmark = pytest.importorskip("benchmarks.proof")


@for_each(
    "answer, golds, is_answerable, is_right",
    ("in May 1931", ["May 1931"], True, True),
    ("1932", ["1931"], True, False),
    ("1931", ["1931"], False, False),
)
def test_an_answer_counts_as_right_if_a_gold_answer_accepts_it(
    answer: str, golds: list[str], is_answerable: bool, is_right: bool
):
    assert benchmark.is_right({"answers": golds, "answerable": is_answerable}, {"answer": answer}) is is_right


def test_the_document_is_that_of_the_first_evidence():
    result: dict[str, Any] = {"documents": [{"mark": "1", "file": "a.txt"}, {"mark": "2", "file": "b.txt"}]}
    result["evidence"] = [{"mark": "2"}, {"mark": "1"}]

    assert benchmark.find_document(result) == "b.txt"


def test_a_document_counts_once():
    assert benchmark.bound_of([("a", True), ("a", False), ("b", True)]) == Bound(1, 2, 3)


def test_shares_that_differ_much_differ_beyond_chance():
    assert benchmark.compare(Bound(0, 40, 40), Bound(20, 40, 40)) < 0.001
    assert benchmark.compare(Bound(2, 40, 40), Bound(3, 40, 40)) > 0.5
