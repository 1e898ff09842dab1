"""Scores of the retrieved passages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.evaluation.metrics.passages import passage_scores, precision, recall, recall_all, recall_capped
from tests.for_each import for_each

SHOWN = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10)
GOLD = st.lists(st.sampled_from("abcdefghij"), unique=True, min_size=1, max_size=10)


def test_gold_passages_count_each_once_among_the_documents():
    assert passage_scores(["x", "y", "z", "a"], ["a", "b"]) == {
        "recall": 0.5,
        "recall_all": 0,
        "recall_capped": 0.5,
        "precision": 0.25,
        "recall_at_3": 0,
        "recall_at_5": 0.5,
        "recall_at_7": 0.5,
    }

    assert recall_all(["b", "x", "a"], ["a", "b"]) == recall(["b", "x", "a"], ["a", "b"]) == 1
    assert precision(["b", "x", "a"], ["a", "b"]) == pytest.approx(2 / 3)
    assert recall(["a", "a"], ["a", "a", "b"]) == precision(["a", "a", "x"], ["a"]) == 0.5


def test_nothing_shown_scores_zero_and_no_gold_passage_no_score():
    assert set(passage_scores([], ["a"]).values()) == {0}
    assert passage_scores(["a"], []) == {}


@for_each("hits, gold, capped", (2, 38, 0.4), (5, 38, 1), (9, 38, 1), (1, 2, 0.5), (2, 2, 1), (3, 5, 0.6), (0, 9, 0))
def test_capped_recall_wants_five_of_many_gold_passages_at_most(hits: int, gold: int, capped: float):
    wanted = [f"gold-{number}" for number in range(gold)]

    assert recall_capped([*wanted[:hits], "other"], wanted) == capped


@given(SHOWN, GOLD)
def test_scores_keep_their_bounds_and_their_order(shown: list[str], gold: list[str]):
    scores = passage_scores(shown, gold)

    assert all(0 <= value <= 1 for value in scores.values())
    assert scores["recall_all"] <= scores["recall"] <= scores["recall_capped"]
    assert scores["recall_at_3"] <= scores["recall_at_5"] <= scores["recall_at_7"] <= scores["recall"]
    assert (scores["recall_all"] == 1) == (scores["recall"] == 1)


@pytest.fixture(scope="module")
def pytrec_eval() -> Any:
    return pytest.importorskip("pytrec_eval", reason="needs pytrec-eval-terrier")


@given(shown=SHOWN.filter(len), gold=GOLD)
def test_recall_and_precision_equal_those_of_trec_eval(pytrec_eval: Any, shown: list[str], gold: list[str]):
    measures = {"recall.3,5,7,1000", "set_P"}
    evaluator = pytrec_eval.RelevanceEvaluator({"q": dict.fromkeys(gold, 1)}, measures)

    theirs = evaluator.evaluate({"q": {name: float(-rank) for rank, name in enumerate(shown)}})["q"]

    ours = passage_scores(shown, gold)
    assert ours["recall"] == pytest.approx(theirs["recall_1000"])
    assert ours["precision"] == pytest.approx(theirs["set_P"])
    for k in (3, 5, 7):
        assert ours[f"recall_at_{k}"] == pytest.approx(theirs[f"recall_{k}"])
