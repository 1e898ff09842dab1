"""What is counted of a retrieval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.judge_features import FEATURES, as_row, judge_features
from tests.components.samples import document

QUESTION = "When did the yard that built the Aurora win the prize?"
YARD = document("Beta (yard)", content="Beta is a yard.")
AURORA = document("Aurora", content="The Aurora was built by Beta.")


class Rare:
    """Words as they are, the rarest of which is ``yard``."""

    def analyze(self, text: str) -> list[str]:
        return [word.strip(".?()") for word in text.lower().split()]

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        return 100, {word: 1 if word == "yard" else 50 for word in words}


class RareTogether(Rare):
    """The same, asked for all texts at once."""

    calls = 0

    def analyze_many(self, texts: list[str]) -> list[list[str]]:
        self.calls += 1
        return [super(RareTogether, self).analyze(text) for text in texts]

    def analyze(self, text: str) -> list[str]:
        raise AssertionError("Each text is asked for alone.")


def features(
    query: str = QUESTION, new: Any = (YARD,), observed: Any = (), step: int = 0, **more: Any
) -> dict[str, float]:
    return judge_features(QUESTION, query, list(new), list(observed), step, **more)


def test_every_feature_has_a_value_whatever_is_missing():
    for new in ((), (YARD,), (document("", content=""),)):
        for query in ("", "Beta"):
            found = features(query, new)

            assert tuple(found) == FEATURES
            assert len(as_row(found)) == len(FEATURES)


def test_texts_are_analysed_in_one_call_with_the_same_result():
    for new, observed in (((), ()), ((YARD, AURORA), ()), ((YARD,), (AURORA, YARD))):
        together = RareTogether()

        found = features("When was the yard Beta founded?", new, observed, statistics=together)

        assert found == features("When was the yard Beta founded?", new, observed, statistics=Rare())
        assert together.calls == 1


def test_a_title_is_found_as_whole_words_without_its_parenthesis():
    assert features("Who owns Beta?")["best_title_in_query"] == 1
    assert features("Who owns Betas?")["best_title_in_query"] == 0


def test_a_passage_that_has_been_shown_counts_only_as_shown():
    found = features("Beta yard", new=[YARD], observed=[YARD], step=1)

    assert (found["fresh_passages"], found["best_covers_query"]) == (0, -1)
    assert (found["shown_covers_query"], found["shown_title_in_query"]) == (1, 1)


def test_a_passage_of_another_source_with_the_id_of_an_observed_one_is_fresh():
    on_the_web = document(YARD.id, content="Somebody says that the Aurora is a boat.")

    assert features(new=[YARD], observed=[on_the_web])["fresh_passages"] == 1


def test_what_is_open_is_what_the_observed_passages_leave():
    before, after = features(new=[YARD]), features(new=[YARD], observed=[AURORA], step=1)

    assert after["question_observed"] > before["question_observed"] == 0
    assert after["best_covers_open_question"] > before["best_covers_open_question"]
    assert after["best_title_in_observed"] == 1


def test_rare_words_weigh_more():
    assert features("yard prize", statistics=Rare())["best_covers_query"] > 0.8
    assert features("yard prize")["best_covers_query"] == 0.5


def test_one_good_passage_is_enough_and_the_second_is_told_apart():
    found = features("Beta yard", new=[AURORA, YARD])

    assert found["first_covers_query"] == found["second_covers_query"] == 0.5
    assert found["best_covers_query"] == 1


def test_the_scores_of_the_retriever_do_not_matter():
    assert features(new=[replace(YARD, score=17.0)]) == features(new=[replace(YARD, score=None)])


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4), st.lists(st.text(max_size=60), max_size=3))
def test_shares_are_shares(query: str, new: list[str], observed: list[str]):
    passages = [document(f"n{place}", content=text) for place, text in enumerate(new)]
    shown = [document(f"o{place}", content=text) for place, text in enumerate(observed)]

    found = judge_features(QUESTION, query, passages, shown, 0)

    for name, value in found.items():
        if "covers" in name or "covered" in name or name.startswith("query_ob"):
            assert value == -1 or 0 <= value <= 1 + 1e-9, name


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_rank_of_the_first_passage_that_is_new(order: tuple[int, int]):
    both = [YARD, AURORA]

    assert features(new=[both[place] for place in order], observed=[YARD], step=1)["first_fresh"] == order.index(1)
