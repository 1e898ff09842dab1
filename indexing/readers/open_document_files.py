"""Read OpenDocument files, which LibreOffice writes: texts, spreadsheets and slides."""

import io
import zipfile
from collections.abc import Iterator
from itertools import chain, repeat
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.office_files import MOST_COLUMNS, OfficeText, check_package
from prefrag.indexing.readers.text_files import limit_text, write_rows
from prefrag.indexing.report import CannotRead

_NAMES = "urn:oasis:names:tc:opendocument:xmlns:"
_TEXT, _TABLE, _OFFICE = (f"{{{_NAMES}{name}:1.0}}" for name in ("text", "table", "office"))
_DRAW, _PRESENTATION = (f"{{{_NAMES}{name}:1.0}}" for name in ("drawing", "presentation"))
# The elements that are not read: deleted text, comments in the margin, and the numbers of footnotes.
_LEFT_OUT = {f"{_TEXT}tracked-changes", f"{_OFFICE}annotation", f"{_TEXT}note-citation"}
_GROUPS = {f"{_TABLE}table-{name}" for name in ("header-rows", "rows", "row-group")}
_MOST_REPEATED = 100
_SPACES = {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}


def read_odt(data: bytes, outline: Outline) -> OfficeText:
    """Read a text document: its paragraphs, headings, lists and tables."""
    title, body = _open(data, "text")
    return OfficeText(title, "\n\n".join(limit_text(_blocks(body, outline))))


def read_ods(data: bytes, outline: Outline) -> OfficeText:
    """Read a spreadsheet: the rows of each sheet with the names of their columns, and the results of formulas."""
    title, body = _open(data, "spreadsheet")
    sheets = []
    for sheet in body.iterfind(f"{_TABLE}table"):
        name = sheet.get(f"{_TABLE}name", "")
        if lines := list(write_rows(_rows(sheet))):
            sheets.append("\n".join([outline.mark(1, name) + name, *lines]))
    return OfficeText(title, "\n\n".join(limit_text(sheets)))


def read_odp(data: bytes, outline: Outline) -> OfficeText:
    """Read a presentation: the texts, tables and notes of each slide, under the number and title of the slide."""
    title, body = _open(data, "presentation")
    slides = []
    for number, slide in enumerate(body.iterfind(f"{_DRAW}page"), start=1):
        frames = [frame for frame in slide if frame.tag != f"{_PRESENTATION}notes"]
        titles = [frame for frame in frames if frame.get(f"{_PRESENTATION}class") == "title"]
        words = " ".join(" ".join(map(_text, titles)).split())
        title = title or words
        heading = f"Slide {number}" + (f": {words}" if words else "")
        blocks = [block for frame in frames if frame not in titles for block in _blocks(frame, Outline())]
        notes = " ".join(" ".join(_blocks(each, Outline())) for each in slide.iterfind(f"{_PRESENTATION}notes")).strip()
        blocks += [f"Notes: {notes}"] if notes else []
        slides.append("\n\n".join([outline.mark(1, heading) + heading, *blocks]) if words or blocks else "")
    return OfficeText(title, "\f".join(limit_text(slides)))


def _open(data: bytes, kind: str) -> tuple[str, Element]:
    check_package(data)
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        names = package.namelist()
        if "META-INF/manifest.xml" in names and b"encryption-data" in package.read("META-INF/manifest.xml"):
            raise CannotRead("it is encrypted: save it again without a password")
        title = ElementTree.fromstring(package.read("meta.xml")).findtext(".//{*}title") if "meta.xml" in names else ""
        content = ElementTree.fromstring(package.read("content.xml"))
    body = content.find(f"{_OFFICE}body/{_OFFICE}{kind}")
    if body is None:
        raise CannotRead("its content is of another kind than its name says")
    return title or "", body


def _blocks(parent: Element, outline: Outline) -> Iterator[str]:
    for element in parent:
        if element.tag in _LEFT_OUT:
            continue
        if element.tag == f"{_TEXT}h":
            words = " ".join(_text(element).split())
            level = element.get(f"{_TEXT}outline-level", "1")
            yield outline.mark(int(level) if level.isdecimal() else 1, words) + words
        elif element.tag == f"{_TEXT}p":
            if text := _text(element).strip():
                yield text
        elif element.tag == f"{_TEXT}list-item":
            yield "\n".join(f"- {block}" for block in _blocks(element, outline))
        elif element.tag == f"{_TABLE}table":
            yield "\n".join(write_rows(_rows(element)))
        else:
            yield from _blocks(element, outline)


def _rows(table: Element) -> Iterator[list[str]]:
    for row in _own_rows(table):
        cells = list(chain.from_iterable(map(_cells, row)))[:MOST_COLUMNS]
        # Leave out empty rows, because there can be a million of them below the last row with text.
        if any(cells):
            yield from repeat(cells, _repetitions(row, "rows", _MOST_REPEATED))


def _own_rows(table: Element) -> Iterator[Element]:
    """Yield the rows of a table, including those in its header and groups, but not those of tables in its cells."""
    for child in table:
        if child.tag == f"{_TABLE}table-row":
            yield child
        elif child.tag in _GROUPS:
            yield from _own_rows(child)


def _cells(cell: Element) -> Iterator[str]:
    if cell.tag in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
        date = cell.get(f"{_OFFICE}date-value", "").removesuffix("T00:00:00")
        text = date or " ".join(_text(paragraph) for paragraph in cell.iterfind(f"{_TEXT}p"))
        yield from repeat(text, _repetitions(cell, "columns", _MOST_REPEATED if text else MOST_COLUMNS))


def _repetitions(element: Element, what: str, most: int) -> int:
    times = element.get(f"{_TABLE}number-{what}-repeated", "1")
    return min(int(times[:9]), most) if times.isdecimal() else 1


def _text(element: Element) -> str:
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
