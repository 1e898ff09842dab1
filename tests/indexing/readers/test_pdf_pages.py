"""Drawing the pages of PDF files."""

from __future__ import annotations

import base64

import pytest

from prefrag.indexing.converter_process import ConverterProcess, LimitReached
from prefrag.indexing.readers import pdf_pages
from prefrag.indexing.readers.pdf_pages import draw_page
from prefrag.indexing.report import CannotRead
from tests.for_each import for_each
from tests.indexing.converting import HERE
from tests.indexing.pdfs import make_endless_pdf, make_pdf

pytest.importorskip("pypdfium2", reason="the extra 'files' is not installed")

PDF = make_pdf(["The first page.", "The keel is laid on Monday."])


def test_page_is_a_picture_with_words_and_places_of_a_sentence():
    drawn = HERE.draw(PDF, 2, "the KEEL is\nlaid on Monday")

    assert base64.b64decode(drawn["png"]).startswith(b"\x89PNG")
    assert (drawn["page"], drawn["pages"], drawn["width"]) == (2, 2, 1_400)
    assert [run["text"].strip() for run in drawn["runs"]] == ["The keel is laid on Monday."]
    [mark] = drawn["marks"]
    assert all(0 <= mark[name] < 1 for name in ("left", "top", "width", "height"))
    assert mark["top"] == pytest.approx(drawn["runs"][0]["top"], abs=0.02)


@for_each("sentence, page, marks", ("The keel is laid", 2, 1), ("no such words", 1, 0), ("", 1, 0), ("?!", 1, 0))
def test_a_sentence_that_stands_on_the_next_page_is_shown_there(sentence: str, page: int, marks: int):
    drawn = HERE.draw(PDF, 1, sentence)

    assert (drawn["page"], len(drawn["marks"])) == (page, marks)


def test_the_rest_of_a_sentence_is_marked():
    data = make_pdf(["Fees.\nThe white tent of the summer feast costs", "180 euros a day.\nThe gate is green."])

    drawn = [HERE.draw(data, page, "The white tent of the summer feast costs 180 euros a day.") for page in (1, 2)]

    assert [shown["page"] for shown in drawn] == [1, 2]
    assert [[mark["text"].strip() for mark in shown["marks"]] for shown in drawn] == [
        ["The white tent of the summer feast costs"],
        ["180 euros a day"],
    ]


@for_each(
    "top, sentence, marks",
    # A single letter is no rest of a sentence.
    ("At nine the gate opens.", "The crane is in hall a", []),
    # The rest of a sentence begins the page.
    ("The gate is green. It opens at nine.", "The boat house opens at nine.", []),
    ("opens at nine.", "The boat house opens at nine.", ["opens at nine"]),
    # A line at the top of both pages may stand before it.
    ("Rules of the yard, page 2\nopens at nine.", "The boat house opens at nine.", ["opens at nine"]),
)
def test_the_rest_of_a_sentence_begins_the_page(top: str, sentence: str, marks: list[str]):
    data = make_pdf(["Rules of the yard, page 1\nThe crane is in hall b. The boat house", f"{top}\nBye."])

    assert [mark["text"].strip() for mark in HERE.draw(data, 2, sentence)["marks"]] == marks


@for_each("data, page, reason", (PDF, 3, "has 2 pages"), (PDF, 0, "has 2 pages"), (b"%PDF-1.4 no", 1, "cannot be read"))
def test_what_cannot_be_drawn_is_refused(data: bytes, page: int, reason: str):
    with pytest.raises(CannotRead, match=reason):
        HERE.draw(data, page)


def test_a_page_of_very_many_words_is_drawn_with_some_of_them(monkeypatch: pytest.MonkeyPatch):
    data = make_pdf(["\n".join(f"Word {number}." for number in range(40))])
    assert len(draw_page(data, 1)["runs"]) == 40

    characters = sum(len(f"Word {number}.") for number in range(40)) + 2 * 39
    monkeypatch.setattr(pdf_pages, "_MOST_LOOKS", 10 * characters)

    assert len(draw_page(data, 1)["runs"]) == 10


@pytest.mark.slow
@for_each("limit", {"seconds": 1.0}, {"wait": 1.0})
def test_a_page_that_takes_too_long_is_given_up(limit: dict[str, float]):
    process = ConverterProcess(**limit)
    try:
        with pytest.raises(LimitReached, match="takes more than 1 s"):
            process.draw(make_endless_pdf(), 1, "words")
    finally:
        process.close()
