"""The input of the reader's encoder."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from prefrag.components.reader.reader_input import encode, passage_text


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """A tokenizer whose tokens are words."""
    words = ["[UNK]", "[CLS]", "[SEP]", "who", "built", "the", "mill", "ann", "did", "."]
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def test_question_is_first_and_passages_end_with_separators(tokenizer):
    encoded = encode(tokenizer, "who built", [("", "ann did"), ("Mill", "the mill")])
    assert [tokenizer.id_to_token(one) for one in encoded.ids] == (
        ["[CLS]", "who", "built", "[SEP]", "ann", "did", "[SEP]", "[UNK]", ".", "the", "mill", "[SEP]"]
    )
    assert encoded.types == [0] * 4 + [1] * 8
    assert encoded.passage == [-1, -1, -1, -1, 0, 0, -1, 1, 1, 1, 1, -1]
    spans = [
        encoded.texts[p][b:e] for p, b, e in zip(encoded.passage, encoded.begin, encoded.end, strict=True) if p >= 0
    ]
    assert spans == ["ann", "did", "Mill", ".", "the", "mill"]


def test_title_comes_before_the_text_but_no_record_number():
    assert passage_text("The Mill", "Ann built it.") == "The Mill. Ann built it."
    assert passage_text("PMID 23649844", "Ann built it.") == "Ann built it."
    assert passage_text("", "Ann built it.") == "Ann built it."


def test_only_the_longest_passages_are_cut(tokenizer):
    encoded = encode(tokenizer, "who", [("", "ann did"), ("", "mill " * 50), ("", "the " * 40)], longest=30)

    assert len(encoded.ids) <= 30
    assert [encoded.passage.count(place) for place in range(3)] == [2, 11, 11]


@given(lengths=st.lists(st.integers(0, 60), max_size=6), longest=st.integers(20, 64))
def test_input_is_never_too_long_and_full_where_it_can_be(tokenizer, lengths, longest):
    encoded = encode(tokenizer, "who", [("", "mill " * length) for length in lengths], longest=longest)

    whole = 3 + sum(lengths) + len(lengths)
    assert len(encoded.ids) <= longest
    assert len(encoded.ids) > longest - max(1, len(lengths)) or len(encoded.ids) == whole


@pytest.mark.parametrize("longest", range(12, 26))
def test_a_passage_that_is_cut_ends_within_no_number(tokenizer, longest):
    text = "the mill cost 1,250,000 in 1931, ann built it. " * 3
    encoded = encode(tokenizer, "who", [("", text)], longest=longest)

    assert text[: max(encoded.end)].split()[-1] in text.split()
