"""Find the lines of a page of a PDF in the order in which people read them, if its columns are written across.

Most programs write one column of a page after the other. Some write both line by line, so that the text of the page
runs from the first column into the second and back. Such columns are told by where their letters stand.
"""

import ctypes
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from statistics import median
from typing import Any, NamedTuple

# Between two columns, a gap is wider than this many times the height of the letters. Justified text has smaller gaps.
_WIDE = 1.0
# Wide gaps in at least so many lines must end at the same place, and each of the two columns has as many lines.
_LEAST_LINES = 6
# First, only every third line is looked at. The others are if at least two of these may be shared by two columns.
_SAMPLED = 3
_LEAST_SAMPLES = 2
# If the next line is this many times as far as usual, it begins another block, such as a row of a table.
_APART = 1.5
# The lines of a column are parts of sentences if half of them have at least so many words, if half of them fill at
# least this share of the column, and if at least this share of them begins with a small letter. Otherwise, they are the
# cells of a table, in which the cells of a row belong together.
_LEAST_WORDS = 3
_LEAST_FILLED = 0.3
_LEAST_GOING_ON = 0.2
_LETTERS = re.compile(r"[^\W\d_]{2,}")
# In a block, the text goes over to the next column at least so many times, and at this share of the lines.
_LEAST_TURNS = 3
_LEAST_SHARED = 0.6
_MOST_COLUMNS = 6
# The signs that PDFium writes for a hyphen at the end of a line. What it reads next follows without a line break.
_HYPHENS = "\ufffe\x02"
_WORD = re.compile(rf"(?P<shown>[^ {_HYPHENS}]+)[{_HYPHENS}]?")


class Segment(NamedTuple):
    """A part of a line without a wide gap: its characters from `begin` to `end`, and its box in points."""

    begin: int
    end: int
    left: float
    right: float
    bottom: float
    top: float


def find_lines(part: Any, text: str) -> list[tuple[int, int]]:
    """Find where each line of a page begins and ends in its text, in the order of reading.

    :param part: The page's text as PDFium holds it.
    :param text: The same as a string, with a line break of two characters between its lines.
    :returns: The begin and the end of each line, in characters. Columns that are written across come one after the
        other if they hold sentences; all other lines stay as they are.
    """
    lines = list(_split(text))
    # If PDFium counts other characters than Python, no place can be trusted.
    if len(text) != part.count_chars():
        return lines
    boxes = _Boxes(part)
    sampled = list(pairwise(lines))[::_SAMPLED]
    shared = (pair for pair in sampled if _may_be_shared(text, pair, boxes))
    first_shared = list(islice(shared, _LEAST_SAMPLES))
    if len(first_shared) < _LEAST_SAMPLES:
        return lines
    segments = [segment for line in lines for segment in _segments(text, line, boxes)]
    ordered = _order(text, segments, _MOST_COLUMNS)
    return lines if ordered == segments else list(_rejoin(ordered, segments, lines))


def _rejoin(
    ordered: Sequence[Segment], segments: Sequence[Segment], lines: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Join segments that follow each other in the new order as in their line, such as the cells of a table's row."""
    following = dict(pairwise(segments))
    ends = {end for _, end in lines}
    begin = None  # the begin of the joined segments; None before the first of them
    for segment, next_segment in zip(ordered, [*ordered[1:], None], strict=True):
        begin = segment.begin if begin is None else begin
        if next_segment is None or following.get(segment) != next_segment or segment.end in ends:
            yield begin, segment.end
            begin = None


def _split(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for line in text.split("\r\n"):
        yield begin, begin + len(line)
        begin += len(line) + len("\r\n")


class _Boxes:
    """The boxes of the characters of a page. PDFium is called directly, because it is asked at each blank."""

    def __init__(self, part: Any) -> None:
        from pypdfium2.raw import FS_RECTF, FPDFText_GetLooseCharBox

        self._read, self._part, self._box = FPDFText_GetLooseCharBox, part, FS_RECTF()
        self._to = ctypes.byref(self._box)

    def __getitem__(self, place: int) -> Any:
        """Return the box of a character, in points. It holds only until the next one is asked for."""
        self._read(self._part, place, self._to)
        return self._box


def _segments(text: str, line: tuple[int, int], boxes: _Boxes) -> Iterator[Segment]:
    """Divide a line at wide gaps, where it goes back, and behind a hyphen that PDFium took for one inside a word."""
    begin = -1  # the begin of the present segment; -1 before the first word
    left = right = bottom = top = 0.0
    last = 0
    for word in _WORD.finditer(text, *line):
        box = boxes[word.start()]
        gap = (box.left - right) / (top - bottom or 1)  # in heights of the letters
        is_below_hyphen = text[last - 1] in _HYPHENS and box.top < bottom
        if begin < 0 or not -_WIDE <= gap <= _WIDE or is_below_hyphen:
            if begin >= 0:
                yield Segment(begin, last, left, right, bottom, top)
            begin = word.start()
            left, bottom, top = box.left, box.bottom, box.top
        last = word.end()
        right = boxes[word.end("shown") - 1].right
    if begin >= 0:
        yield Segment(begin, last, left, right, bottom, top)


def _may_be_shared(text: str, pair: tuple[tuple[int, int], tuple[int, int]], boxes: _Boxes) -> bool:
    """Check whether a line has a wide gap, or the next line goes on behind its end."""
    line, following = pair
    segments = list(_segments(text, line, boxes))
    word = _WORD.search(text, *following) if len(segments) == 1 else None
    if word:
        box = boxes[word.start()]
        segments.append(Segment(*word.span(), box.left, box.right, box.bottom, box.top))
    return len(segments) > 1 and _is_beside(*segments[:2])


def _is_beside(before: Segment, after: Segment) -> bool:
    return after.left - before.right > _WIDE * (before.top - before.bottom) and after.top > before.bottom


def _order(text: str, segments: list[Segment], columns: int) -> list[Segment]:
    """Put the segments of each column in one row, from the left column to the right."""
    gutter = _find_gutter(segments) if columns > 1 else None
    if gutter is None:
        return segments
    blocks = list(_blocks(segments, gutter))
    shared: dict[int, tuple[list[Segment], list[Segment]]] = {}  # by the number of the block
    for number, block in enumerate(blocks):
        if _is_shared(block, gutter):
            left, right = _sides(block, gutter)
            if _holds_sentences(text, left) and _holds_sentences(text, right):
                shared[number] = left, right
    left_lines = sum(len(left) for left, _ in shared.values())
    right_lines = sum(len(right) for _, right in shared.values())
    if min(left_lines, right_lines) < _LEAST_LINES:
        return segments
    ordered: list[Segment] = []
    for number, block in enumerate(blocks):
        if number in shared:
            left, right = shared[number]
            ordered += _order(text, left, columns - 1)
            ordered += _order(text, right, columns - 1)
        else:
            ordered += block
    return ordered


def _find_gutter(segments: Sequence[Segment]) -> float | None:
    """Find the left edge of a column: the place that the most wide gaps reach, if they are enough."""
    gaps = [(before.right, after.left) for before, after in pairwise(segments) if _is_beside(before, after)]
    if not gaps:
        return None
    begins = sorted(begin for begin, _ in gaps)
    ends = sorted(end for _, end in gaps)
    # The gaps that reach a place are those that begin left of it, but do not end left of it.
    counts = {end: bisect_left(begins, end) - bisect_left(ends, end) for end in ends}
    gutter = max(counts, key=lambda end: (counts[end], -end))
    return gutter if counts[gutter] >= _LEAST_LINES else None


def _blocks(segments: Sequence[Segment], gutter: float) -> Iterator[list[Segment]]:
    """Divide a page before and behind each line that crosses the gutter, and where a line stands apart."""
    sides = _sides(segments, gutter)
    steps = [above.top - below.top for side in sides for above, below in pairwise(side) if above.top > below.top]
    most = _APART * median(steps) if steps else 0.0
    block: list[Segment] = []
    for segment in segments:
        if block:
            is_across = _crosses(segment, gutter) or _crosses(block[-1], gutter)
            # The last two segments may be the two columns of the same line.
            line_top = min(above.top for above in block[-2:])
            if is_across or line_top - segment.top > most:
                yield block
                block = []
        block.append(segment)
    yield block


def _crosses(segment: Segment, gutter: float) -> bool:
    return segment.left < gutter <= segment.right


def _sides(segments: Sequence[Segment], gutter: float) -> tuple[list[Segment], list[Segment]]:
    """Return the segments that end left of the gutter, and those that begin right of it."""
    left = [segment for segment in segments if max(segment.left, segment.right) < gutter]
    return left, [segment for segment in segments if segment.left >= gutter]


def _is_shared(block: Sequence[Segment], gutter: float) -> bool:
    """Check whether two columns take turns in a block, line by line.

    In a list of terms and their descriptions, several lines follow each term.
    """
    turns = [number for number, (before, after) in enumerate(pairwise(block)) if before.right < gutter <= after.left]
    if len(turns) < _LEAST_TURNS:
        return False
    sides = _sides(block[turns[0] : turns[-1] + 1], gutter)
    return len(turns) >= _LEAST_SHARED * max(map(_count_lines, sides))


def _count_lines(segments: Sequence[Segment]) -> int:
    return 1 + sum(not _is_beside(before, after) for before, after in pairwise(segments))


def _holds_sentences(text: str, segments: Sequence[Segment]) -> bool:
    """Check whether the lines of a column are broken sentences, rather than the cells of a table."""
    widths = sorted(segment.right - segment.left for segment in segments)
    column_width = widths[len(widths) * 9 // 10]  # nine of ten lines are not wider
    is_filled = median(widths) >= _LEAST_FILLED * column_width
    words = median(len(_LETTERS.findall(text, segment.begin, segment.end)) for segment in segments)
    going_on = sum(text[segment.begin].islower() for segment in segments)
    return is_filled and words >= _LEAST_WORDS and going_on >= _LEAST_GOING_ON * len(segments)
