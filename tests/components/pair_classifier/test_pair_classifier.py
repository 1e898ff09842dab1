"""Equations 3 and 4 and algorithm 1 of DR-RAG on cases small enough to be worked out by hand.

Documents are single letters: `a` to `e` are of the first stage. A fake classifier finds needed together the pairs
that it is given.
"""

from __future__ import annotations

from typing import Any

import pytest
from haystack import Document, default_from_dict, default_to_dict
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.pair_classifier.pair_classifier import PairClassifier
from prefrag.components.pair_classifier.pair_scorer import ClassifierMissing, Pair
from prefrag.components.pair_classifier.transformer_pair_scorer import TransformerPairScorer
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from tests.components.serialisation import rebuilt
from tests.components.two_ways import both_give
from tests.for_each import for_each


class FakeEngine:
    """Scores the given pairs 0.9, in either order, and all others 0.1."""

    def __init__(self, *positive: str):
        self.positive = list(positive)
        self.calls: list[list[str]] = []

    def score(self, question: str, pairs: list[Pair]) -> list[float]:
        assert question == "q"
        self.calls.append([first.id + second.id for first, second in pairs])
        return [0.9 if {a.id + b.id, b.id + a.id} & set(self.positive) else 0.1 for a, b in pairs]

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FakeEngine:
        return default_from_dict(cls, data)


def docs(keys: str) -> list[Document]:
    return [Document(id=key, content=f"About {key}.") for key in keys]


def chosen(engine: Any, documents: str, *candidates: str, **settings: Any) -> str:
    k = settings.pop("k", 6)
    output = PairClassifier(engine, **settings).run("q", docs(documents), [docs(keys) for keys in candidates], k)
    return "".join(document.id for document in output["documents"])


def inverse(positive: str, documents: str, *candidates: str, **settings: Any) -> str:
    return chosen(FakeEngine(*positive.split()), documents, *candidates, selection="cis", **settings)


def forward(positive: str, documents: str, *candidates: str, **settings: Any) -> str:
    return chosen(FakeEngine(*positive.split()), documents, *candidates, selection="cfs", **settings)


# Classifier Inverse Selection


@for_each(
    "positive, documents, candidates, context",
    pytest.param("ax by cz", "abc", ["x", "y", "z"], "abcxyz", id="each second-stage document has a partner"),
    pytest.param("ax cz", "abc", ["x", "y", "z"], "abcxz", id="one has none and goes"),
    pytest.param("bx", "abc", ["x", "y", "z"], "abcx", id="any partner of the first stage will do"),
    pytest.param("", "abc", ["x", "y", "z"], "abc", id="the first stage stays, whatever the classifier scores"),
    pytest.param("xy", "abc", ["x", "y", "z"], "abc", id="a partner of the second stage does not count"),
    pytest.param("ax", "a", ["xy"], "ax", id="fewer than k"),
    pytest.param("ax", "ab", ["xb", "xa"], "abx", id="lists that overlap"),
    pytest.param("ab", "", [], "", id="an empty first stage"),
    pytest.param("ab", "ab", ["", ""], "ab", id="an empty second stage"),
)
def test_equation_3_drops_documents_without_a_partner(positive, documents, candidates, context):
    assert inverse(positive, documents, *candidates) == context


@for_each(
    "positive, context",
    pytest.param("ax", "ax", id="also the first stage is dropped"),
    pytest.param("xy", "xy", id="a pair of the second stage counts"),
    pytest.param("ab bx", "abx", id="pairs of the first stage count"),
    pytest.param("ax ay az bx cx", "abcxyz", id="all are needed"),
    pytest.param("", "abc", id="a classifier without a positive pair distinguishes none, so the first stage stays"),
)
def test_the_prose_of_2_2_2_drops_any_document_without_a_partner(positive, context):
    assert inverse(positive, "abc", "x", "y", "z", drop="any") == context


@for_each("drop, pairs", ({}, ["ax", "ay", "az", "bx", "by", "bz", "cx", "cy", "cz"]), ({"drop": "any"}, 15))
def test_inverse_selection_scores_all_pairs_at_once(drop, pairs):
    engine = FakeEngine()
    chosen(engine, "abc", "x", "y", "z", selection="cis", **drop)
    [scored] = engine.calls
    assert pairs in (scored, len(scored))
    assert inverse("ax ay bx by", "ab", "abxy", "xy", k=3) == "abx"


# Classifier Forward Selection


@for_each(
    "positive, documents, candidates, context",
    pytest.param("ax by cz", "abc", ["x", "y", "z"], "abcxyz", id="the first of each list is accepted"),
    pytest.param("ay", "a", ["xyz"], "ay", id="what is refused is passed over"),
    pytest.param("ax ay", "a", ["xy"], "ax", id="only the first accepted"),
    pytest.param("bx", "a", ["x"], "a", id="accepted with another document does not count"),
    pytest.param("ax bx by", "ab", ["x", "xy"], "abxy", id="what is held already is passed over"),
    pytest.param("ax bx", "ab", ["x", "x"], "abx", id="the document that is needed is held already"),
    pytest.param("ab ax", "ab", ["bx", ""], "abx", id="the first stage is not added again"),
    pytest.param("", "abc", ["xy", "yz", "z"], "abc", id="fewer than k: nothing is accepted"),
    pytest.param("aw", "a", ["stuvw"], "aw", id="deep in the list"),
    pytest.param("aw bw bv", "ab", ["stuvw", "wv"], "abwv", id="an earlier list comes first, however deep"),
    pytest.param("ax", "a", ["xx"], "ax", id="a list holds a document twice"),
    pytest.param("ay", "a", ["xxxy"], "ay", id="a refused document is there twice"),
    pytest.param("ab", "", [], "", id="an empty first stage"),
    pytest.param("ax", "a", [""], "a", id="an empty second stage"),
)
@for_each("lookahead", 1, 2, 3, 10)
def test_equation_4_adds_the_first_accepted_of_each_list(lookahead, positive, documents, candidates, context):
    assert forward(positive, documents, *candidates, lookahead=lookahead) == context


@for_each(
    "positive, documents, candidates, context",
    pytest.param("ax ay", "a", ["xyz"], "axy", id="every accepted one"),
    pytest.param("ax az by", "ab", ["xyz", "xyz"], "abxzy", id="list by list"),
    pytest.param("ax bx", "ab", ["x", "x"], "abx", id="what is held already is passed over"),
    pytest.param("as at au av aw", "ab", ["stuvw", "xyz"], "abstuv", id="k ends it"),
    pytest.param("", "ab", ["xyz", "xyz"], "ab", id="nothing is accepted"),
)
@for_each("lookahead", 1, 3, 10)
def test_algorithm_1_adds_every_accepted_one(lookahead, positive, documents, candidates, context):
    assert forward(positive, documents, *candidates, accept="all", lookahead=lookahead) == context


def test_forward_selection_stops_at_k_and_repeats_no_pair():
    for k, context in ((4, "abcx"), (3, "abc"), (2, "ab")):
        assert forward("ax by cz", "abc", "x", "y", "z", k=k) == context
    engine = FakeEngine("ax")
    chosen(engine, "ab", "abxyabxy", "baxyx", selection="cfs", lookahead=2)
    assert sorted(pair for call in engine.calls for pair in call) == ["ax", "ay", "bx", "by"]


def test_forward_selection_scores_nine_pairs_at_once():
    engine = FakeEngine("ax", "bt", "cz")
    assert chosen(engine, "abc", "apxqrs", "bpqrst", "cpqzst", selection="cfs") == "abcxtz"
    assert engine.calls == [["ap", "ax", "aq", "bp", "bq", "br", "cp", "cq", "cz"], ["bs", "bt"]]


def _equation_4(positive: set[str], documents: str, candidates: list[str], k: int, accept: str) -> str:
    context = "".join(dict.fromkeys(documents))[:k]
    lists = dict(zip(reversed(documents), reversed(candidates), strict=True))
    for first in dict.fromkeys(documents):
        for second in lists[first]:
            if len(context) < k and second not in context and first + second in positive:
                context += second
                if accept == "first":
                    break
    return context


@given(st.data(), st.sampled_from(["first", "all"]), st.integers(1, 7), st.integers(1, 4))
def test_batches_do_not_change_what_is_selected(data, accept, k, lookahead):
    documents = data.draw(st.text("abcd", max_size=4))
    candidates = [data.draw(st.text("abcvwxyz", max_size=8)) for _ in documents]
    positive = data.draw(st.sets(st.sampled_from([a + b for a in "abcd" for b in "abcvwxyz"])))

    class Engine:
        def score(self, question: str, pairs: list[Pair]) -> list[float]:
            return [float(first.id + second.id in positive) for first, second in pairs]

    selected = chosen(Engine(), documents, *candidates, k=k, accept=accept, lookahead=lookahead)
    assert selected == _equation_4(positive, documents, candidates, k, accept)


# The component


def test_a_score_at_the_threshold_suffices():
    assert forward("ax", "a", "x", threshold=0.9) == "ax"
    assert forward("ax", "a", "x", threshold=0.91) == "a"
    assert forward("ax ay", "aab", "x", "y", "") == "abx"


@for_each("selection", "cis", "cfs")
def test_a_pair_begins_with_the_first_stage_document(selection):
    engine = FakeEngine()
    assert chosen(engine, "abc", "x", "y", "z", k=3, selection=selection) == "abc"
    assert engine.calls == []
    chosen(engine, "a", "x", selection=selection)
    assert engine.calls == [["ax"]]


async def test_reports_the_verdicts_of_the_classifier_on_both_ways():
    output = await both_give(PairClassifier(FakeEngine("ax")), "q", docs("a"), [docs("xy")])
    assert output["pairs"] == [
        {"documents": ["a", "x"], "score": 0.9, "positive": True},
        {"documents": ["a", "y"], "score": 0.1, "positive": False},
    ]


@for_each("together", False, True)
@for_each(
    "settings, context",
    ({"selection": "cis"}, ["first", "other"]),
    ({"selection": "cis", "drop": "any"}, ["first", "other"]),
    ({"selection": "cfs"}, ["first", "other"]),
    ({"selection": "cfs", "accept": "all"}, ["first", "other"]),
    ({"selection": "fill"}, ["first", "other", "further"]),
)
def test_documents_of_two_sources_with_one_id_are_two(settings: dict[str, Any], context: list[str], together: bool):
    first, other = Document(id="1", content="first"), Document(id="1", content="other")
    further = Document(id="2", content="further")
    engine = FakeEngine("11")
    engine.together = together  # type: ignore[attr-defined]

    output = PairClassifier(engine, k=3, **settings).run("q", [first], [[first, other, further]])

    assert [document.content for document in output["documents"]] == context
    assert {"documents": ["1", "1"], "score": 0.9, "positive": True} in output["pairs"]


def test_first_stage_documents_with_one_id_are_two():
    first, other = Document(id="1", content="first"), Document(id="1", content="other")
    classifier = PairClassifier(FakeEngine("11"), selection="fill")
    classifier.warm_up()
    assert classifier.run("q", [first, other], [[], []])["documents"] == [first, other]


def test_wrong_lists_k_or_scores_are_refused():
    for inputs, message in ((([docs("x")], 6), "1 lists of candidates for 2 documents"), (([], 0), "at least 1")):
        with pytest.raises(ValueError, match=message):
            PairClassifier(FakeEngine()).run("q", docs("ab"), *inputs)
    for scores in ([], [0.5, 0.5], [float("nan")]):
        engine = FakeEngine()
        engine.score = lambda *_, scores=scores: scores  # type: ignore[method-assign]
        with pytest.raises(ValueError, match="pair classifier (gave|returned)"):
            chosen(engine, "a", "x")


def test_the_transformer_can_be_named_in_one_word():
    classifier = PairClassifier("transformer")
    assert isinstance(classifier.engine, TransformerPairScorer)
    assert rebuilt(classifier).engine.to_dict() == classifier.engine.to_dict()
    with pytest.raises(ClassifierMissing, match=r"PREFRAG_PAIR_CLASSIFIER.*dr_rag_qdc"):
        classifier.warm_up()
    with pytest.raises(ClassifierMissing, match=r"PREFRAG_PAIR_CLASSIFIER.*dr_rag_qdc"):
        classifier.run("q", docs("a"), [docs("x")])


# Fill, which is not in the paper


@for_each(
    "positive, k, context",
    pytest.param("bz", 2, "bz", id="the documents of the best pair"),
    pytest.param("bz", 3, "bza", id="then what the first stage found first"),
    pytest.param("", 3, "abx", id="where no pair is likely, the first stage's order"),
    pytest.param("ax bz", 6, "abxzyw", id="k of them where there are so many"),
    pytest.param("ab", 2, "ab", id="two documents of the first stage are a pair too"),
)
def test_fill_ranks_by_the_best_pair(positive: str, k: int, context: str):
    assert chosen(FakeEngine(*positive.split()), "ab", "xy", "zw", selection="fill", k=k) == context
    assert chosen(FakeEngine(), "a", "", selection="fill") == "a"
    assert chosen(FakeEngine(), "", selection="fill") == ""


def test_the_weight_of_the_first_stage_can_be_taken_away():
    settings = {"selection": "fill", "k": 1}
    engine = FakeEngine()
    engine.score = lambda question, pairs: [0.04 if pair[1].id == "y" else 0.0 for pair in pairs]  # type: ignore[method-assign]

    assert chosen(engine, "ab", "xy", "", **settings) == "a"
    assert chosen(engine, "ba", "", "xy", **settings, rank_weight=0) == "a"
    assert chosen(engine, "ab", "xy", "", **{**settings, "k": 2}, rank_weight=0) == "ay"


@for_each(
    "positive, selection, context, pairs",
    ("ay bz", {"selection": "cfs", "lookahead": 1}, "abyz", ["ax", "ay", "ab", "bz", "bw", "ba"]),
    ("ax bx az", {"selection": "cis"}, "abxz", ["ax", "ay", "az", "aw", "bx", "by", "bz", "bw", "ab", "ba"]),
)
def test_an_engine_can_have_all_pairs_in_one_call(positive, selection, context, pairs):
    engine = FakeEngine(*positive.split())
    engine.together = True  # type: ignore[attr-defined]

    assert chosen(engine, "ab", "xy", "zw", **selection) == context
    [scored] = engine.calls
    assert set(scored) == set(pairs)
    assert selection["selection"] == "cis" or scored == pairs


@for_each("selection, label", ("cis", "pair"), ("cfs", "pair"), ("fill", "passage"))
def test_the_shipped_trees_are_the_default(selection: Any, label: str):
    engine = PairClassifier(selection=selection).engine

    assert isinstance(engine, TreePairScorer)
    assert engine.label == label
