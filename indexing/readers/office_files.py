"""Read RTF files, and Word, PowerPoint and Excel files, which are zip archives of XML."""

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any, NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate

from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.text_files import write_rows
from prefrag.indexing.report import CannotRead

# The limits for an archive: bytes of unpacked XML, bytes of all unpacked files, and number of files. A few kilobytes
# can unpack to gigabytes. The limit for XML is lower, because parsed XML takes ten times its size in memory.
_MOST_XML_BYTES = 100_000_000
_MOST_BYTES = 500_000_000
_MOST_PARTS = 20_000
_OLE_SIGNATURE = b"\xd0\xcf\x11\xe0"
_TOO_MUCH = "it unpacks to more than can be read: split it"
_SIGNATURE_BYTES = 100
_FIELD = re.compile(r"\{\\field(?=\{)", re.IGNORECASE)
# The bytes that may stand before the first `<` of XML: white space, byte order marks, and the zeros of UTF-16.
_BEFORE_XML = b" \t\r\n\0\xef\xbb\xbf\xff\xfe"
XML_BEGINNING = 1_000_000
# The maximum number of columns to read. Excel has 16,384 columns, but a sheet that uses them all is mostly empty.
MOST_COLUMNS = 500
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# PowerPoint's placeholder for a missing title.
_NO_TITLE = "PowerPoint Presentation"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SPACES = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}cr": "\n", f"{_WORD}noBreakHyphen": "-"}


class OfficeText(NamedTuple):
    """The title and the text of an Office file."""

    title: str
    text: str


def read_docx(data: bytes, outline: Outline) -> OfficeText:
    """Read a Word file: paragraphs, headings, lists and tables, as if its tracked changes were accepted."""
    import docx
    from docx.opc.constants import RELATIONSHIP_TYPE

    check_package(data)
    document = docx.Document(io.BytesIO(data))
    # If a file has no properties such as a title, the library makes some up.
    has_title = any(each.reltype == RELATIONSHIP_TYPE.CORE_PROPERTIES for each in document.part.package.rels.values())
    title = document.core_properties.title if has_title else ""
    return OfficeText(title or "", "\n\n".join(_word_blocks(document, outline)))


def read_pptx(data: bytes, outline: Outline) -> OfficeText:
    """Read a PowerPoint file: the texts, tables and notes of each slide under its number and title."""
    import pptx

    check_package(data)
    presentation = pptx.Presentation(io.BytesIO(data))
    title_of_file = presentation.core_properties.title or ""
    if title_of_file == _NO_TITLE:
        title_of_file = ""
    slides = []
    for number, slide in enumerate(presentation.slides, start=1):
        title = slide.shapes.title
        words = " ".join(title.text_frame.text.split()) if title is not None else ""
        title_of_file = title_of_file or words
        heading = f"Slide {number}" + (f": {words}" if words else "")
        blocks = [outline.mark(1, heading) + heading]
        blocks += _slide_blocks(slide.shapes, None if title is None else title.shape_id)
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None and notes.text.strip():
            blocks.append(f"Notes: {notes.text.strip()}")
        slides.append("\n\n".join(blocks) if words or len(blocks) > 1 else "")
    return OfficeText(title_of_file, "\f".join(slides))


def read_xlsx(data: bytes, outline: Outline) -> OfficeText:
    """Read an Excel file: the rows of each sheet with the names of their columns, and the results of formulas."""
    import openpyxl

    check_package(data)
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    try:
        sheets = []
        for sheet in book.worksheets:
            # Ignore the size that the file states for the sheet, because it is often wrong.
            sheet.reset_dimensions()
            rows = sheet.iter_rows(max_col=MOST_COLUMNS, values_only=True)
            cells = ([cell for cell in row if cell.value is not None] for row in sheet.iter_rows(max_col=MOST_COLUMNS))
            is_bold = all(cell.font.b for cell in next(filter(None, cells), ()))
            # Leave out empty rows, because there can be a million of them between two other rows.
            held = (row for row in rows if row.count(None) < len(row))
            values = ([_cell(value) for value in row] for row in held)
            if lines := list(write_rows(values, has_header=is_bold)):
                sheets.append("\n".join([outline.mark(1, sheet.title) + sheet.title, *lines]))
        return OfficeText(book.properties.title or "", "\n\n".join(sheets))
    finally:
        book.close()


def read_rtf(data: bytes, outline: Outline) -> OfficeText:
    """Read an RTF file: its words, without its layout."""
    from striprtf.striprtf import rtf_to_text

    if not data.lstrip().startswith(b"{\\rtf"):
        raise CannotRead("its name ends in .rtf, but its content is not RTF")
    # striprtf takes very long for many links. A line break, which means nothing in RTF, keeps it from finding links.
    text = _FIELD.sub(r"\g<0>\n", data.decode("latin-1"))
    return OfficeText("", rtf_to_text(text, encoding="cp1252", errors="replace"))


def check_package(data: bytes, *, may_have_doctype: bool = False) -> None:
    """Refuse a zip archive that is too large when unpacked, or whose XML has a DOCTYPE declaration."""
    if data.startswith(_OLE_SIGNATURE):
        raise CannotRead("it is encrypted, or from before Office 2007: save it as .docx, .xlsx or .pptx, unencrypted")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            parts = package.infolist()
            # The declared sizes can be trusted, because reading a part never gives more bytes than declared.
            if len(parts) > _MOST_PARTS or sum(part.file_size for part in parts) > _MOST_BYTES:
                raise CannotRead(_TOO_MUCH)
            xml_bytes = 0
            for part in parts:
                with package.open(part) as stream:
                    beginning = stream.read(_SIGNATURE_BYTES)
                    # A part may be XML whatever its name is, because the archive can declare any part to be XML.
                    if part.filename.endswith((".xml", ".rels")) or beginning.strip(_BEFORE_XML).startswith(b"<"):
                        xml_bytes += part.file_size
                        if xml_bytes > _MOST_XML_BYTES:
                            raise CannotRead(_TOO_MUCH)
                        if not may_have_doctype:
                            check_xml(beginning + stream.read(XML_BEGINNING), part.filename)
    except CannotRead:
        raise
    except Exception as error:
        # For a damaged archive, zipfile raises almost any kind of exception.
        raise CannotRead(f"it cannot be read ({error}); it may be damaged") from error


def check_xml(beginning: bytes, name: str) -> None:
    """Refuse XML with a DOCTYPE, which may define dangerous entities, or with no element in its first megabyte."""
    parser = ParserCreate()
    begun: list[str] = []

    def refuse(*_: Any) -> None:
        raise CannotRead(f"its part {name} has a DOCTYPE declaration, so the file may be malicious")

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda tag, _: begun.append(tag)
    for start in range(0, len(beginning), 4096):
        try:
            parser.Parse(beginning[start : start + 4096], False)
        except ExpatError:
            # Leave broken XML to the library that reads this format, which will refuse it.
            return
        if begun:
            return
    if len(beginning) > XML_BEGINNING:
        raise CannotRead(f"its part {name} has no XML element in its first megabyte")


def _word_blocks(document: Any, outline: Outline) -> Iterator[str]:
    levels: dict[str | None, int] = {}
    lists: set[str | None] = set()
    for style in document.styles:
        # Heading styles have English names in every language of Word.
        kind, _, level = (style.name or "").lower().partition(" ")
        if kind == "title" and not level:
            levels[style.style_id] = 1
        elif kind == "heading" and level.isdecimal():
            levels[style.style_id] = int(level)
        elif kind == "list":
            lists.add(style.style_id)
    for element in _body_elements(document.element.body):
        if element.tag == f"{_WORD}tbl":
            rows = [
                [_word_text(cell) for cell in row.iterchildren(f"{_WORD}tc")]
                for row in element.iterchildren(f"{_WORD}tr")
            ]
            is_header = element.find(f"{_WORD}tr[1]/{_WORD}trPr/{_WORD}tblHeader") is not None
            if lines := list(write_rows(rows, has_header=is_header)):
                yield "\n".join(lines)
        elif text := _word_text(element).strip():
            properties = element.find(f"{_WORD}pPr")
            named = None if properties is None else properties.find(f"{_WORD}pStyle")
            style_id = None if named is None else named.get(f"{_WORD}val")
            if level := levels.get(style_id):
                words = " ".join(text.split())
                yield outline.mark(level, words) + words
            elif style_id in lists or (properties is not None and properties.find(f"{_WORD}numPr") is not None):
                yield f"- {text}"
            else:
                yield text


def _body_elements(parent: Any) -> Iterator[Any]:
    """Yield the paragraphs and tables, including those inside forms and cover pages."""
    for element in parent.iterchildren():
        if element.tag in (f"{_WORD}p", f"{_WORD}tbl"):
            yield element
        elif element.tag in (f"{_WORD}sdt", f"{_WORD}sdtContent", f"{_WORD}customXml", f"{_WORD}ins"):
            yield from _body_elements(element)


def _word_text(element: Any) -> str:
    """Join the text of a paragraph or a cell. Text of a tracked deletion has another tag, so it is left out."""
    pieces: list[str] = []
    for piece in element.iter():
        if piece.tag == f"{_WORD}t":
            # Skip the fallback for older programs, because it repeats the text of a text box.
            if not any(above.tag == _FALLBACK for above in piece.iterancestors()):
                pieces.append(piece.text or "")
        elif piece.tag in _SPACES:
            pieces.append(_SPACES[piece.tag])
        elif piece.tag == f"{_WORD}p" and pieces:
            pieces.append("\n")
    return "".join(pieces)


def _slide_blocks(shapes: Any, title_id: int | None) -> Iterator[str]:
    """Yield the texts and tables of a slide, including those in groups of shapes."""
    for shape in shapes:
        if shape.shape_id == title_id:
            continue
        if hasattr(shape, "shapes"):
            yield from _slide_blocks(shape.shapes, title_id)
        elif getattr(shape, "has_table", False):
            yield "\n".join(write_rows([cell.text for cell in row.cells] for row in shape.table.rows))
        elif shape.has_text_frame and (text := shape.text_frame.text.strip()):
            # A vertical tab is a line break within a paragraph.
            yield text.replace("\v", "\n")


def _cell(value: Any) -> str:
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
