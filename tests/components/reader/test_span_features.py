import numpy as np
import pytest

from prefrag.components.reader.span_features import FEATURES, answer_key, question_cover, span_features
from tests.for_each import for_each

PASSAGES = [
    ("Silver Anna", "Silver Anna is a ferry. It was built by the Ostermoor Yard in 1931."),
    ("Ostermoor Yard", "The Ostermoor Yard was founded by Gustav Low in 1887."),
]
QUESTION = "Who founded the yard that built Silver Anna?"


def weight(word: str) -> float:
    return 0.1 if len(word) < 4 else 1.0


def feature(text: str, name: str) -> float:
    spans = span_features(QUESTION, PASSAGES, None, weight)
    place = next(place for place, one in enumerate(spans.candidates) if one.text == text)
    return float(spans.rows[place][FEATURES.index(name)])


def test_each_span_has_a_row_and_no_passages_have_no_spans():
    spans = span_features(QUESTION, PASSAGES, None, weight)

    assert spans.rows.shape == (len(spans.candidates), len(FEATURES)) == (len(spans.keys), len(FEATURES))
    assert span_features(QUESTION, [], None, weight).candidates == []


@for_each(
    "text, name, value",
    ("Silver Anna", "is_in_question", 1),
    ("Gustav Low", "is_in_question", 0),
    ("Gustav Low", "linked_from_named", 1),
    ("1931", "linked_from_named", 0),
    ("Gustav Low", "near_founded", 1),
    ("Gustav Low", "near_by", 1),
    ("1887", "follows_in", 1),
    ("Gustav Low", "read_span", np.nan),  # Without an encoder its features are empty.
)
def test_name_of_the_question_link_and_surroundings_are_features(text: str, name: str, value: float):
    assert feature(text, name) == pytest.approx(value, nan_ok=True)


def test_what_was_read_before_changes_no_feature():
    fresh = span_features(QUESTION, PASSAGES, None, lambda word: weight(word))
    span_features(QUESTION, PASSAGES[::-1], None, weight)
    span_features("Who was Gustav Low?", PASSAGES, None, weight)

    again = span_features(QUESTION, PASSAGES, None, weight)

    assert (again.candidates, again.keys) == (fresh.candidates, fresh.keys)
    np.testing.assert_array_equal(again.rows, fresh.rows)


def test_equal_answers_have_one_key():
    assert answer_key("The Ostermoor Yard") == answer_key("ostermoor yard.") == "ostermoor yard"
    assert answer_key("The The") == "the the"


def test_all_passages_together_cover_more_of_a_question_than_one():
    every, two = question_cover(QUESTION, PASSAGES, weight)

    assert every == two > question_cover(QUESTION, PASSAGES[1:], weight)[0]
