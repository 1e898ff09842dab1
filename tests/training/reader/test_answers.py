"""Measuring the reader's answers, and choosing the probability from which they are given."""

from dataclasses import replace

import numpy as np

from prefrag.components.reader.second_look import SecondLook
from prefrag.components.reader.span_features import Spans
from prefrag.training.reader.answers import (
    Given,
    ReadExample,
    choose_threshold,
    given_and_right,
    limit_probability,
    measure_shares,
    part_of,
)
from prefrag.training.reader.examples import Example
from tests.for_each import for_each


def given(text: str, probability: float, gold: str = "Ann Low", origin: str = "made up") -> Given:
    example = Example("q", "Who?", (), (gold,), (), "span", origin)
    spans, look = Spans([], [], np.zeros((0, 1))), SecondLook("Who?", (), len)
    return Given(ReadExample(example, None, spans, None, None, np.zeros(0), look, len), text, None, probability)


@for_each(
    "text, is_exact, is_right",
    ("Ann Low", True, True),
    ("the poet Ann Low", False, True),
    ("Ann", False, False),
    ("Bea", False, False),
    ("", False, False),
)
def test_an_answer_is_right_where_it_holds_a_right_one(text, is_exact, is_right):
    assert (given(text, 1).is_exact, given(text, 1).is_right) == (is_exact, is_right)


def test_what_is_given_and_what_of_it_is_right():
    answers = [given("Ann Low", 0.9), given("Bea", 0.8), given("Ann Low", 0.2), given("", 1.0)]

    assert given_and_right(answers, 0.5) == (0.5, 0.5)
    assert given_and_right(answers, 0.95) == (0, 0)


def test_the_threshold_is_the_lowest_above_which_enough_is_right():
    answers = [given("Ann Low" if number % 10 else "Bea", 0.5 + number / 200) for number in range(100)]
    answers += [given("Bea", number / 200) for number in range(100)]

    threshold = choose_threshold(answers, 0.75)

    assert given_and_right(answers, threshold)[1] >= 0.75
    assert 0.3 < threshold < 0.5


def test_the_threshold_holds_for_hops_documents_and_no_answer():
    certain = [given("Ann Low", 0.9)] * 10
    hops = [given("Bea", 0.4, origin="hops")] * 5 + [given("Ann Low", 0.9, origin="hops")] * 10
    unanswered = [given("Bea", 0.6, "", "made up-none")] * 2 + [given("Bea", 0.1, "", "made up-none")] * 18

    assert choose_threshold(certain, 0.9) == 0.01
    assert choose_threshold([*certain, *hops], 0.9, {"hops"}) == 0.41
    assert choose_threshold([*certain, *hops, *unanswered], 0.9, {"hops"}) == 0.61


def test_an_answer_of_another_time_is_as_sure_as_such_were_right():
    answers = [replace(given(text, 0.9), answers_another_question=True) for text in ("Ann Low", "Bea", "Bea", "Bea")]

    shares = measure_shares([*answers, given("Ann Low", 0.9)])

    assert shares.other_time == (1 + 1) / (4 + 2)
    assert limit_probability(answers[0], shares).probability == shares.other_time
    assert limit_probability(given("Ann Low", 0.9), shares).probability == 0.9


def test_where_nothing_is_right_nothing_is_given():
    assert choose_threshold([given("Bea", 0.5)] * 20, 0.75) == 1


def test_a_question_is_always_in_the_same_part():
    assert part_of("q", 5, 7) == part_of("q", 5, 7)
    assert {part_of(str(number), 5, 7) for number in range(100)} == set(range(5))
