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
        # A header is one text; notes and comments are elements of their own. Lines between notes have a type.
        texts = [root] if name.startswith("Page") else [note for note in root if note.get(f"{_WORD}type") is None]
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
        related = {get_rels_path(path): name for path, name in sheets.items()} if len(sheets) > 1 else {}
        sheet_of = {
            relation.target: f" of the sheet {name}"
            for path, name in related.items()
            if path in parts
            for relation in get_dependents(package, path)
        }
        for part in filter(_COMMENTS.fullmatch, parts):
            for comment in fromstring(package.read(part)).iter(f"{_SHEET}comment"):
                words = " ".join(" ".join(text.text or "" for text in comment.iter(f"{_SHEET}t")).split())
                if words:
                    yield f"Comment on cell {comment.get('ref')}{sheet_of.get(part, '')}: {words}"
