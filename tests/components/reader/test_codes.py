"""Codes in a text."""

from prefrag.components.reader.codes import find_codes, runs_of
from tests.for_each import for_each


@for_each(
    "text, codes",
    ("Order PO45001 for 4711-B and 77/A", ["PO45001", "4711-B", "77/A"]),
    ("Error 0x8007, fault E-204 and bolt M8x40", ["0x8007", "E-204", "M8x40"]),
    ("C-2024-118, INV/2025/0120, T.04.2 and 2.4.1-rc3.", ["C-2024-118", "INV/2025/0120", "T.04.2", "2.4.1-rc3"]),
    ("PO 45001, HK-AB 123, K-AB 123 and KI XZ 9", ["PO 45001", "HK-AB 123", "K-AB 123", "KI XZ 9"]),
    ("room 3.14 and invoice 2025/118", ["3.14", "2025/118"]),
    ("The A4-size sheet of the 3D printer", ["A4", "3D"]),
    ("45001 euros, 5mg, 3pm, the 1990s, 2nd, c.1920, mid-2024, a 12-week course, UK 2024 and 8:30", []),
)
def test_codes_have_a_digit_and_a_letter_or_several_parts(text: str, codes: list[str]):
    assert [text[code.begin : code.end] for code in find_codes(text)] == codes


@for_each("spelling", "PO45001", "po 45001", "PO-45001", "po/45001")
def test_spellings_of_a_code_have_the_same_runs(spelling: str):
    assert runs_of(spelling) == ("po", "45001")
