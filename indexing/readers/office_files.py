"""Read Word, PowerPoint, Excel and RTF files as plain text.

There is one function for each format, such as :func:`read_docx`. It returns the title and the text of a file. The file
converter calls it. Headings and rows of tables begin with a mark in the text, which :class:`Outline` makes and later
removes. Word, PowerPoint and Excel files are zip archives of XML, so :func:`check_package` first refuses archives that
would take too much memory.
"""

from __future__ import annotations

import io
import operator
import re
import zipfile
from calendar import month_name
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate

from prefrag.components.text.counted import counted
from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.office_notes import sheet_comments, word_notes
from prefrag.indexing.readers.raised_word_text import mark_raised_digits, raising_styles
from prefrag.indexing.readers.struck_office_text import (
    FILTER,
    STRUCK,
    HiddenLines,
    hidden_lines,
    is_on,
    note_left_out,
    strike_rtf,
    strike_slide_text,
    strike_word_text,
    word_styles,
)
from prefrag.indexing.readers.tables import MOST_COLUMNS, Grid, Span, spans_of_kept, without_columns, write_grid
from prefrag.indexing.report import CannotRead

if TYPE_CHECKING:
    from docx.document import Document
    from docx.styles.styles import Styles
    from lxml.etree import _Element as LxmlElement
    from pptx.table import Table

# The maximum number of bytes of all XML files in an archive, when unpacked. An archive with more is refused, because a
# few kilobytes can unpack to gigabytes. Parsed XML takes ten times its size in memory, so this limit is lower than the
# next one.
_MOST_XML_BYTES = 100_000_000
# The maximum number of bytes of all files in an archive, when unpacked. An archive with more is refused.
_MOST_BYTES = 500_000_000
# The maximum number of files in an archive. An archive with more is refused.
_MOST_PARTS = 20_000
# The first bytes of encrypted files, and of files from before Office 2007.
_OLE_SIGNATURE = b"\xd0\xcf\x11\xe0"
# The reason for refusing an archive that exceeds one of the three limits.
_TOO_MUCH = "it unpacks to more than can be read: split it"
# This many bytes from the beginning of a file in the archive show whether the file is XML.
_SIGNATURE_BYTES = 100
# Matches the beginning of a field in RTF, such as a link. In `{\field{\*\fldinst ...}}` the match is `{\field`.
_FIELD = re.compile(r"\{\\field(?=\{)", re.IGNORECASE)
# The bytes that may stand before the first `<` of XML: white space, byte order marks, and the zeros of UTF-16.
_BEFORE_XML = b" \t\r\n\0\xef\xbb\xbf\xff\xfe"
# The first element of XML must begin within this many bytes. Otherwise the file is refused.
XML_BEGINNING = 1_000_000
# Matches a merged cell in the XML of a sheet, such as `<mergeCell ref="A1:C2"/>`. Group 1 is "A1:C2". The tag may
# have a prefix, as in `<x:mergeCell ref="A1:C2"/>`.
_MERGED = re.compile(
    rb"""
    <(?:\w+:)?mergeCell\s [^<>]{0,200}? \bref="
    ([A-Z]{1,3}\d{1,7}:[A-Z]{1,3}\d{1,7})
    "
    """,
    re.VERBOSE,
)
# Matches the end of a formula without a value in the XML of a sheet. It matches in `<c><f>A1+B1</f><v/></c>`, but not
# in `<c><f>A1+B1</f><v>3</v></c>`. The tags may have a prefix here, too.
_UNCOMPUTED = re.compile(
    rb"""
    (?: </(?:\w+:)?f> | <(?:\w+:)?f\b[^<>]{0,500}/> )      # </f>, or a whole formula such as <f si="3"/>
    \s*
    (?: <(?:\w+:)?v\s*(?: /> | ></(?:\w+:)?v> ) \s* )?     # an empty value: nothing, <v/> or <v></v>
    </(?:\w+:)?c>
    """,
    re.VERBOSE,
)
# Matches a formula in the XML of a sheet whose stored result is an empty text: `<c t="str"><f>A1</f><v></v></c>`.
_EMPTY_TEXT = re.compile(
    rb"""
    <(?:\w+:)?c\s [^<>]{0,200}? \bt="str" [^<>]{0,200} > \s*
    (?: <(?:\w+:)?f\b[^<>]{0,500}/> | <(?:\w+:)?f\b[^<>]{0,500}> [^<]* </(?:\w+:)?f> ) \s*
    <(?:\w+:)?v\s*(?: /> | ></(?:\w+:)?v> ) \s*
    </(?:\w+:)?c>
    """,
    re.VERBOSE,
)
# Matches the end of each formula in the XML of a sheet.
_FORMULA = re.compile(rb"</(?:\w+:)?f>|<(?:\w+:)?f\b[^<>]{0,500}/>")
# Matches a formula with the stored result 0. Group 1 is the end of the formula, and group 2 the name of the result.
_ZERO_RESULT = re.compile(rb"(</(?:\w+:)?f>|<(?:\w+:)?f\b[^<>]{0,500}/>)\s*<((?:\w+:)?v)>0</\2>")
# Matches the setting of an Excel file that makes a program compute all formulas when it opens the file.
_COMPUTED_WHEN_OPENED = re.compile(rb'\bfullCalcOnLoad="(?:1|true)"')
_WORKBOOK_PART = "xl/workbook.xml"
# Matches the name of a part of an Excel file that is a sheet, such as "xl/worksheets/sheet1.xml".
_SHEET_PART = re.compile(r"xl/worksheets/[^/]+\.xml", re.IGNORECASE)
# Matches the name of a part of an Excel file that may strike words through or have a filter, such as
# "xl/sharedStrings.xml" or "xl/tables/table1.xml".
_MAY_STRIKE = re.compile(r"xl/(?:sharedStrings|tables/[^/]+)\.xml", re.IGNORECASE)
# What the report says about formulas without a value, behind their number.
_UNCOMPUTED_ADVICE = "without a stored value: open the file in its program, and save it"
# The maximum number of merged cells to read in a sheet. Further merged cells are ignored.
_MOST_MERGED = 1_000_000
# Bold names of columns are looked for only in this many rows at the beginning of a sheet.
_MOST_HEADER_ROWS = 1_000
# Marked labels are looked for only in rows with at most this many cells.
_MOST_MARKED_CELLS = 24
# The colours of a background that nobody sees: white.
_WHITE = ("", "AUTO", "FFFFFF", "FFFFFFFF", "00FFFFFF")
# The namespace of the elements in a Word file.
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# The title that PowerPoint writes if an author gave none.
_NO_TITLE = "PowerPoint Presentation"
# The element that repeats a part of a Word file for older programs.
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
# The elements of a Word file that wrap paragraphs, tables, rows or cells, such as the content control of a date.
_WRAPPERS = tuple(f"{_WORD}{name}" for name in ("sdt", "sdtContent", "customXml", "ins"))
# What the elements of a Word file are called that have text and are not read: formulas, the drawings of SmartArt, and
# files inside the file.
_UNREAD = {
    "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath": "formula",
    "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds": "diagram",
    f"{_WORD}altChunk": "inserted file",
}
# The elements of a Word file whose content was deleted or moved away, or is repeated for older programs.
_NOT_SHOWN = (f"{_WORD}del", f"{_WORD}moveFrom", _FALLBACK)
# The elements of a Word file that stand for a character.
_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_SPACES = {f"{_WORD}{name}": character for name, character in _CHARACTERS.items()}


class OfficeText(NamedTuple):
    """The content of an Office file.

    :param title: The title from the properties of the file, or "". Of a presentation without one, the first title of a
        slide.
    :param text: The text, in which each heading and each row of a table begins with a mark of the outline.
    """

    title: str
    text: str


def read_docx(data: bytes, outline: Outline) -> OfficeText:
    """Read the paragraphs, headings, lists, tables and notes of a Word file.

    Tracked changes are read as if they were accepted. Struck-out and hidden texts, formulas, diagrams and inserted
    files are left out, and counted in ``outline.loss``.

    :param data: The bytes of the file.
    :param outline: The outline of the file. The headings and the rows of tables are added to it.
    :returns: The title and the text, with an empty line between two paragraphs or tables.
    :raises CannotRead: If the file is encrypted, damaged, too large or possibly malicious.
    """
    import docx
    from docx.opc.constants import RELATIONSHIP_TYPE

    check_package(data)
    document = docx.Document(io.BytesIO(data))

    # If a file has no properties, the library invents some, such as a title.
    types = {relation.reltype for relation in document.part.package.rels.values()}
    has_properties = RELATIONSHIP_TYPE.CORE_PROPERTIES in types
    title = document.core_properties.title if has_properties else ""

    styles = word_styles(document.styles.element)
    raised = raising_styles(document.styles.element)
    n_struck = strike_word_text(document.element.body, styles)
    mark_raised_digits(document.element.body, raised)
    unread = _count_unread(document.element.body)

    def note_text(element: LxmlElement) -> str:
        """Return the text of a note, and count what is struck out in it."""
        nonlocal n_struck
        n_struck += strike_word_text(element, styles)
        mark_raised_digits(element, raised)
        unread.update(_count_unread(element))
        return _word_text(element)

    blocks = [*_word_blocks(document, outline), *word_notes(document, note_text)]
    note_left_out(outline, n_struck, STRUCK)
    for noun, number in unread.items():
        note_left_out(outline, number, noun)
    return OfficeText(title or "", "\n\n".join(blocks))


def read_pptx(data: bytes, outline: Outline) -> OfficeText:
    """Read the texts, tables and notes of each slide of a PowerPoint file.

    Each slide begins with a heading such as "Slide 3: Costs". A hidden slide is named as hidden. Struck-out texts are
    left out, and counted in ``outline.loss``.

    :param data: The bytes of the file.
    :param outline: The outline of the file. The headings and the rows of tables are added to it.
    :returns: The title and the text, with a form feed between two slides. A slide without text is empty.
    :raises CannotRead: If the file is encrypted, damaged, too large or possibly malicious.
    """
    import pptx

    check_package(data)
    presentation = pptx.Presentation(io.BytesIO(data))
    title_of_file = presentation.core_properties.title or ""
    if title_of_file == _NO_TITLE:
        title_of_file = ""
    slides = []
    n_struck = 0
    for number, slide in enumerate(presentation.slides, start=1):
        n_struck += strike_slide_text(slide.element)
        title = slide.shapes.title
        title_id = None if title is None else title.shape_id
        words = "" if title is None else " ".join(title.text_frame.text.split())
        title_of_file = title_of_file or words
        heading = f"Slide {number}: {words}" if words else f"Slide {number}"
        if slide.element.get("show") in ("0", "false"):
            heading += " (hidden slide)"

        marked_heading = outline.mark(1, heading) + heading
        blocks = list(_slide_blocks(slide.shapes, title_id, outline))
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if notes is not None:
            n_struck += strike_slide_text(slide.notes_slide.element)
            notes_text = notes.text.strip()
            if notes_text:
                blocks.append(f"Notes: {notes_text}")
        is_empty = not words and not blocks
        slides.append("" if is_empty else "\n\n".join([marked_heading, *blocks]))
    note_left_out(outline, n_struck, STRUCK)
    return OfficeText(title_of_file, "\f".join(slides))


def read_xlsx(data: bytes, outline: Outline) -> OfficeText:
    """Read the sheets and the comments of an Excel file.

    Each row of a sheet becomes a line with the names of its columns. A formula is read as its stored result. Formulas
    without a stored result are counted in ``outline.loss``, and so are struck-out and hidden cells, rows and columns,
    which are left out.

    :param data: The bytes of the file.
    :param outline: The outline of the file. The names of the sheets and the rows of tables are added to it.
    :returns: The title and the text, with an empty line between two sheets.
    :raises CannotRead: If the file is encrypted, damaged, too large or possibly malicious.
    """
    import openpyxl

    check_package(data)
    data = _without_presumed_zeros(data)
    has_struck_words, has_filter = _check_strikes_and_filters(data)
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, rich_text=has_struck_words)
    left_out = Counter[str]()
    n_uncomputed = 0
    try:
        sheets = []
        worksheets: list[Any] = book.worksheets
        for sheet in worksheets:
            with zipfile.ZipFile(io.BytesIO(data)) as package:
                xml = package.read(sheet._worksheet_path)
            n_uncomputed += len(_UNCOMPUTED.findall(xml)) - len(_EMPTY_TEXT.findall(xml))
            # Ignore the size of the sheet that the file states, because that size is often wrong.
            sheet.reset_dimensions()

            name = sheet.title
            if sheet.sheet_state != "visible":
                name += " (hidden sheet)"
            grid = _sheet_grid(sheet, xml, hidden_lines(xml, has_filter), left_out)
            lines = list(write_grid(grid, outline))
            if lines:
                heading = outline.mark(1, name) + name
                sheets.append("\n".join([heading, *lines]))

        sheets += _comments(data, worksheets, outline)
        if n_uncomputed:
            outline.loss = f"{counted(n_uncomputed, 'formula')} {_UNCOMPUTED_ADVICE}"
        for noun, number in left_out.items():
            note_left_out(outline, number, noun)
        return OfficeText(book.properties.title or "", "\n\n".join(sheets))
    finally:
        book.close()


def _without_presumed_zeros(data: bytes) -> bytes:
    """Remove the results of formulas from an Excel file in which a program wrote 0 as the result of each formula.

    XlsxWriter does so, because it computes no formulas. It leaves this to Excel, which does it when it opens the file
    and removes the setting for that when it saves the file. If a single result is no zero, all zeros stay.

    :param data: The bytes of the file.
    :returns: The bytes of the file without these zeros, or the same bytes.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        names = package.namelist()
        if _WORKBOOK_PART not in names or not _COMPUTED_WHEN_OPENED.search(package.read(_WORKBOOK_PART)):
            return data
        sheets = {name: package.read(name) for name in names if _SHEET_PART.fullmatch(name)}
        n_formulas = sum(len(_FORMULA.findall(xml)) for xml in sheets.values())
        n_zeros = sum(len(_ZERO_RESULT.findall(xml)) for xml in sheets.values())
        if n_zeros == 0 or n_zeros < n_formulas:
            return data

        changed = io.BytesIO()
        with zipfile.ZipFile(changed, "w") as copy:
            for part in package.infolist():
                xml = sheets.get(part.filename)
                copy.writestr(part, package.read(part) if xml is None else _ZERO_RESULT.sub(rb"\1<\2/>", xml))
        return changed.getvalue()


def _comments(data: bytes, worksheets: list[Any], outline: Outline) -> list[str]:
    """Return the comments on the cells of an Excel file below their heading, as a list of one text or none."""
    names = {sheet._worksheet_path: sheet.title for sheet in worksheets}
    comments = "\n".join(sheet_comments(data, names))
    return [f"{outline.mark(1, 'Comments')}Comments\n{comments}"] if comments else []


def _check_strikes_and_filters(data: bytes) -> tuple[bool, bool]:
    """Check whether single words of an Excel file may be struck through, and whether one of its tables has a filter.

    Words in several fonts are stored in a part of the file for all sheets. Reading their fonts takes longer, so the
    caller does it only if this part names a strike.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = {name: package.read(name) for name in package.namelist() if _MAY_STRIKE.match(name)}
    tables = [xml for name, xml in parts.items() if "tables/" in name]
    shared_strings = [xml for name, xml in parts.items() if "tables/" not in name]
    has_struck_words = any(b"strike" in xml for xml in shared_strings)
    has_filter = any(FILTER.search(xml) for xml in tables)
    return has_struck_words, has_filter


def _sheet_grid(sheet: Any, xml: bytes, hidden: HiddenLines, left_out: Counter[str]) -> Grid:
    """Return the cells of a sheet as Excel shows them, with its merged cells and its bold rows.

    :param sheet: The sheet, as openpyxl opens it.
    :param xml: The XML of the sheet. The merged cells are read from it, because openpyxl does not read them here.
    :param hidden: The hidden rows and columns of the sheet, which are left out.
    :param left_out: Counts the hidden rows and columns with text, and the struck-out and hidden cells.
    :returns: The grid, without repeated empty rows. Rows that are bold all over count as names of columns.
    """
    rows: list[list[str]] = []
    # The number in the file of each row in `rows`.
    numbers: list[int] = []
    headers = set()
    # The cells with bold letters, and those with a background.
    bold: set[tuple[int, int]] = set()
    filled: set[tuple[int, int]] = set()
    # The hidden columns with text.
    hidden_columns = set()
    for number, row in enumerate(sheet.iter_rows(max_col=MOST_COLUMNS)):
        cells = [cell for cell in row if cell.value is not None]
        if number in hidden.rows:
            left_out["hidden row"] += bool(cells)
            continue
        # openpyxl fills each row with empty cells up to the last column that is asked for.
        width = cells[-1].column if cells else 0
        line = [_shown(cell) for cell in row[:width]]
        hidden_columns |= {column for column in hidden.columns if column < len(line) and line[column]}
        n_struck = sum(_is_left_out(cell, line) for cell in cells)
        left_out[STRUCK] += n_struck
        # Leave out a row in which everything is struck out. As an empty row, it would look like the end of the table.
        if n_struck > 0 and not any(line):
            continue
        while line and not line[-1]:
            line.pop()
        # Keep only the first of several empty rows. A million of them can stand between two rows with text.
        follows_text = bool(rows) and bool(rows[-1])
        if not line and not follows_text:
            continue
        number_in_grid = len(rows)
        if number < _MOST_HEADER_ROWS and all(cell.font.b for cell in cells):
            headers.add(number_in_grid)
        if number < _MOST_HEADER_ROWS and len(cells) <= _MOST_MARKED_CELLS:
            # openpyxl counts columns from 1.
            bold |= {(number_in_grid, cell.column - 1) for cell in cells if cell.font.b}
            filled |= {(number_in_grid, cell.column - 1) for cell in cells if _is_filled(cell)}
        rows.append(line)
        numbers.append(number)

    left_out["hidden column"] += len(hidden_columns)
    spans = spans_of_kept(_merged_cells(xml), numbers)
    return without_columns(Grid(rows, spans, frozenset(headers), (bold, filled)), hidden.columns)


def _is_filled(cell: Any) -> bool:
    """Check whether a cell of a sheet has a background that is not white."""
    if cell.fill.fill_type != "solid":
        return False
    colour = cell.fill.fgColor
    # The first colour of a theme is that of the paper.
    is_paper = colour.type == "theme" and colour.theme == 0 and not colour.tint
    is_white = colour.type == "rgb" and colour.rgb in _WHITE
    return not is_paper and not is_white


def _is_left_out(cell: Any, line: list[str]) -> bool:
    """Check whether a cell has a text or a number, but shows nothing.

    :param cell: The cell, which has a value.
    :param line: The shown texts of all cells of the row.
    """
    # openpyxl counts columns from 1.
    shown = line[cell.column - 1]
    return not shown and cell.value not in ("", 0)


def _merged_cells(xml: bytes) -> list[Span]:
    """Return the merged cells in the XML of a sheet, by the numbers of their rows and columns from 0."""
    from openpyxl.utils import range_boundaries

    spans = []
    for merged in islice(_MERGED.finditer(xml), _MOST_MERGED):
        # The first column and row, and the last column and row, counted from 1. For example, "A1:C2" gives 1, 1, 3, 2.
        left, top, right, bottom = (number or 0 for number in range_boundaries(merged[1].decode()))
        spans.append(Span(top - 1, left - 1, bottom - top + 1, right - left + 1))
    return spans


def _shown(cell: Any) -> str:
    """Return the text of a cell as Excel shows it, without what is struck through; "" for an empty cell."""
    if cell.value is None or cell.font.strike:
        return ""
    value = cell.value
    # A text in several fonts is a list of texts and of pieces with a font.
    if isinstance(value, list):
        shown_pieces = [piece for piece in value if not _is_struck(piece)]
        value = "".join(piece if isinstance(piece, str) else piece.text for piece in shown_pieces).strip()
    return show_cell(value, cell.number_format)


def _is_struck(piece: object) -> bool:
    """Check whether a piece of the text of a cell is struck through. A piece without a font of its own is not."""
    font = getattr(piece, "font", None)
    return bool(getattr(font, "strike", False))


def read_rtf(data: bytes, outline: Outline) -> OfficeText:
    """Read the words of an RTF file, without its layout.

    :param data: The bytes of the file.
    :param outline: The outline of the file. Struck-out and hidden texts are counted in its ``loss``. The headings of
        RTF files are not found.
    :returns: An empty title, and the text.
    :raises CannotRead: If the content of the file is not RTF.
    """
    from striprtf.striprtf import rtf_to_text

    if not data.lstrip().startswith(b"{\\rtf"):
        raise CannotRead("its name ends in .rtf, but its content is not RTF")
    # The library striprtf takes very long for many links. A line break after `{\field` keeps it from finding links. In
    # RTF, a line break means nothing.
    without_links = _FIELD.sub(r"\g<0>\n", data.decode("latin-1"))
    text, n_struck = strike_rtf(without_links)
    note_left_out(outline, n_struck, STRUCK)
    return OfficeText("", rtf_to_text(text, encoding="cp1252", errors="replace"))


def check_package(data: bytes, *, may_have_doctype: bool = False) -> None:
    """Refuse a zip archive that is too large when unpacked, or whose XML has a DOCTYPE declaration.

    :param data: The bytes of the archive.
    :param may_have_doctype: Whether DOCTYPE declarations are allowed.
    :raises CannotRead: If the archive is refused, encrypted or damaged.
    """
    if data.startswith(_OLE_SIGNATURE):
        raise CannotRead("it is encrypted, or from before Office 2007: save it as .docx, .xlsx or .pptx, unencrypted")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            _check_parts(package, may_have_doctype)
    except CannotRead:
        raise
    except Exception as error:
        # For a damaged archive, zipfile raises almost any kind of exception.
        raise CannotRead(f"it cannot be read ({error}); it may be damaged") from error


def _check_parts(package: zipfile.ZipFile, may_have_doctype: bool) -> None:
    """Refuse an archive with too many or too large parts, or with a part that :func:`check_xml` refuses."""
    parts = package.infolist()
    # The declared sizes can be trusted, because reading a part never gives more bytes than declared.
    if len(parts) > _MOST_PARTS or sum(part.file_size for part in parts) > _MOST_BYTES:
        raise CannotRead(_TOO_MUCH)
    xml_bytes = 0
    for part in parts:
        with package.open(part) as stream:
            beginning = stream.read(_SIGNATURE_BYTES)
            # The name does not tell whether a part is XML, because the archive can declare any part to be XML.
            looks_like_xml = beginning.strip(_BEFORE_XML).startswith(b"<")
            is_xml = part.filename.endswith((".xml", ".rels")) or looks_like_xml
            if not is_xml:
                continue
            xml_bytes += part.file_size
            if xml_bytes > _MOST_XML_BYTES:
                raise CannotRead(_TOO_MUCH)
            if not may_have_doctype:
                check_xml(beginning + stream.read(XML_BEGINNING), part.filename)


def check_xml(beginning: bytes, name: str) -> None:
    """Refuse XML with a DOCTYPE declaration, or without an element in its first megabyte.

    A DOCTYPE declaration may define dangerous entities.

    :param beginning: The first bytes of the XML; at least one byte more than a megabyte if the XML is that long.
    :param name: The name of the XML file in its archive, for the message.
    :raises CannotRead: If the XML is refused.
    """
    parser = ParserCreate()
    # The elements that the parser has come to so far.
    elements: list[str] = []

    def refuse(*_: object) -> None:
        """Refuse the file. The parser calls this function at a DOCTYPE declaration."""
        raise CannotRead(f"its part {name} has a DOCTYPE declaration, so the file may be malicious")

    def note_element(tag: str, _: object) -> None:
        """Note an element. The parser calls this function at each opening tag."""
        elements.append(tag)

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = note_element
    # The parser gets small pieces, so that the first element ends the check without parsing the whole beginning.
    for start in range(0, len(beginning), 4096):
        try:
            parser.Parse(beginning[start : start + 4096], False)
        except ExpatError:
            # The XML is broken. The library that reads this format will refuse it later.
            return
        if elements:
            return
    if len(beginning) > XML_BEGINNING:
        raise CannotRead(f"its part {name} has no XML element in its first megabyte")


def _count_unread(root: LxmlElement) -> Counter[str]:
    """Count the parts with text in an element of a Word file that are not read, by what they are called."""
    shown = (part for part in root.iter(*_UNREAD) if not any(above.tag in _NOT_SHOWN for above in part.iterancestors()))
    return Counter(_UNREAD[part.tag] for part in shown)


def _word_blocks(document: Document, outline: Outline) -> Iterator[str]:
    """Yield the paragraphs and tables of a Word file.

    A heading begins with its mark. An item of a list begins with a hyphen. A table is one text of several lines.
    """
    levels, lists = _word_style_kinds(document.styles)
    bold_styles, header_styles = _word_marking_styles(document.styles.element)
    for element in _elements_inside(document.element.body, (f"{_WORD}p", f"{_WORD}tbl")):
        if element.tag == f"{_WORD}tbl":
            lines = list(write_grid(_word_grid(element, bold_styles, header_styles), outline))
            if lines:
                yield "\n".join(lines)
            continue
        text = _word_text(element).strip()
        if not text:
            continue

        style = element.find(f"{_WORD}pPr/{_WORD}pStyle")
        style_id = None if style is None else style.get(f"{_WORD}val")
        heading_level = levels.get(style_id)
        is_numbered = element.find(f"{_WORD}pPr/{_WORD}numPr") is not None
        if heading_level:
            words = " ".join(text.split())
            yield outline.mark(heading_level, words) + words
        elif style_id in lists or is_numbered:
            yield f"- {text}"
        else:
            yield text


def _word_style_kinds(styles: Styles) -> tuple[dict[str | None, int], set[str | None]]:
    """Return the level of each style of headings, by the ID of the style, and the IDs of the styles of list items."""
    levels: dict[str | None, int] = {}
    lists: set[str | None] = set()
    for style in styles:
        # Heading styles have English names in every language of Word.
        kind, _, level = (style.name or "").lower().partition(" ")
        if kind == "title" and not level:
            levels[style.style_id] = 1
        elif kind == "heading" and level.isdecimal():
            levels[style.style_id] = int(level)
        elif kind == "list":
            lists.add(style.style_id)
    return levels, lists


def _word_marking_styles(styles: LxmlElement) -> tuple[set[str | None], set[str | None]]:
    """Return the IDs of the styles with bold letters, and of the styles of tables that mark the first row."""
    bold: set[str | None] = set()
    headers: set[str | None] = set()
    for style in styles.iter(f"{_WORD}style"):
        style_id = style.get(f"{_WORD}styleId")
        if is_on(style.find(f"{_WORD}rPr/{_WORD}b")):
            bold.add(style_id)
        parts = style.iterchildren(f"{_WORD}tblStylePr")
        if any(part.get(f"{_WORD}type") == "firstRow" for part in parts):
            headers.add(style_id)
    return bold, headers


def _word_grid(
    table: LxmlElement, bold_styles: Collection[str | None] = (), header_styles: Collection[str | None] = ()
) -> Grid:
    """Return the cells of a table in a Word file.

    A merged cell that covers several rows is stored in each of these rows. The property ``vMerge`` of a cell is
    "restart" where such a merged cell begins, and has another value where the merged cell above continues.

    :param table: The element of the table.
    :param bold_styles: The IDs of the styles with bold letters.
    :param header_styles: The IDs of the styles of tables that mark the first row.
    """
    has_marked_row = _marks_first_row(table, header_styles)
    # The cells with bold letters, and those with a background.
    bold: set[tuple[int, int]] = set()
    filled: set[tuple[int, int]] = set()
    rows: list[list[str]] = []
    spans: list[Span] = []
    # For each column in which a merged cell may go on downwards: the position of the merged cell in `spans`.
    open_spans: dict[int, int] = {}
    headers = set()
    for number, row in enumerate(_elements_inside(table, (f"{_WORD}tr",))):
        # A row may begin to the right of the first column.
        line = [""] * _word_columns(row.find(f"{_WORD}trPr/{_WORD}gridBefore"))
        if row.find(f"{_WORD}trPr/{_WORD}tblHeader") is not None:
            headers.add(number)
        for cell in _elements_inside(row, (f"{_WORD}tc",)):
            column = len(line)
            # A cell without the property covers one column.
            width = max(_word_columns(cell.find(f"{_WORD}tcPr/{_WORD}gridSpan")), 1)
            is_marked = has_marked_row and number == 0
            if is_marked or _is_bold_cell(cell, bold_styles):
                bold.add((number, column))
            if is_marked or _is_filled_cell(cell):
                filled.add((number, column))
            merged = _word_value(cell, "vMerge")
            begins_merged_cell = merged == "restart"
            continues_merged_cell = merged is not None and not begins_merged_cell and column in open_spans
            if continues_merged_cell:
                text = ""
                position = open_spans[column]
                span = spans[position]
                spans[position] = span._replace(rows=number - span.row + 1)
            else:
                text = _word_text(cell)
                open_spans.pop(column, None)
                if begins_merged_cell:
                    open_spans[column] = len(spans)
                if begins_merged_cell or width > 1:
                    spans.append(Span(number, column, 1, width))
            line.append(text)
            line += [""] * (width - 1)
        rows.append(line)
    return Grid(rows, spans, frozenset(headers), (bold, filled))


def _marks_first_row(table: LxmlElement, header_styles: Collection[str | None]) -> bool:
    """Check whether the style of a table in a Word file marks the first row, and the table does not turn this off."""
    style = table.find(f"{_WORD}tblPr/{_WORD}tblStyle")
    look = table.find(f"{_WORD}tblPr/{_WORD}tblLook")
    has_header_style = style is not None and style.get(f"{_WORD}val") in header_styles
    is_turned_off = look is not None and look.get(f"{_WORD}firstRow") == "0"
    return has_header_style and not is_turned_off


def _is_bold_cell(cell: LxmlElement, bold_styles: Collection[str | None]) -> bool:
    """Check whether the first words in a cell of a Word file are bold."""
    for run in cell.iter(f"{_WORD}r"):
        has_words = any((text.text or "").strip() for text in run.iter(f"{_WORD}t"))
        if not has_words:
            continue
        # The words say themselves whether they are bold, or else their style or that of their paragraph says it.
        own_setting = run.find(f"{_WORD}rPr/{_WORD}b")
        if own_setting is not None:
            return is_on(own_setting)
        paragraph = next(run.iterancestors(f"{_WORD}p"), run)
        styles = (run.find(f"{_WORD}rPr/{_WORD}rStyle"), paragraph.find(f"{_WORD}pPr/{_WORD}pStyle"))
        return any(style is not None and style.get(f"{_WORD}val") in bold_styles for style in styles)
    return False


def _is_filled_cell(cell: LxmlElement) -> bool:
    """Check whether a cell of a Word file has a background that is not white."""
    shading = cell.find(f"{_WORD}tcPr/{_WORD}shd")
    return shading is not None and shading.get(f"{_WORD}fill", "auto").upper() not in _WHITE


def _word_columns(element: LxmlElement | None) -> int:
    """Return the number of columns in a property of a cell or a row of a Word file; 0 without the property."""
    # A hostile file may have a number of a million digits.
    digits = "" if element is None else element.get(f"{_WORD}val", "")[:5]
    return min(int(digits), MOST_COLUMNS) if digits.isdecimal() else 0


def _word_value(cell: LxmlElement, name: str) -> str | None:
    """Return the value of a property of a cell.

    The value is "" if the property has no value, and None if the cell does not have the property.
    """
    element = cell.find(f"{_WORD}tcPr/{_WORD}{name}")
    return None if element is None else element.get(f"{_WORD}val", "")


def _elements_inside(parent: LxmlElement, tags: Collection[str]) -> Iterator[LxmlElement]:
    """Yield the elements with one of the tags inside an element of a Word file, such as the rows of a table.

    Those inside forms, cover pages, content controls and tracked insertions are included.
    """
    for element in parent.iterchildren():
        if element.tag in tags:
            yield element
        elif element.tag in _WRAPPERS:
            yield from _elements_inside(element, tags)


def _word_text(element: LxmlElement) -> str:
    """Return the text of a paragraph or a cell.

    The text of a tracked deletion is left out, because that text has another tag.
    """
    pieces: list[str] = []
    for piece in element.iter():
        if piece.tag == f"{_WORD}t":
            # Skip the part for older programs, because that part repeats the text of a text box.
            if not any(above.tag == _FALLBACK for above in piece.iterancestors()):
                pieces.append(piece.text or "")
        elif piece.tag in _SPACES:
            pieces.append(_SPACES[piece.tag])
        elif piece.tag == f"{_WORD}p" and pieces:
            pieces.append("\n")
    return "".join(pieces)


def _slide_grid(table: Table) -> Grid:
    """Return the cells of a table on a slide."""
    rows: list[list[str]] = []
    spans = []
    for number, row in enumerate(table.rows):
        cells = list(row.cells)
        rows.append([cell.text for cell in cells])
        for column, cell in enumerate(cells):
            if cell.is_merge_origin:
                spans.append(Span(number, column, cell.span_height, cell.span_width))
    return Grid(rows, spans)


def _slide_blocks(shapes: Any, title_id: int | None, outline: Outline) -> Iterator[str]:
    """Yield the texts and tables of a slide, including those in groups of shapes.

    :param shapes: The shapes of the slide.
    :param title_id: The ID of the shape with the title, which is skipped. None if the slide has no title.
    :param outline: The outline of the file.
    """
    for shape in shapes:
        if shape.shape_id == title_id:
            continue
        if hasattr(shape, "shapes"):
            yield from _slide_blocks(shape.shapes, title_id, outline)
        elif getattr(shape, "has_table", False):
            yield "\n".join(write_grid(_slide_grid(shape.table), outline))
        elif shape.has_text_frame:
            # A vertical tab is a line break within a paragraph.
            text = shape.text_frame.text.strip().replace("\v", "\n")
            if text:
                yield text


# A number format is the text that tells Excel how to show the value of a cell, such as `0.0%`.
# A cell may have several number formats with semicolons between them. Matches such a semicolon, and what may hold a
# semicolon that divides nothing: words in quotation marks, and a backslash with its character.
_DIVIDER = re.compile(r'"[^"]*"|\\.|;')
# Matches a number format that shows no number, such as `;;;` or `;;;@`.
_NO_NUMBER = re.compile(r";;(?:;.*)?")
# The number format that shows neither a number nor a text.
_NO_CELL = ";;;"
# Matches the condition that says for which numbers a part of a format is, such as `[>=100]`.
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)(-?\d+(?:\.\d+)?)\]")
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
# Matches the placeholders for digits in a number format. In `#,##0.00 kg` they are `#,##0.00`. Commas at their end show
# the number in thousands or millions, as in `0.0,,"M"`.
_DIGITS = re.compile(r"[#0?][#0?,]*(?:\.[#0?]+)?,*")
# Matches the placeholders of a part of a long number, such as the `000` in `000-00-0000`.
_PART_DIGITS = re.compile(r"[#0]+")
# Matches the unit of a number in thousands or millions, such as "k" or " Mio. EUR", and not the code of a currency.
_SCALED_UNIT = re.compile(r"\s*(?![A-Z]{3}\b)[^\W\d_]")
# A number is shown in units of at most so many powers of a thousand.
_MOST_THOUSANDS = 4
# In a number format, the characters of literal words are moved to these places, so that they are no placeholders.
_MOVED = {code: 0xE000 + code for code in range(33, 127)}
_MOVED_BACK = {moved: code for code, moved in _MOVED.items()}
# Matches the other parts of a number format that are not shown as they are written. Excel shows only what the groups
# match. For example, `[Red]0 "kg"` is shown with the unit "kg" and without "[Red]".
_LITERAL = re.compile(
    r"""
    \[\$([^\]-]*)[^\]]*\]      # a currency, such as "EUR" in [$EUR-407]
    | "([^"]*)"                # words in quotation marks
    | \\(.)                    # a character after a backslash
    | _. | \*.                 # a blank of the width of a character; a character that fills the cell
    | \[[^\]]*\]               # a colour or a condition, such as [Red] or [>100]
    """,
    re.VERBOSE,
)


def show_cell(value: object, form: str) -> str:
    """Write the value of a cell as Excel shows it, but dates always as in 2026-05-31.

    For example, ``show_cell(0.125, "0.0%")`` returns ``"12.5%"``, and ``show_cell(date(2026, 5, 1), "mmm yyyy")``
    returns ``"May 2026"``.

    :param value: The value, such as a number, a date, a text or None.
    :param form: The number format of the cell, such as `0.0%`.
    :returns: The text; "" for None, and for a number format such as `;;;`, which hides the value.
    """
    # Only numbers and times have a number format. In Python, True and False are numbers, too, but not in Excel.
    if isinstance(value, bool) or not isinstance(value, date | time | timedelta | int | float):
        return "" if value is None or form == _NO_CELL else str(value)
    if _NO_NUMBER.fullmatch(form):
        return ""
    if isinstance(value, date | time):
        first = _divide_format(form)[0]
        return _show_time(value, _LITERAL.sub("", first).lower())
    if isinstance(value, timedelta):
        return _show_duration(value)
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    shown = _show_in_format(value, form)
    return _show_plain(value) if shown is None else shown


def _divide_format(form: str) -> list[str]:
    """Return the parts of a number format between its semicolons."""
    return _DIVIDER.sub(lambda match: "\0" if match[0] == ";" else match[0], form).split("\0")


def _show_in_format(value: float, form: str) -> str | None:
    """Write a number in a number format; None if it is not sure how Excel shows it."""
    sections = _divide_format(form)
    patterns = [_LITERAL.sub(_literal_text, section) for section in sections]
    if _CONDITION.search(form):
        conditions = [_CONDITION.search(section) for section in sections]
        return _show_by_condition(value, conditions, patterns)

    # Excel can also show words for a number: `"yes";;"no"`.
    sign = (value < 0) + 2 * (value == 0)
    words = _only_words(patterns[sign]) if sign < len(patterns) else ""
    if words:
        return words
    has_negative_form = len(patterns) > 1 and _DIGITS.search(patterns[1]) is not None
    if value < 0 and has_negative_form:
        return _show_negative(value, patterns[1], patterns[0])
    return _show_number(value, patterns[0])


def _show_by_condition(value: float, conditions: list[re.Match[str] | None], patterns: list[str]) -> str | None:
    """Write a number in the first part of a format whose condition it meets, such as the first of `[<9]0.0;0`.

    :param value: The number.
    :param conditions: The condition of each part of the format. Only the last part may have none.
    :param patterns: The parts of the format.
    :returns: The text; None for a negative number, because the condition decides about its sign.
    """
    if value < 0 or None in conditions[:-1]:
        return None
    for condition, pattern in zip(conditions, patterns, strict=True):
        if condition is None or _COMPARISONS[condition[1]](value, float(condition[2])):
            return _only_words(pattern) or _show_number(value, pattern)
    return None


def _only_words(pattern: str) -> str:
    """Return the words of a part of a number format that shows only words; "" if it shows anything else."""
    words = pattern.translate(_MOVED_BACK).strip()
    # All other signs of number formats are ASCII.
    has_only_literals = not any(map(str.isascii, "".join(pattern.split())))
    return words if has_only_literals and any(map(str.isalpha, words)) else ""


def _show_negative(value: float, negative: str, positive: str) -> str | None:
    """Write a negative number in a format that has a part for negative numbers.

    This part says itself how they are marked, as in `0;(0)`. If only a colour marks them, as in `0;[Red]0`, a minus is
    written, because the text has no colours.

    :param value: The number.
    :param negative: The part of the format for negative numbers.
    :param positive: The part of the format for positive numbers.
    :returns: The text; None if it is not sure how Excel shows it.
    """
    text = _show_number(-value, negative)
    if text is None:
        return None
    # The signs that mark a negative number are those that a positive number does not have, such as "-" or "owed".
    marking_signs = set(_words(negative)) - set(_words(positive))
    is_zero = not re.search(r"[1-9]", text)
    return text if marking_signs or is_zero else f"-{text}"


def _words(pattern: str) -> list[str]:
    """Return the words and signs of a number format. For example, ``_words("(#,##0 kg)")`` gives "(", "kg" and ")"."""
    without_digits = _DIGITS.sub(" ", pattern).translate(_MOVED_BACK)
    return re.findall(r"[^\W\d_]+|[^\w\s]", without_digits)


def _literal_text(literal: re.Match[str]) -> str:
    """Return the part of a match of `_LITERAL` that Excel shows, in characters that are no placeholders.

    For example, `[$EUR-407]` gives "EUR". :data:`_MOVED_BACK` makes these characters readable again.
    """
    return "".join(filter(None, literal.groups())).translate(_MOVED)


def _show_duration(value: timedelta) -> str:
    """Write a duration as hours and minutes, and seconds if there are any. For example, 26 hours give "26:00"."""
    total_minutes, seconds = divmod(abs(round(value.total_seconds())), 60)
    hours, minutes = divmod(total_minutes, 60)
    sign = "-" if value < timedelta() else ""
    shown_seconds = f":{seconds:02}" if seconds else ""
    return f"{sign}{hours}:{minutes:02}{shown_seconds}"


def _show_plain(value: float) -> str:
    """Write a number without a number format, in full."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _show_number(value: float, pattern: str) -> str | None:
    """Write a number in a number format. For example, ``_show_number(1234.5, "#,##0.00 kg")`` gives "1,234.50 kg".

    :param value: The number.
    :param pattern: The number format, or a part of it, with its literal words as :func:`_literal_text` writes them.
    :returns: The text; None if it is not sure how Excel shows the number.
    """
    blocks = list(_DIGITS.finditer(pattern))
    # Formats with powers of ten and with fractions are not followed.
    if not blocks or "E+" in pattern or "/" in pattern:
        return None
    if len(blocks) > 1:
        return _show_parts(value, pattern)

    [digits] = blocks
    before, after = pattern[: digits.start()], pattern[digits.end() :]
    placeholders = digits[0].rstrip(",")
    thousands = len(digits[0]) - len(placeholders)
    unit = after.translate(_MOVED_BACK)
    # Without a unit such as "M", nobody would know from the text that the number is in millions.
    if thousands > _MOST_THOUSANDS or (thousands > 0 and not _SCALED_UNIT.match(unit)):
        return None
    number = Decimal(repr(value)).scaleb(-3 * thousands)
    if "%" in after:
        number *= 100
    text = _show_digits(number, placeholders)
    is_zero = text.strip("0.,") == ""
    sign = "-" if number < 0 and not is_zero else ""
    return f"{sign}{before.translate(_MOVED_BACK)}{text}{unit}".strip()


def _show_parts(value: float, pattern: str) -> str | None:
    """Write a whole number in a format with signs between its digits, such as `000-00-0000`.

    :param value: The number.
    :param pattern: The number format.
    :returns: The text; None if the number has too few digits, or if the format has other placeholders.
    """
    n_placeholders = sum(map(len, _PART_DIGITS.findall(pattern)))
    digits = _show_plain(value)
    if "#" not in pattern:
        digits = digits.zfill(n_placeholders)
    has_other_placeholders = any(sign in pattern for sign in "?.,%")
    if has_other_placeholders or not digits.isdecimal() or len(digits) < n_placeholders:
        return None
    # The first part has all digits that have no placeholder.
    place = len(digits) - n_placeholders
    pieces: list[str] = []
    begin = 0
    for part in _PART_DIGITS.finditer(pattern):
        end = place + len(part[0])
        pieces += (pattern[begin : part.start()], digits[place if pieces else 0 : end])
        place, begin = end, part.end()
    return "".join([*pieces, pattern[begin:]]).translate(_MOVED_BACK).strip()


def _show_digits(number: Decimal, placeholders: str) -> str:
    """Write a number without its sign. For example, the number 1234.5 in "#,##0.00" gives "1,234.50"."""
    whole, _, decimals = placeholders.partition(".")
    # The digits that a person reads are rounded, and halves up: 2.5 is shown as 3, which binary rounding would make 2.
    last_digit = Decimal(1).scaleb(-len(decimals))
    with suppress(InvalidOperation):
        number = number.quantize(last_digit, ROUND_HALF_UP)
    separator = "," if "," in whole else ""
    text = f"{abs(number):{separator}.{len(decimals)}f}"
    # Each `0` stands for a digit that is shown even if it is zero, as in a postcode.
    if not separator:
        width = whole.count("0") + len(decimals) + len(decimals[:1])
        text = text.zfill(width)

    # A `#` at the end of the format stands for a digit that is left out if the digit is zero. So 0.5 in the format
    # `0.0##` becomes "0.5".
    optional_digits = len(decimals) - len(decimals.rstrip("#"))
    for _ in range(optional_digits):
        text = text.removesuffix("0")
    return text.removesuffix(".")


def _show_time(value: date | time, form: str) -> str:
    """Write a date or a time, such as "2026-05-31", "2026-05-31 14:30" or "14:30".

    :param value: The date, the time, or both.
    :param form: The number format in small letters. A date whose format has no day becomes a month, as in "May 2026".
    """
    # Excel stores a date as midnight of that day.
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, datetime | time):
        return str(value).removesuffix(":00")
    if "y" in form and "m" in form and "d" not in form:
        return f"{month_name[value.month]} {value.year}"
    return value.isoformat()
