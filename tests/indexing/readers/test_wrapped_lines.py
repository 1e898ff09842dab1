"""Joining lines that were broken at the width of a page."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.indexing.readers.wrapped_lines import join_broken_words, unwrap_lines
from tests.for_each import for_each

# The widest line, which tells the width of the page in each row.
FULL = "This line of sixty letters was filled by those who wrote it\n\n"


@for_each(
    "text, unwrapped",
    ("We ordered 2,500 pieces of the\nKR-11 in\nMay.", "We ordered 2,500 pieces of the KR-11 in May."),
    (
        "It is signed by the master of the house, and under-\nsigned",
        "It is signed by the master of the house, and undersigned",
    ),
    ("A well-known one, whom I call the most well-\nknown", "A well-known one, whom I call the most well-known"),
    (
        "> You asked whether it moves to the upper\n> floor.\nNo.",
        "> You asked whether it moves to the upper floor.\nNo.",
    ),
    ("  -a, --all\n      Light all.\n  -b  Burn.\n", "  -a, --all Light all.\n  -b  Burn.\n"),
    ("1. The first of them goes on\n   here.\n2. Second.", "1. The first of them goes on here.\n2. Second."),
    ("From: Ada Lovelace, of the engine's company\nTo: Charles Babbage", None),
    ("lamp     small     A note that fills the line\nbowl     large     Another", None),
    ("Yours\nAda, 12 Harbour Lane\nPellhaven", None),
    ("A rose of the garden,\nRed as the morning,\nSleeps on the hill.", None),
    ("for (lamp in every_lamp_of_the_whole_house) {\nLight(it);\n}", None),
    (f"{'A paragraph on one line ' * 9}\nAnother one", None),
)
def test_the_lines_of_a_paragraph_are_joined_and_others_stay(text: str, unwrapped: str | None):
    assert unwrap_lines(FULL + text) == FULL + (unwrapped or text)


@for_each(
    "pages, joined",
    (["paid by the har-", "bour master. He"], ["paid by the harbour", "master. He"]),
    (["a well-", "known rower", "The well-known one"], ["a well-known", "rower", "The well-known one"]),
    (["from 1990-", "2000 it was shut"], None),
    (["the Anglo-", "Saxon ship"], None),
    (["the har-\n\n", "bour"], None),
)
def test_a_word_broken_at_a_page_end_is_joined(pages: list[str], joined: list[str] | None):
    texts = list(pages)

    join_broken_words(texts)

    assert texts == (joined or pages)


@given(st.text(alphabet="aB-.> |;1\n\f\t\u2022"))
def test_no_word_is_lost(text: str):
    assert [character for character in unwrap_lines(text) if character.isalnum()] == [
        character for character in text if character.isalnum()
    ]


@pytest.mark.slow
@for_each("part", "a", "a-\n", "a b\n", " ", "> ", "|", ". ", "A\tb\n")
def test_a_hostile_text_is_read_soon(part: str):
    before = time.process_time()

    unwrap_lines(part * (200_000 // len(part)))

    assert time.process_time() - before < 2
