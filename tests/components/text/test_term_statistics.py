"""How much of a question its passages cover."""

from __future__ import annotations

from collections.abc import Iterable
from math import isclose, log
from pathlib import Path

import pytest
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.text.term_statistics import analyzed, term_weights, uncovered_share_covered, words


class Statistics:
    """An index of ten documents."""

    FREQUENCIES = {"yard": 4, "prize": 1, "the": 10}

    def analyze(self, text: str) -> list[str]:
        return text.lower().split()

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        return 10, {word: self.FREQUENCIES[word] for word in words if word in self.FREQUENCIES}


class Together(Statistics):
    """The same, asked for all texts at once."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def analyze_many(self, texts: list[str]) -> list[list[str]]:
        self.calls.append(texts)
        return [super(Together, self).analyze(text) for text in texts]

    def analyze(self, text: str) -> list[str]:
        raise AssertionError("Each text is asked for alone.")


def share(question: str, observed: Iterable[str], new: Iterable[str], statistics: Statistics | None = None) -> float:
    return uncovered_share_covered(
        question, [Document(content=text) for text in observed], [Document(content=text) for text in new], statistics
    )


class TestAnalysis:
    def test_is_asked_for_all_texts_at_once_where_that_can_be(self):
        texts, together = ["The Yard", "", "prize prize"], Together()

        assert analyzed(texts, together) == analyzed(texts, Statistics()) == [["the", "yard"], [], ["prize", "prize"]]
        assert together.calls == [texts]

    def test_without_an_index_takes_the_words_as_they_are(self):
        assert analyzed(iter(["The yards", "win"]), None) == [["yards"], []]

    def test_in_one_call_gives_the_same_share(self):
        texts = ("the yard prize", ["the"], ["yard", "prize", "zebra"])
        together = Together()

        assert share(*texts, together) == share(*texts, Statistics()) > 0
        assert len(together.calls) == 1


class TestWeights:
    @pytest.mark.parametrize(
        ("term", "weight"),
        [
            ("yard", log(1 + (10 - 4 + 0.5) / (4 + 0.5))),
            ("prize", log(1 + (10 - 1 + 0.5) / (1 + 0.5))),
            ("the", log(1 + 0.5 / 10.5)),
            ("unheard", log(1 + 10.5 / 0.5)),
        ],
    )
    def test_are_the_idf_of_bm25(self, term: str, weight: float):
        assert isclose(term_weights([term], Statistics())[term], weight)

    def test_are_highest_for_a_word_that_the_index_does_not_know(self):
        weights = term_weights(["the", "yard", "prize", "unheard"], Statistics())

        assert sorted(weights, key=weights.__getitem__) == ["the", "yard", "prize", "unheard"]

    def test_are_alike_without_an_index(self):
        assert term_weights(["a", "b", "a"], None) == {"a": 1.0, "b": 1.0}

    def test_of_an_empty_index_are_alike_and_above_zero(self):
        class Empty(Statistics):
            def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
                return 0, dict.fromkeys(words, 0)

        weights = term_weights(["a", "b"], Empty())

        assert weights["a"] == weights["b"] > 0


class TestShare:
    def test_is_of_the_weight_of_what_was_open(self):
        yard, prize = log(1 + 6.5 / 4.5), log(1 + 9.5 / 1.5)

        assert isclose(share("yard prize", [], ["a yard"], Statistics()), yard / (yard + prize))
        assert isclose(share("yard prize", [], ["a prize"], Statistics()), prize / (yard + prize))

    def test_counts_words_that_the_index_does_not_know_as_open(self):
        prize, unheard = log(1 + 9.5 / 1.5), log(1 + 10.5 / 0.5)

        assert isclose(share("prize unheard", [], ["a prize"], Statistics()), prize / (prize + unheard))

    def test_does_not_count_what_the_observed_passages_cover(self):
        assert share("yard prize", ["the yard"], ["the yard again"], Statistics()) == 0
        assert share("yard prize", ["the yard"], ["the prize"], Statistics()) == 1

    def test_is_of_the_best_passage_not_of_all_together(self):
        assert share("alpha beta", [], ["only alpha", "only beta"]) == 0.5
        assert share("alpha beta", [], ["only alpha", "alpha with beta"]) == 1

    def test_is_none_without_new_passages_or_open_words(self):
        assert share("alpha", [], []) == 0
        assert share("alpha", ["alpha"], ["alpha"]) == 0
        assert share("", [], ["alpha"]) == 0

    def test_reads_titles_as_well_as_texts(self):
        titled = Document(content="It was a boat.", meta={"title": "Aurora"})

        assert uncovered_share_covered("Aurora", [], [titled]) == 1
        assert uncovered_share_covered("Aurora", [titled], [titled]) == 0

    @pytest.mark.parametrize("bare", [Document(id="a"), Document(id="a", meta={"title": None})])
    def test_of_a_document_without_title_and_text_is_none(self, bare: Document):
        assert uncovered_share_covered("none title", [], [bare]) == 0

    @given(st.text(), st.lists(st.text(), max_size=3), st.lists(st.text(), max_size=3))
    def test_lies_between_none_and_all(self, question: str, observed: list[str], new: list[str]):
        assert 0 <= share(question, observed, new) <= 1
        assert 0 <= share(question, observed, new, Statistics()) <= 1 + 1e-9


def test_words_without_an_index_are_those_of_four_letters_and_more():
    assert words("Who built the YARD in 1974?") == ["built", "yard", "1974"]


def test_an_index_stems_the_words_and_knows_their_frequencies(tmp_path: Path):
    store = TantivyDocumentStore(path=str(tmp_path / "index"))
    store.write_documents(
        [Document(id=str(number), content="A yard.") for number in range(9)] + [Document(id="p", content="Prizes won.")]
    )
    found = [Document(content="The yards.")]
    yard, prize = log(1 + 1.5 / 9.5), log(1 + 9.5 / 1.5)

    assert isclose(uncovered_share_covered("the yard and a prize", [], found, store), yard / (yard + prize))
