"""Running headers, footers and page numbers leave the text."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from prefrag.indexing.readers.running_lines import take_out_running_lines
from tests.for_each import for_each

TEXTS = ("The keeper is paid in May.", "He lives in Eskdale.", "All fees were raised.", "The auditor was Signe Holm.")


def without(pages: Sequence[Sequence[str]]) -> list[list[str]]:
    lines = [list(page) for page in pages]
    take_out_running_lines(lines)
    return [[line.replace("\t", " ").strip() for line in page if line.strip()] for page in lines]


@for_each(
    "header, footer", ("Port of Sandmere", "Page {} of 4"), ("{}", "- {} -"), ("Seite {} von 12", "Annual report 2025")
)
def test_repeated_lines_leave_and_the_first_stays(header: str, footer: str):
    pages = [(header.format(n), text, footer.format(n)) for n, text in enumerate(TEXTS, start=9)]

    first, *middle, last = without(pages)

    assert first == [line for line in (header, TEXTS[0], footer) if "{}" not in line]
    assert [*middle, last] == [[text] for text in TEXTS[1:]]


def test_a_footer_with_words_stays_on_its_first_page():
    pages = [(text, "IBAN DE02 1203 0000 0000 2020 51, bank of Eskdale") for text in TEXTS]

    assert without(pages) == [list(pages[0])] + [[text] for text in TEXTS[1:]]


def test_the_title_of_a_chapter_stays_on_its_first_page():
    pages = [("Fees" if number < 3 else "Moorings", text) for number, text in enumerate(TEXTS[:3] + TEXTS[:3])]

    assert [page[0] for page in without(pages) if len(page) > 1] == ["Fees", "Moorings"]


# The last line of a page and the first line of the next page, which are parts of one sentence.
ACROSS_PAGES = (
    ("The keeper is paid by the", "county of Eskdale."),
    ("The keeper lives in", "a house of the county."),
    ("Der Lotse wird vom", "Rat der Gilde bezahlt."),
    ("The fees were raised in May,", "as Signe Holm wrote."),
)


@for_each("before, behind", *ACROSS_PAGES)
def test_a_footer_moves_to_the_first_page_that_ends(before: str, behind: str):
    pages = [(text, "Printed on 3 May 2026") for text in (before, behind, *TEXTS)]

    assert without(pages) == [[before], list(pages[1])] + [[text] for text in TEXTS]


@for_each("before, behind", *ACROSS_PAGES)
def test_a_header_moves_to_the_first_page_that_begins(before: str, behind: str):
    pages = [[before], *(["S. Holm and others", text] for text in (behind, *TEXTS))]

    assert without(pages) == [[before], [behind], pages[2]] + [[text] for text in TEXTS[1:]]


@for_each("before, behind", *ACROSS_PAGES)
def test_a_header_stands_above_the_paragraph_if_all_go_on(before: str, behind: str):
    texts = [*(f"{behind} {text} {before}" for text in TEXTS), behind]
    pages = [[TEXTS[0], before], *(["S. Holm and others", "Skua", text] for text in texts)]

    assert without(pages) == [[TEXTS[0], f"S. Holm and others\n\nSkua\n{before}"], *([text] for text in texts)]


def test_a_header_of_one_sentence_is_no_title_of_the_next():
    texts = ("board and the owners of the", "boats and by the", "town.")
    pages = [["Set by the"], *(["Fees 2024", text] for text in texts), *(["Fees 2025", text] for text in TEXTS)]

    assert without(pages)[:5] == [["Fees 2024\nSet by the"], *([text] for text in texts), ["Fees 2025", TEXTS[0]]]


@for_each(
    "before, behind",
    ("The keeper is paid in May.", "All fees were raised."),
    ("To sign:", "a) ink"),
    ("Gull Berth 9", "Tern Berth 12"),
    ("Prices are given below, sorted by name,", "Anchor 40"),
    ("1. open the gate.", "2. close it."),
    ("", "a fee"),
)
def test_without_a_sentence_across_pages_the_first_stays(before: str, behind: str):
    pages = [(before, "Printed on 3 May 2026"), *((text, "Printed on 3 May 2026") for text in (behind, *TEXTS))]

    assert without(pages)[0] == [line for line in pages[0] if line]


@for_each(
    "footer",
    "Handbook 2026 Page {}",
    "Version 1.2 - page {}/4 - confidential",
    "Seite {} von 4 Stand: 03.05.2026",
    "Drawing 114 Sheet {} of 4",
    # A tab is a wide gap.
    "Lorne Sailing Club\t{}",
    "{}\tLorne Sailing Club",
    "IBAN GB29 NWBK 6016 1331 9268 19\t{}/4",
    "Harbour rules | {}",
    "Harbour rules 2026 - {} of 4",
    # The address of a page, as a browser prints it.
    "https://lorne.example/harbour/rules {}/4",
    "file:///C:/rules.html {}/4",
)
def test_words_beside_a_page_number_stay_on_the_first_page(footer: str):
    address = "Quay Road 1, Lorne"
    pages = [(text, address, footer.format(number)) for number, text in enumerate(TEXTS, start=1)]

    assert without(pages) == [
        [TEXTS[0], address, footer.format(1).replace("\t", " ")],
        *([text] for text in TEXTS[1:]),
    ]


def test_words_on_the_other_side_of_facing_pages_stay_once():
    headers = ("1 | Harbour rules", "Harbour rules | 2", "3 | Harbour rules", "Harbour rules | 4")
    pages = list(zip(headers, TEXTS, strict=True))

    assert without(pages) == [[headers[0], TEXTS[0]]] + [[text] for text in TEXTS[1:]]


def test_other_words_beside_a_page_number_stay():
    headers = ("Fees\t7", "Fees\t8", "Moorings\t9", "Moorings\t10")
    pages = list(zip(headers, TEXTS, strict=True))

    assert [page[0] for page in without(pages) if len(page) > 1] == ["Fees 7", "Moorings 9"]


def test_headers_of_facing_pages_stay_on_their_first_pages():
    headers = ("The fees 101", "102 Harbour rules", "The fees 103", "104 Harbour rules")
    pages = list(zip(headers, TEXTS, strict=True))

    assert [page[0] for page in without(pages) if len(page) > 1] == ["The fees 101", "102 Harbour rules"]


@for_each("footer", "{}", "Foreword - page {}", "Foreword\t{}")
def test_small_roman_page_numbers_leave(footer: str):
    pages = [(text, footer.format(roman)) for text, roman in zip(TEXTS, ("viii", "ix", "x", "xi"), strict=True)]

    assert without(pages)[1:] == [[text] for text in TEXTS[1:]]


def test_a_footer_with_the_second_of_printing_stays_once():
    pages = [(text, f"Printed on 03.05.2026 10:11:{n}9 by una") for n, text in enumerate(TEXTS)]

    assert without(pages)[1:] == [[text] for text in TEXTS[1:]]


@for_each(
    "header",
    *("Invoice No. {}", "Invoice 2026-{}", "Chapter {}", "{} May 2026", "{} Mill Lane", "{}. Sign the book"),
    *("Week {} of 12", "Part {} of 4", "Open on {}/5/2026", "At 10:1{}", "Part No. {}/4"),
)
def test_numbers_that_go_up_like_those_of_pages_stay(header: str):
    pages = [(header.format(number), text) for number, text in enumerate(TEXTS, start=1)]

    assert without(pages) == [list(page) for page in pages]


def test_roman_capitals_stay():
    pages = list(zip(("I", "II", "III", "IV"), TEXTS, strict=True))

    assert without(pages) == [list(page) for page in pages]


@for_each(
    "pages",
    [("Usage", "a"), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",), ("Usage", "h"), ("i",), ("Usage", "j")],
    [("Item 1 costs 7 pounds", "a"), ("Item 2 costs 9 pounds", "b"), ("Item 4 costs 3 pounds", "c")],
    [("a", "Rope", "b"), ("c", "Rope", "d"), ("e", "Rope", "f"), ("g", "Rope", "h")],
    [("Rope", "a")],
    [(), ()],
)
def test_lines_that_repeat_seldom_or_within_the_text_stay(pages: Sequence[Sequence[str]]):
    assert without(pages) == [list(page) for page in pages]


@given(st.lists(st.lists(st.sampled_from(["", "a", "b 1", "b 2", "c"]) | st.text(max_size=9), max_size=9), max_size=9))
def test_only_repeated_lines_leave_any_pages(pages: list[list[str]]):
    # A tab is a wide gap, which becomes a blank.
    lines = [line.replace("\t", " ").strip() for page in pages for line in page]
    alone = {line for line in lines if line and not any(sign.isdigit() for sign in line) and lines.count(line) == 1}

    assert alone <= {line for page in without(pages) for line in page}


def test_equal_events_of_a_log_are_all_kept():
    pages = [(f"2026-05-03 10:02:1{n} Door opened", text, f"Row {n} ends.") for n, text in enumerate(TEXTS)]

    assert [page[0] for page in without(pages)] == [page[0] for page in pages]
