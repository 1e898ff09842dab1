"""What the found passages hold of a table."""

from dataclasses import replace

from haystack import Document

from prefrag.components.text.table_rows import Row, Table, write_tables
from tests.components.reader.tables.table_passages import STAFF, passage, text_of
from tests.for_each import for_each


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


def test_metadata_cannot_make_up_a_row_that_the_passage_lacks() -> None:
    made_up = replace(passage(STAFF), content="Another text.")

    assert text_of("phone of Bob Bell", made_up) is None


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
