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

_MOST_TEXT = 100_000_000  # characters
_MOST_LEVELS = 9
# If the lines of a page have more characters than this, each line is taken for a whole paragraph.
_MOST_WIDTH = 400
# The characters that PDFium writes for a hyphen at the end of a line, if the word goes on in the next line.
_BROKEN_WORD = re.compile("[\ufffe\x02]\\s*")
# The characters that PDFium writes if a font does not say which letters it shows.
_UNKNOWN = re.compile("[\ufffd\ue000-\uf8ff\x00-\x08\x0e-\x1f]")
# A text in which more than this share of the characters is unknown cannot be read.
_MOST_UNKNOWN = 0.2
# So many of the pages that are pictures without text are named; the others are counted.
_PAGES_NAMED = 5
# The last line of a page is full if it has more than this share of the characters of the page's longest line.
_FULL = 0.6
# What to do about text in pictures, with the options of the command.
_OCR = "`ocrmypdf {}IN.pdf OUT.pdf` makes a PDF with text"


def read_pdf(data: bytes, outline: Outline) -> tuple[str, str]:
    """Read a PDF. Call this in a process with limits, because PDFium itself has no limits of time and memory.

    Returns the title, and the text with a form feed between two pages. Adds the bookmarks to ``outline``, and lists
    pages without text in `outline.loss`. Raises :class:`CannotRead` if the file is encrypted, damaged, too long, or a
    scan.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise CannotRead("it is encrypted: save a copy without a password") from error
        raise CannotRead(f"it cannot be read as a PDF ({str(error).rstrip('.')}); it may be damaged") from error
    try:
        bookmarks = _bookmarks(document)
        pages: list[list[str]] = []
        sizes: list[list[float]] = []
        scans: list[str] = []  # the numbers of the pages that are pictures without text
        room = _MOST_TEXT
        for number in range(len(document)):
            # Without bookmarks, the headings are told by the size of their letters.
            lines, heights, is_scan = _read_page(document, number, with_sizes=not bookmarks)
            pages.append(lines)
            sizes.append(heights)
            if is_scan:
                scans.append(str(number + 1))
            room -= sum(map(len, lines))
            if room < 0:
                raise CannotRead(f"it has over {_MOST_TEXT // 10**6} million characters: split it into smaller files")
        title = " ".join(document.get_metadata_dict().get("Title", "").split()).removeprefix("Microsoft Word - ")
    finally:
        document.close()
    # The next two change the lines in place.
    take_out_running_lines(pages)
    if not bookmarks:
        mark_large_lines(pages, sizes, outline)
    # After the last page stands an empty one.
    texts = [_join(lines, next_lines) for lines, next_lines in pairwise([*pages, []])]
    _check_loss("".join(texts), scans, outline)
    marked = [_mark(text, bookmarks.get(number, []), outline) for number, text in enumerate(texts)]
    return title, "\f".join(marked)


def _read_page(document: Any, number: int, with_sizes: bool) -> tuple[list[str], list[float], bool]:
    """Read the lines of a page, the heights of their first letters, and whether the page is a picture without text.

    There are no heights if PDFium and Python count the characters of the page differently, so that no place is sure.
    """
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    page = document[number]
    part = page.get_textpage()
    try:
        text = part.get_text_range()
        places = find_lines(part, text)
        lines = [text[begin:end].replace("\f", " ").replace("\n", " ") for begin, end in places]
        has_sure_places = len(text) == part.count_chars()
        sizes = _sizes(part, text, places) if with_sizes and has_sure_places else []
        is_scan = not text.strip() and any(page.get_objects(filter=(FPDF_PAGEOBJ_IMAGE,)))
        return lines, sizes, is_scan
    finally:
        part.close()
        page.close()


def _join(lines: list[str], next_lines: list[str]) -> str:
    """Join the lines of a page. A short last line ends a paragraph, unless the next page begins with a small letter."""
    lengths = [len(line) for line in lines if line.strip()]
    is_full = bool(lengths) and lengths[-1] > _FULL * max(lengths)
    next_line = next((line.strip() for line in next_lines if line.strip()), "")
    with_whole_words = _BROKEN_WORD.sub("", "\n".join(lines))
    text = unwrap_lines(with_whole_words, _MOST_WIDTH).strip()
    goes_on = is_full or next_line[:1].islower()
    return text if goes_on else f"{text}\n\n"


def _sizes(part: Any, text: str, places: Sequence[tuple[int, int]]) -> list[float]:
    """Measure the height of the first character of each line, in points; 0 for a blank line."""
    sizes = []
    for begin, end in places:
        rest = text[begin:end].lstrip()
        if rest:
            _, bottom, _, top = part.get_charbox(end - len(rest), loose=True)
            sizes.append(top - bottom)
        else:
            sizes.append(0)
    return sizes


def _bookmarks(document: Any) -> dict[int, list[tuple[int, str]]]:
    """Read the level and the title of each bookmark, by the page to which the bookmark leads, counted from 0."""
    bookmarks: dict[int, list[tuple[int, str]]] = {}
    for bookmark in document.get_toc(max_depth=_MOST_LEVELS):
        place = bookmark.get_dest()
        page = None if place is None else place.get_index()
        if page is not None:
            bookmarks.setdefault(page, []).append((bookmark.level + 1, bookmark.get_title()))
    return bookmarks


def _mark(text: str, bookmarks: list[tuple[int, str]], outline: Outline) -> str:
    """Insert the mark of each bookmark before its words or, if the words are not found, after the previous mark."""
    pieces = []
    start = 0
    for level, words in bookmarks:
        # On the page, the words may be broken into lines anywhere.
        pattern = re.compile(r"\s*".join(map(re.escape, words.split())), re.IGNORECASE)
        match = pattern.search(text, start) if words.strip() else None
        if match:
            pieces.append(text[start : match.start()])
            start = match.start()
        pieces.append(outline.mark(level, words))
    return "".join([*pieces, text[start:]])


def _check_loss(text: str, scans: list[str], outline: Outline) -> None:
    """Refuse an unreadable text, and list the pages that are pictures without text in `outline.loss`.

    With `--force-ocr`, `ocrmypdf` reads all pages as pictures, and with `--skip-text` only those without text.
    """
    if len(_UNKNOWN.findall(text)) > _MOST_UNKNOWN * len(text):
        raise CannotRead(f"its fonts do not say which letters they show: {_OCR.format('--force-ocr ')}")
    if scans and not text.strip():
        raise CannotRead(f"it is a scan, pictures without text: {_OCR.format('')}")
    if scans:
        more = f" and {len(scans) - _PAGES_NAMED} more" if len(scans) > _PAGES_NAMED else ""
        named = f"{', '.join(scans[:_PAGES_NAMED])}{more}"
        outline.loss = f"pictures without text on page {named}: {_OCR.format('--skip-text ')}"
