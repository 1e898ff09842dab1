"""Read the texts beside the main text of Word and Excel files: page headers, page footers, footnotes and comments.

The readers of Word and Excel files append these texts to the main text. The libraries that read the main text do not
return them, so the functions here read the XML parts of the file.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docx.document import Document
    from lxml.etree import _Element as LxmlElement

# The XML namespace of the elements in Word files.
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# The XML namespace of the elements in Excel files.
_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
# The label that the texts of a part of a Word file get, by the last word of the type of the part.
_PARTS = {
    "header": "Page header",
    "footer": "Page footer",
    "footnotes": "Footnote",
    "endnotes": "Endnote",
    "comments": "Comment",
}
# Matches the part with the comments of a sheet, such as "xl/comments1.xml" or "xl/comments/comment1.xml".
_COMMENTS = re.compile(r"xl/comments/?(?:comment)?\d*\.xml", re.IGNORECASE)


def word_notes(document: Document, read_text: Callable[[LxmlElement], str]) -> Iterator[str]:
    """Yield the page headers, page footers, footnotes, endnotes and comments of a Word file.

    :param document: The file as the library python-docx opens it.
    :param read_text: A function that returns the text of an element, such as a paragraph.
    :returns: The texts with their labels, such as "Footnote: See page 3". Equal texts are returned once.
    """
    from docx.oxml.parser import parse_xml

    yielded = set[str]()
    parts_read = set[str]()
    for relation in document.part.rels.values():
        # The type ends in words such as "/relationships/footnotes".
        _, _, kind = relation.reltype.rpartition("/")
        name = _PARTS.get(kind)
        if name is None or relation.is_external:
            continue
        # Read each part once. A file may relate to one part thousands of times.
        part = relation.target_part
        if part.partname in parts_read:
            continue

        parts_read.add(part.partname)
        root = parse_xml(part.blob)
        texts = [root]
        if not name.startswith("Page"):
            # Each note or comment is an element of its own. Elements with a type are the lines that separate notes.
            texts = [element for element in root if element.get(f"{_WORD}type") is None]
        for text in texts:
            words = " ".join(read_text(text).split())
            note = f"{name}: {words}"
            if words and note not in yielded:
                yielded.add(note)
                yield note


def sheet_comments(data: bytes, sheets: Mapping[str, str]) -> Iterator[str]:
    """Yield the comments on the cells of an Excel file.

    :param data: The bytes of the file. The caller has checked the archive with ``check_package``.
    :param sheets: The name of each sheet, by the path of its part in the archive.
    :returns: The comments with their cells, such as "Comment on cell B2: Check this". The name of the sheet is added if
        the file has several sheets.
    """
    from openpyxl.xml.functions import fromstring

    with zipfile.ZipFile(io.BytesIO(data)) as package:
        sheet_of = _sheets_by_part(package, sheets) if len(sheets) > 1 else {}
        for part in filter(_COMMENTS.fullmatch, package.namelist()):
            of_sheet = f" of the sheet {sheet_of[part]}" if part in sheet_of else ""
            for comment in fromstring(package.read(part)).iter(f"{_SHEET}comment"):
                text = " ".join(piece.text or "" for piece in comment.iter(f"{_SHEET}t"))
                words = " ".join(text.split())
                if words:
                    yield f"Comment on cell {comment.get('ref')}{of_sheet}: {words}"


def _sheets_by_part(package: zipfile.ZipFile, sheets: Mapping[str, str]) -> dict[str, str]:
    """Return the name of the sheet to which each part of an Excel file belongs, by the path of the part.

    :param package: The file as an archive.
    :param sheets: The name of each sheet, by the path of its part.
    """
    from openpyxl.packaging.relationship import get_dependents, get_rels_path

    paths = package.namelist()
    sheet_of: dict[str, str] = {}
    for sheet_path, name in sheets.items():
        relations_path = get_rels_path(sheet_path)
        if relations_path in paths:
            for relation in get_dependents(package, relations_path):
                sheet_of[relation.target] = name
    return sheet_of
