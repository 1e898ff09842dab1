"""Make Office files with the libraries that usually write them."""

import io
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

ROWS = (("Name", "City"), ("Ada", "London"), ("Boole", "Cork"))


def make_docx(write: Callable[[Any], None], title: str = "") -> bytes:
    """
    Write a Word file.

    :param write: what adds the content to the document.
    :param title: the title in its properties.
    :returns: the bytes of the file.
    """
    import docx

    document = docx.Document()
    document.core_properties.title = title
    write(document)
    return _save(document)


def make_docx_of(*elements: str) -> bytes:
    """
    Write a Word file of elements that python-docx cannot make.

    :param elements: the XML of the paragraphs and tables, with the prefixes of Word files.
    :returns: the bytes of the file.
    """
    from docx.oxml import parse_xml

    spaces = {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    }
    declared = " ".join(f'xmlns:{prefix}="{address}"' for prefix, address in spaces.items())

    def write(document: Any) -> None:
        body = document.element.body
        for element in parse_xml(f"<w:body {declared}>{''.join(elements)}</w:body>"):
            body.insert(len(body) - 1, element)

    return make_docx(write)


def word_paragraph(*runs: str) -> str:
    """Return the XML of a paragraph of a Word file. A run is a text, or the XML of a run."""
    xml = (run if run.startswith("<") else word_run(run) for run in runs)
    return f"<w:p>{''.join(xml)}</w:p>"


def word_run(text: str, properties: str = "") -> str:
    """Return the XML of a run of a Word file, which is a text with properties such as `<w:b/>`."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def word_row(*cells: str, properties: str = "") -> str:
    """Return the XML of a row of a table in a Word file. A cell is a text, or the XML of a cell."""
    xml = (cell if cell.startswith("<") else f"<w:tc>{word_paragraph(cell)}</w:tc>" for cell in cells)
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(xml)}</w:tr>"


def word_table(*rows: str) -> str:
    """Return the XML of a table in a Word file."""
    return f"<w:tbl><w:tblPr/><w:tblGrid/>{''.join(rows)}</w:tbl>"


def content_control(content: str, properties: str = "") -> str:
    """Return the XML of a content control of a Word file, such as a date picker."""
    return f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>"


def make_pptx(slides: Sequence[tuple[str, str]], notes: str = "") -> bytes:
    """
    Write a presentation.

    :param slides: the title and the text of each slide; without both the slide is empty.
    :param notes: the notes of the first slide.
    :returns: the bytes of the file.
    """
    import pptx

    presentation = pptx.Presentation()
    for title, text in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1 if title or text else 6])
        if title or text:
            slide.shapes.title.text = title
            slide.placeholders[1].text = text
    if notes:
        presentation.slides[0].notes_slide.notes_text_frame.text = notes
    return _save(presentation)


def make_xlsx(sheets: dict[str, Sequence[Sequence[Any]]]) -> bytes:
    """
    Write a workbook.

    :param sheets: the rows of each sheet.
    :returns: the bytes of the file.
    """
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return _save(book)


def with_part(package: bytes, name: str, content: bytes) -> bytes:
    """
    Replace a part of an Office file, or add one.

    :param package: the file.
    :param name: the name of the part.
    :param content: its content.
    :returns: the bytes of the other file.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            if part.filename != name:
                new.writestr(part, old.read(part))
        new.writestr(name, content)
    return made.getvalue()


def _save(document: Any) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()
