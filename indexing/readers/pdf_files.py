"""Read the text of PDF files with PDFium, page by page.

The file converter calls :func:`read_pdf` in a process of its own. The bookmarks of a PDF are its headings. If a PDF has
no bookmarks, its lines in large letters are the headings. Page numbers and repeated headers and footers are removed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from prefrag.indexing.readers.document_title import plain_title
from prefrag.indexing.readers.headings import Outline, mark_large_lines
from prefrag.indexing.readers.pdf_columns import Boxes, find_lines
from prefrag.indexing.readers.pdf_tables import PageTable, find_tables, insert_tables, write_tables
from prefrag.indexing.readers.running_lines import GAP, MOST_LINES, take_out_running_lines
from prefrag.indexing.readers.wrapped_lines import join_broken_words, unwrap_lines
from prefrag.indexing.report import CannotRead

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

# A PDF with more characters than this is refused.
_MOST_TEXT = 100_000_000
# Bookmarks below this many levels are not read.
_MOST_LEVELS = 9
# If the lines of a page are wider than this many characters, each line counts as a whole paragraph.
_MOST_WIDTH = 400
# Matches what PDFium writes for a hyphen at the end of a line within a word. The white space behind it matches, too.
# Without the match, the two parts of the word stand together.
_BROKEN_WORD = re.compile("[\ufffe\x02]\\s*")
# Matches a character that PDFium writes if a font does not say which letter it shows.
_UNKNOWN = re.compile("[\ufffd\ue000-\uf8ff\x00-\x08\x0e-\x1f]")
# If more than this share of the characters is unknown, the PDF is refused.
_MOST_UNKNOWN = 0.2
# The report names this many of the pages that are pictures without text. It only counts the others.
_PAGES_NAMED = 5
# Two parts of a header stand apart if the gap between them is wider than this share of the page. The gap between the
# label and the value of a field, such as "Invoice No. 1001", is smaller.
_WIDE_GAP = 0.2
# Matches a blank between two words.
_BLANK = re.compile(r"(?<=\S) (?=\S)")
# The last line of a page is full if it has more than this share of the characters of the longest line of the page.
_FULL = 0.6
# The advice about text in pictures. The braces stand for an option of the command.
_OCR = "`ocrmypdf {}IN.pdf OUT.pdf` makes a PDF with text"


class _Page(NamedTuple):
    """The content of a page.

    :param lines: The lines.
    :param heights: The height of the letters of each line in points. Empty if it is not measured or not known.
    :param is_scan: Whether the page is a picture without text.
    :param tables: The tables. Their text is also in the lines.
    """

    lines: list[str]
    heights: list[float]
    is_scan: bool
    tables: list[PageTable]


def read_pdf(data: bytes, outline: Outline) -> tuple[str, str]:
    """Read the title and the text of a PDF.

    Call this function in a process with limits, because PDFium itself has no limits of time and memory.

    :param data: The bytes of the file.
    :param outline: The outline of the file. The headings are added to it. Its ``loss`` lists the pages without text.
    :returns: The title, and the text with a form feed between two pages.
    :raises CannotRead: If the file is encrypted, damaged, too long, or a scan without text.
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
        # Without bookmarks, the size of the letters shows which lines are headings.
        pages = _read_pages(document, with_sizes=not bookmarks)
        title = plain_title(document.get_metadata_dict().get("Title", ""))
    finally:
        document.close()

    lines_of_pages = [page.lines for page in pages]
    # The next two functions change the lines in place.
    take_out_running_lines(lines_of_pages)
    if not bookmarks:
        mark_large_lines(lines_of_pages, [page.heights for page in pages], outline)

    # The rows of tables are not joined to paragraphs. So a sign stands for each table until the lines are joined.
    grids = insert_tables(lines_of_pages, [page.tables for page in pages])

    # Each page is joined together with the next page. The last page gets an empty next page.
    texts = [_join(lines, next_lines) for lines, next_lines in pairwise([*lines_of_pages, []])]
    join_broken_words(texts)
    scans = [str(number) for number, page in enumerate(pages, start=1) if page.is_scan]
    marked = [_mark(text, bookmarks.get(number, []), outline) for number, text in enumerate(texts)]
    written = write_tables(marked, grids, outline)
    _check_loss("".join(written), scans, outline)
    return title, "\f".join(written)


def _read_pages(document: PdfDocument, with_sizes: bool) -> list[_Page]:
    """Read all pages of a PDF, as :func:`_read_page` does. Raise :class:`CannotRead` if their text is too long."""
    pages: list[_Page] = []
    room = _MOST_TEXT
    for number in range(len(document)):
        page = _read_page(document, number, with_sizes)
        pages.append(page)
        room -= sum(map(len, page.lines))
        if room < 0:
            raise CannotRead(f"it has over {_MOST_TEXT // 10**6} million characters: split it into smaller files")
    return pages


def _read_page(document: PdfDocument, number: int, with_sizes: bool) -> _Page:
    """Read one page.

    :param document: The opened PDF.
    :param number: The number of the page, from 0.
    :param with_sizes: Whether to measure the heights of the letters.
    :returns: The page. Its heights are those of the first letter of each line. They are empty if they were not asked
        for. They are also empty if PDFium and Python count the characters of the page differently, because then the
        places of the letters are not known.
    """
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    page = document[number]
    part = page.get_textpage()
    try:
        text = part.get_text_range()
        places, tables = find_tables(page, part, text, find_lines(part, text))
        lines = [text[begin:end].replace("\f", " ").replace("\n", " ") for begin, end in places]
        has_sure_places = len(text) == part.count_chars()
        if has_sure_places:
            _mark_gaps(part, places, lines, page.get_width())
        sizes = _sizes(part, text, places) if with_sizes and has_sure_places else []
        is_scan = not text.strip() and any(page.get_objects(filter=(FPDF_PAGEOBJ_IMAGE,)))
        return _Page(lines, sizes, is_scan, tables)
    finally:
        part.close()
        page.close()


def _join(lines: list[str], next_lines: list[str]) -> str:
    """Join the lines of a page to paragraphs.

    A short last line ends a paragraph, and the text then ends in an empty line. But if the next page begins with a
    small letter, the paragraph goes on there. A footer that stays on the page is a paragraph of its own.
    """
    filled = [line for line in lines if line.strip()]
    lengths = list(map(len, filled))
    is_full = bool(lengths) and lengths[-1] > _FULL * max(lengths)
    has_footer = bool(filled) and filled[-1].endswith("\n")
    text_of_next = "".join(next_lines).strip()
    with_whole_words = _BROKEN_WORD.sub("", "\n".join(lines))
    text = unwrap_lines(with_whole_words, _MOST_WIDTH).strip()
    goes_on = (is_full or text_of_next[:1].islower()) and not has_footer
    return text if goes_on else f"{text}\n\n"


def _mark_gaps(part: PdfTextPage, places: Sequence[tuple[int, int]], lines: list[str], page_width: float) -> None:
    """Mark the wide gaps in the first and last lines of a page, which may be headers and footers.

    :param part: The text page object of pypdfium2.
    :param places: The begin and the end of each line in the text of the page.
    :param lines: The lines. They are changed in place.
    :param page_width: The width of the page in points.
    """
    boxes = Boxes(part)
    filled = [number for number, line in enumerate(lines) if line.strip()]
    for number in {*filled[:MOST_LINES], *filled[-MOST_LINES:]}:
        first_character, _ = places[number]
        signs = list(lines[number])
        for match in _BLANK.finditer(lines[number]):
            blank = match.start()
            # Take the edge of this box before the next one overwrites it.
            right = boxes[first_character + blank - 1].right
            if boxes[first_character + blank + 1].left - right > _WIDE_GAP * page_width:
                signs[blank] = GAP
        lines[number] = "".join(signs)


def _sizes(part: PdfTextPage, text: str, places: Sequence[tuple[int, int]]) -> list[float]:
    """Measure the height of the first character of each line, in points. The height of a blank line is 0."""
    sizes: list[float] = []
    for begin, end in places:
        # The line without the blanks at its beginning.
        words = text[begin:end].lstrip()
        if not words:
            sizes.append(0)
            continue
        first_character = end - len(words)
        _, bottom, _, top = part.get_charbox(first_character, loose=True)
        sizes.append(top - bottom)
    return sizes


def _bookmarks(document: PdfDocument) -> dict[int, list[tuple[int, str]]]:
    """Return the bookmarks of each page, by the number of the page from 0. A bookmark is its level and its title."""
    bookmarks: dict[int, list[tuple[int, str]]] = {}
    for bookmark in document.get_toc(max_depth=_MOST_LEVELS):
        place = bookmark.get_dest()
        page = None if place is None else place.get_index()
        if page is not None:
            bookmarks.setdefault(page, []).append((bookmark.level + 1, bookmark.get_title()))
    return bookmarks


def _mark(text: str, bookmarks: list[tuple[int, str]], outline: Outline) -> str:
    """Insert the marks of the bookmarks of a page into its text.

    The mark of a bookmark stands before its words. If the page does not have these words, the mark stands directly
    behind the mark before it.
    """
    pieces = []
    start = 0
    for level, words in bookmarks:
        # A line of the page may end between any two words of the bookmark. "Set up" gives the pattern `Set\s*up`.
        pattern = re.compile(r"\s*".join(map(re.escape, words.split())), re.IGNORECASE)
        match = pattern.search(text, start) if words.strip() else None
        if match:
            pieces.append(text[start : match.start()])
            start = match.start()
        pieces.append(outline.mark(level, words))
    pieces.append(text[start:])
    return "".join(pieces)


def _check_loss(text: str, scans: list[str], outline: Outline) -> None:
    """Refuse a text that cannot be read, and note pages without text in `outline.loss`.

    The messages advise the command `ocrmypdf`. With `--force-ocr`, it reads all pages as pictures. With `--skip-text`,
    it reads only the pages without text.

    :param text: The text of all pages.
    :param scans: The numbers of the pages that are pictures without text.
    :param outline: The outline of the file.
    :raises CannotRead: If too many characters are unknown, or if the whole PDF is a scan without text.
    """
    if len(_UNKNOWN.findall(text)) > _MOST_UNKNOWN * len(text):
        raise CannotRead(f"its fonts do not say which letters they show: {_OCR.format('--force-ocr ')}")
    if scans and not text.strip():
        raise CannotRead(f"it is a scan, pictures without text: {_OCR.format('')}")
    if scans:
        named = ", ".join(scans[:_PAGES_NAMED])
        if len(scans) > _PAGES_NAMED:
            named += f" and {len(scans) - _PAGES_NAMED} more"
        outline.loss = f"pictures without text on page {named}: {_OCR.format('--skip-text ')}"
