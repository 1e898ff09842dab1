"""The query of what a document leaves open, with the names that it brings."""

from pathlib import Path

import pytest

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.dr_rag.open_question_query import OpenQuestionQuery
from tests.components.samples import document
from tests.components.two_ways import both_give

QUESTION = "Who married the son of Peter Andreas Heiberg?"
HEIBERG = document("Peter Andreas Heiberg", "His son Johan Ludvig was a poet, born in 1791.")


def queries(*documents: object, question: str = QUESTION, **settings: object) -> list[str]:
    return OpenQuestionQuery(**settings).run(question, list(documents))["queries"]  # type: ignore[arg-type]


async def test_open_words_stand_before_the_names():
    # Without an index, words of three letters are not compared, so they are not part of the query.
    output = await both_give(OpenQuestionQuery(), QUESTION, [HEIBERG])

    assert output["queries"] == ["married Peter Andreas Heiberg His Johan Ludvig 1791"]


def test_an_index_recognises_which_words_are_inflections_of_one(tmp_path: Path):
    store = TantivyDocumentStore(path=str(tmp_path / "index"))
    passage = document("Heiberg", "marrying at sea, for the sons")

    assert queries(passage) == ["married Peter Andreas Heiberg"]
    assert queries(passage, term_statistics=store) == ["Who Peter Andreas Heiberg"]


def test_each_document_makes_a_query_in_order():
    assert queries(document("A", "b"), document("C", "d"), question="why") == ["A", "C"]
    assert queries(document("", "who married whom"), question="married") == ["married"]
    assert queries() == []


def test_names_are_limited_and_come_once():
    assert queries(document("A A B", "C D"), question="why", max_names=3) == ["A B"]
    with pytest.raises(ValueError, match="max_names is 0"):
        OpenQuestionQuery(max_names=0)
