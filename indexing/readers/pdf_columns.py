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
# So many times, the text must go from one column to the next.
_LEAST_LINES = 6
# All lines are looked at only if of every third line two may be shared by two columns.
_SAMPLED, _LEAST_SAMPLES = 3, 2
# If the next line is this many times as far as usual, it begins another block, such as a row of a table.
_APART = 1.5
# Lines of sentences have so many words, fill this share of their column, and this share of them goes on with a small
# letter. In a table without such lines, the cells of a row belong together.
_LEAST_WORDS, _LEAST_FILLED, _LEAST_GOING_ON = 3, 0.3, 0.2
_LETTERS = re.compile(r"[^\W\d_]{2,}")
# In a block, the text goes over to the next column at least so many times, and at this share of the lines.
_LEAST_TURNS, _LEAST_SHARED = 3, 0.6
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
    shared = (pair for pair in [*pairwise(lines)][::_SAMPLED] if _may_be_shared(text, pair, boxes))
    if len(list(islice(shared, _LEAST_SAMPLES))) < _LEAST_SAMPLES:
        return lines
    segments = [segment for line in lines for segment in _segments(text, line, boxes)]
    ordered = _order(text, segments, _MOST_COLUMNS)
    return lines if ordered == segments else list(_rejoin(ordered, segments, lines))


def _rejoin(
    ordered: Sequence[Segment], segments: Sequence[Segment], lines: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Join what followed each other in a line and still does, such as the cells of a table's row."""
    following = dict(pairwise(segments))
    ends = {end for _, end in lines}
    begin = None
    for number, segment in enumerate(ordered):
        begin = segment.begin if begin is None else begin
        behind = ordered[number + 1] if number + 1 < len(ordered) else None
        if behind is None or following.get(segment) != behind or segment.end in ends:
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
    begin, left, right, bottom, top = -1, 0.0, 0.0, 0.0, 0.0
    last = 0
    for word in _WORD.finditer(text, *line):
        box = boxes[word.start()]
        is_beside = -_WIDE <= (box.left - right) / (top - bottom or 1) <= _WIDE
        if begin < 0 or not is_beside or (text[last - 1] in _HYPHENS and box.top < bottom):
            if begin >= 0:
                yield Segment(begin, last, left, right, bottom, top)
            begin, left, bottom, top = word.start(), box.left, box.bottom, box.top
        last, right = word.end(), boxes[word.end("shown") - 1].right
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
    shared = {
        number: _sides(block, gutter)
        for number, block in enumerate(blocks)
        if _is_shared(block, gutter) and all(_holds_sentences(text, side) for side in _sides(block, gutter))
    }
    counts = [sum(len(sides[side]) for sides in shared.values()) for side in (0, 1)]
    if min(counts) < _LEAST_LINES:
        return segments
    ordered = []
    for number, block in enumerate(blocks):
        left, right = shared.get(number, (block, []))
        ordered += [*_order(text, left, columns - 1), *_order(text, right, columns - 1)] if right else left
    return ordered


def _find_gutter(segments: Sequence[Segment]) -> float | None:
    """Find the left edge of a column: the place that the most wide gaps reach, if they are enough."""
    gaps = [(before.right, after.left) for before, after in pairwise(segments) if _is_beside(before, after)]
    begins, ends = (sorted(sides) for sides in zip(*gaps, strict=True)) if gaps else ([], [])
    counts = {end: bisect_left(begins, end) - bisect_left(ends, end) for end in ends}
    gutter = max(counts, key=lambda end: (counts[end], -end), default=0.0)
    return gutter if counts.get(gutter, 0) >= _LEAST_LINES else None


def _blocks(segments: Sequence[Segment], gutter: float) -> Iterator[list[Segment]]:
    """Divide a page before and behind each line that crosses the gutter, and where a line stands apart."""
    sides = _sides(segments, gutter)
    steps = [above.top - below.top for side in sides for above, below in pairwise(side) if above.top > below.top]
    most = _APART * median(steps) if steps else 0.0
    block: list[Segment] = []
    for segment in segments:
        is_across = any(_crosses(neighbour, gutter) for neighbour in (segment, *block[-1:]))
        if block and (is_across or min(above.top for above in block[-2:]) - segment.top > most):
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
    turns = [number for number, pair in enumerate(pairwise(block)) if pair[0].right < gutter <= pair[1].left]
    if len(turns) < _LEAST_TURNS:
        return False
    sides = _sides(block[turns[0] : turns[-1] + 1], gutter)
    return len(turns) >= _LEAST_SHARED * max(map(_count_lines, sides))


def _count_lines(segments: Sequence[Segment]) -> int:
    return 1 + sum(not _is_beside(*pair) for pair in pairwise(segments))


def _holds_sentences(text: str, segments: Sequence[Segment]) -> bool:
    """Check whether the lines of a column are broken sentences, rather than the cells of a table."""
    widths = sorted(segment.right - segment.left for segment in segments)
    is_filled = median(widths) >= _LEAST_FILLED * widths[len(widths) * 9 // 10]
    words = median(len(_LETTERS.findall(text, segment.begin, segment.end)) for segment in segments)
    going_on = sum(text[segment.begin].islower() for segment in segments)
    return is_filled and words >= _LEAST_WORDS and going_on >= _LEAST_GOING_ON * len(segments)
