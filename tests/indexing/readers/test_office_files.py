"""Indexing Word, PowerPoint and Excel files."""

from __future__ import annotations

import io
import re
import time
import zipfile
from collections.abc import Callable
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.readers import office_files
from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.office_files import read_xlsx, show_cell
from prefrag.indexing.report import CannotRead
from tests.for_each import for_each
from tests.indexing.office import (
    ROWS,
    content_control,
    make_docx,
    make_docx_of,
    make_pptx,
    make_xlsx,
    with_part,
    word_paragraph,
    word_row,
    word_table,
)

pytest.importorskip("docx", reason="the extra 'files' is not installed")
pytest.importorskip("pptx", reason="the extra 'files' is not installed")
pytest.importorskip("openpyxl", reason="the extra 'files' is not installed")

from docx.opc.packuri import PackURI
from docx.opc.part import Part

# The XML of a cell in a Word file.
CELL = f"<w:tc>{word_paragraph('4 May')}</w:tc>"
# The XML of a formula in a Word file.
FORMULA = "<m:oMath><m:r><m:t>F=42</m:t></m:r></m:oMath>"
LONG = "A sentence of six words is. " * 30


@pytest.fixture(scope="module")
def converter() -> FileConverter:
    return FileConverter()


def _book(write: Callable[[Any], None]) -> bytes:
    """Write a workbook whose first sheet has what `write` adds."""
    import openpyxl

    book = openpyxl.Workbook()
    write(book.active)
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


def _with_results(setting: str, results: tuple[str, str], kind: str = "") -> bytes:
    """Write a workbook with two formulas, the second of which stores a result of the kind."""
    rows = [["Hall", "Net", "Gross", "Rest"], ["North", 50, "first", "second"]]
    book = make_xlsx({"Halls": rows})
    sheet, workbook = "xl/worksheets/sheet1.xml", "xl/workbook.xml"
    with zipfile.ZipFile(io.BytesIO(book)) as package:
        xml, settings = package.read(sheet).decode(), package.read(workbook).decode()
    for cell, result, attribute in (("C2", results[0], ""), ("D2", results[1], kind)):
        xml = re.sub(rf'<c r="{cell}".*?</c>', f'<c r="{cell}" {attribute}><f>B2*2</f>{result}</c>', xml)
    settings = re.sub(r'fullCalcOnLoad="1"', setting, settings)
    return with_part(with_part(book, sheet, xml.encode()), workbook, settings.encode())


def _whole(passages: list[Document]) -> str:
    return "\n".join(passage.content or "" for passage in passages)


class TestWord:
    def test_page_headers_and_notes_stand_below_the_text_once(self, converter: FileConverter) -> None:
        def write(document: Any) -> None:
            document.add_paragraph("The slipway is 40 metres long.")
            document.sections[0].header.paragraphs[0].text = "Reference HARB-2210"
            document.sections[0].footer.paragraphs[0].text = "Account 99-88-77"
            document.add_section().header.is_linked_to_previous = False
            document.sections[1].header.paragraphs[0].text = "Reference HARB-2210"
            note = '<w:footnote w:id="1"><w:p><w:r><w:t>Since 2019.</w:t></w:r></w:p></w:footnote>'
            line = '<w:footnote w:type="separator" w:id="0"><w:p><w:r><w:t>No note.</w:t></w:r></w:p></w:footnote>'
            xml = f'<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">{line}{note}'
            part = Part(
                PackURI("/word/footnotes.xml"), "text/xml", f"{xml}</w:footnotes>".encode(), document.part.package
            )
            document.part.relate_to(
                part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
            )

        text = _whole(converter.passages(Path("/a.docx"), make_docx(write)))

        assert text.startswith("The slipway")
        assert sorted(text.split("\n")[1:]) == [
            "Footnote: Since 2019.",
            "Page footer: Account 99-88-77",
            "Page header: Reference HARB-2210",
        ]

    def test_paragraphs_lists_and_tables_come_in_their_order(self, converter: FileConverter) -> None:
        def write(document: Any) -> None:
            document.add_heading("Manual", level=1)
            document.add_paragraph("Read this first.")
            document.add_paragraph("a screw", style="List Bullet")
            table = document.add_table(rows=3, cols=2)
            for row, values in zip(table.rows, ROWS, strict=True):
                for cell, value in zip(row.cells, values, strict=True):
                    cell.text = value
            document.add_paragraph("Then go on.")

        [passage] = converter.passages(Path("/a.docx"), make_docx(write, title="The handbook"))

        assert passage.meta["title"] == "The handbook"
        assert (passage.content or "").split("\n") == [
            "Manual",
            "Read this first.",
            "- a screw",
            "Name: Ada; City: London",
            "Name: Boole; City: Cork",
            "Then go on.",
        ]
        assert passage.meta["kind"] == "docx"

    def test_a_row_that_is_repeated_on_every_page_holds_names(self, converter: FileConverter) -> None:
        from docx.oxml import OxmlElement

        def write(document: Any) -> None:
            for is_header in (True, False):
                table = document.add_table(rows=2, cols=2)
                for cell, value in zip(table._cells, ("Size", "7", "Price", "900"), strict=True):
                    cell.text = value
                if is_header:
                    table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
                document.add_paragraph("Then go on.")

        [passage] = converter.passages(Path("/a.docx"), make_docx(write))

        lines = ["Size: Price; 7: 900", "Then go on.", "Size; 7", "Price; 900", "Then go on."]
        assert (passage.content or "").split("\n") == lines

    def test_passages_know_their_headings(self, converter: FileConverter) -> None:
        def write(document: Any) -> None:
            for level, heading in ((0, "Manual"), (1, "Installation"), (2, "On ships")):
                document.add_heading(heading, level=level)
                document.add_paragraph(LONG)

        passages = converter.passages(Path("/a.docx"), make_docx(write))

        headings = list(dict.fromkeys(passage.meta["heading"] for passage in passages))
        assert headings == ["Manual", "Installation", "Installation > On ships"]
        assert passages[0].meta["title"] == "Manual"

    @for_each("style, title", ("Heading 1", "Buoys"), (None, "minutes of 3 May"))
    def test_without_properties_is_titled_by_its_heading_or_its_name(
        self, converter: FileConverter, style: str | None, title: str
    ) -> None:
        main = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
        bare = (
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="rId1" Type="{main}" Target="word/document.xml"/></Relationships>'
        )
        data = with_part(
            make_docx(lambda document: document.add_paragraph("Buoys", style)), "_rels/.rels", bare.encode()
        )

        [passage] = converter.passages(Path("/minutes of 3 May.docx"), data)

        assert passage.meta["title"] == title

    @for_each(
        "parts, loss",
        ([FORMULA, FORMULA], "2 formulas left out"),
        ([f"<m:oMathPara>{FORMULA}</m:oMathPara>"], "1 formula left out"),
        (["<w:r><w:drawing><dgm:relIds/></w:drawing></w:r>"], "1 diagram left out"),
        (["<w:altChunk/>"], "1 inserted file left out"),
        ([FORMULA, "<w:altChunk/>"], "1 formula left out; 1 inserted file left out"),
        # These are not shown, or repeat what is shown.
        ([f"<w:del>{FORMULA}</w:del>"], ""),
        ([f"<w:moveFrom>{FORMULA}</w:moveFrom>"], ""),
        ([f"<mc:AlternateContent><mc:Fallback>{FORMULA}</mc:Fallback></mc:AlternateContent>"], ""),
    )
    def test_formulas_diagrams_and_inserted_files_are_counted(
        self, converter: FileConverter, parts: list[str], loss: str
    ) -> None:
        [passage] = converter.passages(Path("/a.docx"), make_docx_of(word_paragraph("The load is ", *parts, "great.")))

        assert passage.content == "The load is great."
        assert converter.loss == loss

    def test_words_at_places_of_a_line_stay_apart(self, converter: FileConverter) -> None:
        line = word_paragraph("Rank: cook", "<w:r><w:ptab/></w:r>", "Ship: Tern")

        [passage] = converter.passages(Path("/a.docx"), make_docx_of(line))

        assert passage.content.split() == ["Rank:", "cook", "Ship:", "Tern"]

    def test_inserted_text_is_read_and_deleted_text_is_not(self, converter: FileConverter) -> None:
        word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
        body = (
            f'<?xml version="1.0"?><w:document xmlns:w="{word}"><w:body><w:p><w:r><w:t>The price is </w:t></w:r>'
            "<w:del><w:r><w:delText>five</w:delText></w:r></w:del><w:ins><w:r><w:t>six</w:t></w:r></w:ins></w:p>"
            "<w:sdt><w:sdtContent><w:p><w:r><w:t>In a form.</w:t></w:r></w:p></w:sdtContent></w:sdt>"
            "</w:body></w:document>"
        )
        data = with_part(make_docx(lambda document: None), "word/document.xml", body.encode())

        [passage] = converter.passages(Path("/a.docx"), data)

        assert passage.content == "The price is six\nIn a form."

    @for_each(
        "rows",
        # Around a cell, as the date picker; around the first cell.
        (word_row("Task", "Due", "Owner"), word_row("Crane", content_control(CELL), "Una")),
        (word_row("Due", "Task", "Owner"), word_row(content_control(CELL), "Crane", "Una")),
        # Around a row; around several rows, each of which is one of a repeated part.
        (word_row("Task", "Due", "Owner"), content_control(word_row("Crane", "4 May", "Una"))),
        (
            word_row("Task", "Due", "Owner"),
            content_control(
                content_control(word_row("Crane", "4 May", "Una")) + content_control(word_row("Pier", "9 May", "Ben"))
            ),
        ),
        # Around the names of the columns.
        (content_control(word_row("Task", "Due", "Owner")), word_row("Crane", "4 May", "Una")),
        # Elements of another program.
        (
            word_row("Task", "Due", "Owner"),
            word_row("Crane", f'<w:customXml w:element="due">{CELL}</w:customXml>', "Una"),
        ),
    )
    def test_cells_and_rows_in_content_controls_are_read(self, converter: FileConverter, rows: tuple[str, ...]) -> None:
        [passage] = converter.passages(Path("/a.docx"), make_docx_of(word_table(*rows)))

        first_line = (passage.content or "").split("\n")[0]
        assert sorted(first_line.split("; ")) == ["Due: 4 May", "Owner: Una", "Task: Crane"]

    @for_each(
        "rows, lines",
        (
            (
                word_row("Hall", "Mon", "Tue", "Wed"),
                word_row("North", "9", "10", "11"),
                word_row("12", "13", properties='<w:gridBefore w:val="2"/>'),
            ),
            ["Hall: North; Mon: 9; Tue: 10; Wed: 11", "Tue: 12; Wed: 13"],
        ),
        # The names of the columns begin above the second one.
        (
            (
                word_row("Mon", "Tue", properties='<w:gridBefore w:val="1"/>'),
                word_row("North", "9", "10"),
                word_row("South", "8", "7"),
            ),
            ["North; Mon: 9; Tue: 10", "South; Mon: 8; Tue: 7"],
        ),
        (
            (
                word_row("Hall", "Mon", "Tue"),
                word_row("North", "9", properties='<w:gridAfter w:val="1"/>'),
                word_row("South", "8", "7", properties='<w:gridBefore w:val="no number"/>'),
            ),
            ["Hall: North; Mon: 9", "Hall: South; Mon: 8; Tue: 7"],
        ),
    )
    def test_rows_that_begin_further_right_keep_their_columns(
        self, converter: FileConverter, rows: tuple[str, ...], lines: list[str]
    ) -> None:
        [passage] = converter.passages(Path("/a.docx"), make_docx_of(word_table(*rows)))

        assert (passage.content or "").split("\n") == lines


class TestPowerPoint:
    def test_every_slide_is_headed_and_its_number_is_the_page(self, converter: FileConverter) -> None:
        slides = [("Buoys", LONG), ("", ""), ("Boats", LONG)]

        passages = converter.passages(Path("/talk.pptx"), make_pptx(slides))

        pages = {passage.meta["heading"]: passage.meta["page_number"] for passage in reversed(passages)}
        assert pages == {"Slide 1: Buoys": 1, "Slide 3: Boats": 3}
        assert passages[0].meta["title"] == "Buoys"

    def test_notes_and_lines_are_read(self, converter: FileConverter) -> None:
        [passage] = converter.passages(Path("/talk.pptx"), make_pptx([("Buoys", "One\nTwo")], notes="Speak up."))

        assert passage.content == "Slide 1: Buoys\nOne\nTwo\nNotes: Speak up."

    def test_tables_and_groups_are_read(self, converter: FileConverter) -> None:

        import pptx

        presentation = pptx.Presentation()
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        table = slide.shapes.add_table(3, 2, 0, 0, 100, 100).table
        for row, values in enumerate(ROWS):
            for column, value in enumerate(values):
                table.cell(row, column).text = value
        group = slide.shapes.add_group_shape()
        group.shapes.add_textbox(0, 0, 10, 10).text_frame.text = "In a group."
        made = io.BytesIO()
        presentation.save(made)

        [passage] = converter.passages(Path("/talk.pptx"), made.getvalue())

        assert "Name: Ada; City: London" in (passage.content or "")
        assert "In a group." in (passage.content or "")


class TestExcel:
    def test_each_row_has_the_names_of_its_columns(self, converter: FileConverter) -> None:
        rows = [("Name", "Born", "Share"), ("Ada", datetime(1815, 12, 10), 3.0), ("Boole", date(1815, 11, 2), 0.25)]

        [people, towns] = converter.passages(
            Path("/a.xlsx"), make_xlsx({"People": rows, "Towns": [("Cork",)], "No": []})
        )

        assert (people.content or "").split("\n") == [
            "People",
            "Name: Ada; Born: 1815-12-10; Share: 3",
            "Name: Boole; Born: 1815-11-02; Share: 0.25",
        ]
        assert people.meta["heading"] == "People"
        assert towns.content == "Towns\nCork"

    def test_months_and_bold_cells_of_the_first_row_are_names(self, converter: FileConverter) -> None:
        from openpyxl import load_workbook
        from openpyxl.styles import Font

        months = [("Cost", datetime(2026, 1, 1), datetime(2026, 2, 1)), ("Rent", 900, 1020)]
        sizes = [(), ("Size", 1, 2), ("Price", 900, 1020)]
        book = load_workbook(io.BytesIO(make_xlsx({"Months": months, "Bold": sizes, "Thin": sizes})))
        for cell in book["Bold"][2]:
            cell.font = Font(bold=True)
        made = io.BytesIO()
        book.save(made)

        assert _whole(converter.passages(Path("/a.xlsx"), made.getvalue())).split("\n") == [
            *("Months", "Cost: Rent; 2026-01-01: 900; 2026-02-01: 1020"),
            *("Bold", "Size: Price; 1: 900; 2: 1020"),
            *("Thin", "Size; 1; 2", "Price; 900; 1020"),
        ]

    def test_merged_cells_fill_titles_names_and_groups(self, converter: FileConverter) -> None:
        def write(sheet: Any) -> None:
            rows = [("Fleet of 2026",), (), ("Harbour", "Boat", "Trips"), (None, None, "May", "June")]
            for row in [*rows, ("Norwick", "Tern", 4, 5), (None, "Skua", 6, 7)]:
                sheet.append(row)
            for merged in ("A1:D1", "A3:A4", "B3:B4", "C3:D3", "A5:A6"):
                sheet.merge_cells(merged)

        assert _whole(converter.passages(Path("/a.xlsx"), _book(write))).split("\n") == [
            "Sheet",
            "Fleet of 2026; Harbour: Norwick; Boat: Tern; Trips May: 4; Trips June: 5",
            "Fleet of 2026; Harbour: Norwick; Boat: Skua; Trips May: 6; Trips June: 7",
        ]

    def test_formulas_without_a_value_are_counted_and_said(self, converter: FileConverter) -> None:
        rows = [("Item", "Net", "Gross"), ("Anchor", 100, "=B2*1.2"), ("Chain", 60, "=B3*1.2")]

        text = _whole(converter.passages(Path("/a.xlsx"), make_xlsx({"Order": rows})))

        assert "Item: Anchor; Net: 100" in text
        assert converter.loss == "2 formulas without a stored value: open the file in its program, and save it"

    @for_each(
        "setting, results, line, loss",
        # XlsxWriter stores 0 for each formula, and lets Excel compute it.
        ('fullCalcOnLoad="1"', ("<v>0</v>", "<v>0</v>"), "Hall: North; Net: 50", "2 formulas without a stored value"),
        # Zeros that Excel has saved, and zeros beside another result, are results.
        ("", ("<v>0</v>", "<v>0</v>"), "Hall: North; Net: 50; Gross: 0; Rest: 0", ""),
        ('fullCalcOnLoad="1"', ("<v>0</v>", "<v>9</v>"), "Hall: North; Net: 50; Gross: 0; Rest: 9", ""),
        ('fullCalcOnLoad="1"', ("<v></v>", "<v></v>"), "Hall: North; Net: 50", "2 formulas without a stored value"),
    )
    def test_zeros_that_nobody_computed_are_no_results(
        self, setting: str, results: tuple[str, str], line: str, loss: str
    ) -> None:
        outline = Outline()

        text, _ = outline.read(read_xlsx(_with_results(setting, results), outline).text)

        assert text.split("\n")[1:] == [line]
        assert outline.loss.partition(":")[0] == loss

    def test_an_empty_text_is_the_result_of_a_formula(self) -> None:
        outline = Outline()

        read_xlsx(_with_results("", ("<v>9</v>", "<v></v>"), 't="str"'), outline)

        assert outline.loss == ""

    def test_a_hidden_sheet_is_named_as_hidden(self, converter: FileConverter) -> None:
        def write(sheet: Any) -> None:
            sheet.append(["Seen"])
            hidden = sheet.parent.create_sheet("Crew")
            hidden.append(["Ada"])
            hidden.sheet_state = "hidden"

        passages = converter.passages(Path("/a.xlsx"), _book(write))

        assert _whole(passages).split("\n") == ["Sheet", "Seen", "Crew (hidden sheet)", "Ada"]

    def test_very_many_merged_cells_are_read_in_seconds(self, converter: FileConverter) -> None:
        merged = "".join(f'<mergeCell ref="A{row}:XFD{row + 9}"/>' for row in range(1, 20_000))
        sheet = "xl/worksheets/sheet1.xml"
        book = make_xlsx({"Sheet": [("Name", "City"), *[("Ada", "Cork")] * 2_000]})
        with zipfile.ZipFile(io.BytesIO(book)) as package:
            xml = package.read(sheet).replace(
                b"</sheetData>", f"</sheetData><mergeCells>{merged}</mergeCells>".encode()
            )
        before = time.process_time()

        assert "Ada" in _whole(converter.passages(Path("/a.xlsx"), with_part(book, sheet, xml)))
        assert time.process_time() - before < 3

    @for_each(
        "value, form, shown",
        (0.19, "0%", "19%"),
        (1 / 3, "0.0%", "33.3%"),
        (1234.5, '#,##0.00 "EUR"', "1,234.50 EUR"),
        (1234.5, "[$\u20ac-407]#,##0.00", "\u20ac1,234.50"),
        (-3.5, "0.00;[Red]-0.00", "-3.50"),
        (-0.001, "0.00", "0.00"),
        (2.5, "0", "3"),
        (1234.5, "#,##0", "1,235"),
        (0.145, "0%", "15%"),
        (-5, "0;(0)", "(5)"),
        # A minus is written if only a colour marks a negative number.
        (-5.5, "#,##0.00;[Red]#,##0.00", "-5.50"),
        (-5.5, '#,##0.00 "kg";[Red]#,##0.00', "-5.50"),
        (-5, "0;;0", "-5"),
        (-5, "0 kg;[Red]\\-0 kg", "-5 kg"),
        (-5, '0;0" owed"', "5 owed"),
        (-0.001, "0.00;[Red]0.00", "0.00"),
        (float("nan"), "0", "nan"),
        (-5, "0;[Red](0)", "(5)"),
        (-5, "[<0]0;(0)", "-5"),
        (-5, "0;;", "-5"),
        (2.5, "0.##", "2.5"),
        (2, "0.##", "2"),
        (0.1 + 0.2, "General", "0.3"),
        (3.0, "General", "3"),
        (1e20, "0.00E+00", "1e+20"),
        (0.5, "# ?/?", "0.5"),
        # Each zero of the format is a digit.
        (1234, "00000", "01234"),
        (3.5, "00.00", "03.50"),
        (-7, "000", "-007"),
        # Numbers in thousands and millions, with a unit that says so.
        (12_340_617, '0.0,,"M"', "12.3M"),
        (15_300, '0.0,"k"', "15.3k"),
        (-2_500_000, '#,##0.0,, "m"', "-2.5 m"),
        (1_234_000, "#,##0,", "1234000"),
        (1_234_000, '#,##0, "EUR"', "1234000"),
        (3_200_000, '0.0,, "Mio. EUR"', "3.2 Mio. EUR"),
        # Signs between the digits.
        (123_456_789, "000-00-0000", "123-45-6789"),
        (1_234, "000-00-0000", "000-00-1234"),
        (5_551_234_567, "(###) ###-####", "(555) 123-4567"),
        (4_915_551_234, "000-0000", "491555-1234"),
        (1_234, "###-####", "1234"),
        (12.5, "000-0000", "12.5"),
        (1234.5, "#.##0,00", "1234.5"),
        # Parts with a condition.
        (2_500, '[>=1000]0.0,"t";0"kg"', "2.5t"),
        (750, '[>=1000]0.0,"t";0"kg"', "750kg"),
        (5_551_234, "[<=9999999]###-####;(###) ###-####", "555-1234"),
        (1, '[=1]"on";[=0]"off";General', "on"),
        (7, '[=1]"on";[=0]"off";General', "7"),
        (7, '[>100]0"t";0"kg";0"g"', "7"),
        (-7, '[<100]0"t";0"kg"', "-7"),
        # Words for a number.
        (1, '"yes";;"no"', "yes"),
        (0, '"yes";;"no"', "no"),
        (-1, '"yes";"owed";"no"', "owed"),
        (0, '0.0;-0.0;"-"', "0.0"),
        (5, '"f\u00fcr; e"', "f\u00fcr; e"),
        # Digits and percent signs among the words are no placeholders.
        (12, '0" of 20"', "12 of 20"),
        (12, '"No. 0"0', "No. 012"),
        (12, '0"%"', "12%"),
        (80, '0" km/h"', "80 km/h"),
        (-1e20, "0.00E+00;-0.00E+00", "-1e+20"),
        (48, "General", "48"),
        (7, "@", "7"),
        (True, "General", "True"),
        ("text", "0%", "text"),
        (timedelta(hours=36), "[h]:mm", "36:00"),
        (timedelta(minutes=-90), "[h]:mm", "-1:30"),
        (timedelta(seconds=61), "[m]:ss", "0:01:01"),
        (clock_time(14, 30), "hh:mm", "14:30"),
        (datetime(2026, 7, 3), "yyyy-mm-dd h:mm:ss", "2026-07-03"),
        (datetime(2026, 7, 3, 9, 5), "yyyy-mm-dd h:mm", "2026-07-03 09:05"),
        (date(2024, 4, 1), "mmmm yyyy", "April 2024"),
        (date(2024, 4, 1), "dd/mm/yyyy", "2024-04-01"),
        (None, "General", ""),
    )
    def test_a_cell_is_written_as_it_is_shown(self, value: Any, form: str, shown: str) -> None:
        assert show_cell(value, form) == shown

    @given(st.floats() | st.integers() | st.datetimes() | st.timedeltas(), st.text('0#?,.%;[]$"\\ hmsyE+-/'))
    def test_any_number_format_gives_a_text(self, value: Any, form: str) -> None:
        assert isinstance(show_cell(value, form), str)

    def test_a_cell_far_away_from_the_others_costs_little(self, converter: FileConverter) -> None:
        from openpyxl import load_workbook

        book = load_workbook(io.BytesIO(make_xlsx({"Far": ROWS})))
        book.active.cell(100_000, 16_384, "lost")
        book.active.cell(100_001, 1, "near")
        made = io.BytesIO()
        book.save(made)
        before = time.process_time()

        assert "near" in _whole(converter.passages(Path("/a.xlsx"), made.getvalue()))
        assert time.process_time() - before < 8


class TestHostile:
    @pytest.mark.parametrize(
        ("path", "data", "part"),
        [
            ("/a.docx", make_docx(lambda document: document.add_paragraph("Text.")), "word/document.xml"),
            ("/a.pptx", make_pptx([("Title", "Text")]), "ppt/slides/slide1.xml"),
            ("/a.xlsx", make_xlsx({"Sheet": ROWS}), "xl/sharedStrings.xml"),
        ],
    )
    @pytest.mark.parametrize(
        "xml",
        [
            '<?xml version="1.0"?>\n<!-- x --><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><a>&b;</a>',
            '<!DOCTYPE a [<!ENTITY b "xxxxxxxxxx"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><a>&c;</a>',
        ],
    )
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
    def test_entities_are_refused(
        self, converter: FileConverter, path: str, data: bytes, part: str, xml: str, encoding: str
    ) -> None:
        with pytest.raises(CannotRead, match="DOCTYPE"):
            converter.passages(Path(path), with_part(data, part, xml.encode(encoding)))

    def test_entities_are_refused_whatever_the_part_is_called(self, converter: FileConverter) -> None:
        data = make_docx(lambda document: document.add_paragraph("Text."))

        with pytest.raises(CannotRead, match="DOCTYPE"):
            converter.passages(Path("/a.docx"), with_part(data, "word/picture.png", b" <!DOCTYPE a []><a/>"))

    def test_file_of_gigabytes_or_many_parts_is_not_unpacked(
        self, converter: FileConverter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        empty = make_docx(lambda document: None)
        with pytest.raises(CannotRead, match="no text in it"):
            converter.passages(Path("/a.docx"), empty)
        monkeypatch.setattr(office_files, "_MOST_XML_BYTES", 10_000_000)
        with pytest.raises(CannotRead, match="unpacks to more"):
            converter.passages(Path("/a.docx"), with_part(empty, "word/document.xml", b" " * 15_000_000))
        monkeypatch.setattr(office_files, "_MOST_PARTS", 5)
        with pytest.raises(CannotRead, match="unpacks to more"):
            converter.passages(Path("/a.docx"), empty)

    @pytest.mark.parametrize("suffix", ["docx", "pptx", "xlsx"])
    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "encrypted, or from before Office 2007"),
            (b"PK\x03\x04 broken", "damaged"),
            (b"Just text.", "damaged"),
            (with_part(make_docx(lambda document: None), "[Content_Types].xml", b"<a"), "damaged"),
        ],
    )
    def test_what_is_no_such_file_is_refused(
        self, converter: FileConverter, suffix: str, data: bytes, reason: str
    ) -> None:
        with pytest.raises(CannotRead, match=reason):
            converter.passages(Path(f"/a.{suffix}"), data)


def test_comments_on_cells_are_read_and_hidden_sheets_named(converter: FileConverter) -> None:
    import openpyxl
    from openpyxl.comments import Comment

    book = openpyxl.load_workbook(io.BytesIO(make_xlsx({"Fees": ROWS, "Old": ROWS})))
    book["Fees"]["B2"].comment = Comment("Raised in May.", "Ada")
    book["Old"].sheet_state = "hidden"
    book.save(saved := io.BytesIO())

    passages = converter.passages(Path("/fees.xlsx"), saved.getvalue())

    assert "Comment on cell B2 of the sheet Fees: Raised in May." in _whole(passages)
    assert "Old (hidden sheet)" in _whole(passages)


def test_a_comment_in_a_file_of_one_sheet_needs_no_name(converter: FileConverter) -> None:
    import openpyxl
    from openpyxl.comments import Comment

    book = openpyxl.load_workbook(io.BytesIO(make_xlsx({"Fees": ROWS})))
    book["Fees"]["A2"].comment = Comment("Not yet agreed.", "Ada")
    book.save(saved := io.BytesIO())

    assert "Comment on cell A2: Not yet agreed." in _whole(converter.passages(Path("/fees.xlsx"), saved.getvalue()))
