"""The cell of a table that a question asks for."""

from haystack import Document

from prefrag.components.reader.tables.row_answer import answer_from_rows
from tests.components.reader.tables.table_passages import INVOICES, STAFF, is_stated, passage, text_of
from tests.for_each import for_each


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


def test_an_older_edition_answers_for_its_own_year() -> None:
    fares = [
        passage(f"Item | Price\nOak | {price}", title=f"Fares {year}", file_path=f"/fares {year}.csv", date=str(year))
        for year, price in ((2025, 48), (2026, 61))
    ]

    assert text_of("price of oak in 2025", *fares) == "48"
    assert text_of("price of oak", *fares) == "61"


def test_the_narrower_column_is_asked_for() -> None:
    table = passage("Item | Price | Price of 2023\nOak | 61 | 48")

    assert text_of("price of oak", table) == "61"
    assert text_of("price of oak in 2023", table) == "48"


def test_a_key_that_unknown_rows_may_repeat_is_not_sure() -> None:
    large, small = (answer_from_rows("phone of Bob Bell", [passage(STAFF, missing=rows)]) for rows in (200, 0))

    assert large is not None
    assert not large.is_sure
    assert small is not None
    assert small.is_sure


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


PRICES = "Part no. | Description | Price | Stocked\nT-1 | KR5 controller | 142 | yes\nT-2 | KR4 controller | 165 | no"


@for_each(
    "question, text",
    ("how much is a KR5 controller", "142"),
    ("How much does the KR4 controller cost?", "165"),
    ("how much is the controller", None),
    ("How much does the KR4 controller weigh?", None),
    ("How much oil is in the KR5 controller?", None),
)
def test_how_much_asks_for_the_only_column_of_prices(question: str, text: str | None) -> None:
    assert text_of(question, passage(PRICES, title="Spares")) == text


def test_how_much_is_no_question_for_two_prices_or_a_percentage() -> None:
    two = passage("Item | Price 2024 | Price 2025\nCardigan | 15 | 16")
    share = passage("Item | Charge\nCardigan | 5%")

    assert text_of("How much is a cardigan?", two) is None
    assert text_of("How much is a cardigan in 2025?", two) == "16"
    assert text_of("How much is a cardigan?", share) is None


LEAVE = "Name | Days 2026 | Taken | Left\nSunita Rao | 25 | 20 | 5\nAnn Low | 25 | 19 | 6"


@for_each(
    "question, text",
    ("How many days of holiday has Sunita left?", "5"),
    ("How many days has Ann Low taken?", "19"),
    ("How many days of holiday has Sunita booked?", None),
)
def test_how_many_days_left_asks_for_the_column_left(question: str, text: str | None) -> None:
    assert text_of(question, passage(LEAVE, title="Holiday planner")) == text


@for_each("question", "what's Bob Bell's phone", "whats the phone of bob bell", "What\u2019s the phone of Bob Bell?")
def test_short_forms_of_what_is_are_words_of_grammar(question: str) -> None:
    assert text_of(question, passage(STAFF)) == "12"


@for_each(
    "columns, row, question, text",
    ("Name | Days | Left", "Ann | 25 | 6", "How many days has Ann left?", "6"),
    ("Name | Days | Left", "Ann | 25 | 6", "How many days has Ann?", "25"),
    # The days of two kinds, a year and an amount of money are no days that are left.
    ("Name | Holiday days | Sick days | Left", "Ann | 25 | 3 | 6", "How many sick days has Ann left?", None),
    ("Boat | Seats | Built", "Tern | 12 | 1998", "How many seats were built on Tern?", None),
    ("Boat | Seats inside | Built", "Tern | 12 | 7", "How many seats were built on Tern?", None),
    ("Show | Seats | Sold (£)", "Hamlet | 120 | 2400", "How many seats of Hamlet are sold?", None),
)
def test_a_count_beside_another_column_of_numbers(columns: str, row: str, question: str, text: str | None) -> None:
    assert text_of(question, passage(f"{columns}\n{row}\nBo | 9 | 8 | 7")) == text


@for_each("name", "Shipping cost", "Late fee", "Ground rent", "Cost centre", "Price code", "Price change", "Cost price")
def test_a_column_beside_the_price_is_not_the_price(name: str) -> None:
    assert text_of("How much is the lamp?", passage(f"Item | {name}\nLamp | 6\nChair | 7")) is None


@for_each("value", "+£3", "B3", "31.12.2026", "5%")
def test_a_price_is_an_amount(value: str) -> None:
    assert text_of("How much is the lamp?", passage(f"Item | Price\nLamp | {value}\nChair | 7")) is None


JOB = "Customer | Engineer | Order\nCastle Green | Tomasz | 4711"


@for_each(
    "question, text, is_sure",
    ("Who is the engineer?", "Tomasz", False),
    ("What is the order number?", "4711", False),
    ("Who is the engineer of Castle Green?", "Tomasz", True),
    ("Who is the customer of order 4711?", "Castle Green", True),
    ("Who is the engineer of Mill House?", None, False),
    ("Who is the plumber?", None, False),
)
def test_form_is_asked_by_its_labels(question: str, text: str | None, is_sure: bool) -> None:
    table = passage(JOB)

    assert text_of(question, table) == text
    assert is_stated(question, table) == is_sure


def test_two_forms_with_other_values_give_no_answer() -> None:
    other = passage("Customer | Engineer | Order\nQuay Bakery | Ian | 4712", title="other", number=2)

    assert text_of("Who is the engineer?", passage(JOB), other) is None
    assert text_of("Who is the engineer of Quay Bakery?", passage(JOB), other) == "Ian"


@for_each(
    "question, text",
    ("Who is the team of INC17?", "Team 5"),
    ("What is the fault of INC17?", "Fault 41"),
    ("Which fault has team 5?", "Fault 41"),
    ("Who is INC17 due?", None),
    ("What is the team of INC71?", None),
    ("team of fault 42", "Team 6"),
)
def test_a_cell_may_repeat_the_name_of_its_column(question: str, text: str | None) -> None:
    tickets = passage(
        "Ticket | Team | Fault | Due\nINC17 | Team 5 | Fault 41 | May 2\nINC18 | Team 6 | Fault 42 | May 3"
    )

    assert text_of(question, tickets) == text


def test_a_number_behind_a_noun_belongs_to_the_noun() -> None:
    tickets = passage("Ticket | Team | Fitter\n1 | Team 3 | Ann Low\n2 | Team 1 | Bo Lind\n3 | Team 2 | Cy Marsh")

    assert text_of("Which ticket does team 3 have?", tickets) == "1"
    assert text_of("What is the ticket of team 2?", tickets) == "3"
    assert text_of("Which team has ticket 1?", tickets) == "Team 3"
