"""Read the texts beside the main text of Word and Excel files: page headers, page footers, footnotes and comments.

The readers of Word and Excel files append these texts to the main text. The libraries that read the main text do not
return them, so the functions here read the XML parts of the file.
"""

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

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


def word_notes(document: Any, read_text: Callable[[Any], str]) -> Iterator[str]:
    """Yield the page headers, page footers, footnotes, endnotes and comments of a Word file.

    :param document: The file as the library python-docx opens it.
    :param read_text: A function that returns the text of an element, such as a paragraph.
    :returns: The texts with their labels, such as "Footnote: See page 3". Equal texts are returned once.
    """
    from docx.oxml.parser import parse_xml

    yielded, parts_read = set[str](), set[str]()
    for relation in document.part.rels.values():
        name = _PARTS.get(relation.reltype.rpartition("/")[2])
        # Read each part once. A file may relate to one part thousands of times.
        if name is None or relation.is_external or relation.target_part.partname in parts_read:
            continue

        parts_read.add(relation.target_part.partname)
        root = parse_xml(relation.target_part.blob)
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
    from openpyxl.packaging.relationship import get_dependents, get_rels_path
    from openpyxl.xml.functions import fromstring

    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = package.namelist()
        # The words that name the sheet, by the path of the part with its comments.
        sheet_of: dict[str, str] = {}
        if len(sheets) > 1:
            for sheet_path, name in sheets.items():
                relations_path = get_rels_path(sheet_path)
                if relations_path in parts:
                    for relation in get_dependents(package, relations_path):
                        sheet_of[relation.target] = f" of the sheet {name}"

        for part in filter(_COMMENTS.fullmatch, parts):
            for comment in fromstring(package.read(part)).iter(f"{_SHEET}comment"):
                text = " ".join(piece.text or "" for piece in comment.iter(f"{_SHEET}t"))
                words = " ".join(text.split())
                if words:
                    yield f"Comment on cell {comment.get('ref')}{sheet_of.get(part, '')}: {words}"
