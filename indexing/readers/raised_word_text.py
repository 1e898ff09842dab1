"""Mark the raised digits of Word files, so that they are not read as digits of the number before them.

A note mark behind a number and an exponent are digits above the line. Without a sign between them and the number, "12"
with the note mark 1 would become "121", and ten to the power of six would become "106". Here they become "12^1" and
"10^6". Letters stay as they are, as in "3rd", and so do lowered digits, as in "H2O".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from lxml.etree import _Element as LxmlElement

# The namespace of the elements in a Word file.
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# The elements of text, and those that end a line or a word.
_TEXT = f"{_WORD}t"
_PIECES = (_TEXT, *(f"{_WORD}{name}" for name in ("p", "tab", "br", "cr", "noBreakHyphen")))
# Matches the digits of a note mark or of an exponent, which may be negative.
_RAISED_DIGITS = re.compile(r"[-+\u2212]?\d")
# Matches the end of a number, also at the end of its sentence.
_NUMBER_END = re.compile(r"\d[.,:;]?\Z")


def raising_styles(styles: LxmlElement) -> set[str | None]:
    """Return the IDs of the styles of a Word file that raise a text above the line.

    :param styles: The root element of the styles.
    """
    return {style.get(f"{_WORD}styleId") for style in styles.iter(f"{_WORD}style") if _raises(style)}


def mark_raised_digits(root: LxmlElement, styles: Collection[str | None]) -> None:
    """Write a `^` before raised digits directly behind a number.

    :param root: The element of a part of a Word file, such as its body. Its texts are changed.
    :param styles: The IDs of the styles that raise a text, from :func:`raising_styles`.
    """
    # The last characters of the line so far, and whether they are raised. A number may be divided among several runs.
    before = ""
    was_raised = False
    for piece in root.iter(*_PIECES):
        if piece.tag != _TEXT:
            before, was_raised = "", False
            continue
        text = piece.text or ""
        is_raised = _is_raised(piece.getparent(), styles)
        begins_raised_text = is_raised and not was_raised
        if begins_raised_text and _RAISED_DIGITS.match(text) and _NUMBER_END.search(before):
            piece.text = f"^{text}"
        before = (before + text)[-2:]
        was_raised = is_raised


def _is_raised(run: LxmlElement, styles: Collection[str | None]) -> bool:
    """Check whether a run of a Word file stands above the line, by itself or by its style."""
    if run.find(f"{_WORD}rPr/{_WORD}vertAlign") is not None:
        return _raises(run)
    style = run.find(f"{_WORD}rPr/{_WORD}rStyle")
    return style is not None and style.get(f"{_WORD}val") in styles


def _raises(element: LxmlElement) -> bool:
    """Check whether the properties of a run or of a style themselves raise the text."""
    position = element.find(f"{_WORD}rPr/{_WORD}vertAlign")
    return position is not None and position.get(f"{_WORD}val") == "superscript"
