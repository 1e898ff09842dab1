"""A row that says something else for the case that the question names."""

from tests.components.reader.tables.table_passages import is_stated, passage, text_of
from tests.for_each import for_each

EXPENSES = """What | Limit | Remark
Breakfast | £9 | only if you left home before 6:00
Lunch | not paid | except on courses
Hotel | £85 a night | £120 in London, ask first
Own car | 45p a mile | only if no van is free
"""
HOURS = """Place | Opens | Remark
Office | 8:00 | 9:30 on Fridays
Stores | 7:15 | closed in August
"""
CONTRACTS = """Customer | Starts | Ends
Mill Cafe | 1 February 2026 | 31 January 2029
Quay Bakery | 1 May 2025 | 30 April 2027
"""


@for_each(
    "question, table",
    ("hotel limit in London", EXPENSES),
    ("What is the limit for lunch on courses?", EXPENSES),
    ("When on Fridays does the office open? opens", HOURS),
)
def test_value_for_another_case_is_no_answer(question: str, table: str) -> None:
    assert text_of(question, passage(table)) is None


@for_each(
    "question, table, text",
    ("hotel limit", EXPENSES, "£85 a night"),
    ("When does the office open? opens", HOURS, "8:00"),
    ("rent of Mill Lane", "Rent | Address\n£340 | No 3 Mill Lane\n£400 | No 5 Quay Road", "£340"),
    ("price with the voucher", "Package | Price | Contents\nGold | £150 | £20 spa voucher\nTin | £9 | tea", "£150"),
    ("When does Mill Cafe end? ends", CONTRACTS, "31 January 2029"),
)
def test_value_for_the_usual_case_stays_stated(question: str, table: str, text: str) -> None:
    assert text_of(question, passage(table)) == text
    assert is_stated(question, passage(table))
