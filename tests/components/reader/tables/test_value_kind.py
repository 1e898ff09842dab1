"""Values of another kind than the question asks for."""

from tests.components.reader.tables.table_passages import is_stated, passage, text_of
from tests.for_each import for_each


@for_each("cell", "?", "---", "#N/A", "#REF!")
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
