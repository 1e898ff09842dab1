"""Draw a page of a PDF with PDFium, and find the positions of its words and of a sentence."""

import base64
import io
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Any

from prefrag.components.text.counted import counted
from prefrag.indexing.readers.pdf_columns import find_lines
from prefrag.indexing.report import CannotRead

# The width of the picture in pixels. It is smaller if a very long page would have more than `_MOST_PIXELS` pixels.
_WIDTH = 1_400
_MOST_PIXELS = 8_000_000
# The maximum number of lines of a page whose text and position are returned, and of characters in these lines.
_MOST_RUNS = 5_000
_MOST_TEXT = 200_000
# For each line, PDFium looks at all characters of the page. The product of the two numbers is limited to this.
_MOST_LOOKS = 20_000_000
# The part of a page that is all of it: from the first character on, as many as follow.
_ALL = (0, -1)
# A sentence is looked for by its first letters and its last letters, so many of each.
_ENDS = 30


def draw_page(data: bytes, number: int, sentence: str = "") -> dict[str, Any]:
    """Draw one page. Call this in a process with limits, because PDFium itself has no limits of time and memory.

    :param data: The content of the file.
    :param number: The number of the page, from 1 on.
    :param sentence: A sentence to find on this page or the next. Only its letters and digits are compared.
    :returns: `page` (the number of the drawn page), `pages` (their total), `png` (in base64), `width`, `height`
        (in pixels), `runs` and `marks`. `runs` are the lines or parts of lines. Each has its `text`, and `left`, `top`,
        `width` and `height` as fractions of the page. `marks` are the lines of the sentence (empty if it is not found).
    :raises CannotRead: When the file cannot be read, or has no such page.
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
        # Pixels per point. The number of pixels grows with the square of the scale.
        scale = min(_WIDTH / width, (_MOST_PIXELS / (width * height)) ** 0.5)
        picture = io.BytesIO()
        page.render(scale=scale).to_pil().save(picture, "PNG")
        text = page.get_textpage()
        left, bottom, *_ = page.get_bbox()
        box = (left, bottom, width, height)
        return {
            "page": shown,
            "pages": len(document),
            "png": base64.b64encode(picture.getvalue()).decode(),
            "width": round(width * scale),
            "height": round(height * scale),
            "runs": list(_runs(text, [_ALL], box)),
            "marks": list(_runs(text, _find(text, sentence), box)),
        }
    finally:
        document.close()


def _page_with(document: Any, number: int, sentence: str) -> int:
    """Return the number of the page with a sentence: this page or the next, or this one if neither has it."""
    # The sentence may be on the next page, because a passage is cited by the page on which it begins.
    if not sentence or number == len(document):
        return number
    if _find(document[number - 1].get_textpage(), sentence):
        return number
    return number + 1 if _find(document[number].get_textpage(), sentence) else number


def _runs(
    text: Any, parts: Sequence[tuple[int, int]], box: tuple[float, float, float, float]
) -> Iterator[dict[str, Any]]:
    """Yield the text and position of each line in some parts of a page.

    :param parts: The first character and the length of each part (-1: all that follow).
    :param box: The left and bottom edge of the page, its width and height, in points.
    """
    left, bottom, width, height = box
    room = _MOST_TEXT
    most = min(_MOST_RUNS, _MOST_LOOKS // max(1, text.count_chars()))
    for low_x, low_y, high_x, high_y in islice(_rects(text, parts), most):
        # Points are counted from the bottom of the page, and fractions from its top.
        place = {
            "left": (low_x - left) / width,
            "top": 1 - (high_y - bottom) / height,
            "width": (high_x - low_x) / width,
            "height": (high_y - low_y) / height,
        }
        words = text.get_text_bounded(low_x, low_y, high_x, high_y)
        # If lines overlap, PDFium returns the text of all of them for each line, so limit the total length.
        room -= len(words)
        if room < 0:
            return
        yield {"text": words, **place}


def _rects(text: Any, parts: Sequence[tuple[int, int]]) -> Iterator[tuple[float, float, float, float]]:
    """Yield the left, bottom, right and top edge of each line in some parts of a page, in points."""
    for first, length in parts:
        # PDFium returns the lines of the part that was counted last.
        for number in range(text.count_rects(first, length)):
            yield text.get_rect(number)


def _find(page: Any, sentence: str) -> list[tuple[int, int]]:
    """Find a sentence on a page, where its lines may be broken anywhere.

    Returns the place and the number of characters of its part in each line. Only letters and digits are compared.
    """
    text = page.get_text_range()
    places: list[int] = []  # of each letter and digit, in the order of reading
    line_numbers: list[int] = []
    for line_number, (begin, end) in enumerate(find_lines(page, text)):
        places_in_line = [place for place in range(begin, end) if text[place].isalnum()]
        places += places_in_line
        line_numbers += [line_number] * len(places_in_line)
    letters = "".join(text[place] for place in places).lower()
    wanted = "".join(filter(str.isalnum, sentence)).lower()
    # A capital whose small letter is two characters moves all behind it, so that their places would be wrong.
    if not wanted or len(letters) != len(places):
        return []
    first = letters.find(wanted[:_ENDS])
    if first < 0:
        return []
    ending = wanted[-_ENDS:]
    ending_place = letters.find(ending, first)
    # If the end is not found near the beginning, it may be on the next page. Then the sentence lasts until the end of
    # this page.
    is_on_page = 0 <= ending_place - first <= 2 * len(wanted)
    last = ending_place + len(ending) if is_on_page else len(places)
    parts = []
    for _, line in groupby(range(first, last), key=line_numbers.__getitem__):
        places_in_line = [places[number] for number in line]
        parts.append((places_in_line[0], places_in_line[-1] - places_in_line[0] + 1))
    return parts
