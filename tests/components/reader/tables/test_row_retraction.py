"""Cells that another cell, a title or the name of a column takes back."""

from dataclasses import replace

from tests.components.reader.tables.table_passages import is_stated, passage
from tests.for_each import for_each


@for_each(
    "column, cell, stated",
    ("Status", "cancelled", False),
    ("Status", "Postponed to spring", False),
    ("Status", "has left the club", False),
    ("Status", "confirmed", True),
    ("Cancelled", "yes", False),
    ("Cancelled", "no", True),
    ("Confirmed", "no", False),
    ("Confirmed", "yes", True),
    ("Note", "number no longer valid", False),
    ("Note", "not available this year", False),
    ("Note", "wrong", False),
    ("Note", "tbc", False),
    ("Note", "call after 6 pm", True),
    ("Note", "see No. 7", True),
    ("Note", "closed in May", False),
    ("Note", "no sugar", True),
    ("Note", "no pets", True),
    ("Note", "if possible", True),
    ("Note", "2019", True),
    ("Note", "Steven Spielberg", True),
    ("Status", "delivered", True),
    ("Status", "reserved", True),
    ("Place", "cancelled", False),
    ("Info", "called off", False),
    ("Deleted", "x", False),
    # Years, names and numbers are no remarks.
    ("Year", "1975", True),
    ("Stock", "2000", True),
    ("Trainer", "Alfred", True),
    ("Trainer", "Khaled", True),
    ("Food", "no nuts", True),
    ("Level", "advanced", True),
    ("Afternoon", "closed", True),
    ("Vaccinated", "yes", True),
    ("Shipped", "yes", True),
    ("Month", "May", True),
    ("Water", "no", True),
    # These end in "-ed" and are no participles.
    ("Colour", "red", True),
    ("Place", "Shed", True),
    ("Breed", "purebred", True),
    ("Vet", "Ahmed", True),
    ("Food", "smoked salmon", True),
)
def test_another_cell_takes_the_answer_back(column: str, cell: str, stated: bool) -> None:
    table = passage(f"Event | Date | {column}\nHunt | 24 October | {cell}\nFair | 3 May |")

    assert is_stated("What is the date of the hunt?", table) == stated
    assert is_stated("What is the date of the fair?", table)


@for_each("cells, stated", (("yes", "yes", "yes", "yes", "no"), True), (("yes", "no", "no", "no", "no"), False))
def test_what_most_rows_have_takes_nothing_back(cells: tuple[str, ...], stated: bool) -> None:
    rows = "\n".join(f"F-{number} | {number}.20 | {cell}" for number, cell in enumerate(cells, start=1))

    assert is_stated("price of order F-1", passage(f"Order | Price | Cancelled\n{rows}")) == stated


@for_each(
    "title, question, stated",
    ("Dates not confirmed", "confirmed date of the hunt", False),
    ("Dates not confirmed", "date of the hunt", False),
    ("Former members", "date of the member Hunt", False),
    ("Former members", "date of the former member Hunt", True),
    ("Cancelled events", "date of the hunt", False),
    ("Cancelled events", "date of the cancelled hunt", True),
    ("Dates (to be confirmed)", "date of the hunt", False),
    ("Dates until 2024", "date of the hunt", False),
    ("Revised dates", "date of the hunt", True),
    ("Dates May 2026", "date of the hunt", True),
    ("Leeds United", "date of the hunt", True),
    ("Old Mill price list", "date of the hunt", True),
    ("Old price list", "date of the hunt", False),
    ("Former members", "date of the hunt", False),
    ("Prices valid until 31 December 2999", "date of the hunt", True),
    ("Used cars", "date of the hunt", True),
    ("Advanced courses", "date of the hunt", True),
    ("No smoking hotel", "date of the hunt", True),
    ("Fixed prices", "date of the hunt", True),
    ("Orders received", "date of the hunt", True),
    ("Who sits where?", "date of the hunt", True),
    ("2019", "date of the hunt", True),
    ("Diminished scale and its modes", "date of the hunt", True),
)
def test_a_title_takes_the_answer_back(title: str, question: str, stated: bool) -> None:
    assert is_stated(question, passage("Event | Date\nHunt | 24 October", title=title)) == stated


@for_each(
    "line, stated",
    ("The following dates are not confirmed:", False),
    ("Former dates:", False),
    ("The following dates are confirmed:", True),
    ("The barn is not heated.", True),
)
def test_a_line_above_the_table_takes_the_answer_back(line: str, stated: bool) -> None:
    table = passage("Event | Date\nHunt | 24 October\nFair | 3 May")
    table = replace(table, content=f"{line}\n\n{table.content}")

    for event in ("hunt", "fair"):
        assert is_stated(f"date of the {event}", table) == stated


@for_each(
    "column, question, stated",
    ("Old price", "price of mash", False),
    ("Estimated price", "price of mash", False),
    ("Estimated price", "estimated price of mash", True),
    ("Rated power", "power of mash", True),
    ("Recommended price", "price of mash", True),
    ("Required deposit", "deposit of mash", True),
    ("Price without VAT", "price of mash with VAT", False),
    ("Price without VAT", "price of mash without VAT", True),
    ("Price with VAT", "price of mash with VAT", True),
    ("Price excl. VAT", "price of mash with VAT", False),
    ("Price plus VAT", "price of mash with the VAT", False),
    ("Price (VAT not included)", "price of mash with VAT", False),
)
def test_a_column_is_of_another_price(column: str, question: str, stated: bool) -> None:
    assert is_stated(question, passage(f"Article | {column}\nMash | 18.75")) == stated


def test_a_row_that_is_cancelled_is_not_counted_for_sure() -> None:
    table = passage("Event | Place | Status\nHunt | Hall | cancelled\nFair | Hall |\nBall | Barn |")

    assert not is_stated("How many events are in the hall?", table)
    assert is_stated("How many events are in the barn?", table)


def test_a_column_beside_the_answer_may_be_without_a_part() -> None:
    table = passage("Article | Price without VAT | Price with VAT\nMash | 18.75 | 20.10")

    assert is_stated("price of mash with VAT", table)
    assert is_stated("How many films are there?", passage("Film | Year\nJaws | 1975\nAlien | 1979"))
