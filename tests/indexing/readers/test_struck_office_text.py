"""Struck-out and hidden text of Office, OpenDocument and RTF files."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prefrag.indexing.file_conversion import FileConverter
from tests.for_each import for_each
from tests.indexing.office import make_docx, with_part
from tests.indexing.readers.open_document import make_file

pytest.importorskip("docx", reason="the extra 'files' is not installed")
pytest.importorskip("pptx", reason="the extra 'files' is not installed")
pytest.importorskip("openpyxl", reason="the extra 'files' is not installed")

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def _read(name: str, data: bytes) -> tuple[str, str]:
    converter = FileConverter()
    passages = converter.passages(Path(f"/{name}"), data)
    return "\n".join(passage.content or "" for passage in passages), converter.loss


def _paragraph(properties: str) -> Callable[[Any], None]:
    from docx.oxml import parse_xml

    def write(document: Any) -> None:
        runs = f"<w:r><w:t>Fee: </w:t></w:r><w:r>{properties}<w:t>12</w:t></w:r><w:r><w:t> 15 euros</w:t></w:r>"
        document.element.body.insert(0, parse_xml(f"<w:p {_W}>{runs}</w:p>"))

    return write


@for_each(
    "properties, text",
    ("<w:rPr><w:strike/></w:rPr>", "Fee: 15 euros"),
    ('<w:rPr><w:dstrike w:val="1"/></w:rPr>', "Fee: 15 euros"),
    ("<w:rPr><w:b/><w:vanish/></w:rPr>", "Fee: 15 euros"),
    ('<w:rPr><w:strike w:val="0"/></w:rPr>', "Fee: 12 15 euros"),
    ('<w:rPr><w:vanish w:val="false"/></w:rPr>', "Fee: 12 15 euros"),
    ("", "Fee: 12 15 euros"),
)
def test_struck_out_words_of_a_word_file_are_left_out(properties: str, text: str) -> None:
    read, loss = _read("a.docx", make_docx(_paragraph(properties)))

    assert read == text
    assert loss == ("" if "12" in text else "1 struck-out or hidden text left out")


def test_styles_and_their_bases_strike_words_out() -> None:
    def write(document: Any) -> None:
        base = document.styles.add_style("Gone", 2)
        base.font.strike = True
        derived, restored = document.styles.add_style("Away", 2), document.styles.add_style("Back", 2)
        derived.base_style = restored.base_style = base
        restored.font.strike = False
        paragraph = document.add_paragraph()
        for text, style in (("one ", base), ("two ", derived), ("three ", restored), ("four", None)):
            paragraph.add_run(text, style=style)

    assert _read("a.docx", make_docx(write))[0] == "three four"


def test_hidden_rows_and_moved_words_are_left_out() -> None:
    from docx.oxml import parse_xml

    def write(document: Any) -> None:
        table = document.add_table(0, 2)
        for row in (("Name", "Phone"), ("Bo", "5528"), ("Ann", "4417")):
            for cell, text in zip(table.add_row().cells, row, strict=True):
                cell.text = text
        table.rows[1]._tr.get_or_add_trPr().append(parse_xml(f"<w:hidden {_W}/>"))
        moved = "<w:moveFrom><w:r><w:t>Old place.</w:t></w:r></w:moveFrom>"
        document.add_paragraph()._p.append(parse_xml(f"<w:ins {_W}>{moved}</w:ins>"))

    assert _read("a.docx", make_docx(write))[0] == "Name: Ann; Phone: 4417"


@for_each(
    "strike, text", ("sngStrike", "The fee is 15"), ("dblStrike", "The fee is 15"), ("noStrike", "The fee is 1215")
)
def test_struck_out_words_of_a_slide_are_left_out(strike: str, text: str) -> None:
    import pptx

    presentation = pptx.Presentation()
    for number in range(2):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        paragraph = slide.placeholders[1].text_frame.paragraphs[0]
        for words, value in (("The fee is ", ""), ("12", strike), ("15", "")):
            run = paragraph.add_run()
            run.text = words
            if value:
                run._r.get_or_add_rPr().set("strike", value)
        if number:
            slide._element.set("show", "0")
    made = io.BytesIO()
    presentation.save(made)

    assert _read("a.pptx", made.getvalue())[0] == f"Slide 1\n{text}\nSlide 2 (hidden slide)\n{text}"


def _book(write: Callable[[Any], None]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (("Item", "Cost", "Price"), ("Mash", 11.5, 18.75), ("Hay", 3, 7), ("Oats", 4, "nine")):
        book.active.append(row)
    write(book.active)
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


class TestSheets:
    def test_struck_out_cells_and_hidden_lines_are_left_out(self) -> None:
        from openpyxl.styles import Font

        def write(sheet: Any) -> None:
            sheet["C2"].font = Font(strike=True)
            sheet["C4"].number_format = ";;;"
            sheet.row_dimensions[3].hidden = True
            sheet.column_dimensions["B"].hidden = True

        text, loss = _read("a.xlsx", _book(write))

        assert text == "Sheet\nMash\nOats" or text == "Sheet\nItem: Mash\nItem: Oats"
        assert loss == ("2 struck-out or hidden texts left out; 1 hidden row left out; 1 hidden column left out")

    def test_filtered_and_folded_rows_and_columns_stay(self) -> None:
        def write(sheet: Any) -> None:
            sheet.auto_filter.ref = "A1:C4"
            sheet.auto_filter.add_filter_column(0, ["Mash"])
            sheet.row_dimensions[3].hidden = True
            sheet.column_dimensions.group("B", "B", hidden=True)

        text, loss = _read("a.xlsx", _book(write))

        assert "Item: Hay; Cost: 3; Price: 7" in text
        assert loss == ""

    def test_a_merged_title_over_hidden_columns_stays(self) -> None:
        def write(sheet: Any) -> None:
            sheet.insert_rows(1)
            sheet["A1"] = "Prices of the yard"
            sheet.merge_cells("A1:C1")
            sheet.column_dimensions["A"].hidden = True

        assert "Prices of the yard; Cost: 3; Price: 7" in _read("a.xlsx", _book(write))[0]

    def test_struck_out_words_of_a_cell_are_left_out(self) -> None:
        import zipfile

        data = _book(lambda sheet: None)
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            sheet, types = (package.read(name).decode() for name in ("xl/worksheets/sheet1.xml", "[Content_Types].xml"))
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
        types = types.replace("</Types>", f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>')
        begin = sheet.index('<c r="C4"')
        end = sheet.index("</c>", begin)
        sheet = f'{sheet[:begin]}<c r="C4" t="s"><v>0</v>{sheet[end:]}'
        runs = "<r><rPr><strike/></rPr><t>12 </t></r><r><t>15</t></r>"
        strings = f'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si>{runs}</si></sst>'
        for name, text in (
            ("[Content_Types].xml", types),
            ("xl/worksheets/sheet1.xml", sheet),
            ("xl/sharedStrings.xml", strings),
        ):
            data = with_part(data, name, text.encode())

        assert "Item: Oats; Cost: 4; Price: 15" in _read("a.xlsx", data)[0]

    def test_a_struck_out_row_of_excel_ends_no_table(self) -> None:
        from openpyxl.styles import Font

        def write(sheet: Any) -> None:
            for cell in sheet[3]:
                cell.font = Font(strike=True)

        text, loss = _read("a.xlsx", _book(write))

        assert text == "Sheet\nItem: Mash; Cost: 11.5; Price: 18.75\nItem: Oats; Cost: 4; Price: nine"
        assert loss == "3 struck-out or hidden texts left out"


def test_a_struck_out_row_of_word_ends_no_table() -> None:
    def write(document: Any) -> None:
        table = document.add_table(0, 2)
        for row in (("Place", "Day"), ("Wall", "2 May"), ("Roof", "4 May"), ("Gate", "5 May")):
            for cell, text in zip(table.add_row().cells, row, strict=True):
                cell.paragraphs[0].add_run(text).font.strike = row[0] == "Roof"

    assert _read("a.docx", make_docx(write))[0] == "Place: Wall; Day: 2 May\nPlace: Gate; Day: 5 May"


def test_a_struck_out_row_of_a_slide_ends_no_table() -> None:
    import pptx
    from pptx.util import Inches

    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(4, 2, *map(Inches, (1, 1, 4, 2))).table
    for number, row in enumerate((("Place", "Day"), ("Wall", "2 May"), ("Roof", "4 May"), ("Gate", "5 May"))):
        for column, text in enumerate(row):
            run = table.cell(number, column).text_frame.paragraphs[0].add_run()
            run.text = text
            if row[0] == "Roof":
                run._r.get_or_add_rPr().set("strike", "sngStrike")
    made = io.BytesIO()
    presentation.save(made)

    assert _read("a.pptx", made.getvalue())[0] == "Slide 1\nPlace: Wall; Day: 2 May\nPlace: Gate; Day: 5 May"


def _styled(kind: str, family: str, properties: str, body: str) -> bytes:
    style = f'<st:style st:name="X" st:family="{family}"><st:text-properties {properties}/></st:style>'
    space = "urn:oasis:names:tc:opendocument:xmlns"
    styles = f'<o:styles xmlns:o="{space}:office:1.0" xmlns:st="{space}:style:1.0" xmlns:t="{space}:text:1.0">{style}'
    return make_file(kind, body, **{"styles.xml": f"{styles}</o:styles>"})


@for_each(
    "properties, text",
    ('st:text-line-through-style="solid"', "Fee: 15"),
    ('st:text-line-through-type="double"', "Fee: 15"),
    ('t:display="none"', "Fee: 15"),
    ('st:text-line-through-style="none"', "Fee: 12 15"),
)
def test_struck_out_words_of_an_odt_are_left_out(properties: str, text: str) -> None:
    body = '<t:p>Fee: <t:span t:style-name="X">12</t:span> 15</t:p>'

    assert _read("a.odt", _styled("text", "text", properties, body))[0] == text


def test_styles_of_one_name_are_told_apart() -> None:
    style = '<st:style st:name="{}" st:family="{}"><st:text-properties st:text-line-through-style="{}"/></st:style>'
    space = "urn:oasis:names:tc:opendocument:xmlns"
    head = f'xmlns:o="{space}:office:1.0" xmlns:st="{space}:style:1.0" xmlns:t="{space}:text:1.0"'
    struck = style.format("P1", "paragraph", "solid") + style.format("P2", "table-cell", "solid")
    own = style.format("P1", "paragraph", "none")
    text = '<t:p t:style-name="P1">The fee is 15.</t:p><t:p t:style-name="P2">The dues are 9.</t:p>'
    content = (
        f"<o:d {head}><o:automatic-styles>{own}</o:automatic-styles><o:body><o:text>{text}</o:text></o:body></o:d>"
    )
    styles = f"<o:styles {head}>{struck}</o:styles>"

    read, loss = _read("a.odt", make_file("text", "", **{"content.xml": content, "styles.xml": styles}))

    assert read.split("\n") == ["The fee is 15.", "The dues are 9."]
    assert loss == ""


def test_struck_out_cells_of_an_ods_are_left_out() -> None:
    def row(*cells: str, attributes: str = "") -> str:
        inner = "".join(f"<tb:table-cell{style}><t:p>{text}</t:p></tb:table-cell>" for text, style in map(_cell, cells))
        return f"<tb:table-row {attributes}>{inner}</tb:table-row>"

    def _cell(text: str) -> tuple[str, str]:
        return text.strip("~"), ' tb:style-name="X"' if text.startswith("~") else ""

    columns = '<tb:table-column/><tb:table-column tb:visibility="collapse"/><tb:table-column/>'
    rows = [
        row("Item", "Cost", "Price"),
        row("Mash", "11", "~18"),
        row("Hay", "3", "7", attributes='tb:visibility="collapse"'),
        row("~Bran", "~5", "~6"),
    ]
    folded = f'<tb:table-row-group tb:display="false">{row("Rye", "1", "2", attributes=chr(32))}</tb:table-row-group>'
    sheet = f'<tb:table tb:name="S">{columns}{"".join(rows)}{row("Oats", "4", "9")}{folded}</tb:table>'
    style = 'st:text-line-through-style="solid"'

    text, loss = _read("a.ods", _styled("spreadsheet", "table-cell", style, sheet))

    assert text == "S\nItem: Mash\nItem: Oats; Price: 9\nItem: Rye; Price: 2"
    assert loss == "4 struck-out or hidden texts left out"


@for_each(
    "rtf, text",
    (r"The fee is {\strike 12} 15.", "The fee is  15."),
    (r"The fee is \strike 12\strike0  15.", "The fee is  15."),
    (r"The key is {\v in the shed} here.", "The key is  here."),
    (r"The hall is \striked1 big\plain  small.", "The hall is  small."),
    (r"The fee is {\strike0 9} \viewkind4 now.", "The fee is 9 now."),
    (r"Caf\'e9 {\strike \'e9\u233?} open.", "Caf\u00e9  open."),
)
def test_struck_out_words_of_rtf_are_left_out(rtf: str, text: str) -> None:
    assert _read("a.rtf", rf"{{\rtf1\ansi {rtf}}}".encode())[0].split() == text.split()


def test_the_name_of_a_struck_out_style_is_not_counted() -> None:
    rtf = rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}{\stylesheet{\s0 Normal;}{\s1\strike Gone;}} The fee is {\strike 12} 15.}"

    text, loss = _read("a.rtf", rtf)

    assert text.split() == ["The", "fee", "is", "15."]
    assert loss == "1 struck-out or hidden text left out"
