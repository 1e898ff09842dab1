"""Write the files of the invented organisations and of an invented person.

The files are office documents, PDF files and plain texts. Every call writes the same bytes.
"""

import io
import re
import zipfile
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import yaml

# Matches the time at which an office document was made or changed, with the tag before it:
# "<dcterms:created>2026-05-03T10:00:00Z". The tag is the group.
_STAMP = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")


def read_organisations(train: bool = False) -> list[dict[str, object]]:
    """Read the files of the invented organisations.

    :param train: Whether to read the organisations for training, or those for dev and test.
    :returns: The files. Each has its path and its content.
    """
    pattern = "organisations/train/*.yaml" if train else "organisations/*.yaml"
    files: list[dict[str, Any]] = []
    for source in sorted(Path(__file__).parent.glob(pattern)):
        files += yaml.safe_load(source.read_text("utf-8"))
    return files


def write_organisations(folder: Path, train: bool = False) -> int:
    """Write the files of the invented organisations.

    :param folder: The target folder.
    :param train: Whether to write the organisations for training, or those for dev and test.
    :returns: The number of files.
    """
    return _write_files(read_organisations(train), folder)


def read_person() -> list[dict[str, object]]:
    """Read the files of the invented person.

    :returns: The files. Each has its path and its content.
    """
    source = Path(__file__).with_name("person") / "files.yaml"
    files: list[dict[str, Any]] = yaml.safe_load(source.read_text("utf-8"))
    return files


def write_person(folder: Path) -> int:
    """Write the files of the invented person.

    :param folder: The target folder.
    :returns: The number of files.
    """
    return _write_files(read_person(), folder)


def _write_files(files: list[dict[str, Any]], folder: Path) -> int:
    """Write files to a folder, and return the number of files."""
    for file in files:
        path = folder / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(make_file(file))
    return len(files)


def make_file(file: dict[str, Any]) -> bytes:
    """Make the bytes of one file, in the format of its ending.

    :param file: The file with its path and its content.
    :returns: The bytes.
    """
    if file["path"].endswith(".docx"):
        return _at_a_fixed_time(_make_docx(file["blocks"]))
    if file["path"].endswith(".xlsx"):
        return _at_a_fixed_time(_make_xlsx(file["sheets"]))
    if file["path"].endswith(".pptx"):
        return _at_a_fixed_time(_make_pptx(file["slides"]))
    if file["path"].endswith(".pdf"):
        return _make_pdf(file["pages"])
    if file["path"].endswith(".ods"):
        return _make_ods(file["sheets"])
    if file["path"].endswith(".odt"):
        return _make_odt(file["blocks"])
    encoded: bytes = file["text"].encode(file.get("encoding", "utf-8"))
    return encoded


def _make_docx(blocks: list[Any]) -> bytes:
    """Make a Word document. A block is a paragraph, a heading ("# ..."), or a list with the cells of a table row."""
    from docx import Document

    document = Document()
    # Rows that follow each other become one table.
    for are_rows, group in groupby(blocks, lambda block: isinstance(block, list)):
        neighbours = list(group)
        if are_rows:
            table = document.add_table(rows=len(neighbours), cols=len(neighbours[0]))
            for row, values in zip(table.rows, neighbours, strict=True):
                for cell, value in zip(row.cells, values, strict=True):
                    cell.text = value
        else:
            for paragraph in neighbours:
                style = "Heading 1" if paragraph.startswith("# ") else None
                document.add_paragraph(paragraph.removeprefix("# "), style)
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def _make_xlsx(sheets: dict[str, list[list[object]]]) -> bytes:
    """Make an Excel workbook from the rows of each sheet."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _make_pptx(slides: list[list[str]]) -> bytes:
    """Make a PowerPoint presentation. Each slide has a title and points."""
    from pptx import Presentation

    show = Presentation()
    for title, *points in slides:
        shapes = show.slides.add_slide(show.slide_layouts[1]).shapes
        shapes.title.text = title
        shapes.placeholders[1].text = "\n".join(points)
    file = io.BytesIO()
    show.save(file)
    return file.getvalue()


def _make_ods(sheets: dict[str, list[list[object]]]) -> bytes:
    """Make an OpenDocument spreadsheet from the rows of each sheet."""
    tables = []
    for name, rows in sheets.items():
        rows_xml = ""
        for row in rows:
            cells = [f"<table:table-cell><text:p>{escape(str(value))}</text:p></table:table-cell>" for value in row]
            rows_xml += f"<table:table-row>{''.join(cells)}</table:table-row>"
        tables.append(f'<table:table table:name="{escape(name)}">{rows_xml}</table:table>')
    return _make_open_document("spreadsheet", "".join(tables))


def _make_odt(blocks: list[str]) -> bytes:
    """Make an OpenDocument text. A block is a paragraph or a heading ("# ...")."""
    xml = ""
    for block in blocks:
        if block.startswith("# "):
            xml += f'<text:h text:outline-level="1">{escape(block.removeprefix("# "))}</text:h>'
        else:
            xml += f"<text:p>{escape(block)}</text:p>"
    return _make_open_document("text", xml)


def _make_open_document(kind: str, body: str) -> bytes:
    """Make an OpenDocument file of a kind ("text" or "spreadsheet") from the XML of its body."""
    namespaces = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table")
    )
    content = f"<office:document-content{namespaces}><office:body><office:{kind}>{body}</office:{kind}></office:body>"
    parts = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": f'<?xml version="1.0" encoding="UTF-8"?>{content}</office:document-content>',
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return file.getvalue()


def _at_a_fixed_time(archive: bytes) -> bytes:
    """Repack an office file with a fixed date, so that its bytes are always the same."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            data = _STAMP.sub(rb"\g<1>2026-01-01T00:00:00Z", old.read(name))
            new.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _make_pdf(pages: list[str]) -> bytes:
    """Make a PDF file with a page for each text."""
    # The objects of the file: 1 is the catalogue, 2 the list of pages, 3 the font. Then each page has two objects: its
    # layout and, with the next number, its text. An object is named by its number, as in "3 0 R".
    numbers_of_layouts = range(4, 4 + 2 * len(pages), 2)
    kids = " ".join(f"{number} 0 R" for number in numbers_of_layouts)
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, page in zip(numbers_of_layouts, pages, strict=True):
        # Backslashes and parentheses must be escaped in a text.
        escaped = re.sub(r"([\\()])", r"\\\1", page.strip())
        lines = [f"({line}) Tj T*" for line in escaped.split("\n")]
        stream = f"BT /F1 11 Tf 14 TL 72 740 Td {' '.join(lines)} ET"
        layout = f"/MediaBox [0 0 595 842] /Contents {number + 1} 0 R /Resources << /Font << /F1 3 0 R >> >>"
        bodies.append(f"<< /Type /Page /Parent 2 0 R {layout} >>")
        bodies.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    # The table at the end says at which byte each object begins. Its first entry stands for no object.
    data = b"%PDF-1.4\n"
    table = "0000000000 65535 f \n"
    for number, body in enumerate(bodies, start=1):
        table += f"{len(data):010d} 00000 n \n"
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
    size = len(bodies) + 1
    end = f"xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + end.encode()
