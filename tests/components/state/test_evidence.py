"""The sentences that a run found, for its question."""

from __future__ import annotations

from dataclasses import replace

from prefrag.components.state.evidence import find_evidence
from prefrag.components.state.state import Evidence
from tests.components.samples import answer_step, document, observed_step, state

HALL = document("hall", content="Sensors are compared here. The hall opened in 1966.")
PIER = document("pier", content="The pier is red. Ann Low built the pier in 1971.")


def sentences(*steps, **changes):
    return [
        one.sentence for one in find_evidence(replace(state(*steps), question="When was the pier built?", **changes))
    ]


def test_each_search_has_the_sentence_that_says_most_about_its_query():
    steps = observed_step(HALL, query="When was the hall opened?"), observed_step(PIER, query="pier built")

    assert sentences(*steps) == ["The hall opened in 1966.", "Ann Low built the pier in 1971."]


def test_that_of_the_answer_comes_first_and_each_once():
    read = Evidence(PIER, "Ann Low built the pier in 1971.", "When was the pier built?")
    steps = observed_step(HALL, query="hall opened"), observed_step(PIER, query="pier built")

    assert sentences(*steps, answer_step("1971", evidence=read)) == [
        "Ann Low built the pier in 1971.",
        "The hall opened in 1966.",
    ]


def test_what_came_with_the_question_is_searched_too():
    assert sentences(attached=(PIER,)) == ["Ann Low built the pier in 1971."]


def test_documents_without_text_have_none():
    assert sentences(observed_step(document("empty", content="")), observed_step()) == []
