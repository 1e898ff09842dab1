"""Draw a page of a PDF with PDFium, and find the positions of its lines and of a sentence.

The page that shows the sources of an answer uses :func:`draw_page`. It lays the text of the lines over the picture of
the page, and highlights the cited sentence.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from prefrag.components.text.counted import counted
from prefrag.indexing.readers.pdf_columns import find_lines
from prefrag.indexing.readers.pdf_tables import find_row
from prefrag.indexing.report import CannotRead

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

# The width of the picture in pixels. The picture of a very long page is narrower, because of the next limit.
_WIDTH = 1_400
# The maximum number of pixels of the picture.
_MOST_PIXELS = 8_000_000
# The maximum number of lines of a page that are returned. Further lines are left out.
_MOST_RUNS = 5_000
# The maximum number of characters in the returned lines. Further lines are left out.
_MOST_TEXT = 200_000
# For each line, PDFium examines all characters of the page. The number of lines times the number of characters is at
# most this. Further lines are left out.
_MOST_LOOKS = 20_000_000
# The part of a page that is the whole page: its first character is 0, and -1 stands for all characters that follow.
_ALL = (0, -1)
# A sentence is found by its first letters and by its last letters. This many letters are compared at each end.
_ENDS = 30
# Of a sentence on two pages, each page must have at least this many letters and digits, as in "14 June".
_LEAST_LETTERS = 5
# Matches the digits of a line. The numbers of two pages differ.
_DIGITS = re.compile(r"\d+")


class _Box(NamedTuple):
    """The edges and the size of a page, in points."""

    left: float
    bottom: float
    width: float
    height: float


class _Letters(NamedTuple):
    """The letters and digits of a page, in the order of reading.

    :param text: The letters in small letters.
    :param places: The position of each letter in the text of the page.
    :param line_numbers: The number of the line of each letter.
    """

    text: str
    places: Sequence[int]
    line_numbers: Sequence[int]


def draw_page(data: bytes, number: int, sentence: str = "") -> dict[str, object]:
    """Draw one page, and find the positions of its lines.

    Call this function in a process with limits, because PDFium itself has no limits of time and memory.

    :param data: The bytes of the file.
    :param number: The number of the page, from 1.
    :param sentence: A sentence to find on this page or on the next page. It may begin at the end of the page before
        this page. Only letters and digits are compared. "" finds nothing.
    :returns: A dictionary with the following keys:

        - `page`: The number of the drawn page. It is ``number``, or the next page if only that page has the sentence.
        - `pages`: The number of pages in the file.
        - `png`: The picture as a PNG in base64.
        - `width`, `height`: The size of the picture in pixels.
        - `runs`: The lines or parts of lines. Each has its `text`, and `left`, `top`, `width` and `height` as fractions
          of the page.
        - `marks`: The lines of the sentence, in the same form. Empty if the sentence is not found.
    :raises CannotRead: If the file cannot be read, or has no such page.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise CannotRead(f"it cannot be read as a PDF ({error})") from error

    try:
        if not 1 <= number <= len(document):
            raise CannotRead(f"it has {counted(len(document), 'page')}, but no page {number}")

        shown = _page_with(document, number, sentence)
        page = document[shown - 1]
        width, height = page.get_size()
        # The scale is in pixels per point. The number of pixels grows with the square of the scale.
        scale = min(_WIDTH / width, (_MOST_PIXELS / (width * height)) ** 0.5)
        picture = io.BytesIO()
        page.render(scale=scale).to_pil().save(picture, "PNG")

        text = page.get_textpage()
        marked = _find(text, sentence)
        if not marked and shown > 1:
            page_before = document[shown - 2]
            marked = _find_rest(page_before.get_textpage(), text, sentence)
        left, bottom, *_ = page.get_bbox()
        box = _Box(left, bottom, width, height)
        return {
            "page": shown,
            "pages": len(document),
            "png": base64.b64encode(picture.getvalue()).decode(),
            "width": round(width * scale),
            "height": round(height * scale),
            "runs": list(_runs(text, [_ALL], box)),
            "marks": list(_runs(text, marked, box)),
        }
    finally:
        document.close()


def _page_with(document: PdfDocument, number: int, sentence: str) -> int:
    """Return the number of the page that has a sentence.

    The result is ``number`` or the next page. It is ``number`` if neither page has the sentence.
    """
    # A passage is cited by the page on which it begins. So a sentence of the passage may stand on the next page.
    if not sentence or number == len(document):
        return number
    # The numbers of pages count from 1, and their positions in the document count from 0.
    page = document[number - 1]
    if _find(page.get_textpage(), sentence):
        return number
    next_page = document[number]
    return number + 1 if _find(next_page.get_textpage(), sentence) else number


def _runs(text: PdfTextPage, parts: Sequence[tuple[int, int]], box: _Box) -> Iterator[dict[str, object]]:
    """Yield the text and the position of each line in some parts of a page.

    :param text: The text page object of pypdfium2.
    :param parts: The first character and the number of characters of each part. -1 stands for all that follow.
    :param box: The edges and the size of the page.
    """
    room = _MOST_TEXT
    most = min(_MOST_RUNS, _MOST_LOOKS // max(1, text.count_chars()))
    for left, bottom, right, top in islice(_rects(text, parts), most):
        # Points are counted from the bottom of the page, and fractions from its top.
        place = {
            "left": (left - box.left) / box.width,
            "top": 1 - (top - box.bottom) / box.height,
            "width": (right - left) / box.width,
            "height": (top - bottom) / box.height,
        }
        words = text.get_text_bounded(left, bottom, right, top)
        # If lines overlap, PDFium returns the text of all these lines for each of them. So the total is limited.
        room -= len(words)
        if room < 0:
            return
        yield {"text": words, **place}


def _rects(text: PdfTextPage, parts: Sequence[tuple[int, int]]) -> Iterator[tuple[float, float, float, float]]:
    """Yield the left, bottom, right and top edge of each line in some parts of a page, in points."""
    for first, length in parts:
        # `get_rect` refers to the part for which `count_rects` was called last.
        for number in range(text.count_rects(first, length)):
            yield text.get_rect(number)


def _find(page: PdfTextPage, sentence: str) -> list[tuple[int, int]]:
    """Find a sentence on a page. Only letters and digits are compared, so lines may end anywhere in the sentence.

    :param page: The text page object of pypdfium2.
    :param sentence: The sentence.
    :returns: For each line that has a part of the sentence, the position of the first character of this part and its
        number of characters. If the sentence is a row of a table, these are the parts of the row. Empty if the page
        does not have the beginning of the sentence.
    """
    letters = _letters(page)
    wanted = _plain_letters(sentence)
    if not wanted:
        return []

    beginning, ending = wanted[:_ENDS], wanted[-_ENDS:]
    first = letters.text.find(beginning)
    if first < 0:
        return find_row(page, sentence)

    ending_place = letters.text.find(ending, first)
    # If the end of the sentence is not near its beginning, the end may stand on the next page. Then the sentence lasts
    # until the end of this page.
    is_on_page = 0 <= ending_place - first <= 2 * len(wanted)
    last = ending_place + len(ending) if is_on_page else len(letters.text)
    return _parts(first, last, letters)


def _find_rest(page_before: PdfTextPage, page: PdfTextPage, sentence: str) -> list[tuple[int, int]]:
    """Find the rest of a sentence that begins on the page before.

    The rest must begin the page. Lines that stand at the top of both pages may stand before it.

    :param page_before: The text page object of the page before.
    :param page: The text page object of the page.
    :param sentence: The sentence.
    :returns: The parts of the page, as in :func:`_find`. Empty if the two pages do not have the two parts of the
        sentence.
    """
    letters = _letters(page)
    letters_before = _letters(page_before)
    wanted = _plain_letters(sentence)
    first = _count_running_letters(_lines(letters), _lines(letters_before))
    # Try each place at which the sentence may go over to the second page.
    for border in range(_LEAST_LETTERS, len(wanted) - _LEAST_LETTERS + 1):
        on_page_before, on_page = wanted[:border], wanted[border:]
        if letters.text.startswith(on_page, first) and on_page_before[-_ENDS:] in letters_before.text:
            return _parts(first, first + len(on_page), letters)
    return []


def _lines(letters: _Letters) -> list[str]:
    """Divide the letters of a page into those of each line."""
    lines = groupby(zip(letters.text, letters.line_numbers, strict=True), key=itemgetter(1))
    return ["".join(letter for letter, _ in line) for _, line in lines]


def _count_running_letters(lines: Sequence[str], lines_before: Sequence[str]) -> int:
    """Count the letters of the lines at the top of two pages that are the same, except for numbers."""
    letters = 0
    for line, line_before in zip(lines, lines_before, strict=False):
        if _DIGITS.sub("", line) != _DIGITS.sub("", line_before):
            break
        letters += len(line)
    return letters


def _plain_letters(text: str) -> str:
    """Return the letters and digits of a text, in small letters."""
    return "".join(filter(str.isalnum, text)).lower()


def _letters(page: PdfTextPage) -> _Letters:
    """Return the letters and digits of a page.

    :param page: The text page object of pypdfium2.
    :returns: The letters. There are none if a capital becomes two characters when it is made small, because then the
        positions of the letters behind it would be wrong.
    """
    text = page.get_text_range()
    places: list[int] = []
    line_numbers: list[int] = []
    for line_number, (begin, end) in enumerate(find_lines(page, text)):
        places_in_line = [place for place in range(begin, end) if text[place].isalnum()]
        places += places_in_line
        line_numbers += [line_number] * len(places_in_line)
    letters = "".join(text[place] for place in places).lower()
    if len(letters) != len(places):
        return _Letters("", [], [])
    return _Letters(letters, places, line_numbers)


def _parts(first: int, last: int, letters: _Letters) -> list[tuple[int, int]]:
    """Return the part of each line between two letters, as its first character and its number of characters.

    :param first: The number of the first letter.
    :param last: The number of the letter behind the last letter.
    :param letters: The letters of the page.
    """
    parts = []
    for _, line in groupby(range(first, last), key=letters.line_numbers.__getitem__):
        places_in_line = [letters.places[number] for number in line]
        begin, last_place = places_in_line[0], places_in_line[-1]
        parts.append((begin, last_place - begin + 1))
    return parts
