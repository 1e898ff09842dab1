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
    assert sum(text is not None for _, text in answers.values()) >= 28


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


def test_two_tables_with_other_values_are_no_answer_unless_one_is_outdated() -> None:
    old, new = (passage(f"Item | Price\nOak | {price}", file_path=f"/{price}") for price in (48, 61))

    assert text_of("price of oak", old, new) is None
    assert text_of("price of oak", old, old) == "48"
    old.meta["standing"] = "superseded"
    assert text_of("price of oak", old, new) == "61"


def test_the_heading_above_a_table_tells_it_from_another_of_its_passage() -> None:
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


@for_each("cells", ("1,5", "2.5 EUR", "3 USD"), ("10%", "20%", "30%"), ("1", "", "3"), ("1", "n/a", "3"))
def test_numbers_that_cannot_be_added_are_not(cells: tuple[str, ...]) -> None:
    table = passage("Item | Fee\n" + "\n".join(f"thing {number} | {cell}" for number, cell in enumerate(cells)))

    assert text_of("sum of the fees", table) is None


def test_two_tables_that_could_be_counted_are_beyond_it() -> None:
    first, second = passage(INVOICES, file_path="/a"), passage(INVOICES.replace("open", "paid"), file_path="/b")

    assert text_of("How many invoices are paid?", first, second) is None


def test_metadata_cannot_make_up_a_row_that_the_passage_does_not_hold() -> None:
    made_up = replace(passage(STAFF), content="Another text.")

    assert text_of("phone of Bob Bell", made_up) is None


def test_an_answer_from_another_row_is_not_even_probable() -> None:
    table = passage(STAFF)
    own, other = "Name: Bob Bell; Department: Yard; Phone: 12", "Name: Ada Stone; Department: Office; Phone: 11"

    assert row_limits("phone of Bob Bell", [own, other, "Some prose."], [table], 0.5) == [0.5, 0.495, 1.0]
    assert row_limits("phone of Bob Bill", [own, other], [table], 0.5) == [0.495, 0.495]
