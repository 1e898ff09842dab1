"""What a question asks for."""

from __future__ import annotations

import pytest

from prefrag.components.reader.question_form import asks_beyond_spans, asks_yes_no, looks_english


@pytest.mark.parametrize(
    ("question", "is_yes_no"),
    [
        ("Was the hall built before the pier?", True),
        ("does it float", True),
        ("Is Ann or Bea the older one?", False),
        ("Which hall was built first?", False),
        ("Isabel wrote which book?", False),
    ],
)
def test_a_question_for_yes_or_no_begins_with_a_verb_and_offers_no_choice(question, is_yes_no):
    assert asks_yes_no(question) is is_yes_no


@pytest.mark.parametrize(
    ("question", "is_english"),
    [
        ("Who founded the yard?", True),
        ("Was Ann Low or Bea Tide born first?", True),
        ("founder yard?", False),
        ("In welchem Jahr gewann die Werft den Preis?", False),
        ("Qui a construit le navire ?", False),
        ("谁建造了这艘船", False),
        ("?", False),
    ],
)
def test_a_question_in_another_language_is_known(question, is_english):
    assert looks_english(question) is is_english


def test_a_difference_is_in_no_passage():
    assert asks_beyond_spans("How many more people work in Tolmouth than in Oskerry?")
    assert not asks_beyond_spans("How many people work in Tolmouth?")
