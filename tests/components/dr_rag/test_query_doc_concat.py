from __future__ import annotations

import pytest
from haystack import Document

from prefrag.components.dr_rag.query_doc_concat import QueryDocConcat
from tests.components.serialisation import rebuilt


def doc(key: str, content: str | None = "", **meta: object) -> Document:
    return Document(id=key, content=content, meta=meta)


HEIBERG = doc("h", "His son  Johan\nwas a poet.", title="Peter Andreas Heiberg", url="http://h.example")


def queries(concat: QueryDocConcat, *documents: Document) -> list[str]:
    return concat.run(query=" Who married the child? ", documents=list(documents))["queries"]


def test_one_query_for_each_document_in_their_order():
    first, second = queries(QueryDocConcat(), HEIBERG, doc("j", "A poet.", title="Johan"))
    assert first == "Who married the child? Peter Andreas Heiberg His son Johan was a poet."
    assert second == "Who married the child? Johan A poet."


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["content"], "Who married the child? His son Johan was a poet."),
        (["title"], "Who married the child? Peter Andreas Heiberg"),
        (["url", "title"], "Who married the child? http://h.example Peter Andreas Heiberg"),
        (["nothing"], "Who married the child?"),
        ([], "Who married the child?"),
    ],
)
def test_the_parts_are_a_setting(parts, expected):
    assert queries(QueryDocConcat(parts), HEIBERG) == [expected]


def test_long_documents_are_cut_and_the_question_never_is():
    assert queries(QueryDocConcat(max_words=4), HEIBERG) == ["Who married the child? Peter Andreas Heiberg His"]
    assert len(queries(QueryDocConcat(max_words=None), doc("l", "word " * 9_000))[0].split()) == 9_004


def test_a_document_without_text_leaves_the_question():
    assert queries(QueryDocConcat(), doc("n", None)) == ["Who married the child?"]


def test_no_documents_no_queries():
    assert queries(QueryDocConcat()) == []


@pytest.mark.parametrize("settings", [{"parts": "title"}, {"max_words": 0}])
def test_settings_that_make_no_sense_are_named(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        QueryDocConcat(**settings)


def test_serialises():
    loaded = rebuilt(QueryDocConcat(["content"], max_words=None))
    assert (loaded.parts, loaded.max_words) == (["content"], None)
