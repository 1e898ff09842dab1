"""The queries for what is open."""

from __future__ import annotations

from prefrag.components.reasoner.open_queries import MAX_CHARACTERS, MAX_CHOICES, open_queries
from tests.components.samples import document, observed_step, state

QUESTION = "When did the yard that built the Aurora win the prize?"
AURORA = document("Aurora", content="The Aurora was built in a yard at Gamma.")


def test_the_first_is_the_question():
    assert open_queries(state()) == [QUESTION]


def test_later_ones_name_a_passage_and_what_no_passage_holds():
    assert open_queries(state(observed_step(AURORA, document("Gamma")))) == ["Aurora prize", "Gamma prize"]


def test_where_every_word_is_held_the_question_is_asked_of_each_passage():
    prize = document("Prize", content="The prize of the yard that built the Aurora.")

    assert open_queries(state(observed_step(prize))) == [f"Prize {QUESTION}"]


def test_none_is_searched_for_again():
    found = observed_step(AURORA, query=QUESTION), observed_step(AURORA, query="Aurora prize")

    assert open_queries(state(*found)) == []


def test_they_are_few_and_short():
    many = [document(f"{number} {'long ' * 400}") for number in range(40)]

    queries = open_queries(state(observed_step(*many)))

    assert len(queries) == MAX_CHOICES
    assert max(map(len, queries)) <= MAX_CHARACTERS
