"""The sentences of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.text.sentences import sentence_at, sentence_spans, split_sentences, split_strips

TEXT = "Alpha sails. It was built in 1969 by Dr. beta, of Gamma!\n\nFerries\nDelta won?  \u201cYes.\u201d"
SENTENCES = ["Alpha sails.", "It was built in 1969 by Dr. beta, of Gamma!", "Ferries", "Delta won?", "\u201cYes.\u201d"]


def test_end_with_a_sign_before_a_capital_or_with_the_line():
    assert split_sentences(TEXT) == SENTENCES


@pytest.mark.parametrize("text", ["", " ", "\n\n \n"])
def test_there_are_none_in_nothing(text: str):
    assert split_sentences(text) == []


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_one_at_a_place_is_whole(sentence: str):
    begin = TEXT.index(sentence)

    assert {sentence_at(TEXT, begin), sentence_at(TEXT, begin + len(sentence) - 1)} == {sentence}


def test_a_long_one_is_cut():
    text = f"{'a ' * 2_000}1969{' b' * 2_000}"

    assert len(split_sentences(text)[0]) <= 600
    assert "1969" in sentence_at(text, text.index("1969"))
    assert len(sentence_at(text, text.index("1969"))) <= 600


@given(st.text(alphabet="aA.! \n", max_size=40), st.integers(0, 50))
def test_any_place_of_any_text_has_one(text: str, place: int):
    assert sentence_at(text, place) in text


class TestStrips:
    def test_of_few_sentences_are_about_equally_long_and_stand_in_the_text(self):
        text = "One is. Two is.\n\nThree is.  Four is. Five is. Six is. Seven is."

        assert split_strips(text, 3) == ["One is. Two is.", "Three is.  Four is.", "Five is. Six is. Seven is."]

    @pytest.mark.parametrize("text", ["One is.", "One is. Two is."])
    def test_one_or_two_sentences_are_one(self, text: str):
        assert split_strips(text, 1) == [text]

    def test_nothing_has_none(self):
        assert split_strips(" \n", 3) == []

    @given(st.text(alphabet="aA.! \n", max_size=60), st.integers(1, 4))
    def test_nothing_is_lost(self, text: str, sentences: int):
        assert "".join("".join(split_strips(text, sentences)).split()) == "".join(text.split())


class TestToShow:
    def shown(self, text: str) -> list[str]:
        return [text[begin:end] for begin, end in sentence_spans(text)]

    def test_one_is_not_cut_where_its_line_is_folded(self):
        text = "A heading\nThe pump runs for ten\nminutes a day. Then it\nrests.\n- a point\nAnother point"

        assert self.shown(text) == [
            "A heading",
            "The pump runs for ten\nminutes a day.",
            "Then it\nrests.",
            "- a point",
            "Another point",
        ]

    def test_a_long_one_is_several_cut_between_words(self):
        assert [len(part) <= 400 and set(part.split()) for part in self.shown("word " * 200)] == [{"word"}] * 3

    @given(st.text(alphabet="aA.!:| \n\u3002", max_size=40))
    def test_they_stand_in_the_text_in_order_and_leave_only_blanks_and_stops_out(self, text: str):
        spans = sentence_spans(text)

        assert all(text[begin:end].strip() == text[begin:end] != "" for begin, end in spans)
        assert sorted(spans) == spans
        left = "".join(
            text[begin:end]
            for begin, end in zip([0, *(e for _, e in spans)], [*(b for b, _ in spans), len(text)], strict=True)
        )
        assert not left.strip(" \n\u3002")
