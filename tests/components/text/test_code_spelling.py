"""Codes that are typed with other signs than a document has."""

from prefrag.components.text.code_spelling import joined_codes, spell_codes
from tests.for_each import for_each


@for_each(
    "text, codes",
    ("K-XY 317 and BX-44/7", ["KXY317", "BX447"]),
    ("ISBN 978-3-16-148417-7", ["ISBN9783161484177", "9783161484177"]),
    ("Call 0431 5517 18.", ["04315517", "0431551718"]),
    ("DE33 2004 1133", ["DE332004", "DE3320041133"]),
    ("GB29 NWBK 6016", ["GB29NWBK", "GB29NWBK6016"]),
    # These have no signs, or are too short.
    ("BX4417, F-16, In 2019 84 boats, on 3-4 May, low-high, 1.5 mg", []),
)
def test_codes_are_joined(text: str, codes: list[str]):
    assert joined_codes(text) == codes


@for_each(
    "question, text, spelled",
    ("Who owns KXY317?", "K-XY 317: Ann Low", "Who owns K-XY 317?"),
    ("Who owns kxy317?", "K-XY 317: Ann Low", "Who owns K-XY 317?"),
    ("Is BX-4417 or BX 4418 red?", "BX4417 is red, BX4418 is blue.", "Is BX4417 or BX4418 red?"),
    ("9783161484177", "ISBN 978-3-16-148417-7", "978-3-16-148417-7"),
    ("DE33200411330023554423", "DE33 2004 1133 0023 5544 23", "DE33 2004 1133 0023 5544 23"),
    # The spelling of the question stands in the text, too.
    ("Who owns KXY317?", "K-XY 317, that is KXY317", "Who owns KXY317?"),
)
def test_a_code_gets_the_spelling_of_the_text(question: str, text: str, spelled: str):
    assert spell_codes(question, [text]) == spelled


@for_each(
    "question, text",
    # Another digit, a digit more, a digit less, and two digits exchanged.
    ("KXY318", "K-XY 317"),
    ("KXY3170", "K-XY 317"),
    ("KXY31", "K-XY 317"),
    ("KXY371", "K-XY 317"),
    ("XY317", "K-XY317"),
    ("DE33200411330023554424", "DE33 2004 1133 0023 5544 23"),
    # The same letters and digits in other parts.
    ("192.168.1.12", "192.168.11.2"),
    ("K-XY318", "KX-Y 318"),
    ("room A1.12", "A11.2 and A11.3"),
    ("1234-5678", "12345-678"),
    ("A1112", "A11.12 and A1.112"),
    # These are no codes.
    ("Who came in 201984?", "In 2019 84 boats came."),
    ("Is 2019a a year?", "In 2019 a boat came."),
)
def test_another_code_is_left_alone(question: str, text: str):
    assert spell_codes(question, [text]) == question
