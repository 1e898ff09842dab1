"""What the benchmark of a person's folder counts of a result."""

from typing import Any

from benchmarks.person import count_question
from tests.for_each import for_each


def count(answer: str, *golds: str, kind: str = "row", document: str = "prices.ods") -> dict[str, bool]:
    """Count an answer that is given as Stated, from a sentence that is the expected one if it is of the document."""
    question = {"answerable": True, "answers": golds, "sentences": ["Screws"], "document": "prices.ods", "type": kind}
    documents = [{"mark": "1", "file": document}]
    result: dict[str, Any] = {"certainty": "stated", "answer": answer, "documents": documents}
    return count_question(question, {**result, "evidence": [{"mark": "1", "sentence": "Screws"}]})


@for_each(
    "answer, gold, is_right",
    ("125", "125", True),
    ("125 boxes", "125", True),
    ("2", "125", False),
    ("125", "2", False),
    ("860", "860 pounds", True),
    ("2026", "13 June 2026", False),
    ("pound", "860 pounds", False),
    ("the pavilion", "in the pavilion", True),
    ("", "125", False),
)
def test_a_part_of_a_word_is_no_right_answer(answer: str, gold: str, is_right: bool):
    assert count(answer, gold)["stated, right"] is is_right


def test_an_answer_from_another_document_is_not_right():
    counts = count("125", "125", document="old prices.ods")

    assert (counts["stated, right"], counts["another row stated"]) == (False, True)
