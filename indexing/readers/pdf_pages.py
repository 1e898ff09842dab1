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
_MOST_RUNS = 5_000
_MOST_TEXT = 200_000
# PDFium looks at all characters of the page to find those of a line. This limits lines times characters.
_MOST_LOOKS = 20_000_000
# A sentence is found by this many letters from its beginning, and as many from its end.
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
        # The sentence may be on the next page, because a passage is cited by the page on which it begins.
        following = number + 1 if sentence and number < len(document) else number
        number = next((place for place in (number, following) if _find(_read(document, place), sentence)), number)
        page = document[number - 1]
        width, height = page.get_size()
        scale = min(_WIDTH / width, (_MOST_PIXELS / (width * height)) ** 0.5)
        picture = io.BytesIO()
        page.render(scale=scale).to_pil().save(picture, "PNG")
        text = page.get_textpage()
        left, bottom, *_ = page.get_bbox()
        return {
            "page": number,
            "pages": len(document),
            "png": base64.b64encode(picture.getvalue()).decode(),
            "width": round(width * scale),
            "height": round(height * scale),
            "runs": list(_runs(text, [(0, -1)], (left, bottom, width, height))),
            "marks": list(_runs(text, _find(text, sentence), (left, bottom, width, height))),
        }
    finally:
        document.close()


def _read(document: Any, number: int) -> Any:
    return document[number - 1].get_textpage()


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
    rects = (text.get_rect(number) for part in parts for number in range(text.count_rects(*part)))
    for low_x, low_y, high_x, high_y in islice(rects, most):
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


def _find(page: Any, sentence: str) -> list[tuple[int, int]]:
    """Find a sentence, which the page may break into lines anywhere. Returns the begin and length of each part."""
    text = page.get_text_range()
    lines = find_lines(page, text)
    signs = [(place, number) for number, line in enumerate(lines) for place in range(*line) if text[place].isalnum()]
    letters = "".join(text[place] for place, _ in signs).lower()
    wanted = "".join(filter(str.isalnum, sentence)).lower()
    if not wanted or len(letters) != len(signs):
        return []
    begin = letters.find(wanted[:_ENDS])
    if begin < 0:
        return []
    end = letters.find(wanted[-_ENDS:], begin)
    # If the end is not found, it may be on the next page. Then the sentence lasts until the end of this page.
    last = end + len(wanted[-_ENDS:]) if 0 <= end - begin <= 2 * len(wanted) else len(signs)
    parts = []
    for _, line in groupby(signs[begin:last], key=lambda sign: sign[1]):
        places = [place for place, _ in line]
        parts.append((places[0], places[-1] - places[0] + 1))
    return parts
