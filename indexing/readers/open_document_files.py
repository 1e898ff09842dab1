"""Read OpenDocument files, which LibreOffice writes: text documents, spreadsheets and presentations.

There is one function for each kind of file, such as :func:`read_odt`. The file converter calls it. An OpenDocument file
is a zip archive, and its part ``content.xml`` has the content. Headings and rows of tables begin with a mark in the
text, which :class:`Outline` makes and later removes.
"""

import io
import zipfile
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.office_files import OfficeText, check_package
from prefrag.indexing.readers.struck_office_text import STRUCK, note_left_out, strike_open_document
from prefrag.indexing.readers.tables import MOST_COLUMNS, Grid, Span, limit_text, without_columns, write_grid
from prefrag.indexing.report import CannotRead

# The XML namespaces of the elements and attributes. Each name below says what a namespace is for.
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
# The elements that are not read: deleted text, comments in the margin, and the numbers of footnotes.
_LEFT_OUT = {f"{_TEXT}tracked-changes", f"{_OFFICE}annotation", f"{_TEXT}note-citation"}
# The elements that may stand between a table and its rows.
_GROUPS = {f"{_TABLE}table-{name}" for name in ("header-rows", "rows", "row-group")}
# The elements that are cells of a row. A covered cell belongs to a merged cell.
_CELLS = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
# A file may say that a cell or a row is to be repeated. If it has text, it is repeated at most this many times.
_MOST_REPEATED = 100
# A merged cell covers at most this many rows, and at most this many columns.
_MOST_SPANNED = 1_000_000
# The elements that stand for a character.
_SPACES = {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}


class _OpenFile(NamedTuple):
    """An opened file, without its struck-out and hidden texts.

    :param title: The title; "" if the file has none.
    :param body: The element with the content.
    :param hiding_styles: The names of the styles that hide a sheet.
    """

    title: str
    body: Element
    hiding_styles: set[str | None]


def read_odt(data: bytes, outline: Outline) -> OfficeText:
    """Read the paragraphs, headings, lists and tables of a text document.

    :param data: The bytes of the file.
    :param outline: The outline of the file. The headings and the rows of tables are added to it.
    :returns: The title and the text, with an empty line between two paragraphs or tables.
    :raises CannotRead: If the file is encrypted, damaged, too large, possibly malicious or of another kind.
    """
    file = _open(data, "text", outline)
    blocks = limit_text(_blocks(file.body, outline))
    return OfficeText(file.title, "\n\n".join(blocks))


def read_ods(data: bytes, outline: Outline) -> OfficeText:
    """Read the sheets of a spreadsheet.

    Each row becomes a line with the names of its columns. A formula is read as its stored result.

    :param data: The bytes of the file.
    :param outline: The outline of the file. The names of the sheets and the rows of tables are added to it.
    :returns: The title and the text, with an empty line between two sheets.
    :raises CannotRead: If the file is encrypted, damaged, too large, possibly malicious or of another kind.
    """
    file = _open(data, "spreadsheet", outline)
    sheets = []
    for sheet in file.body.iterfind(f"{_TABLE}table"):
        name = sheet.get(f"{_TABLE}name", "")
        if sheet.get(f"{_TABLE}style-name") in file.hiding_styles:
            name += " (hidden sheet)"
        lines = list(write_grid(_grid(sheet), outline))
        if lines:
            heading = outline.mark(1, name) + name
            sheets.append("\n".join([heading, *lines]))
    return OfficeText(file.title, "\n\n".join(limit_text(sheets)))


def read_odp(data: bytes, outline: Outline) -> OfficeText:
    """Read the texts, tables and notes of each slide of a presentation.

    Each slide begins with a heading such as "Slide 3: Costs".

    :param data: The bytes of the file.
    :param outline: The outline of the file. The headings and the rows of tables are added to it.
    :returns: The title and the text, with a form feed between two slides. A slide without text is empty. A file without
        a title gets the first title of a slide.
    :raises CannotRead: If the file is encrypted, damaged, too large, possibly malicious or of another kind.
    """
    file = _open(data, "presentation", outline)
    title = file.title
    slides = []
    for number, slide in enumerate(file.body.iterfind(f"{_DRAW}page"), start=1):
        frames = [frame for frame in slide if frame.tag != f"{_PRESENTATION}notes"]
        titles = [frame for frame in frames if frame.get(f"{_PRESENTATION}class") == "title"]
        title_text = " ".join(map(_text, titles))
        words = " ".join(title_text.split())
        title = title or words
        heading = f"Slide {number}: {words}" if words else f"Slide {number}"

        other_frames = [frame for frame in frames if frame not in titles]
        blocks = [block for frame in other_frames for block in _blocks(frame, outline)]
        notes = _slide_notes(slide)
        if notes:
            blocks.append(f"Notes: {notes}")

        if words or blocks:
            slides.append("\n\n".join([outline.mark(1, heading) + heading, *blocks]))
        else:
            slides.append("")
    return OfficeText(title, "\f".join(limit_text(slides)))


def _slide_notes(slide: Element) -> str:
    """Return the notes of a slide in one line; "" if the slide has none."""
    # The notes get an outline of their own, because a heading in them is not a heading of the presentation.
    notes = (" ".join(_blocks(note, Outline())) for note in slide.iterfind(f"{_PRESENTATION}notes"))
    return " ".join(notes).strip()


def _open(data: bytes, kind: str, outline: Outline) -> _OpenFile:
    """Open a file, and remove its struck-out and hidden texts.

    :param data: The bytes of the file.
    :param kind: The name of the element with the content, such as "text".
    :param outline: The outline of the file. The removed texts are counted in its ``loss``.
    :returns: The opened file.
    :raises CannotRead: If the file is encrypted, damaged, too large, possibly malicious or of another kind.
    """
    check_package(data)
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        names = package.namelist()
        if "META-INF/manifest.xml" in names and b"encryption-data" in package.read("META-INF/manifest.xml"):
            raise CannotRead("it is encrypted: save it again without a password")
        title = None
        if "meta.xml" in names:
            title = ElementTree.fromstring(package.read("meta.xml")).findtext(".//{*}title")
        content = ElementTree.fromstring(package.read("content.xml"))
        roots = [content]
        if "styles.xml" in names:
            roots.append(ElementTree.fromstring(package.read("styles.xml")))

    body = content.find(f"{_OFFICE}body/{_OFFICE}{kind}")
    if body is None:
        raise CannotRead("its content is of another kind than its name says")
    note_left_out(outline, strike_open_document(body, roots), STRUCK)

    hiding_styles = set[str | None]()
    for style in content.iter(f"{_STYLE}style"):
        properties = style.iterfind(f"{_STYLE}table-properties")
        if any(element.get(f"{_TABLE}display") == "false" for element in properties):
            hiding_styles.add(style.get(f"{_STYLE}name"))
    return _OpenFile(title or "", body, hiding_styles)


def _blocks(parent: Element, outline: Outline) -> Iterator[str]:
    """Yield the headings, paragraphs, list items and tables in an element, each as a text."""
    for element in parent:
        if element.tag in _LEFT_OUT:
            continue
        if element.tag == f"{_TEXT}h":
            words = " ".join(_text(element).split())
            stated_level = element.get(f"{_TEXT}outline-level", "1")
            level = int(stated_level) if stated_level.isdecimal() else 1
            yield outline.mark(level, words) + words
        elif element.tag == f"{_TEXT}p":
            text = _text(element).strip()
            if text:
                yield text
        elif element.tag == f"{_TEXT}list-item":
            yield "\n".join(f"- {block}" for block in _blocks(element, outline))
        elif element.tag == f"{_TABLE}table":
            yield "\n".join(write_grid(_grid(element), outline))
        else:
            yield from _blocks(element, outline)


def _grid(table: Element) -> Grid:
    """Return the cells of a table, without repeated empty rows."""
    rows: list[list[str]] = []
    spans: list[Span] = []
    headers = set()
    for row, is_header in _own_rows(table):
        cells: list[str] = []
        merged: list[Span] = []
        for cell in row:
            if cell.tag not in _CELLS or len(cells) >= MOST_COLUMNS:
                continue
            down = _number(cell, "number-rows-spanned", _MOST_SPANNED)
            across = _number(cell, "number-columns-spanned", _MOST_SPANNED)
            if down > 1 or across > 1:
                merged.append(Span(len(rows), len(cells), down, across))
            cells += _repeated_text(cell)

        # Keep only the first of several empty rows. A million of them can stand below the last row with text.
        has_text = any(cells)
        follows_text = bool(rows) and any(rows[-1])
        stays = has_text or follows_text
        if not stays:
            continue
        if is_header:
            headers.add(len(rows))
        spans += merged
        times = _number(row, "number-rows-repeated", _MOST_REPEATED) if has_text else 1
        rows += (list(cells) for _ in range(times))
    return without_columns(Grid(rows, spans, frozenset(headers)), _hidden_columns(table))


def _hidden_columns(table: Element) -> set[int]:
    """Return the numbers of the hidden columns of a table, from 0. Folded columns are not among them."""
    hidden = set[int]()
    # The number of the next column.
    begin = 0
    for child in table:
        may_be_folded = child.tag == f"{_TABLE}table-column-group"
        for column in _columns(child):
            end = begin + _number(column, "number-columns-repeated", MOST_COLUMNS)
            is_hidden = column.get(f"{_TABLE}visibility") == "collapse"
            # The columns of a folded group are hidden only for the moment, so they are only counted.
            if is_hidden and not may_be_folded:
                hidden.update(range(begin, min(end, MOST_COLUMNS)))
            begin = end
    return hidden


def _columns(child: Element) -> list[Element]:
    """Return the elements of columns that a child of a table is or has. A row has none."""
    if child.tag == f"{_TABLE}table-column":
        return [child]
    if child.tag in (f"{_TABLE}table-columns", f"{_TABLE}table-header-columns"):
        return list(child)
    if child.tag == f"{_TABLE}table-column-group":
        return list(child.iter(f"{_TABLE}table-column"))
    return []


def _own_rows(table: Element, is_header: bool = False) -> Iterator[tuple[Element, bool]]:
    """Yield each row of a table, and whether it belongs to the header.

    The rows of tables inside cells are left out, and so are hidden rows. The rows of a folded group are yielded.
    """
    is_folded = table.get(f"{_TABLE}display") == "false"
    for child in table:
        if child.tag == f"{_TABLE}table-row":
            if is_folded or child.get(f"{_TABLE}visibility") != "collapse":
                yield child, is_header
        elif child.tag in _GROUPS:
            are_headers = is_header or child.tag == f"{_TABLE}table-header-rows"
            yield from _own_rows(child, are_headers)


def _repeated_text(cell: Element) -> list[str]:
    """Return the text of a cell as many times as the file says that the cell is repeated."""
    date = cell.get(f"{_OFFICE}date-value", "").removesuffix("T00:00:00")
    text = date or " ".join(_text(paragraph) for paragraph in cell.iterfind(f"{_TEXT}p"))
    most = _MOST_REPEATED if text else MOST_COLUMNS
    return [text] * _number(cell, "number-columns-repeated", most)


def _number(element: Element, name: str, most: int) -> int:
    """Read a number from an attribute.

    :param element: The element.
    :param name: The name of the attribute in the namespace of tables.
    :param most: The maximum result.
    :returns: The number, from 1 to ``most``. It is 1 if the attribute is missing or no number.
    """
    number = element.get(f"{_TABLE}{name}", "1")
    return max(1, min(int(number[:9]), most)) if number.isdecimal() else 1


def _text(element: Element) -> str:
    """Return all text in an element, with tabs, line breaks and blanks."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag == f"{_TEXT}s":
            pieces.append(" ")
        elif child.tag in _SPACES:
            pieces.append(_SPACES[child.tag])
        elif child.tag not in _LEFT_OUT:
            pieces.append(_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)
