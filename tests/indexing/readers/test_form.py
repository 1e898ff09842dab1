"""Forms become a line with their labels, and tables of the same shape stay tables."""

from __future__ import annotations

import io

import pytest

from prefrag.components.text.table_rows import Table
from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.html_files import mark_page
from prefrag.indexing.readers.office_files import read_docx, read_xlsx
from prefrag.indexing.readers.tables import Grid, Span, write_grid
from tests.for_each import for_each
from tests.indexing.office import make_docx
from tests.indexing.readers.form_blocks import FORMS, TABLES

BOLD, FILLED = 0, 1
READ = "Customer: Castle Green; Engineer: Tomasz"


def grid_of(block: str) -> Grid:
    """Read a block of `form_blocks`."""
    rows: list[list[str]] = []
    spans: list[Span] = []
    marks: list[set[tuple[int, int]]] = [set(), set()]
    for number, line in enumerate(block.split("\n")):
        cells: list[str] = []
        for written in line.split("|"):
            text, _, width = written.strip().partition(">")
            place = (number, len(cells))
            if text.startswith("*"):
                marks[BOLD].add(place)
            if text.startswith("#"):
                marks[FILLED].add(place)
            if width:
                spans.append(Span(*place, 1, int(width)))
            cells += [text.lstrip("*#"), *[""] * (int(width or 1) - 1)]
        rows.append(cells)
    return Grid(rows, spans, marks=marks)


def read(grid: Grid) -> tuple[list[str], list[Table]]:
    outline = Outline()
    text, _ = outline.read("\n".join(write_grid(grid, outline)))
    return text.split("\n"), [table for _, table, _ in outline.rows]


@for_each("block, line", *(pair for pair in FORMS if pair[1]))
def test_a_form_becomes_one_row(block: str, line: str) -> None:
    lines, tables = read(grid_of(block))

    assert lines == [line]
    assert len(tables) == 1


@for_each("block, line", *TABLES)
def test_a_table_like_a_form_stays_a_table(block: str, line: str) -> None:
    lines, _ = read(grid_of(block))

    assert lines[0] == line


def test_glossary_without_names_of_columns_is_a_form() -> None:
    lines, _ = read(grid_of("Bow | The front of the boat.\nStern | Its back, where the engine is."))

    assert lines == ["Bow: The front of the boat.; Stern: Its back, where the engine is."]


@for_each("block", FORMS[-2][0], FORMS[-1][0])
def test_sentences_in_boxes_are_text_cell_after_cell(block: str) -> None:
    lines, tables = read(grid_of(block))

    assert lines == [cell.strip() for row in block.split("\n") for cell in row.split("|")]
    assert tables == []


def test_a_long_form_becomes_a_line_for_each_pair() -> None:
    lines, tables = read(grid_of("\n".join(f"Part {'abc'[n]}: | {'very ' * 60}long" for n in range(3))))

    assert [line[:12] for line in lines] == ["Part a: very", "Part b: very", "Part c: very"]
    assert tables == []


def test_table_below_a_form_has_its_own_names() -> None:
    form = "Customer: | Castle Green\nEngineer: | Tomasz"

    assert read(grid_of(f"{form}\n\nItem | Price\nPump | 300"))[0] == [READ, "Item: Pump; Price: 300"]


def test_row_that_the_file_marks_names_the_columns() -> None:
    block = "Field | Value\nDate | 3 May 2026\nOrder | 4711\nPhone | 0471 220 11"
    marked = Grid(grid_of(block).rows, headers=frozenset({0}))

    assert read(marked)[0][0] == "Field: Date; Value: 3 May 2026"


def test_word_marks_labels_by_letters_backgrounds_and_styles() -> None:
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    for way in ("bold", "style", "background"):

        def write(document, way=way) -> None:
            table = document.add_table(rows=2, cols=2)
            texts = (("Customer", "Castle Green"), ("Engineer", "Tomasz"))
            for row, (label, value) in zip(table.rows, texts, strict=True):
                run = row.cells[0].paragraphs[0].add_run(label, "Strong" if way == "style" else None)
                run.bold = True if way == "bold" else None
                row.cells[1].text = value
                if way == "background":
                    row.cells[0]._tc.get_or_add_tcPr().append(parse_xml(f'<w:shd {nsdecls("w")} w:fill="D9D9D9"/>'))

        outline = Outline()
        text, _ = outline.read(read_docx(make_docx(write), outline).text)
        assert text == READ


def test_style_of_a_word_table_marks_its_first_row() -> None:
    def write(document) -> None:
        table = document.add_table(rows=2, cols=2)
        table.style = "Light Grid"
        for row, (label, value) in zip(table.rows, (("Name", "City"), ("Ada", "London")), strict=True):
            row.cells[0].paragraphs[0].add_run(label).bold = True
            row.cells[1].text = value

    outline = Outline()
    text, _ = outline.read(read_docx(make_docx(write), outline).text)
    assert text == "Name: Ada; City: London"


@for_each("way", "bold", "background")
def test_excel_marks_labels_by_letters_and_backgrounds(way: str) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for number, (label, value) in enumerate((("Customer", "Castle Green"), ("Engineer", "Tomasz")), start=1):
        cell = book.active.cell(number, 2, label)
        book.active.cell(number, 3, value)
        if way == "bold":
            cell.font = openpyxl.styles.Font(bold=True)
        else:
            cell.fill = openpyxl.styles.PatternFill("solid", fgColor="FFD9D9D9")
    # The labels are marked behind a hidden column, too.
    book.active.column_dimensions["A"].hidden = True
    stream = io.BytesIO()
    book.save(stream)

    outline = Outline()
    text, _ = outline.read(read_xlsx(stream.getvalue(), outline).text)
    assert text.split("\n")[1:] == [READ]


@for_each("label", "<th>{}</th>", "<td><b>{}</b></td>", "<td> <strong>{}</strong></td>")
def test_page_marks_labels_by_cells_and_letters(label: str) -> None:
    rows = "".join(
        f"<tr>{label.format(name)}<td>{value}</td></tr>"
        for name, value in (("Customer", "Castle Green"), ("Engineer", "Tomasz"))
    )
    outline = Outline()

    assert READ in outline.read(mark_page(f"<table>{rows}</table>", outline))[0]
