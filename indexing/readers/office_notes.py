"""Read what stands beside the text of Word and Excel files: page headers and footers, footnotes and comments."""

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
# Maps the ends of the types of a Word file's parts to what their texts are called.
_PARTS = {
    "header": "Page header",
    "footer": "Page footer",
    "footnotes": "Footnote",
    "endnotes": "Endnote",
    "comments": "Comment",
}
# The part with the comments of a sheet, such as xl/comments1.xml or xl/comments/comment1.xml.
_COMMENTS = re.compile(r"xl/comments/?(?:comment)?\d*\.xml", re.IGNORECASE)


def word_notes(document: Any, read_text: Callable[[Any], str]) -> Iterator[str]:
    """Yield the page headers, page footers, footnotes, endnotes and comments of a Word file, each text once.

    :param document: The opened file.
    :param read_text: Reads the text of an element, such as a paragraph.
    """
    from docx.oxml.parser import parse_xml

    yielded, parts_read = set[str](), set[str]()
    for relation in document.part.rels.values():
        name = _PARTS.get(relation.reltype.rpartition("/")[2])
        # A file may relate to one part thousands of times.
        if name is None or relation.is_external or relation.target_part.partname in parts_read:
            continue
        parts_read.add(relation.target_part.partname)
        root = parse_xml(relation.target_part.blob)
        texts = [root]
        if not name.startswith("Page"):
            # Notes and comments are elements of their own. Those with a type are the lines between notes.
            texts = [element for element in root if element.get(f"{_WORD}type") is None]
        for text in texts:
            words = " ".join(read_text(text).split())
            note = f"{name}: {words}"
            if words and note not in yielded:
                yielded.add(note)
                yield note


def sheet_comments(data: bytes, sheets: Mapping[str, str]) -> Iterator[str]:
    """Yield the comments on the cells of an Excel file, each with its cell and, of several sheets, the sheet.

    :param data: The file, whose archive the caller has checked.
    :param sheets: The name of each sheet by the path of its part in the archive.
    """
    from openpyxl.packaging.relationship import get_dependents, get_rels_path
    from openpyxl.xml.functions import fromstring

    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = package.namelist()
        sheet_of: dict[str, str] = {}  # by the part with the comments
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
