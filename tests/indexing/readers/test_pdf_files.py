"""What is read from a PDF, and what is reported about the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefrag.components.text.sentences import shown_sentences
from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.report import CannotRead
from tests.indexing.pdfs import make_composite_pdf, make_drawn_pdf, make_encrypted_pdf, make_pdf, place_lines

pytest.importorskip("pypdfium2")


def test_words_stand_apart_where_their_font_has_no_blank():
    words = [f"{word}{number}" for number in range(40) for word in ("harbour", "pilot", "tide")]

    [passage] = FileConverter().passages(Path("/manual.pdf"), make_composite_pdf(words))

    assert (passage.content or "").split() == words


def test_bookmarks_are_the_headings_of_what_follows_their_words():
    pages = ["Of ropes\n" + "A rope is long. " * 40, "Of knots\n" + "A knot is tight. " * 40]
    file = make_pdf(pages, bookmarks=[("Of ropes", 0), ("OF KNOTS", 1)])

    passages = FileConverter().passages(Path("/manual.pdf"), file)

    assert list(dict.fromkeys(passage.meta["heading"] for passage in passages)) == ["Of ropes", "OF KNOTS"]


def test_pages_that_are_pictures_are_named_and_the_others_read():
    converter = FileConverter()

    passages = converter.passages(Path("/a.pdf"), make_pdf(["Text.", None, "", *[None] * 6]))

    assert [passage.content for passage in passages] == ["Text."]
    assert converter.loss.startswith("pictures without text on page 2, 4, 5, 6, 7 and 2 more: `ocrmypdf ")
    converter.passages(Path("/a.txt"), b"Text.")
    assert converter.loss == ""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (make_pdf([None, ""]), "it is a scan, pictures without text: `ocrmypdf IN"),
        (make_pdf([""]), "there is no text in it"),
        (make_composite_pdf(["harbour"], known=False), "its fonts do not say which letters they show: `ocrmypdf "),
        (make_encrypted_pdf(), "it is encrypted: save a copy without a password"),
        (b"%PDF-1.4\nbroken", "it cannot be read as a PDF.*damaged"),
    ],
    ids=["a scan", "nothing", "letters that nobody knows", "a password", "damaged"],
)
def test_what_cannot_be_read_is_refused_with_the_reason(data: bytes, reason: str):
    with pytest.raises(CannotRead, match=reason):
        FileConverter().passages(Path("/a.pdf"), data)


def test_no_header_falls_into_a_sentence_across_pages():
    texts = ("The keeper is paid by the", "county of Eskdale since 2019.", "The auditor was Signe Holm.")
    pages = [f"Port of Sandmere - Annual report\nPage {n} of 3\n{text}" for n, text in enumerate(texts, start=1)]

    [passage] = FileConverter().passages(Path("/report.pdf"), make_pdf(pages))

    assert shown_sentences(passage.content or "") == [
        "Port of Sandmere - Annual report",
        "The keeper is paid by the county of Eskdale since 2019.",
        "The auditor was Signe Holm.",
    ]


def test_words_far_beside_a_page_number_stand_once():
    texts = ("The keeper of the light", "is paid by the", "county of Eskdale.")
    pages = [
        place_lines([(72, 760, "The harbour rules"), (500, 760, f"{number}"), (72, 700, text)])
        for number, text in enumerate(texts, start=31)
    ]

    [passage] = FileConverter().passages(Path("/rules.pdf"), make_drawn_pdf(pages))

    assert (passage.content or "").split("\n") == [
        "The harbour rules 31",
        "The keeper of the light is paid by the county of Eskdale.",
    ]


def test_a_footer_does_not_fall_into_a_sentence():
    texts = ("The keeper of the light in the harbour is paid by", "county of Eskdale.")
    pages = [f"{text}\nPort of Sandmere, annual report - page {n}" for n, text in enumerate(texts, start=1)]

    [passage] = FileConverter().passages(Path("/report.pdf"), make_pdf(pages))

    assert (passage.content or "").split("\n") == [" ".join(texts), "Port of Sandmere, annual report - page 2"]


def test_what_a_browser_prints_around_a_page_stands_once():
    texts = ("The keeper of the light", "is paid by the", "county of Eskdale.")
    pages = [
        place_lines(
            [
                *((36, 760, text), (24, 818, "12/1/26, 3:42 PM"), (260, 818, "Harbour rules")),
                *((24, 16, "https://lorne.example/rules"), (558, 16, f"{number}/3")),
            ]
        )
        for number, text in enumerate(texts, start=1)
    ]

    [passage] = FileConverter().passages(Path("/rules.pdf"), make_drawn_pdf(pages))

    assert (passage.content or "").split("\n") == [
        "The keeper of the light is paid by the county of Eskdale.",
        "12/1/26, 3:42 PM Harbour rules",
        "https://lorne.example/rules 3/3",
    ]


def test_a_path_is_no_title_and_the_file_name_is_shown():
    [passage] = FileConverter().passages(Path("/Berth plan.pdf"), make_pdf(["The berths."], title="/tmp/berths"))

    assert passage.meta["title"] == "Berth plan"
