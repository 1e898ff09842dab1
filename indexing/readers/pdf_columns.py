"""Put the lines of a PDF page into the order in which people read them.

Most programs write one column of a page after the other. Some programs write two columns line by line, so that the text
of the page jumps from the left column to the right column and back. This module recognises such columns by the places
of their letters on the page, and puts the lines of the left column before those of the right column:

1. Divide each line at its wide gaps into segments (:class:`Segment`).
2. Find the gutter, which is the left edge of the right column. Many gaps end there (:func:`_find_gutter`).
3. Divide the page into blocks, at lines that cross the gutter and at wide spaces between lines (:func:`_blocks`).
4. In each block in which the two columns take turns and hold sentences, write the left column first (:func:`_order`).
   Sentences are recognised by the small letters at the beginning of lines, which needs several lines, or by a sentence
   that goes on from one line of a column to the next (:func:`_runs_on`), which few lines can show.
5. If only one of the two columns has such a sentence, it is not clear how the page is read. Then each segment of the
   sentence becomes a paragraph of its own, so that no sentence is made up across the gap (:func:`_write_apart`).

The reader of PDF files calls :func:`find_lines` for each page.
"""

from __future__ import annotations

import ctypes
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby, islice, pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from prefrag.components.text.sentences import ends_with_stop

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage
    from pypdfium2.raw import FS_RECTF

# A gap is wide if it is wider than this many times the height of the letters. Two columns have a wide gap between them.
# The gaps between the words of a justified text are smaller.
_WIDE = 1.0
# At least this many wide gaps must end at the gutter, and each of the two columns must have at least this many lines.
# Otherwise the page keeps its order.
_LEAST_LINES = 6
# If a sentence goes on from line to line in both columns, the gutter needs only this many wide gaps.
_FEWEST_LINES = 2
# To save time, only every third line of a page is examined first.
_SAMPLED = 3
# At least this many of the examined lines must look as if two columns shared them. Otherwise the page keeps its order.
_LEAST_SAMPLES = 2
# A line begins a new block if its distance from the line above is more than this many times the usual distance. A row
# of a table may stand so far from the row above.
_APART = 1.5
# The lines of a column may be parts of sentences, or cells of a table. In a table, the cells of a row belong together,
# so its columns must keep their order. The next three numbers tell the two apart. All three conditions must be true for
# sentences.
# 1. The median number of words in a line is at least this.
_LEAST_WORDS = 3
# 2. The median width of a line is at least this share of the width of the column.
_LEAST_FILLED = 0.3
# 3. At least this share of the lines begins with a small letter.
_LEAST_GOING_ON = 0.2
# A sentence must go on at least at this share of the line ends of a column. In a table, it may seem so by chance.
_LEAST_RUNNING_ON = 0.2
# Matches the end of a sentence and the first letter of the next one within a line, as in "Lind. He". Does not match
# "St. Mary", because the abbreviation has fewer than three letters. The letter must be a capital.
_BORDER = re.compile(r"[^\W\d_]{3}[.!?][\"')\u201d]*\s+(?P<next>[^\W\d_])")
# Matches a word of at least two letters.
_LETTERS = re.compile(r"[^\W\d_]{2,}")
# In a block with two columns, the text goes from the left column to the right column at least this many times.
_LEAST_TURNS = 3
# The number of times that the text goes to the right column is at least this share of the lines of the longer column.
_LEAST_SHARED = 0.6
# A page is divided into at most this many columns.
_MOST_COLUMNS = 6
# The signs that PDFium writes for a hyphen at the end of a line. PDFium writes no line break behind such a sign.
_HYPHENS = "\ufffe\x02"
# Matches a word. The group "shown" is the word without a hyphen sign at its end.
_WORD = re.compile(rf"(?P<shown>[^ {_HYPHENS}]+)[{_HYPHENS}]?")


class Segment(NamedTuple):
    """A part of a line without a wide gap.

    :param begin: The position of the first character in the text of the page.
    :param end: The position behind the last character.
    :param left: The left edge of the first character, in points from the left of the page.
    :param right: The right edge of the last character.
    :param bottom: The lower edge of the first character, in points from the bottom of the page.
    :param top: The upper edge of the first character.
    """

    begin: int
    end: int
    left: float
    right: float
    bottom: float
    top: float


def find_lines(part: PdfTextPage, text: str) -> list[tuple[int, int]]:
    """Find the lines of a page, in the order in which people read them.

    :param part: The text page object of pypdfium2.
    :param text: The text of the page. Its lines are divided by line breaks of two characters (CR and LF).
    :returns: The begin and the end of each line in ``text``, in characters. If two columns hold sentences and were
        written line by line, the lines of the left column come first. All other lines keep their order. An empty line
        stands where the texts on both sides must not be joined.
    """
    lines = list(_split(text))
    # If PDFium and Python count the characters differently, the places of the characters are not known.
    if len(text) != part.count_chars():
        return lines

    boxes = Boxes(part)
    if not _has_shared_lines(text, lines, boxes):
        return lines
    segments = [segment for line in lines for segment in _segments(text, line, boxes)]
    ordered = _order(text, segments, _MOST_COLUMNS)
    if ordered == segments:
        return lines
    return list(_rejoin(ordered, segments, lines))


def _rejoin(
    ordered: Sequence[Segment | None], segments: Sequence[Segment], lines: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Join neighbouring segments of a line that are still neighbours in the new order, as the cells of a table row are.

    :param ordered: The segments in the new order. None stands for an empty line.
    :param segments: The same segments in the order of the text.
    :param lines: The begin and the end of each line of the text.
    :returns: The begin and the end of each new line, in characters of the text.
    """
    following = dict(pairwise(segments))
    ends = {end for _, end in lines}
    # Where the present new line begins. None if no line has begun.
    begin = None
    for segment, next_segment in zip(ordered, [*ordered[1:], None], strict=True):
        if segment is None:
            yield 0, 0
            continue
        begin = segment.begin if begin is None else begin
        are_neighbours = next_segment is not None and following.get(segment) == next_segment
        is_at_line_end = segment.end in ends
        if is_at_line_end or not are_neighbours:
            yield begin, segment.end
            begin = None


def _split(text: str) -> Iterator[tuple[int, int]]:
    r"""Yield the begin and the end of each line. For example, "ab\r\ncd" gives (0, 2) and (4, 6)."""
    begin = 0
    for line in text.split("\r\n"):
        yield begin, begin + len(line)
        begin += len(line) + len("\r\n")


class Boxes:
    """The boxes of the characters of a page. The functions of PDFium are called directly, which is faster."""

    def __init__(self, part: PdfTextPage) -> None:
        from pypdfium2.raw import FS_RECTF, FPDFText_GetLooseCharBox

        self._read = FPDFText_GetLooseCharBox
        self._part = part
        self._box = FS_RECTF()
        self._to = ctypes.byref(self._box)

    def __getitem__(self, place: int) -> FS_RECTF:
        """Return the box of a character, in points. The next call overwrites this box.

        :param place: The position of the character in the text of the page.
        """
        self._read(self._part, place, self._to)
        return self._box


def _has_shared_lines(text: str, lines: Sequence[tuple[int, int]], boxes: Boxes) -> bool:
    """Check whether at least two lines of a page look as if two columns shared them."""
    end_of_text = (len(text), len(text))
    pairs = list(pairwise([*lines, end_of_text]))
    # The sample has a line of each block of three lines. If it has only one shared line, all lines are examined.
    shared_in_sample = _count_shared(text, pairs[::_SAMPLED], boxes)
    if shared_in_sample in (0, _LEAST_SAMPLES):
        return shared_in_sample > 0
    return _count_shared(text, pairs, boxes) == _LEAST_SAMPLES


def _count_shared(text: str, pairs: Sequence[tuple[tuple[int, int], tuple[int, int]]], boxes: Boxes) -> int:
    """Count the lines that two columns may share, but no further than `_LEAST_SAMPLES`."""
    shared = (pair for pair in pairs if _may_be_shared(text, pair, boxes))
    return len(list(islice(shared, _LEAST_SAMPLES)))


def _segments(text: str, line: tuple[int, int], boxes: Boxes) -> Iterator[Segment]:
    """Divide a line of text into segments.

    A new segment begins in three cases:

    - behind a wide gap,
    - before a word that stands far to the left of the last word,
    - behind a hyphen sign, if the next word stands lower on the page.
    """
    # The begin of the present segment. -1 before the first word.
    begin = -1
    # The box of the present segment, in points.
    left = right = bottom = top = 0.0
    # The end of the last word.
    last = 0
    for word in _WORD.finditer(text, *line):
        box = boxes[word.start()]
        # The gap before the word, as a multiple of the height of the letters. Negative if the word stands further left.
        height = top - bottom or 1
        gap = (box.left - right) / height
        is_near = -_WIDE <= gap <= _WIDE
        is_below_hyphen = text[last - 1] in _HYPHENS and box.top < bottom
        has_begun = begin >= 0
        goes_on = has_begun and is_near and not is_below_hyphen
        if not goes_on:
            if has_begun:
                yield Segment(begin, last, left, right, bottom, top)
            begin = word.start()
            left, bottom, top = box.left, box.bottom, box.top
        last = word.end()
        right = boxes[word.end("shown") - 1].right

    if begin >= 0:
        yield Segment(begin, last, left, right, bottom, top)


def _may_be_shared(text: str, pair: tuple[tuple[int, int], tuple[int, int]], boxes: Boxes) -> bool:
    """Check whether two columns may share a line.

    This is so if the line has a wide gap, or if the next line of the text stands at its right, behind a wide gap.

    :param text: The text of the page.
    :param pair: The begin and the end of the line and of the next line.
    :param boxes: The boxes of the characters.
    """
    line, following = pair
    segments = list(_segments(text, line, boxes))
    word = _WORD.search(text, *following) if len(segments) == 1 else None
    if word:
        box = boxes[word.start()]
        segments.append(Segment(*word.span(), box.left, box.right, box.bottom, box.top))
    return len(segments) > 1 and _is_beside(*segments[:2])


def _is_beside(before: Segment, after: Segment) -> bool:
    """Check whether a segment stands to the right of the one before, behind a wide gap and not below it."""
    gap = after.left - before.right
    height = before.top - before.bottom
    reaches_line = after.top > before.bottom
    return gap > _WIDE * height and reaches_line


def _order(text: str, segments: list[Segment], columns: int) -> list[Segment | None]:
    """Return the segments in the order of reading: first the left column, then the right column.

    :param text: The text of the page.
    :param segments: The segments of the page or of one of its columns, in the order of the text.
    :param columns: Divide into at most this many columns.
    :returns: The segments. None stands for an empty line, across which nothing is joined.
    """
    gutter = _find_gutter(segments) if columns > 1 else None
    if gutter is None:
        return [*segments]

    blocks = list(_blocks(segments, gutter))
    shared = _shared_blocks(text, blocks, gutter)
    brief, is_clear = _brief_blocks(text, blocks, gutter)

    ordered: list[Segment | None] = []
    only_brief = brief - shared.keys()
    for is_brief, numbers in groupby(range(len(blocks)), key=only_brief.__contains__):
        if is_brief:
            together = [segment for number in numbers for segment in blocks[number]]
            if is_clear:
                ordered += _write_brief(text, together, gutter, columns)
            else:
                ordered += _write_apart(text, together, gutter)
            continue
        for number in numbers:
            if number not in shared:
                ordered += blocks[number]
                continue
            left, right = shared[number]
            # Each of the two may consist of several columns itself.
            ordered += _order(text, left, columns - 1)
            ordered += _order(text, right, columns - 1)
    return ordered


def _shared_blocks(
    text: str, blocks: Sequence[list[Segment]], gutter: float
) -> dict[int, tuple[list[Segment], list[Segment]]]:
    """Find the blocks in which two columns of many lines take turns.

    :returns: The segments of the left and of the right column, by the number of the block. Empty if the columns of the
        page have too few lines together.
    """
    shared: dict[int, tuple[list[Segment], list[Segment]]] = {}
    for number, block in enumerate(blocks):
        if not _is_shared(block, gutter, _LEAST_TURNS):
            continue
        left, right = _sides(block, gutter)
        if _holds_sentences(text, left) and _holds_sentences(text, right):
            shared[number] = left, right

    left_lines = sum(len(left) for left, _ in shared.values())
    right_lines = sum(len(right) for _, right in shared.values())
    return shared if min(left_lines, right_lines) >= _LEAST_LINES else {}


def _brief_blocks(text: str, blocks: Sequence[list[Segment]], gutter: float) -> tuple[set[int], bool]:
    """Find the blocks in which two columns take turns and a sentence goes on from line to line.

    All blocks of the page are judged together, because a block may have few lines.

    :returns: The numbers of the blocks, and whether a sentence goes on in both columns. If it goes on in one column
        only, the blocks are judged one by one.
    """
    # The segments of both columns of each block whose lines have words, by the number of the block.
    wordy: dict[int, tuple[list[Segment], list[Segment]]] = {}
    left_column: list[Segment] = []
    right_column: list[Segment] = []
    for number, block in enumerate(blocks):
        if not _is_shared(block, gutter, 1):
            continue
        left, right = _sides(block, gutter)
        if _has_words(text, left) and _has_words(text, right):
            wordy[number] = left, right
            left_column += left
            right_column += right

    columns = (left_column, right_column)
    have_enough_lines = min(map(len, columns)) >= _FEWEST_LINES
    if have_enough_lines and all(_runs_on(text, column) for column in columns):
        return _with_headings(set(wordy), blocks, gutter), True
    with_prose = {number for number, (left, right) in wordy.items() if _is_prose(text, left) or _is_prose(text, right)}
    return with_prose, False


def _is_prose(text: str, segments: Sequence[Segment]) -> bool:
    """Check whether a column of few lines holds sentences, although the column beside it does not.

    The remarks in a table may have two sentences, too. But then all of them begin and end in the same way, or each goes
    on from the cell at its left, as "costs 14 euros." behind "The berth in the harbour".
    """
    if len(segments) < _FEWEST_LINES or not _runs_on(text, segments):
        return False
    begin_small = {text[segment.begin].islower() for segment in segments}
    end_with_stop = {ends_with_stop(_text_of(text, segment)) for segment in segments}
    begin_differently = len(begin_small) > 1
    end_differently = len(end_with_stop) > 1
    none_begins_small = True not in begin_small
    return begin_differently or (end_differently and none_begins_small)


def _with_headings(brief: set[int], blocks: Sequence[list[Segment]], gutter: float) -> set[int]:
    """Add the blocks of a single line with one heading in each column that stand directly above a brief block."""
    headings = set()
    for number, block in enumerate(blocks):
        is_pair = len(block) == 2 and block[0].right < gutter <= block[1].left
        if is_pair and number + 1 in brief:
            headings.add(number)
    return brief | headings


def _write_brief(text: str, block: list[Segment], gutter: float, columns: int) -> list[Segment | None]:
    """Write the left column of a block first, with an empty line before it and behind the right column.

    There is an empty line between the two columns, too, unless a sentence goes on from one to the other.
    """
    left, right = _sides(block, gutter)
    last_of_left, first_of_right = left[-1], right[0]
    begins_small = text[first_of_right.begin].islower()
    goes_on = begins_small and not ends_with_stop(_text_of(text, last_of_left))
    between: list[Segment | None] = [] if goes_on else [None]
    return [None, *_order(text, left, columns - 1), *between, *_order(text, right, columns - 1), None]


def _write_apart(text: str, block: Sequence[Segment], gutter: float) -> list[Segment | None]:
    """Write each segment that belongs to a sentence of several lines as a paragraph of its own.

    All other segments stay beside each other, as the cells of a table row.
    """
    apart = set[Segment]()
    for side in _sides(block, gutter):
        if not _is_prose(text, side):
            continue
        going_on = _going_on([_text_of(text, segment) for segment in side])
        for pair, goes_on in zip(pairwise(side), going_on, strict=True):
            if goes_on:
                apart.update(pair)
    written: list[Segment | None] = [None]
    for segment in block:
        written += [None, segment, None] if segment in apart else [segment]
    return [*written, None]


def _runs_on(text: str, segments: Sequence[Segment]) -> bool:
    """Check whether a sentence goes on from one line of a column to the next.

    The column must have the end of a sentence.
    """
    lines = [_text_of(text, segment) for segment in segments]
    has_end_of_sentence = any(map(_has_border, lines)) or any(map(ends_with_stop, lines))
    if not has_end_of_sentence:
        return False
    line_ends = len(lines) - 1
    return sum(_going_on(lines)) >= max(1, _LEAST_RUNNING_ON * line_ends)


def _going_on(lines: Sequence[str]) -> list[bool]:
    """Tell for each line of a column, except the last, whether it belongs to one sentence with the next line.

    This is so if the line has no stop at its end, and if the next line begins with a small letter or has the end of a
    sentence within it.
    """
    return [_goes_on(line, following) for line, following in pairwise(lines)]


def _goes_on(line: str, following: str) -> bool:
    """Tell whether one line of a column belongs to one sentence with the next line."""
    if ends_with_stop(line):
        return False
    return following[0].islower() or _has_border(following)


def _has_border(line: str) -> bool:
    """Check whether a sentence ends and another one begins within a line."""
    return any(border["next"].isupper() for border in _BORDER.finditer(line))


def _text_of(text: str, segment: Segment) -> str:
    """Return the text of a segment."""
    return text[segment.begin : segment.end]


def _find_gutter(segments: Sequence[Segment]) -> float | None:
    """Find the gutter, which is the left edge of the right column, in points from the left of the page.

    :returns: The place that the most wide gaps cover or end at. None if these gaps are too few.
    """
    pairs = [(before, after) for before, after in pairwise(segments) if _is_beside(before, after)]
    if not pairs:
        return None

    # The edges of the wide gaps.
    begins = sorted(before.right for before, _ in pairs)
    ends = sorted(after.left for _, after in pairs)
    # For each end of a gap, count the gaps that begin left of this place and do not end left of it.
    counts = {end: bisect_left(begins, end) - bisect_left(ends, end) for end in ends}
    gutter = max(counts, key=lambda end: (counts[end], -end))
    return gutter if counts[gutter] >= _FEWEST_LINES else None


def _blocks(segments: Sequence[Segment], gutter: float) -> Iterator[list[Segment]]:
    """Divide the segments of a page into blocks.

    A block ends before and behind each line that crosses the gutter, and where the space between two lines is large.
    """
    sides = _sides(segments, gutter)
    # The distances between a line and the next line of the same column, in points.
    steps = [above.top - below.top for side in sides for above, below in pairwise(side) if above.top > below.top]
    most = _APART * median(steps) if steps else 0.0
    block: list[Segment] = []
    for segment in segments:
        if block:
            is_across = _crosses(segment, gutter) or _crosses(block[-1], gutter)
            # The last two segments may stand side by side in the same line, one in each column.
            line_top = min(above.top for above in block[-2:])
            if is_across or line_top - segment.top > most:
                yield block
                block = []
        block.append(segment)
    yield block


def _crosses(segment: Segment, gutter: float) -> bool:
    """Check whether a segment begins left of the gutter and ends right of it."""
    return segment.left < gutter <= segment.right


def _sides(segments: Sequence[Segment], gutter: float) -> tuple[list[Segment], list[Segment]]:
    """Return the segments that end left of the gutter, and the segments that begin at the gutter or right of it."""
    left = [segment for segment in segments if max(segment.left, segment.right) < gutter]
    return left, [segment for segment in segments if segment.left >= gutter]


def _is_shared(block: Sequence[Segment], gutter: float, least_turns: int) -> bool:
    """Check whether the text of a block jumps from the left column to the right column at nearly every line.

    A list of terms with descriptions at their right is no such block, because each description has several lines.

    :param block: The segments of the block.
    :param gutter: The left edge of the right column, in points.
    :param least_turns: The text must jump at least this many times.
    """
    # The numbers of the segments after which the text jumps to the right column.
    turns = [number for number, (before, after) in enumerate(pairwise(block)) if before.right < gutter <= after.left]
    if len(turns) < least_turns:
        return False
    first_turn, last_turn = turns[0], turns[-1]
    left, right = _sides(block[first_turn : last_turn + 1], gutter)
    longer = max(_count_lines(left), _count_lines(right))
    return len(turns) >= _LEAST_SHARED * longer


def _count_lines(segments: Sequence[Segment]) -> int:
    """Count the lines of a column. Segments side by side count as one line."""
    return 1 + sum(not _is_beside(before, after) for before, after in pairwise(segments))


def _holds_sentences(text: str, segments: Sequence[Segment]) -> bool:
    """Check whether the lines of a column are parts of sentences, and not the cells of a table."""
    begin_small = sum(text[segment.begin].islower() for segment in segments)
    return _has_words(text, segments) and begin_small >= _LEAST_GOING_ON * len(segments)


def _has_words(text: str, segments: Sequence[Segment]) -> bool:
    """Check whether the lines of a column have several words and fill the column."""
    widths = sorted(segment.right - segment.left for segment in segments)
    # Nine of ten lines are not wider than this. A few lines may be wider than the column.
    nine_of_ten = len(widths) * 9 // 10
    column_width = widths[nine_of_ten]
    words = median(len(_LETTERS.findall(text, segment.begin, segment.end)) for segment in segments)
    return median(widths) >= _LEAST_FILLED * column_width and words >= _LEAST_WORDS
