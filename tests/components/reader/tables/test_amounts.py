"""The numbers in the cells of a column, and the rows that already are sums."""

from tests.components.reader.tables.table_passages import INVOICES, passage, text_of
from tests.for_each import for_each


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
    "table, question, text",
    ("House number | Tenant | Rent\n1 | Roe | 300\n2 | Low | 200", "total rent", "500, the sum of 2 rows"),
    ("Invoice number | Customer | Net\n1 | Roe | 300\n2 | Low | 200", "total net", "500, the sum of 2 rows"),
    ("Member number | Name | Fee\n1 | Roe | 30\n2 | Low | 20", "sum of the fees", "50, the sum of 2 rows"),
    ("Item | Number of pieces | Fee\nChair | 4 | 30\nDesk | 2 | 20", "sum of the fees", None),
    ("Item | Number | Fee\nChair | 4 | 30\nDesk | 4 | 20", "sum of the fees", None),
)
def test_the_number_of_a_house_is_no_quantity(table: str, question: str, text: str | None) -> None:
    assert text_of(question, passage(table)) == text
