"""Raised and lowered characters of pages."""

from __future__ import annotations

import time

from prefrag.indexing.readers.raised_page_text import write_raised
from tests.for_each import for_each


@for_each(
    "page, text",
    ("The tax is 19<sup>1</sup> pounds.", "The tax is 19^1 pounds."),
    ("3 &times; 10<SUP>-4</SUP> m<sup>2</sup>", "3 &times; 10^-4 m^2"),
    ("The reef knot<sup>1, 2</sup> holds.", "The reef knot^(1, 2) holds."),
    ("It costs <b>9</b><sup>3</sup>.", "It costs <b>9</b>^3."),
    ("caf&eacute;<sup>4</sup>", "caf&eacute;^4"),
    ("a place.<sup>5</sup>", "a place.^5"),
)
def test_a_raised_number_gets_a_sign_before_it(page: str, text: str) -> None:
    assert write_raised(page) == text


@for_each(
    "page, text",
    ('In 1987<sup id="r1"><a href="#n1">[1]</a></sup> it ran dry.', "In 1987[1] it ran dry."),
    ("640<sup><a href=#n2>2</a></sup> people", "640[2] people"),
    ("640<sup><a href=#n2>a</a></sup> people", "640[a] people"),
    ("51<sup>(2)</sup>", "51[2]"),
)
def test_a_raised_mark_of_a_note_gets_brackets(page: str, text: str) -> None:
    assert write_raised(page) == text


@for_each(
    "page, text",
    ("the 3<sup>rd</sup> of M<sup>lle</sup> Roux", "the 3rd of Mlle Roux"),
    ("44<sup>*</sup> pounds", "44* pounds"),
    ("H<sub>2</sub>O", "H2O"),
    ("<p><sup>1</sup> before noon", "<p>1 before noon"),
    ("12</p><p><sup>1</sup> before noon", "12</p><p>1 before noon"),
    ("5 <sup>1</sup>/<sub>2</sub> litres", "5 1/2 litres"),
    ("5<sup>1</sup>&frasl;<sub>2</sub> litres", "5 1/2 litres"),
    ("101<sub>2</sub>", "101_2"),
    ("a <sup>left open", "a <sup>left open"),
)
def test_other_raised_or_lowered_texts_lose_only_their_tags(page: str, text: str) -> None:
    assert write_raised(page) == text


@for_each("page", "<sup>" * 50_000, "<sup>1" * 50_000, "x<sup>1</sup>" * 50_000, "<b>" * 50_000 + "<sup>1</sup>")
def test_a_page_full_of_raised_texts_is_read_soon(page: str) -> None:
    before = time.process_time()

    write_raised(page)

    assert time.process_time() - before < 3
