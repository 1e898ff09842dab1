from __future__ import annotations

import json

import pytest
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.two_stage.query_doc_concat import QueryDocConcat, first_not_held


def doc(key: str, content: str | None = "", **meta: object) -> Document:
    return Document(id=key, content=content, meta=meta)


def docs(keys: str) -> list[Document]:
    return [doc(key) for key in keys]


def filled(documents: str, *candidates: str, k: int) -> str:
    return "".join(d.id for d in first_not_held(docs(documents), [docs(keys) for keys in candidates], k))


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


async def test_run_async_gives_the_same():
    concat = QueryDocConcat()
    assert await concat.run_async("q", [HEIBERG]) == concat.run("q", [HEIBERG])


@pytest.mark.parametrize("settings", [{"parts": []}, {"parts": "title"}, {"max_words": 0}])
def test_settings_that_make_no_sense_are_named(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        QueryDocConcat(**settings)


def test_serialises():
    data = QueryDocConcat(["content"], max_words=None).to_dict()
    assert json.loads(json.dumps(data)) == data
    assert QueryDocConcat.from_dict(data).to_dict() == data


# Equation 1: the first document of each second-stage list that is not in the context yet.


@pytest.mark.parametrize(
    ("documents", "candidates", "k", "context"),
    [
        pytest.param("abc", ["ax", "by", "cz"], 6, "abcxyz", id="each list adds its first"),
        pytest.param("abc", ["abcx", "xby", "yxz"], 6, "abcxyz", id="what is held already is passed over"),
        pytest.param("ab", ["xp", "yq"], 3, "abx", id="k ends it"),
        pytest.param("ab", ["xp", "yq"], 6, "abxypq", id="with room left the turns go on (appendix A.2)"),
        pytest.param("ab", ["xp", "xyq"], 5, "abxyp", id="in turns, not list by list"),
        pytest.param("abc", ["a", "ab", "ca"], 6, "abc", id="nothing new leaves fewer than k"),
        pytest.param("ab", ["", "x"], 6, "abx", id="an empty list"),
        pytest.param("", [], 6, "", id="an empty first stage"),
        pytest.param("abcd", ["x"] * 4, 3, "abc", id="a first stage larger than k"),
        pytest.param("aab", ["x", "x", "y"], 6, "abxy", id="the first stage holds a document twice"),
        pytest.param("a", ["xxy"], 3, "axy", id="a list holds a document twice"),
    ],
)
def test_equation_1(documents, candidates, k, context):
    assert filled(documents, *candidates, k=k) == context


def test_documents_of_two_sources_with_one_id_are_two():
    first, other, further = doc("1", "of one source"), doc("1", "of the other"), doc("2", "of the other")

    assert first_not_held([first], [[first, other, further]], 3) == [first, other, further]


@given(st.text("abcdef", max_size=4), st.lists(st.text("abcdef", max_size=6), max_size=4), st.integers(1, 6))
def test_the_context_never_exceeds_k_nor_repeats_and_is_full_where_it_can_be(documents, candidates, k):
    context = filled(documents, *candidates, k=k)
    assert len(context) == len(set(context)) == min(k, len(set(documents).union(*candidates)))
