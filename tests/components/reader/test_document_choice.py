"""The documents that a reader reads."""

from __future__ import annotations

import pytest
from haystack import Document

from prefrag.components.reader.document_choice import choose_documents

QUESTION = "Where was the designer of the Petrel lamp born?"
LAMP = Document(content="The Petrel lamp was designed by Mona Reeve.", meta={"title": "Petrel lamp"})
DESIGNER = Document(content="Mona Reeve was born in Pellhaven.", meta={"title": "Mona Reeve"})
OTHERS = [Document(content=f"Bread costs {n} crowns.", meta={"title": f"Price list {n}"}) for n in range(8)]


def test_those_are_chosen_that_are_needed_together():
    chosen = choose_documents(QUESTION, [*OTHERS, LAMP, DESIGNER], 2)

    assert {one.id for one in chosen} == {LAMP.id, DESIGNER.id}


@pytest.mark.parametrize("number", [2, 3])
def test_none_is_left_out_or_moved_where_there_are_no_more(number: int):
    assert choose_documents(QUESTION, [DESIGNER, LAMP], number) == [DESIGNER, LAMP]


def test_of_very_many_only_the_first_are_compared():
    many = [Document(content=f"A note of day {n}.") for n in range(500)]

    chosen = choose_documents(QUESTION, [LAMP, *many, DESIGNER], 5)

    assert len(chosen) == 5
    assert chosen[0].id == LAMP.id
    assert DESIGNER.id not in {one.id for one in chosen}
