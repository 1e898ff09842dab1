"""Values of another kind than the question asks for."""

from prefrag.components.reader.tables.value_kind import is_uncomputed
from tests.components.reader.tables.table_passages import is_stated, passage, text_of
from tests.for_each import for_each


@for_each("cell", "?", "---", "#N/A", "#REF!", "=B2*2", "=-SUM(B2:B9)", "='Sheet 2'!A1")
def test_a_cell_without_a_value_is_no_answer(cell: str) -> None:
    assert text_of("What is the price of mash?", passage(f"Article | Price\nMash | {cell}\nHay | 4.10")) is None


@for_each(
    "table, question, stated",
    ("Article | Price\nMash | see above\nHay | 4.10", "price of mash", False),
    ("Article | Price\nMash | on request\nHay | 4.10", "price of mash", False),
    ("Article | Price\nMash | 3.20\nHay | 4.10", "price of mash", True),
    ("Article | Seller\nMash | not yet known\nHay | Bo Lind", "seller of mash", False),
    ("Article | Seller\nMash | Ann Low\nHay | Bo Lind", "seller of mash", True),
    ("Order | Delivered\nF-1 | yes", "Who delivered F-1?", False),
    ("Order | Delivered\nF-1 | Late", "Who delivered F-1?", False),
    ("Order | Delivered by\nF-1 | Bo Lind", "Who delivered F-1?", True),
    ("Job | Teacher\nCarving | nobody", "Who is the teacher of carving?", False),
    ("Job | Teacher\nCarving | \u00d6yvind Lund", "Who is the teacher of carving?", True),
    ("Horse | Tours\nEmber | 3", "When are the tours of Ember?", False),
    ("Class | Room\nYoga | Gym\nDrums | 101\nChess | 102", "room of yoga", True),
    ("Guest | Price\nChild | free\nAdult | 12", "price of the child", True),
    ("Pupil | Grade\nFinn | A\nJule | 2", "grade of Finn", True),
    ("Job | Teacher\nCarving | anna", "Who is the teacher of carving?", True),
    ("Colour | Code\nRuby | #FF0000", "code of ruby", True),
    ("Hotel | Stars\nAdlon | \u2605\u2605\u2605\u2605\u2605", "stars of the Adlon", True),
    ("Hotel | Sauna\nAdlon | \u2713", "sauna of the Adlon", True),
    ("Horse | Tours\nEmber | 9 Uhr", "When are the tours of Ember?", True),
    ("Horse | Tours\nEmber | 0930", "When are the tours of Ember?", True),
    ("Horse | Tours\nEmber | 10 - 12", "When are the tours of Ember?", True),
    ("Horse | Tours\nEmber | week 12", "When are the tours of Ember?", True),
    ("Horse | Tours\nEmber | 24. Oktober", "When are the tours of Ember?", True),
    ("Horse | Tours\nEmber | 24 October", "When are the tours of Ember?", True),
    ("Horse | Tours\nEmber | 19:05", "When are the tours of Ember?", True),
)
def test_a_value_has_the_kind_that_is_asked_for(table: str, question: str, stated: bool) -> None:
    assert is_stated(question, passage(table)) == stated


@for_each(
    "table, question, stated",
    ("Article | Unit | Price\nMash | 15 kg | 18.75", "What is the price of a kg of mash?", False),
    ("Article | Unit | Price\nMash | 15 kg | 18.75", "What is the price of 15 kg of mash?", True),
    ("Article | Unit | Price\nMash | 1 kg | 18.75", "What is the price of a kg of mash?", True),
    ("Event | Date | Place\nFair | 5 October 2026 | Hall", "What is the place of the fair in October?", True),
    ("Shop | Address | Phone\nRoberts Bakery | 12 Bakery Street | 44", "What is the phone of Roberts Bakery?", True),
    ("Article | Price per 10 litres\nGlue | 6.40", "price of a litre of glue", False),
    ("Article | Price per litre\nGlue | 6.40", "price of a litre of glue", True),
)
def test_a_price_is_for_a_quantity(table: str, question: str, stated: bool) -> None:
    assert is_stated(question, passage(table)) == stated


@for_each(
    "question, stated",
    ("How much did Ember cost?", False),
    ("How much did the vaccination of Ember cost?", True),
)
def test_the_cost_of_a_treatment_is_not_that_of_the_horse(question: str, stated: bool) -> None:
    assert is_stated(question, passage("Horse | Treatment | Cost\nEmber | Vaccination | 57.10")) == stated


@for_each(
    "table, question",
    ("Invoice | Customer | Total\n12 | Mill Cafe | 240\n14 | Reed School | 95", "total of invoice 12"),
    ("Article | Unit | Price\nMash | kg | 18.75", "price of mash"),
    ("Employee | Department | Salary\nAnn Low | Yard | 300", "salary of Ann Low"),
    ("Flight | From | To | Price\nQK7 | Oslo | Bergen | 60", "price of QK7"),
)
def test_a_property_beside_a_price_is_no_part(table: str, question: str) -> None:
    assert is_stated(f"How much is the {question}?", passage(table))


@for_each(
    "text, is_formula",
    ("item: Tar; sum: =B2*2; unit: kg", True),
    ("Month: Jan; Growth: #DIV/0!", True),
    ("item: Tar; phone: =+441632960001", False),
    ('item: Tar; key: ="0049"', False),
    ("Growth: #DIV/0!\nThe sum is 2", False),
)
def test_a_place_in_a_formula_or_an_error_is_uncomputed(text, is_formula):
    place = max(text.rfind(sign) for sign in ("2", "0", "1"))

    assert is_uncomputed(text, place) is is_formula


def test_a_cell_behind_an_error_has_its_own_value():
    assert not is_uncomputed("Growth: #REF!; Share: 3", len("Growth: #REF!; Share: "))
