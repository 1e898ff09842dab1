"""The next query of a run without a language model."""

from __future__ import annotations

from dataclasses import replace

from haystack import Document

from prefrag.components.reasoner.next_query import next_query
from prefrag.components.state.state import Action, Search, State, Step
from tests.components.samples import state

QUESTION = "In which town was the designer of the Petrel lamp born?"
LAMP = Document(content="It shines. The Petrel lamp was designed by Mona Reeve.", meta={"title": "Petrel lamp"})
SHOP = Document(content="They sell lamps in Saltreach.", meta={"title": "Lamp shop"})
MARKET = Document(content="The market is in Aldmoor.", meta={"title": "Market"})
DESIGNER = Document(content="Mona Reeve studied with Ivo Kern.", meta={"title": "Mona Reeve"})


def searched(*found: tuple[str, list[Document]]) -> State:
    steps = [
        Step(Action.SEARCH, query=query, searches=(Search("local", query),), documents=tuple(documents), observed=True)
        for query, documents in found
    ]
    return replace(state(*steps), question=QUESTION)


def test_the_question_is_searched_first():
    assert next_query(replace(state(), question=QUESTION)) == QUESTION


def test_then_the_names_in_the_two_best_documents_and_what_they_leave_open():
    query = next_query(searched((QUESTION, [LAMP, SHOP, MARKET])))

    assert query == "Mona Reeve Saltreach town designer born"


def test_names_that_were_searched_for_are_not_searched_for_again():
    first = searched((QUESTION, [LAMP, SHOP]))

    query = next_query(searched((QUESTION, [LAMP, SHOP]), (str(next_query(first)), [DESIGNER, LAMP])))

    assert query == "Ivo Kern town designer born"


def test_without_a_new_name_the_title_of_a_document_is_searched():
    plain = Document(content="the lamp was made by a smith.", meta={"title": "lamp"})

    query = next_query(searched((QUESTION, [plain])))

    assert query is not None
    assert query.startswith("lamp ")


def test_no_query_is_made_twice_and_so_a_run_ends():
    now, seen = searched((QUESTION, [LAMP])), {QUESTION}
    while (query := next_query(now)) is not None:
        assert query not in seen
        seen.add(query)
        now = now.with_step(Step(Action.SEARCH, query=query, searches=(Search("local", query),), observed=True))

    assert len(seen) < 5


def test_few_names_go_out():
    names = Document(content=" ".join(f"Then Person{n} spoke." for n in range(50)))

    assert str(next_query(searched((QUESTION, [names])))).count("Person") <= 10
