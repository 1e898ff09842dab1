"""Answers from the rows of tables: cells, counts, lists and sums."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from prefrag.components.reader.row_answer import answer_from_rows, row_limits
from prefrag.components.text.table_rows import Row, Table, write_tables
from prefrag.indexing.file_conversion import FileConverter
from tests.components.reader.table_files import write_files
from tests.for_each import for_each

QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("table_questions.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    """Return the passages of the twelve files."""
    folder = tmp_path_factory.mktemp("tables")
    write_files(folder)
    converter = FileConverter()
    return [passage for path in sorted(folder.iterdir()) for passage in converter.passages(path, path.read_bytes())]


def answer(question: dict[str, Any], documents: list[Document]) -> str | None:
    if (found := answer_from_rows(question["question"], documents)) is None:
        return None
    if question["kind"] == "sum":
        return found.text.split(", the sum of")[0].split(" ")[0].replace(",", "")
    return found.text.split(", counted in")[0] if question["kind"] == "count" else found.text


def test_at_least_38_of_40_cells_are_given_and_no_other(documents: list[Document]) -> None:
    asked = [question for question in QUESTIONS if question["kind"] == "row"]
    answers = [(question, answer(question, documents)) for question in asked]
    shown = [(question, text) for question, text in answers if text is not None]

    assert [question["question"] for question, text in shown if text != question["answer"]] == []
    for question, _ in shown:
        found = answer_from_rows(question["question"], documents)
        assert found is not None
        assert question["row"] in found.sentence
        assert found.sentence in (found.document.content or "")
    assert (len(asked), len(shown) >= 38) == (40, True)


def test_questions_that_no_row_answers_get_no_answer(documents: list[Document]) -> None:
    asked = [question for question in QUESTIONS if question["kind"] == "none"]

    assert len(asked) == 20
    assert [question["question"] for question in asked if answer(question, documents) is not None] == []


def test_of_40_counts_lists_and_sums_none_is_wrong(documents: list[Document]) -> None:
    asked = [question for question in QUESTIONS if question["kind"] in ("count", "list", "sum")]
    answers = {question["question"]: (question["answer"], answer(question, documents)) for question in asked}

    assert len(asked) == 40
    assert {question: texts for question, texts in answers.items() if texts[1] not in (None, texts[0])} == {}
    assert sum(text is not None for _, text in answers.values()) >= 21


def passage(text: str, title: str = "", number: int = 1, *, missing: int = 0, **meta: Any) -> Document:
    """Make a passage of a table, whose cells are divided by bars. Of `missing` rows the passage knows nothing."""
    columns, *rows = [tuple(cell.strip() for cell in line.split("|")) for line in text.strip().split("\n")]
    table = Table(number, title, columns, [Row("", cells) for cells in rows])
    own = list(range(len(rows)))
    table.rows += [Row("", ("x" * 100,) * len(columns))] * missing
    content = "\n".join(table.write(table.rows[place]) for place in own)
    return Document(content=content, meta={"title": "file", **write_tables([(table, place) for place in own]), **meta})


INVOICES = """Invoice | Customer | Items | Total | Status
12 | Quay Bakery | 17 | 240 | paid
14 | Mill Cafe | 3 | 95.50 | open
21 | Reed School | 5 | 410 | open
"""
STAFF = "Name | Department | Phone\nAda Stone | Office | 11\nBob Bell | Yard | 12\nCleo Bell | Yard | 13"


def text_of(question: str, *documents: Document) -> str | None:
    found = answer_from_rows(question, documents)
    return None if found is None else found.text


@for_each(
    "question, text",
    ("total of invoice 14", "95.50"),
    # The number of items is no number of an invoice.
    ("total of invoice 17", None),
    ("status of 17", None),
    ("Is invoice 14 open?", None),
    ("status of invoice 14 in May", None),
    ("customer or status of invoice 14", None),
    ("When was invoice 14?", None),
    ("items of Mill Cafe", "3"),
)
def test_a_cell_is_given_if_its_row_holds_every_word(question: str, text: str | None) -> None:
    assert text_of(question, passage(INVOICES)) == text


@for_each(
    "question, text",
    ("phone number of Bob Bell", "12"),
    ("phone of Bell", None),
    ("phone of Ada Bell", None),
    ("phone of the office", "11"),
    ("name in the yard", None),
)
def test_two_rows_that_fit_and_half_a_name_are_no_answer(question: str, text: str | None) -> None:
    assert text_of(question, passage(STAFF, title="Staff of Bell Ltd")) == text


def test_of_a_large_table_only_a_whole_first_cell_tells_the_row() -> None:
    large = passage(STAFF, missing=200)

    assert text_of("phone of Bob Bell", large) == "12"
    assert text_of("phone of Ada", large) is None
    assert text_of("phone of the office", large) is None
    assert text_of("How many names are in the yard?", large) is None


def test_tables_with_other_values_give_no_answer_unless_outdated() -> None:
    old, new = (passage(f"Item | Price\nOak | {price}", file_path=f"/{price}") for price in (48, 61))

    assert text_of("price of oak", old, new) is None
    assert text_of("price of oak", old, old) == "48"
    old.meta["standing"] = "superseded"
    assert text_of("price of oak", old, new) == "61"


@for_each(
    "path, date, columns, text",
    ("/fares 2026.csv", "2026", "Item | Price", "61"),
    ("/fares 2026.csv", None, "Item | Price", None),
    # A list with another name, or with other columns, may be about other prices.
    ("/wholesale 2026.csv", "2026", "Item | Price", None),
    ("/fares 2026.csv", "2026", "Item | Price | Unit", None),
)
def test_a_newer_edition_of_a_table_replaces_an_older_one(path: str, date: str | None, columns: str, text: str) -> None:
    old = passage("Item | Price\nOak | 48", file_path="/fares 2025.csv", date="2025")
    new = passage(f"{columns}\nOak | 61", file_path=path, date=date)

    assert text_of("price of oak", old, new) == text


@for_each(
    "column, question, text",
    ("Telephone", "phone number of Ada Stone", "17"),
    ("Tel.", "telephone number of Ada Stone", "17"),
    ("Rechnungsbetrag", "Betrag Ada Stone", "17"),
    ("Tel", "telephone of Ada Stone", None),
    ("Telephone; Microphone", "phone of Ada Stone", None),
    ("Telephone; Phone", "phone of Ada Stone", "18"),
    ("Mileage", "age of Ada Stone", None),
)
def test_a_longer_word_or_a_short_form_names_the_only_column(column: str, question: str, text: str | None) -> None:
    columns = column.split("; ")
    table = f"Name | {' | '.join(columns)}\nAda Stone | {' | '.join(('17', '18')[: len(columns)])}"

    assert text_of(question, passage(table)) == text


def test_a_longer_word_is_not_counted_or_added() -> None:
    table = passage("Warehouse | Workmonth\nNorth | 3\nSouth | 4", title="Stores")

    assert text_of("How many houses are there?", table) is None
    assert text_of("sum of the months", table) is None


def test_an_older_edition_answers_for_its_own_year() -> None:
    fares = [
        passage(f"Item | Price\nOak | {price}", title=f"Fares {year}", file_path=f"/fares {year}.csv", date=str(year))
        for year, price in ((2025, 48), (2026, 61))
    ]

    assert text_of("price of oak in 2025", *fares) == "48"
    assert text_of("price of oak", *fares) == "61"


def test_heading_tells_a_table_from_another_of_its_passage() -> None:
    summer, winter = (
        Table(number, "", ("Zone", "Fee"), [Row("", ("C", fee))]) for number, fee in ((1, "17"), (2, "9"))
    )
    content = "Summer\nZone: C; Fee: 17\nWinter\nZone: C; Fee: 9"
    starts = f"0 Summer\n{content.index('Winter')} Winter"
    meta = {"title": "Fees", "heading": "Winter", "section_starts": starts, **write_tables([(summer, 0), (winter, 0)])}
    fees = Document(content=content, meta=meta)

    assert text_of("fee of zone C in summer", fees) == "17"
    assert text_of("fee of zone C in winter", fees) == "9"
    assert text_of("fee of zone C", fees) is None


def test_the_narrower_column_is_asked_for() -> None:
    table = passage("Item | Price | Price of 2023\nOak | 61 | 48")

    assert text_of("price of oak", table) == "61"
    assert text_of("price of oak in 2023", table) == "48"


@for_each(
    "question, text",
    ("How many invoices are open?", "2, counted in 2 rows"),
    ("How many invoices are there?", "3, counted in 3 rows"),
    ("which customers are open", "Mill Cafe, Reed School"),
    ("total of the open invoices", "505.50, the sum of 2 rows"),
    ("sum of the items", "25, the sum of 3 rows"),
    ("How many invoices are unpaid?", None),
    ("How many invoices are paid or open?", None),
    ("How many invoices are older?", None),
    ("total number of items of the open invoices", "8, the sum of 2 rows"),
    ("total of the customers", None),
    ("total number of customers", None),
    ("total number of invoices", None),
    ("What is the total?", None),
    ("list the customers of " + "invoices and " * 31 + "customers", None),
    # The numbers of a column "Items" are no rows to count.
    ("How many items are there?", None),
)
def test_rows_are_counted_listed_and_added_by_code(question: str, text: str | None) -> None:
    assert text_of(question, passage(INVOICES)) == text


@for_each(
    "last, text",
    ("Total | | 25 | 745.50 |", "745.50, the sum of 3 rows"),
    ("| | 25 | 745.50 |", "745.50, the sum of 3 rows"),
    # It is unclear what a row is that says "total" and adds up nothing, or the other way round.
    ("Total | | 25 | 700 |", None),
    ("Gesamt | | 25 | 745.50 |", None),
)
def test_a_row_of_totals_is_not_added_again(last: str, text: str | None) -> None:
    assert text_of("total of all invoices", passage(INVOICES + last)) == text


@for_each(
    "cells",
    ("1,5", "2.5 EUR", "3 USD"),
    ("10%", "20%", "30%"),
    ("1", "", "3"),
    ("1", "n/a", "3"),
    ("1.500 \u20ac", "300 \u20ac"),
    ("1,500", "1.500"),
)
def test_numbers_that_cannot_be_added_are_not(cells: tuple[str, ...]) -> None:
    table = passage("Item | Fee\n" + "\n".join(f"thing {number} | {cell}" for number, cell in enumerate(cells)))

    assert text_of("sum of the fees", table) is None


def test_two_tables_that_could_be_counted_are_beyond_it() -> None:
    first, second = passage(INVOICES, file_path="/a"), passage(INVOICES.replace("open", "paid"), file_path="/b")

    assert text_of("How many invoices are paid?", first, second) is None


def test_metadata_cannot_make_up_a_row_that_the_passage_lacks() -> None:
    made_up = replace(passage(STAFF), content="Another text.")

    assert text_of("phone of Bob Bell", made_up) is None


def test_an_answer_from_another_row_is_not_even_probable() -> None:
    table = passage(STAFF)
    own, other = "Name: Bob Bell; Department: Yard; Phone: 12", "Name: Ada Stone; Department: Office; Phone: 11"

    assert row_limits("phone of Bob Bell", [own, other, "Some prose."], [table], 0.5) == [0.5, 0.495, 1.0]
    assert row_limits("phone of Bob Bill", [own, other], [table], 0.5) == [0.495, 0.495]


def test_a_key_that_unknown_rows_may_repeat_is_not_sure() -> None:
    large, small = (answer_from_rows("phone of Bob Bell", [passage(STAFF, missing=rows)]) for rows in (200, 0))

    assert large is not None
    assert not large.is_sure
    assert small is not None
    assert small.is_sure


FARES = "From | To | Price\nBern | Graz | 12\nLinz | Ulm | 30\nUlm | Linz | 35"


@for_each(
    "question, table, text",
    ("What is the price from Graz to Bern?", FARES, None),
    ("What is the price from Bern to Graz?", FARES, "12"),
    ("price from Linz to Ulm", FARES, "30"),
    ("Preis von Graz nach Bern", "Von | Nach | Preis\nBern | Graz | 12", None),
    ("Whose manager is Bo?", "Name | Manager\nBo | Cy\nDee | Bo", None),
    ("Who is Bo the manager of?", "Name | Manager\nBo | Cy", None),
    ("How many tasks are due by 5 May 2026?", "Task | Due by\nPaint | 2026-05-05\nRope | 2026-05-01", None),
    ("How many orders are from Ulm?", "Order | Town\nA1 | Ulm\nA2 | Linz", None),
)
def test_what_stands_behind_from_or_by_needs_its_column(question: str, table: str, text: str | None) -> None:
    assert text_of(question, passage(table, title="Prices")) == text


@for_each(
    "rows",
    "All teams | 12\nRed | 4\nBlue | 9",
    "Red | 4\nBlue | 9\nAverage | 6.5",
    "Alle | 12\nRed | 4\nBlue | 9",
    "Red | 4\nMedian | 5\nBlue | 9\nTotal | 18",
    "Vehicles | 30\nCar | 10\nVan | 20\nBoat | 7",
    "Boat | 7\nCar | 1.500\nVan | 500\nVehicles | 2.000",
)
def test_rows_that_tell_of_others_are_not_counted(rows: str) -> None:
    table = passage(f"Team | Members\n{rows}")

    assert text_of("How many teams are there?", table) is None
    assert text_of("sum of the members", table) is None


@for_each(
    "table",
    "Bill | Fee | Currency\nA | 10 | EUR\nB | 25 | USD",
    "Bill | Fee | Paid in\nA | 10 | EUR\nB | 25 | USD",
    "Bill | Fee | Unit\nA | 10 | kg\nB | 25 | bags",
    "Bill | Fee rate\nA | 10\nB | 25",
    "Bill | Fee %\nA | 10\nB | 25",
    "Bill | Hours fee\nA | 1.30\nB | 0.45",
    # The comma of another row shows that the numbers are German.
    "Bill | Fee\nA | 1,500\nB | 2,500\nC | 2,75",
)
def test_units_in_their_own_column_and_rates_are_not_added(table: str) -> None:
    assert text_of("sum of the fees", passage(table)) is None


def test_amounts_of_the_same_unit_in_a_column_are_added() -> None:
    table = passage("Bill | Fee | Currency\nA | 10 | EUR\nB | 25 | EUR")

    assert text_of("sum of the fees", table) == "35, the sum of 2 rows"


@for_each(
    "standing, date, newer, is_sure",
    (None, "2026-01-01", "2025-01-01", True),
    ("draft", "", "", False),
    (None, "2024-01-01", "2025-01-01", False),
)
def test_a_row_of_an_older_document_is_not_sure(standing: str | None, date: str, newer: str, is_sure: bool) -> None:
    table = passage(STAFF, standing=standing, date=date, source="local")
    text = "The names: Bob Bell, Ada Stone and Cleo Bell. Bob Bell has a new phone."
    note = Document(content=text, meta={"date": newer, "source": "local"})

    found = answer_from_rows("phone of Bob Bell", [table, note])

    assert found is not None
    assert found.is_sure == is_sure
    assert (text_of("How many names are there?", table, note) is not None) == is_sure


@for_each(
    "cells, text",
    (("Red", "red", "Blue"), "2, counted in 3 rows"),
    (("Red, Blue", "Red", "Green"), None),
    (("Red and Blue", "blue", "Green"), None),
    (("Red; Blue", "Blue; Green", "White"), None),
    (("Bell, Stone & Co", "Bell, Stone & Co", "Reed"), "2, counted in 3 rows"),
)
def test_a_cell_of_several_values_is_not_counted(cells: tuple[str, ...], text: str | None) -> None:
    table = passage("Bolt | Colour\n" + "\n".join(f"bolt {number} | {cell}" for number, cell in enumerate(cells)))

    assert text_of("How many colours are there?", table) == text


def test_a_long_question_is_not_matched_with_rows() -> None:
    row = "Name: Bob Bell; Department: Yard; Phone: 12"
    question = "phone of Bob Bell, " * 20

    assert text_of(question, passage(STAFF)) is None
    assert row_limits(question, [row, "Some prose."], [passage(STAFF)], 0.5) == [0.495, 1.0]
