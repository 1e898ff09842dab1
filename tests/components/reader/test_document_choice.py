"""Of many documents, those are read that are needed together."""

from haystack import Document

from prefrag.components.reader.document_choice import choose_documents
from tests.for_each import for_each

QUESTION = "Where was the designer of the Petrel lamp born?"
LAMP = Document(content="The Petrel lamp was designed by Mona Reeve.", meta={"title": "Petrel lamp"})
DESIGNER = Document(content="Mona Reeve was born in Pellhaven.", meta={"title": "Mona Reeve"})
OTHERS = [Document(content=f"Bread costs {n} crowns.", meta={"title": f"Price list {n}"}) for n in range(8)]


@for_each("number", 2, 3)
def test_needed_passages_are_chosen_together_without_omission(number: int):
    """None is moved where there are no more."""

    chosen = choose_documents(QUESTION, [*OTHERS, LAMP, DESIGNER], 2)

    assert {document.id for document in chosen} == {LAMP.id, DESIGNER.id}
    assert choose_documents(QUESTION, [DESIGNER, LAMP], number) == [DESIGNER, LAMP]


def test_of_very_many_only_the_first_are_compared():
    many = [Document(content=f"A note of day {n}.") for n in range(500)]

    chosen = choose_documents(QUESTION, [LAMP, *many, DESIGNER], 5)

    assert (len(chosen), chosen[0].id) == (5, LAMP.id)
    assert DESIGNER.id not in {document.id for document in chosen}
