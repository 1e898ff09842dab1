"""Counts, lists and sums of the rows of a table."""

from tests.components.reader.tables.table_passages import INVOICES, is_stated, passage, text_of
from tests.for_each import for_each


def test_a_longer_word_is_not_counted_or_added() -> None:
    table = passage("Warehouse | Workmonth\nNorth | 3\nSouth | 4", title="Stores")

    assert text_of("How many houses are there?", table) is None
    assert text_of("sum of the months", table) is None


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


def test_two_tables_that_could_be_counted_are_beyond_it() -> None:
    first, second = passage(INVOICES, file_path="/a"), passage(INVOICES.replace("open", "paid"), file_path="/b")

    assert text_of("How many invoices are paid?", first, second) is None


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


@for_each(
    "cells, text",
    (("Cat", "Dog up to 10 kg", "Dog over 25 kg"), None),
    (("Lamp 40 W", "Lamp 60 W", "Torch"), None),
    (("Van 1", "Van 2", "Van 4"), "3, counted in 3 rows"),
    (("5th form", "Chess at 9 am", "Drums"), "3, counted in 3 rows"),
)
def test_kinds_of_things_are_not_counted_as_things(cells: tuple[str, ...], text: str | None) -> None:
    table = passage("Pet | Monthly\n" + "\n".join(f"{cell} | {number}.50" for number, cell in enumerate(cells)))

    assert text_of("How many pets are there?", table) == text


@for_each("cell", "", '"', "ditto")
def test_a_cell_that_stands_for_the_one_above_is_not_left_out(cell: str) -> None:
    table = passage(f"Day | Course | Fee\nMonday | Yoga | 10\n{cell} | Drums | 20\nTuesday | Chess | 5")
    whole = passage("Day | Course | Fee\nMonday | Yoga | 10\nMonday | Drums | 20\nTuesday | Chess | 5")

    for question in ("How many courses are on Monday?", "Which courses are on Monday?", "total fee of Monday"):
        assert text_of(question, table) is None
        assert is_stated(question, whole)


def test_a_row_without_the_property_may_belong_to_the_count() -> None:
    question = "How many players are in the Reds?"

    assert not is_stated(question, passage("Player | Team\nFinn | Reds\nJule |\nEmil | Blues"))
    assert is_stated(question, passage("Player | Team\nFinn | Reds\nJule | Reds\nEmil | Blues"))


@for_each(
    "table, stated",
    ("Horse | Date | Vet\nEmber | 1 May | Horn\nEmber | 3 May | Kern\nFlint | 4 May | Horn", False),
    ("Date | Horse | Vet\n1 May | Ember | Horn\n3 May | Flint | Kern", False),
    ("Invoice | Horse\n1 | Ember\n2 | Ember", False),
    ("Horse | Vet\nEmber | Horn\nFlint | Kern", True),
)
def test_only_a_table_about_the_things_has_all_of_them(table: str, stated: bool) -> None:
    assert is_stated("How many horses are there?", passage(table)) == stated


@for_each(
    "columns, stated",
    ("Item | Quantity | Unit price", False),
    ("Item | Pieces | Price per piece", False),
    ("Item | Qty | Price", False),
    ("Item | Size | Price each", False),
    ("Item | Pieces | Total price", True),
    ("Item | Size | Price", True),
)
def test_a_price_of_a_piece_is_no_total(columns: str, stated: bool) -> None:
    assert is_stated("total price of mash", passage(f"{columns}\nMash | 10 | 18.75\nHay | 4 | 2.00")) == stated
