"""The features of a retrieval."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.judge.switch_features import FEATURES, as_row, switch_features
from tests.components.samples import AtOnce, document
from tests.for_each import for_each

QUESTION = "When did the yard that built the Aurora win the prize?"
YARD = document("Beta (yard)", content="Beta is a yard.")
AURORA = document("Aurora", content="The Aurora was built by Beta.")


class Rare:
    """Statistics in which ``yard`` is the rarest word, and words are not analysed."""

    def analyze(self, text: str) -> list[str]:
        return [word.strip(".?()") for word in text.lower().split()]

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        return 100, {word: 1 if word == "yard" else 50 for word in words}


def features(
    query: str = QUESTION, new: Any = (YARD,), observed: Any = (), step: int = 0, **more: Any
) -> list[dict[str, float]]:
    return switch_features(QUESTION, query, list(new), list(observed), step, **more)


def test_every_feature_has_a_value_whatever_is_missing():
    for new in ((), (YARD,), (document("", content=""),), (YARD, AURORA)):
        for query in ("", "Beta"):
            rows = features(query, new)

            assert len(rows) == len(new)
            assert all(tuple(passage) == FEATURES for passage in rows)
            assert all(len(as_row(passage)) == len(FEATURES) for passage in rows)


def test_texts_are_analysed_in_one_call_with_the_same_result():
    for new, observed in (((), ()), ((YARD, AURORA), ()), ((YARD,), (AURORA, YARD))):
        together = AtOnce(Rare())

        rows = features("When was the yard Beta founded?", new, observed, statistics=together)

        assert rows == features("When was the yard Beta founded?", new, observed, statistics=Rare())
        assert len(together.calls) == 1


def test_a_title_is_found_as_whole_words_without_its_parenthesis():
    assert features("Who owns Beta?")[0]["title_in_query"] == 1
    assert features("Who owns Betas?")[0]["title_in_query"] == 0


def test_a_passage_that_has_been_shown_is_described_as_shown():
    again, fresh = features("Beta yard", new=[YARD, AURORA], observed=[YARD], step=1)

    assert (fresh["new_passages"], fresh["fresh_passages"], fresh["first_fresh"]) == (2, 1, 1)
    assert (fresh["shown_covers_query"], fresh["shown_title_in_query"]) == (1, 1)
    assert (fresh["shown"], fresh["rank"], fresh["rank_among_fresh"]) == (0, 1, 0)
    assert (again["shown"], again["rank"], again["rank_among_fresh"]) == (1, 0, -1)
    assert again["ahead_covers_query"] > 0 == fresh["ahead_covers_query"], "each against the others that are new"


def test_passages_of_one_file_share_its_title():
    first, second, other = features(new=[document("a", title="tar"), document("b", title="tar"), document("c")])

    assert (first["same_title"], second["same_title"], other["same_title"]) == (0.5, 0.5, 0)
    assert first["distinct_titles"] == pytest.approx(2 / 3)
    assert (features(new=[document("")])[0]["same_title"], features(new=[document("")])[0]["distinct_titles"]) == (
        -1,
        -1,
    )


def test_what_is_open_is_what_the_observed_passages_leave():
    (before,), (after,) = features(new=[YARD]), features(new=[YARD], observed=[AURORA], step=1)

    assert after["question_observed"] > before["question_observed"] == 0
    assert after["covers_open_question"] > before["covers_open_question"]
    assert after["title_in_observed"] == 1


def test_rare_words_weigh_more():
    assert features("yard prize", statistics=Rare())[0]["covers_query"] > 0.8
    assert features("yard prize")[0]["covers_query"] == 0.5


def test_a_passage_is_compared_with_the_best_of_the_others():
    aurora, yard = features("Beta yard", new=[AURORA, YARD])

    assert (aurora["covers_query"], yard["covers_query"]) == (0.5, 1)
    assert (aurora["ahead_covers_query"], yard["ahead_covers_query"]) == (-0.5, 0.5)
    assert features("Beta yard", new=[YARD])[0]["ahead_covers_query"] == 0


def test_query_words_count_more_in_a_sentence_and_side_by_side():
    query = "captain harbour"
    (together,) = features(query, [document("Gamma", content="A town. The captain left the harbour. A ship.")])
    (apart,) = features(query, [document("Gamma", content="The captain left. A town by the harbour.")])
    (side_by_side,) = features(query, [document("Gamma", content="The captain harbour of the south.")])
    assert together["covers_query"] == apart["covers_query"] == together["sentence_covers_query"] == 1
    assert apart["sentence_covers_query"] == 0.5
    assert (side_by_side["holds_word_pairs"], together["holds_word_pairs"]) == (1, 0)


@for_each(
    "query, whole, added, starts, is_name",
    ("Who founded the Rank Organisation?", 1, 1, 1, 1),
    ("Where is Rank in London?", 0, 0, 0, 0),
    ("Where is Rank?", 1, 1, 1, 0),
    ("Who owned the Aurora?", 0, -1, 0, 0),
    ("who owned it", -1, -1, 0, 0),
)
def test_a_name_is_looked_for_as_a_whole(query: str, whole: float, added: float, starts: float, is_name: float):
    (row,) = features(query, [document("Rank Organisation", content="A firm.")])

    assert row["holds_whole_names"] == row["title_holds_whole_names"] == whole
    assert row["holds_added_whole_names"] == added
    assert (row["title_starts_with_name"], row["title_is_name"]) == (starts, is_name)


@for_each(
    "query, asked",
    ("When was Beta founded?", ["asks_when"]),
    ("Beta director", ["asks_who"]),
    ("How many live in the country?", ["asks_where", "asks_how_many"]),
)
def test_the_kind_of_question_is_recognised(query: str, asked: list[str]):
    kinds = ("asks_when", "asks_who", "asks_where", "asks_how_many")
    assert [kind for kind in kinds if features(query)[0][kind]] == asked


def test_years_are_counted_and_scores_do_not_matter():
    (row,) = features(new=[document("Beta", content="From 1974 to 2003, of 15000 ships.")])
    assert row["years"] == 2
    assert features(new=[replace(YARD, score=17.0)]) == features(new=[replace(YARD, score=None)])


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4), st.lists(st.text(max_size=60), max_size=3))
def test_shares_are_shares(query: str, new: list[str], observed: list[str]):
    passages = [document(f"n{place}", content=text) for place, text in enumerate(new)]
    shown = [document(f"o{place}", content=text) for place, text in enumerate(observed)]

    rows = switch_features(QUESTION, query, passages, shown, 0)

    assert len(rows) == len(passages)
    for name, value in (value for passage in rows for value in passage.items()):
        if name.startswith("ahead"):
            assert -2 <= value <= 2, name
        elif "covers" in name or "covered" in name or "holds" in name or name.startswith("query_ob"):
            assert value == -1 or 0 <= value <= 1 + 1e-9, name


@for_each("order", (0, 1), (1, 0))
def test_the_rank_of_the_first_new_passage(order: tuple[int, int]):
    both = [YARD, AURORA]
    on_the_web = document(AURORA.id, content="Somebody writes that the Aurora is a boat.")
    rows = features(new=[both[place] for place in order], observed=[YARD, on_the_web], step=1)
    assert [passage["first_fresh"] for passage in rows] == [order.index(1)] * 2
    assert rows[0]["fresh_passages"] == 1
