from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.uncomputed_cells import empty_uncomputed
from tests.for_each import for_each


@for_each(
    "value",
    *("=B2*2", "=SUM(B2:B9)", '=IF(B2>3,"yes","no")', '=WENN(B2>3;"ja";"nein")', "='Sheet 2'!$B$4", "=Rates!B4%"),
    *("=SUM(A:A)", "=[@Price]*[@Pieces]", '=ROUND(AVERAGE(B2:B4),1)&" kg"', "=sum(b2:b3)", "=IFERROR(#REF!/B2,0)"),
)
def test_formula_is_no_value(value: str):
    outline = Outline()
    rows = [["Tar", "14", value], ["Oil", "3", "6"]]

    empty_uncomputed(rows, outline)

    assert rows == [["Tar", "14", ""], ["Oil", "3", "6"]]
    assert outline.loss == "1 formula without a stored value: open the file in its program, and save it"


@for_each(
    "value",
    *("#REF!", "#N/A", "#VALUE!", "#NAME?", "#NUM!", "#NULL!", "#DIV/0!", "#WERT!", "#NV", "#\u00a1VALOR!", "#N/D"),
)
def test_error_is_no_value(value: str):
    outline = Outline()
    rows = [["Tar", "14", value]]

    empty_uncomputed(rows, outline)

    assert rows == [["Tar", "14", ""]]
    assert outline.loss == ""


@for_each(
    "value",
    *("=+441632960001", "=+44 (0)1632/960-002", "=", "=>", "= 5 kg", "=see cell B2 (top)", "==== B2 ====", "A1=B2"),
    *('="0049"', "=B2B", "#harbour", "#1", "#REF 4", "The error #REF!", "#Yes!"),
)
def test_other_value_stays(value: str):
    outline = Outline()
    rows = [["Tar", value], ["=B2*2", "14"], ["#REF!", "a broken cell"]]

    empty_uncomputed(rows, outline)

    assert rows == [["Tar", value], ["=B2*2", "14"], ["#REF!", "a broken cell"]]
    assert outline.loss == ""


@given(st.text(alphabet='=A1$(":!B#[]x'))
def test_any_value_is_checked(value: str):
    empty_uncomputed([["Tar", value]], Outline())


def test_long_value_is_checked_in_no_time():
    rows = [["Tar", f"={part * 50_000}x"] for part in ("A1(", "(", "$A$1+", '"a"', "B2:", "AA")]

    empty_uncomputed(rows, Outline())

    assert all(row[1] for row in rows)
