"""Read PDF files with PDFium: the text of each page, and its bookmarks, which serve as headings."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from prefrag.indexing.readers.headings import Outline, mark_large_lines
from prefrag.indexing.readers.pdf_columns import find_lines
from prefrag.indexing.readers.running_lines import take_out_running_lines
from prefrag.indexing.readers.wrapped_lines import unwrap_lines
from prefrag.indexing.report import CannotRead

_MOST_TEXT = 100_000_000
_MOST_LEVELS = 9
# If lines have more characters than this, each line is taken for a whole paragraph, and no lines are joined.
_MOST_WIDTH = 400
# The characters that PDFium writes for a hyphen and a line break inside a word.
_PARTED = re.compile("[\ufffe\x02]\\s*")
# The characters that PDFium writes if a font does not say which letters it shows.
_UNKNOWN = re.compile("[\ufffd\ue000-\uf8ff\x00-\x08\x0e-\x1f]")
_MOST_UNKNOWN = 0.2
_PAGES_NAMED = 5
# The last line of a page is full if it has more than this share of the characters of the longest.
_FULL = 0.6
# `ocrmypdf` reads the text in pictures. With `--force-ocr`, it also reads pages that already have text.
_OCR = "`ocrmypdf {}IN.pdf OUT.pdf` makes a PDF with text"


def read_pdf(data: bytes, outline: Outline) -> tuple[str, str]:
    """Read a PDF. Call this in a process with limits, because PDFium itself has no limits of time and memory.

    Returns the title, and the text with a form feed between two pages. Adds the bookmarks to ``outline``, and lists
    pages without text in `outline.loss`. Raises :class:`CannotRead` if it is encrypted, damaged, too long, or a scan.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise CannotRead("it is encrypted: save a copy without a password") from error
        raise CannotRead(f"it cannot be read as a PDF ({str(error).rstrip('.')}); it may be damaged") from error
    try:
        marks = _bookmarks(document)
        pages, sizes, scans, room = list[list[str]](), list[list[float]](), list[str](), _MOST_TEXT
        for number in range(len(document)):
            lines, heights, is_scan = _read_page(document, number, with_sizes=not marks)
            pages.append(lines)
            sizes.append(heights)
            scans += [str(number + 1)] * is_scan
            room -= sum(map(len, lines))
            if room < 0:
                raise CannotRead(f"it has over {_MOST_TEXT // 10**6} million characters: split it into smaller files")
        title = " ".join(document.get_metadata_dict().get("Title", "").split()).removeprefix("Microsoft Word - ")
    finally:
        document.close()
    take_out_running_lines(pages)
    if not marks:
        mark_large_lines(pages, sizes, outline)
    texts = [_join(lines, following) for lines, following in pairwise([*pages, []])]
    _check_loss("".join(texts), scans, outline)
    marked = [_mark(text, marks.get(number, []), outline) for number, text in enumerate(texts)]
    return title, "\f".join(marked)


def _read_page(document: Any, number: int, with_sizes: bool) -> tuple[list[str], list[float], bool]:
    """Read the lines of a page and the heights of their first letters. Find out whether it shows only pictures."""
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    page = document[number]
    part = page.get_textpage()
    try:
        text = part.get_text_range()
        places = find_lines(part, text)
        lines = [text[begin:end].replace("\f", " ").replace("\n", " ") for begin, end in places]
        sizes = _sizes(part, text, places) if with_sizes and len(text) == part.count_chars() else []
        return lines, sizes, not text.strip() and any(page.get_objects(filter=(FPDF_PAGEOBJ_IMAGE,)))
    finally:
        part.close()
        page.close()


def _join(lines: list[str], following: list[str]) -> str:
    """Join the lines of a page. A short last line ends a paragraph, unless the next page begins with a small letter."""
    filled = [line for line in lines if line.strip()] or [""]
    next_line = next((line.strip() for line in following if line.strip()), "")
    goes_on = len(filled[-1]) > _FULL * max(map(len, filled)) or next_line[:1].islower()
    return unwrap_lines(_PARTED.sub("", "\n".join(lines)), _MOST_WIDTH).strip() + ("" if goes_on else "\n\n")


def _sizes(part: Any, text: str, places: Sequence[tuple[int, int]]) -> list[float]:
    """Measure the height of the first letter of each line, in points; 0 for a line without letters."""
    sizes = []
    for begin, end in places:
        line = text[begin:end]
        first = begin + len(line) - len(line.lstrip())
        _, bottom, _, top = part.get_charbox(first, loose=True) if line.strip() else (0, 0, 0, 0)
        sizes.append(top - bottom)
    return sizes


def _bookmarks(document: Any) -> dict[int, list[tuple[int, str]]]:
    marks: dict[int, list[tuple[int, str]]] = {}
    for bookmark in document.get_toc(max_depth=_MOST_LEVELS):
        place = bookmark.get_dest()
        page = None if place is None else place.get_index()
        if page is not None:
            marks.setdefault(page, []).append((bookmark.level + 1, bookmark.get_title()))
    return marks


def _mark(text: str, marks: list[tuple[int, str]], outline: Outline) -> str:
    """Insert the mark of each bookmark before its words or, if the words are not found, after the previous mark."""
    pieces, start = [], 0
    for level, words in marks:
        # On the page, the words may be broken into lines anywhere.
        match = re.compile(r"\s*".join(map(re.escape, words.split())), re.IGNORECASE).search(text, start)
        if words.strip() and match:
            pieces.append(text[start : match.start()])
            start = match.start()
        pieces.append(outline.mark(level, words))
    return "".join([*pieces, text[start:]])


def _check_loss(text: str, scans: list[str], outline: Outline) -> None:
    """Refuse an unreadable text, and list the pages that are pictures without text in `outline.loss`."""
    if len(_UNKNOWN.findall(text)) > _MOST_UNKNOWN * len(text):
        raise CannotRead(f"its fonts do not say which letters they show: {_OCR.format('--force-ocr ')}")
    if scans and not text.strip():
        raise CannotRead(f"it is a scan, pictures without text: {_OCR.format('')}")
    if scans:
        more = f" and {len(scans) - _PAGES_NAMED} more" if len(scans) > _PAGES_NAMED else ""
        named = f"{', '.join(scans[:_PAGES_NAMED])}{more}"
        outline.loss = f"pictures without text on page {named}: {_OCR.format('--skip-text ')}"
