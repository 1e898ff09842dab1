"""The encoder's second look at a candidate, and how much of the question its sentence covers."""

from types import SimpleNamespace

import pytest

from prefrag.components.reader.reader_input import passage_text
from prefrag.components.reader.second_look import SecondLook
from prefrag.components.reader.span_candidates import SpanCandidate

QUESTION = "Who founded the school that trained the designer of the Low Mill?"
PASSAGES = [
    ("Low Mill", "The mill has three floors. Its designer Ann Low was trained by Tolmouth School."),
    ("Tolmouth School", "It was founded by Bea Hart in 1899. It has a bell."),
]


def candidate(passage: int, text: str) -> SpanCandidate:
    begin = passage_text(*PASSAGES[passage]).index(text)
    return SpanCandidate(passage, text, "name", begin, begin + len(text))


@pytest.fixture
def look() -> SecondLook:
    return SecondLook(QUESTION, PASSAGES, lambda word: 1.0)


def test_candidate_is_marked_in_its_sentence_beside_a_passage(look):
    assert look.marked(candidate(1, "Bea Hart")) == [
        ("Tolmouth School", "It was founded by \u00ab Bea Hart \u00bb in 1899."),
        ("Low Mill", "Its designer Ann Low was trained by Tolmouth School."),
    ]


def test_title_is_marked_above_the_sentence_on_the_question(look):
    assert look.marked(candidate(0, "Low Mill"))[0] == (
        "\u00ab Low Mill \u00bb",
        "Its designer Ann Low was trained by Tolmouth School.",
    )


def test_one_passage_alone_is_shown_without_another():
    look = SecondLook(QUESTION, PASSAGES[:1], lambda word: 1.0)

    assert look.marked(candidate(0, "Ann Low")) == [
        ("Low Mill", "Its designer \u00ab Ann Low \u00bb was trained by Tolmouth School.")
    ]


def test_sentence_of_an_answer_holds_what_is_asked_no_bridge(look):
    answer, bridge = look.covers_of(candidate(1, "Bea Hart")), look.covers_of(candidate(0, "Ann Low"))

    # The question's words are founded, school, trained, designer, low, mill; the answer's sentence has the first two.
    assert answer == pytest.approx((2 / 6, 1.0, 4 / 6))
    assert bridge == pytest.approx((5 / 6, 1 / 2, 1 / 6))


def test_odds_are_those_of_a_span_against_none_in_what_is_marked(look):
    seen = []

    def score(question, passages):
        seen.append((question, passages))
        return SimpleNamespace(kinds=[0.75, 0.0, 0.0, 0.25])

    odds = SecondLook(QUESTION, PASSAGES, lambda word: 1.0, score).odds_of(candidate(1, "Bea Hart"))

    assert odds == pytest.approx(1.0986, abs=1e-3)
    assert seen == [(QUESTION, look.marked(candidate(1, "Bea Hart")))]
