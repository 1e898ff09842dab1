"""Numbers of passages and citations of answers."""

from __future__ import annotations

import pytest
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.state.citations import citation_marks, read_citations
from prefrag.components.state.state import Action, RunSettings, State, Step


def observed(*sources: str) -> State:
    documents = tuple(Document(id=f"d{n}", content="x", meta={"source": s}) for n, s in enumerate(sources))
    settings = RunSettings(sources=("local", "archive", "web"), preferred="local", external=("web",))
    return State("Who?", settings, steps=(Step(Action.SEARCH, documents=documents, observed=True),))


def test_local_documents_and_those_of_the_web_are_numbered_apart():
    marks = citation_marks(observed("local", "web", "archive", "web"))

    assert marks == {("d0", "x"): "1", ("d1", "x"): "W1", ("d2", "x"): "2", ("d3", "x"): "W2"}


def test_documents_of_two_sources_with_the_same_id_have_numbers_of_their_own():
    archive = Step(Action.SEARCH, documents=(Document(id="d0", content="y"), Document(id="d0", content="x")))

    assert citation_marks(observed("local").with_step(archive)) == {("d0", "x"): "1", ("d0", "y"): "2"}


def test_a_document_keeps_its_number_when_others_come():
    first = observed("local", "web")
    later = first.with_step(Step(Action.SEARCH, documents=(*observed("web").observed, Document(id="new", content="y"))))

    assert citation_marks(later).items() >= citation_marks(first).items()


@pytest.mark.parametrize(
    ("answer", "plain", "cited"),
    [
        ("1969 [2][W1]", "1969", ["2", "W1"]),
        ("1969 [1, w2; 3]", "1969", ["1", "W2", "3"]),
        ("1969 [2] in Ansby [2].", "1969 in Ansby.", ["2"]),
        ("1969", "1969", []),
        ("the [sic] year", "the [sic] year", []),
        ("[W1]", "", ["W1"]),
    ],
)
def test_citations_are_read_and_taken_out(answer: str, plain: str, cited: list[str]):
    assert read_citations(answer) == (plain, cited)


@given(st.text())
def test_any_text_can_be_read(text: str):
    plain, cited = read_citations(text)

    assert len(plain) <= len(text)
    assert len(cited) == len(set(cited))


@pytest.mark.parametrize(
    ("answer", "plain", "cited"),
    [
        ("[1984]", "[1984]", []),
        ("Route [66] [2]", "Route [66]", ["2"]),
        ("Paris ([1])", "Paris", ["1"]),
        ("the interval [1, 5] [W1]", "the interval [1, 5]", ["W1"]),
    ],
)
def test_brackets_that_hold_another_number_than_those_of_passages_belong_to_the_answer(
    answer: str, plain: str, cited: list[str]
):
    assert read_citations(answer, known={"1", "2", "W1"}) == (plain, cited)
