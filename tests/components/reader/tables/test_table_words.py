"""The words of questions and cells, as the rule for rows compares them."""

from datetime import date

from prefrag.components.reader.tables.table_words import question_words, split_dates, stem_of, words_of
from tests.for_each import for_each


@for_each(
    "question, stems",
    ("What is the price of oak boards 40mm?", ["price", "oak", "board", "40", "mm"]),
    ("the fee of zone A", ["fee", "zone", "a"]),
    ("A fee of a zone", ["fee", "zone"]),
    ("customer of ORD-107123", ["customer", "ord-107123"]),
    ("Ada's phone", ["ada", "phone"]),
    ("boats that are not in Norwick", ["boat", "that", "not", "norwick"]),
    ("amount of order 2026-17", ["amount", "order", "2026-17"]),
)
def test_a_question_has_the_words_that_choose(question: str, stems: list[str]) -> None:
    assert [word.stem for word in question_words(question)] == stems


def test_a_date_is_one_word_of_a_question() -> None:
    sales, april = question_words("sales in April 2024")

    assert (sales.days, april.days) == (None, (date(2024, 4, 1), date(2024, 4, 30)))
    assert words_of("2024-04-01").hold(april)
    assert not words_of("2024-05-01").hold(april)
    assert [word.stem for word in split_dates([sales, april])] == ["sale", "april", "2024"]


@for_each(
    "text, word, is_held",
    ("Order ORD-107123", "107123", True),
    ("Order ORD-107123", "10712", False),
    ("17.50 EUR", "17", False),
    ("Oak board 40 mm", "boards", True),
    ("a.b.c.d/32", "D", False),
)
def test_a_cell_holds_whole_words_and_parts_of_codes(text: str, word: str, is_held: bool) -> None:
    [asked] = question_words(f"is {word}")

    assert words_of(text).hold(asked) is is_held


@for_each(
    "word, stem",
    *(("Boats", "boat"), ("entries", "entry"), ("boxes", "box"), ("glass", "glass"), ("status", "status")),
    *(("A4s", "a4s"), ("gas", "gas")),
)
def test_the_stem_of_a_word_is_its_singular(word: str, stem: str) -> None:
    assert stem_of(word) == stem
