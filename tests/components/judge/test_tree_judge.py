"""The judge that uses small trees in place of a language model."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from prefrag.components.judge.switch_features import FEATURES
from prefrag.components.judge.tree_judge import TreeJudge, keep_probability
from prefrag.components.state.state import Action, State, Step
from tests.components.judge.judges import FixedTrees
from tests.components.samples import document, found, observed_step, search_step, state
from tests.for_each import for_each

SHOWN = document("Aurora", content="The Aurora was built by the Beta yard.")
WANTED = document("Beta", content="Beta is a yard, which won the prize in 1974.")
OTHER = document("Gamma", content="Gamma is a town in the south, known for its cheese.")


def after(*new: Any, observed: Any = SHOWN) -> State:
    return state(observed_step(observed), search_step("Beta yard prize", found(*new, query="Beta yard prize")))


class TestVerdict:
    @for_each("probability, status", (0.6, True), (0.34, True), (0.33, False))
    def test_leaves_only_where_needing_nothing_is_twice_as_likely(self, probability: float, status: bool):
        reached = after(WANTED)

        verdict, same = FixedTrees(probability).judge(reached)

        assert (verdict.status, verdict.judged_by, verdict.score) == (status, "classifier", probability)
        assert f"{probability:.0%}" in verdict.analysis
        assert same is reached

    @for_each(
        "cost, probability, status",
        (1, 0.5, True),
        (1, 0.49, False),
        (9, 0.1, True),
        (9, 0.09, False),
        (0, 0.99, False),
        (math.inf, 0.0, True),
    )
    def test_the_dearer_leaving_is_the_less_suffices_to_stay(self, cost: float, probability: float, status: bool):
        assert FixedTrees(probability, cost_of_leaving=cost).judge(after(WANTED))[0].status is status

    def test_a_verdict_keeps_what_is_unlike_the_training(self):
        unlike = {"probability": 0.01, "unknown": "words is 900, outside of 5 to 400"}
        assert not FixedTrees(**unlike, cost_of_leaving=0).judge(after(WANTED))[0].status
        verdict, _ = FixedTrees(**unlike).judge(after(WANTED))
        assert (verdict.status, verdict.judged_by, verdict.score) == (True, "classifier", None)
        assert "words is 900, outside of 5 to 400" in verdict.analysis

    @for_each(
        "cost, text, share, status",
        (2, "The yard that built it won a prize.", 75, True),
        (2, "The yard won a prize.", 50, False),
        (1, "The yard that built it won a prize.", 75, False),
    )
    def test_a_verdict_by_words_needs_most_of_them_in_a_passage(self, cost: float, text: str, share: int, status: bool):
        found_last = search_step("Gamma", found(document("x", text)), reply="")
        reached = state(observed_step(OTHER), found_last, typed_only=("web",))

        verdict, _ = FixedTrees(0.5, cost_of_leaving=cost).judge(reached)

        assert (verdict.status, verdict.judged_by, verdict.score) == (status, "words", None)
        assert f"holds {share}% of the question's words" in verdict.analysis
        assert FixedTrees(0.5).judge(reached.with_call("reasoner", {}))[0].judged_by == "classifier"

    def test_a_verdict_without_end_to_the_cost_is_no_estimate(self):
        """A verdict by words can be overruled by an estimate of what suffices."""
        found_last = search_step("Gamma", found(document("x", "A town.")), reply="")
        reached = state(observed_step(OTHER), found_last, typed_only=("web",))

        verdict, _ = FixedTrees(0.5, cost_of_leaving=math.inf).judge(reached)

        assert (verdict.status, verdict.judged_by) == (True, "classifier")

    def test_a_verdict_by_words_counts_earlier_searches(self):
        shown = state(observed_step(SHOWN), search_step("Gamma", found(OTHER)), typed_only=("web",))
        short = replace(shown, question="Who is it?")

        assert all(FixedTrees(0.0).judge(case)[0].status for case in (shown, short))


class TestProbability:
    @pytest.fixture(autouse=True)
    def _xgboost(self):
        pytest.importorskip("xgboost")

    def test_a_probability_is_high_for_what_the_question_needs(self):
        judge = TreeJudge()

        assert judge.estimate(after(WANTED, OTHER))[0] > 0.5 > judge.estimate(after(OTHER))[0]

        assert TreeJudge().estimate(after())[0] == 0

        long = document("Beta", content="Beta is a yard. " * 2_000)

        _, unknown = TreeJudge().estimate(after(long))

        assert unknown is not None
        assert unknown.startswith("words is ")
        assert TreeJudge().estimate(after(WANTED))[1] is None

    def test_a_probability_counts_earlier_searches_alone(self, monkeypatch: pytest.MonkeyPatch):
        calls: list[tuple[Any, ...]] = []
        monkeypatch.setattr(
            "prefrag.components.judge.tree_judge.switch_features", lambda *texts: calls.append(texts) or []
        )
        reached = after(WANTED)
        corrected = Step(Action.UNREADABLE, reply="?")

        TreeJudge().estimate(state(reached.steps[0], corrected, reached.steps[1]))

        [(question, query, new, observed, step, _)] = calls
        assert (question, query, step) == (reached.question, "Beta yard prize", 1)
        assert [passage.id for passage in (*new, *observed)] == ["Beta", "Aurora"]

    def test_takes_the_weights_of_words_from_the_index(self):
        class Statistics:
            def __init__(self) -> None:
                self.weighed: list[str] = []

            def analyze(self, text: str) -> list[str]:
                return text.lower().split()

            def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
                self.weighed += words
                return 10, dict.fromkeys(words, 1)

        statistics = Statistics()

        TreeJudge(term_statistics=statistics).estimate(after(WANTED))

        assert "yard" in statistics.weighed


def test_one_needed_passage_is_enough_and_no_new_one_nothing():
    class OneOfTwo:
        def probabilities(self, rows: list[list[float]]) -> list[float]:
            return [0.8, 0.5][: len(rows)]

    passage = dict.fromkeys(FEATURES, 0.0)
    trees: Any = OneOfTwo()

    assert keep_probability(trees, [passage]) == pytest.approx(0.8)
    assert keep_probability(trees, [passage, passage]) == pytest.approx(0.9)
    assert keep_probability(trees, []) == 0


class TestScores:
    @pytest.fixture(autouse=True)
    def _xgboost(self):
        pytest.importorskip("xgboost")

    async def test_are_higher_for_what_the_question_needs(self):
        other = document("Delta", content="Delta is a yard, which built ships until 1980.")
        reached = after(WANTED, other)

        relevance, same = TreeJudge().score(reached, (WANTED, other))

        best, worst = relevance.scores
        assert -1 <= worst < 0 < best <= 1
        assert (relevance.judged_by, same) == ("classifier", reached)
        assert await TreeJudge().score_async(reached, (WANTED, other)) == (relevance, reached)

    def test_passages_unlike_the_training_have_a_reason_no_score(self):
        long = document("Beta", content="Beta is a yard. " * 2_000)

        relevance, _ = TreeJudge().score(after(long, WANTED), (long, WANTED))

        assert relevance.scores[0] is None
        assert relevance.scores[1] is not None
        assert relevance.analysis.startswith("words is ")
