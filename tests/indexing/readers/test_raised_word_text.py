"""Raised digits of Word files do not become digits of the number before them."""

from __future__ import annotations

import pytest

from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.office_files import read_docx
from tests.for_each import for_each
from tests.indexing.office import make_docx, make_docx_of, word_paragraph, word_row, word_run, word_table

pytest.importorskip("docx", reason="the extra 'files' is not installed")


def raised(text: str) -> str:
    return word_run(text, '<w:vertAlign w:val="superscript"/>')


def lowered(text: str) -> str:
    return word_run(text, '<w:vertAlign w:val="subscript"/>')


def read(data: bytes) -> str:
    outline = Outline()
    text, _ = outline.read(read_docx(data, outline).text)
    return text


@for_each(
    "runs, text",
    (("The fee is 48", raised("2"), " pounds."), "The fee is 48^2 pounds."),
    (("There are 10", raised("6"), " of them."), "There are 10^6 of them."),
    (("It weighs 10", raised("-4"), " g."), "It weighs 10^-4 g."),
    # Behind the stop of a sentence, the note mark would become a decimal.
    (("They bought 12.", raised("3"), " They left."), "They bought 12.^3 They left."),
    # Several runs are one number, and one note mark.
    (("It costs 4", "8", raised("1"), raised(","), raised("2")), "It costs 48^1,2"),
)
def test_raised_digits_behind_a_number_get_a_sign(runs: tuple[str, ...], text: str) -> None:
    assert read(make_docx_of(word_paragraph(*runs))) == text


@for_each(
    "runs, text",
    (("On May 3", raised("rd"), " we met."), "On May 3rd we met."),
    (("The hall has 40 m", raised("2"), "."), "The hall has 40 m2."),
    (("The fee", raised("1"), " is 48."), "The fee1 is 48."),
    (("H", lowered("2"), "O, and CO", lowered("2")), "H2O, and CO2"),
    (("Room 1", lowered("2"), "."), "Room 12."),
    ((raised("1"), "Before noon."), "1Before noon."),
    (("Gate 7", "<w:r><w:tab/></w:r>", raised("1")), "Gate 7\t1"),
    (("Gate 7", word_run("1", '<w:vertAlign w:val="baseline"/>')), "Gate 71"),
)
def test_other_raised_and_lowered_texts_stay(runs: tuple[str, ...], text: str) -> None:
    assert read(make_docx_of(word_paragraph(*runs))) == text


def test_note_marks_in_a_table_get_a_sign() -> None:
    cell = f"<w:tc>{word_paragraph('12', raised('1'))}</w:tc>"
    table = word_table(word_row("Line", "Fare"), word_row("Red", cell))

    assert (
        read(make_docx_of(table, word_paragraph(raised("1"), " before noon")))
        == "Line: Red; Fare: 12^1\n\n1 before noon"
    )


def test_digits_that_a_style_raises_get_a_sign() -> None:
    def write(document) -> None:
        from docx.enum.style import WD_STYLE_TYPE

        document.styles.add_style("Raised", WD_STYLE_TYPE.CHARACTER).font.superscript = True
        paragraph = document.add_paragraph("There are 10")
        paragraph.add_run("6", style="Raised")

    assert read(make_docx(write)) == "There are 10^6"
