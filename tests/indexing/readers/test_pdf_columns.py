"""Columns of a PDF that are written across, line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from prefrag.components.text.sentences import shown_sentences
from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.readers.pdf_pages import draw_page
from tests.for_each import for_each
from tests.indexing.pdfs import make_placed_pdf

pytest.importorskip("pypdfium2", reason="the extra 'files' is not installed")

HARBOUR = [
    "The harbour master of the quay opens",
    "the gate at six in the morning, and he",
    "closes it at ten at night. Boats that",
    "come later wait at the buoy. The fee",
    "of a night is 14 euros for boats up to",
    "eight metres, and 20 euros for those",
    "that are longer, water included. Dogs",
    "must be kept on a lead at all times.",
]
CRANE = [
    "The crane may be used by members",
    "alone. Who uses it signs the book",
    "before and after. The inspection",
    "of this year was on 3 May, by the",
    "firm Kranich. The next one is due in",
    "two years. The key hangs in the big",
    "office behind the door, and deputies",
    "have another one in the boat house.",
]
STORE = [
    "The store behind the workshop has",
    "room for forty boats. Who wants one",
    "of its places writes to the warden",
    "before the end of August. Sails and",
    "engines are kept in the loft, which",
    "is heated from November on. It is",
    "locked at night, and the rent of a",
    "place is due in the first week.",
]
_Placed = list[tuple[int, int, str]]


def across(columns: Sequence[Sequence[str]], width: int = 200, drop: int = 0) -> _Placed:
    """Place columns beside each other, line by line, each column ``drop`` points lower than the one before."""
    return [
        (50 + width * column, 700 - 12 * row - drop * column, line)
        for row, lines in enumerate(zip(*columns, strict=True))
        for column, line in enumerate(lines)
    ]


def read(page: _Placed) -> str:
    passages = FileConverter().passages(Path("/a.pdf"), make_placed_pdf(page))
    return "".join(passage.content or "" for passage in passages)


@for_each(
    "page",
    across([HARBOUR, CRANE], width=250),
    across([HARBOUR, CRANE], width=250, drop=3),
    across([HARBOUR, CRANE, STORE]),
    [(50, 720, "Rules of the harbour and of the crane, as the members passed them"), *across([HARBOUR, CRANE])],
    [(50, bottom, f"{line:<60}{CRANE[row]}") for row, line in enumerate(HARBOUR) for bottom in [700 - 12 * row]],
)
def test_columns_written_across_are_read_one_by_one(page: _Placed):
    sentences = shown_sentences(read(page))

    assert "Boats that come later wait at the buoy." in sentences
    assert (
        "The key hangs in the big office behind the door, and deputies have another one in the boat house." in sentences
    )


def test_a_word_parted_at_the_end_of_a_line_is_joined():
    lines = [*HARBOUR[:2], "closes it at ten at night. Boats which ar-", "rive later wait at the buoy. The fee"]

    text = read(across([[*lines, *HARBOUR[4:]], CRANE], width=250))

    assert "Boats which arrive later wait at the buoy." in text


def test_the_rows_of_a_table_stay_together():
    names = ["Berth of the Tern", "Berth of the Gull", "Berth of the Swan", "Berth of the Heron"] * 2
    page = across([names, [f"paid in full until {month} by its owner" for month in range(1, 9)]], width=250)

    assert "Berth of the Gull paid in full until 2 by its owner" in read(page)


def test_terms_stay_with_their_descriptions():
    lines = []
    for number in range(8):
        top = 700 - 36 * number
        lines += [(50, top, f"the long berth of pier {number}"), (250, top, f"is for boats of {number} metres or more")]
        lines += [(250, top - 12, "if they have a crew of their own"), (250, top - 24, "and a mast that can be laid.")]

    assert "the long berth of pier 3 is for boats of 3 metres or more" in read(lines)


def test_a_sentence_of_a_column_is_marked_line_by_line():
    page = make_placed_pdf(across([HARBOUR, CRANE], width=250))

    marks = draw_page(page, 1, "Boats that come later wait at the buoy.")["marks"]

    assert [mark["text"].strip() for mark in marks] == ["Boats that", "come later wait at the buoy"]


def test_a_table_below_columns_keeps_its_rows():
    rows = [
        (50 + 250 * column, 560 - 12 * row, text)
        for row in range(4)
        for column, text in enumerate((f"Berth {row}", f"{14 + row} euros"))
    ]
    text = read([*across([HARBOUR, CRANE], width=250), *rows])

    assert all(re.search(rf"Berth {row}\s+{14 + row} euros", text) for row in range(4))
    assert "closes it at ten at night" in text


TOWN = ["The town was quiet in May.", "The captain of the seniors is", "Bo Lind. He has a boat."]
VET = ["The vet of the town is", "Ann Low. She has a dog.", "The dog is old now."]


@for_each(
    "left, right, sentence",
    (TOWN, VET, "The captain of the seniors is\nBo Lind."),
    (
        ["The choir meets on Monday at", "eight. The leader of the choir is", "Eva Moor. Guests are welcome."],
        ["Dogs must be on a lead. The", "fine for a dog without one is", "forty euros. Cats may roam."],
        "The leader of the choir is Eva Moor.",
    ),
    (
        ["The roof was mended in 2021", "by the firm Storm. The bill was", "9,400 euros."],
        ["The well gives good water. The", "depth of the well is", "31 metres."],
        "The bill was 9,400 euros.",
    ),
)
def test_columns_of_few_lines_are_read_one_by_one(left: list[str], right: list[str], sentence: str):
    text = read(across([left, right], width=250))

    assert sentence in text
    assert text.index(left[-1][:5]) < text.index(right[0])


def test_three_short_columns_with_headings():
    mill = ["Our shed stands by the mill", "since 1998. Its key hangs", "at the office of the warden."]
    headings = [(50 + 180 * column, 724, text) for column, text in enumerate(("Seniors", "Vet", "Shed"))]

    text = read([*headings, *across([TOWN, VET, mill], width=180)])

    assert [text.index(line) for line in (TOWN[1], VET[1], mill[1])] == sorted(
        text.index(line) for line in (TOWN[1], VET[1], mill[1])
    )
    assert "Our shed stands by the mill since 1998. Its key hangs at the office of the warden." in text


def test_short_columns_below_a_line_across_the_page():
    lines = [(50, 712, "The news of the town in May, in short, for all who were away"), *across([TOWN, VET], width=250)]

    assert "The captain of the seniors is\nBo Lind. He has a boat." in read(lines)


def test_lines_stay_apart_if_one_column_holds_sentences():
    names = ["Berth of the Tern", "Berth of the Gull", "Berth of the Swan", "Berth of the Coot"]
    notes = [
        "The warden opens the gate",
        "for all boats at six. The",
        "fee is 14 euros. Dogs must",
        "be kept on a lead.",
    ]

    lines = read(across([names, notes], width=250)).split("\n")

    assert lines == [line for pair in zip(names, notes, strict=True) for line in pair]


@for_each(
    "left, right, row",
    (
        ["First Monday of May", "Second Monday of May", "Third Monday of May"],
        ["Meeting of the board.", "Cleaning of the yard.", "Talk about the bees."],
        "Second Monday of May Cleaning of the yard.",
    ),
    (
        ["Berth of the Tern", "Berth of the Gull", "Berth of the Swan"],
        ["Paid in full. Waits for winter", "Open. Owner lives in Hollmar", "Paid. The crane is booked"],
        "Berth of the Gull Open. Owner lives in Hollmar",
    ),
    (["Entry fee", "Camp fee", "Boat fee"], ["12 euros", "200 euros", "40 euros"], "Camp fee 200 euros"),
    (
        ["Museum of Ships", "Quay of the Tern 5", "20459 Hamburg"],
        ["Hamburg, 12 May 2026", "Our sign: AB-17", "Your sign: none"],
        "Museum of Ships Hamburg, 12 May 2026",
    ),
)
def test_the_rows_of_a_short_table_stay_together(left: list[str], right: list[str], row: str):
    assert row in read(across([left, right], width=250))


FEES = ["The berth in the harbour", "The place in the store", "The crane of the yard", "The key of the gate"]


@for_each(
    "values, rows",
    (
        [
            "costs 14 euros for a night",
            "costs 300 euros. Ask the warden",
            "is free for members.",
            "costs 5 euros in all.",
        ],
        (0, 1, 2, 3),
    ),
    (
        [
            "Is 14 euros for a night.",
            "Costs 300 euros. Ask the warden.",
            "is free for all members.",
            "Is lent for nothing.",
        ],
        (0, 1, 2, 3),
    ),
    # Only the two cells that may be one sentence stand apart.
    (
        ["Costs 14 euros for a night.", "Costs 300 euros at", "least. Ask the warden.", "Is lent for nothing."],
        (0, 3),
    ),
)
def test_only_the_cells_of_a_sentence_stand_apart(values: list[str], rows: Sequence[int]):
    text = read(across([FEES, values], width=250))

    assert [row for row in range(4) if f"{FEES[row]} {values[row]}" in text] == list(rows)
