"""Equation 1: the first document of each second-stage list that is not in the context yet."""

import pytest
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.pair_classifier.fill_by_rank import fill_by_rank
from tests.for_each import for_each


def docs(keys: str) -> list[Document]:
    return [Document(id=key, content="") for key in keys]


def filled(documents: str, *candidates: str, k: int) -> str:
    return "".join(d.id for d in fill_by_rank(docs(documents), [docs(keys) for keys in candidates], k))


@for_each(
    "documents, candidates, k, context",
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
)
def test_equation_1(documents, candidates, k, context):
    assert filled(documents, *candidates, k=k) == context


def test_documents_of_two_sources_with_one_id_are_two():
    first = Document(id="1", content="of one source")
    other, further = (Document(id=key, content="of the other") for key in "12")

    assert fill_by_rank([first], [[first, other, further]], 3) == [first, other, further]


@given(st.text("abcdef", max_size=4), st.lists(st.text("abcdef", max_size=6), max_size=4), st.integers(1, 6))
def test_the_context_has_k_different_documents_if_possible(documents, candidates, k):
    context = filled(documents, *candidates, k=k)
    assert len(context) == len(set(context)) == min(k, len(set(documents).union(*candidates)))
