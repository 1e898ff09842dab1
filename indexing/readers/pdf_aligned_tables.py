"""Find the tables of a PDF page whose columns have no lines between them, only gaps.

There are two kinds:

1. Tables between horizontal lines, as in books: a line at the top, a line below the names of the columns, and a line at
   the bottom; or a line below each row (:func:`read_stacks`).
2. Tables without any line (:func:`read_aligned`). Many texts look like them: columns of prose, tables of contents,
   addresses, forms. So these tables need names of columns, short cells, and a column of numbers.

In both, the columns are the parts of the width in which the lines have text, between gaps that go through all lines.
"""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

from prefrag.indexing.readers.pdf_cells import SAME_LINE, Cells, Layout, Piece, is_full, rows_in
from prefrag.indexing.readers.pdf_rulings import Ruling

# Two words belong to the same cell if the gap between them is smaller than this, as a multiple of their height.
_WIDE = 0.8
# Two horizontal lines belong to the same table if their ends differ by at most this, in points.
_NEAR = 3.0
# A table between horizontal lines has at least this many of them, and at least this many rows.
_LEAST_RULINGS = 3
_LEAST_ROWS_OF_STACK = 3
# A line of text without a gap is prose if it fills more than this share of the width between the lines.
_MOST_WIDTH = 0.6
# If horizontal lines divide a table into more parts than this, they stand between all rows. The row of the names has at
# most this many lines of text.
_MOST_BANDS = 3
_MOST_HEADER_LINES = 3
# A column holds cells, and not sentences, if most of its lines have at most this many words.
_MOST_WORDS = 4
# A table without lines has at least this many rows below the names of its columns.
_LEAST_ROWS = 3
# Two lines belong to the same table if the distance of their middles is at most this, as a multiple of their height.
_MOST_DISTANCE = 2.6
# A line may be a row of its own if its distance from the line above is at least this share of the distance of rows.
_LEAST_DISTANCE = 0.9
# At least this share of the cells of a table without lines has text.
_LEAST_FILLED = 0.8
# At least this share of the cells of a column of numbers has a digit.
_LEAST_NUMBERS = 0.8
# A name of a column has at most this many words.
_MOST_NAME = 5
# Matches a year, which may name a column.
_YEAR = re.compile(r"(?:19|20)\d\d(?:[-/\u2013]\d\d)?")
# Matches what no name of a column has: a sign of code, or a stop at its end.
_NO_NAME = re.compile(r"[\\{}\[\]=$#\"]|[.,;:]$")
# A page or a part of it with more words than this is not examined.
_MOST_EXAMINED = 5_000


class _Segment(NamedTuple):
    """Some words of a line without a wide gap between them.

    :param left: Their left edge, in points.
    :param right: Their right edge.
    :param words: The words.
    """

    left: float
    right: float
    words: list[Piece]


# The segments of a line of text, from the left.
_Line = list[_Segment]
# The left and the right edge of a column.
_Column = tuple[float, float]


def read_stacks(words: Sequence[Piece], horizontals: Sequence[Ruling], text: str) -> Iterator[tuple[Layout, Cells]]:
    """Find the tables between horizontal lines.

    :param words: The words of the page that belong to no other table.
    :param horizontals: The horizontal lines of the page.
    :param text: The text of the page.
    :returns: The numbers of the cells of each table, row by row, and their words.
    """
    for stack in _stacks(horizontals):
        top, bottom = stack[0], stack[-1]
        begin, end = top.begin - _NEAR, top.end + _NEAR
        inside = [
            word
            for word in words
            if begin <= word.left and word.right <= end and bottom.place < word.middle < top.place
        ]
        if not inside or len(inside) > _MOST_EXAMINED:
            continue
        lines = _lines(inside)
        # The lines of text between two neighbouring horizontal lines are a band.
        bands = [_lines_between(above, below, lines) for above, below in pairwise(stack)]
        for may_be_rows, group in groupby(bands, key=lambda band: _may_be_rows(band, end - begin)):
            table = _read_bands(list(group)) if may_be_rows else None
            if table and _has_names(*table, text):
                yield table


def _stacks(horizontals: Sequence[Ruling]) -> Iterator[list[Ruling]]:
    """Yield the horizontal lines that begin and end at the same places, from the top, if they are enough."""
    stacks: list[list[Ruling]] = []
    for ruling in sorted(horizontals, reverse=True):
        for stack in stacks:
            if abs(stack[0].begin - ruling.begin) <= _NEAR and abs(stack[0].end - ruling.end) <= _NEAR:
                stack.append(ruling)
                break
        else:
            stacks.append([ruling])
    for stack in stacks:
        if len(stack) >= _LEAST_RULINGS:
            yield stack


def _first_word(line: _Line) -> Piece:
    """Return the first word of a line of text. It stands for the height of the whole line on the page."""
    return line[0].words[0]


def _lines_between(above: Ruling, below: Ruling, lines: Sequence[_Line]) -> list[_Line]:
    """Return the lines of text that stand between two horizontal lines."""
    return [line for line in lines if below.place < _first_word(line).middle < above.place]


def _may_be_rows(band: Sequence[_Line], width: float) -> bool:
    """Check whether the lines of text between two horizontal lines may be rows: some have gaps, and none is prose.

    :param band: The lines of text.
    :param width: The width of the horizontal lines, in points.
    """
    has_gap = any(len(line) > 1 for line in band)
    widths_without_gap = [line[0].right - line[0].left for line in band if len(line) == 1]
    return has_gap and max(widths_without_gap, default=0.0) <= _MOST_WIDTH * width


def _has_names(layout: Layout, cells: Cells, text: str) -> bool:
    """Check whether the first row of a table has at least two texts, and all of them may name columns."""
    header = sorted({cell for cell in layout[0] if cell in cells})
    return len(header) > 1 and all(_may_be_name(_text(cells[cell], text)) for cell in header)


def _read_bands(bands: Sequence[list[_Line]]) -> tuple[Layout, Cells] | None:
    """Read the lines of text between horizontal lines as a table; None if they are no table.

    :param bands: The lines of text between each two horizontal lines. The first band has the names of the columns.
    """
    names, *bands_of_body = bands
    body = [line for band in bands_of_body for line in band]
    columns = _columns(body)
    if not bands_of_body or len(columns) < 2 or not _has_short_cells(body, columns):
        return None
    if any(_crosses_any(band, columns) for band in bands_of_body):
        return None

    layout: Layout = []
    cells: Cells = {}
    if not _crosses_any(names, columns):
        _add_row(_words_by_column(names, columns), len(columns), layout, cells)
    elif len(names) <= _MOST_HEADER_LINES:
        for line in names:
            _add_header_row(line, columns, layout, cells)
    else:
        return None

    right_of = {number: right for number, (_, right) in enumerate(columns)}
    has_few_lines = len(bands) <= _MOST_BANDS
    for band in bands_of_body:
        words = _words_by_column(band, columns)
        rows = rows_in(range(len(columns)), words, right_of, has_few_lines)
        if not rows and len(band) > 1 and has_few_lines:
            # It is not clear where its rows end.
            return None
        for row in rows or [words]:
            _add_row(row, len(columns), layout, cells)
    return (layout, cells) if len(layout) >= _LEAST_ROWS_OF_STACK else None


def _add_row(row: Cells, width: int, layout: Layout, cells: Cells) -> None:
    """Add a row to a table.

    :param row: The words in each column.
    :param width: The number of columns.
    :param layout: The layout of the table. It is changed.
    :param cells: The words of the cells of the table. It is changed.
    """
    first = len(layout) * width
    layout.append([first + column for column in range(width)])
    cells |= {first + column: pieces for column, pieces in row.items()}


def _add_header_row(line: _Line, columns: Sequence[_Column], layout: Layout, cells: Cells) -> None:
    """Add a line of names to a table. A segment that reaches over several columns is a single cell.

    :param line: The line of text.
    :param columns: The columns of the table.
    :param layout: The layout of the table. It is changed.
    :param cells: The words of the cells of the table. It is changed.
    """
    first = len(layout) * len(columns)
    row = [first + column for column in range(len(columns))]
    for segment in line:
        covered = [number for number, column in enumerate(columns) if _overlaps(segment, column)]
        if covered:
            cell = row[covered[0]]
            for number in covered:
                row[number] = cell
            cells.setdefault(cell, []).extend(segment.words)
    layout.append(row)


def read_aligned(words: Sequence[Piece], text: str) -> Iterator[tuple[Layout, Cells]]:
    """Find the tables without lines.

    :param words: The words of the page that belong to no other table.
    :param text: The text of the page.
    :returns: The numbers of the cells of each table, row by row, and their words.
    """
    if len(words) > _MOST_EXAMINED:
        return
    for block in _blocks(_lines(words)):
        columns = _columns(block)
        if len(columns) < 2 or _crosses_any(block, columns):
            continue
        lines = [_words_by_column([line], columns) for line in block]
        rows = _join_rows(lines, columns, text)
        if _is_plain_table(rows, len(columns), text) and _has_short_cells(block[1:], columns):
            layout: Layout = []
            cells: Cells = {}
            for row in rows:
                _add_row(row, len(columns), layout, cells)
            yield layout, cells


def _blocks(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Yield the lines of text that stand below each other and have gaps, if they are enough for a table.

    A line without a gap may stand in a block if it begins at the second column or further right. It is then the second
    line of a cell.
    """
    blocks: list[list[_Line]] = []
    # Whether the line before belongs to the last block, so that the next line may belong to it, too.
    is_open = False
    for line in lines:
        has_gap = len(line) > 1
        if is_open and _belongs_to(blocks[-1], line):
            blocks[-1].append(line)
        else:
            is_open = has_gap
            if has_gap:
                blocks.append([line])
    # A block also has the line with the names of the columns.
    return (block for block in blocks if len(block) > _LEAST_ROWS)


def _belongs_to(block: Sequence[_Line], line: _Line) -> bool:
    """Check whether a line of text stands near below a block, and has a gap or begins at its second column."""
    upper, lower = _first_word(block[-1]), _first_word(line)
    is_near = upper.middle - lower.middle <= _MOST_DISTANCE * max(upper.height, lower.height)
    # The first line of a block has gaps.
    first_line = block[0]
    is_below_cell = line[0].left > first_line[1].left - _NEAR
    return is_near and (len(line) > 1 or is_below_cell)


def _join_rows(lines: Sequence[Cells], columns: Sequence[_Column], text: str) -> list[Cells]:
    """Join a line with the row above it if the line goes on in cells whose last line is full.

    A line with a text in the first column begins a row. So does a line with a number below a number, as that of a sum,
    if it stands as far below the line above as rows do.

    :param lines: The words in each column, line by line.
    :param columns: The columns of the table.
    :param text: The text of the page.
    """
    distances = [
        _height_of(line_above) - _height_of(line)
        for line_above, line in pairwise(lines)
        if 0 in line_above and 0 in line
    ]
    row_distance = min(distances, default=math.inf)
    rows: list[Cells] = []
    above: Cells = {}
    for line in lines:
        goes_on = all(
            column in above and is_full(above[column], pieces, columns[column][1]) for column, pieces in line.items()
        )
        is_apart = bool(above) and _height_of(above) - _height_of(line) >= _LEAST_DISTANCE * row_distance
        has_number_below = any(
            column in above and _has_digit(_text(pieces, text)) and _has_digit(_text(above[column], text))
            for column, pieces in line.items()
        )
        if rows and 0 not in line and goes_on and not (is_apart and has_number_below):
            for column, pieces in line.items():
                rows[-1][column] = [*rows[-1][column], *pieces]
        else:
            rows.append(dict(line))
        above = line
    return rows


def _height_of(line: Cells) -> float:
    """Return the height of the middle of a line above the bottom of the page, in points."""
    return max(piece.middle for pieces in line.values() for piece in pieces)


def _is_plain_table(rows: Sequence[Cells], width: int, text: str) -> bool:
    """Check whether rows without lines are a table: it has names of columns, and a column of numbers below a name.

    A table of contents, which has dots before its numbers, and a form, whose labels end with colons, are no tables.

    :param rows: The words in each column, row by row.
    :param width: The number of columns.
    :param text: The text of the page.
    """
    header, *body = rows
    # The sums below a table have few cells.
    last = max((number for number, row in enumerate(body) if 0 in row), default=-1)
    counted = body[: last + 1]
    if (
        len(counted) < _LEAST_ROWS
        or len(header) < width
        or sum(map(len, counted)) < _LEAST_FILLED * width * len(counted)
    ):
        return False
    names = [_text(header[column], text) for column in range(width)]
    if any(_has_digit(name) or not _may_be_name(name) for name in names):
        return False
    first_column, *other_columns = [_texts_of_column(column, body, text) for column in range(width)]
    if any("...." in value or ". . ." in value for column in (first_column, *other_columns) for value in column):
        return False
    labels = sum(value.endswith(":") for value in first_column)
    if labels * 2 >= len(body):
        return False
    return any(
        sum(map(_has_digit, column)) >= _LEAST_NUMBERS * len(column) and len(column) >= _LEAST_ROWS
        for column in other_columns
    )


def _texts_of_column(column: int, rows: Sequence[Cells], text: str) -> list[str]:
    """Return the texts of the cells of a column that are not empty."""
    return [_text(row[column], text) for row in rows if column in row]


def _text(pieces: Sequence[Piece], text: str) -> str:
    """Return the words of a cell as a text."""
    return " ".join(text[piece.begin : piece.end] for piece in pieces)


def _has_digit(value: str) -> bool:
    """Check whether a text has a digit."""
    return any(map(str.isdigit, value))


def _may_be_name(value: str) -> bool:
    """Check whether a text may name a column: a few words without the signs of code, or a year."""
    if _YEAR.fullmatch(value):
        return True
    is_short = len(value.split()) <= _MOST_NAME
    return is_short and any(map(str.isalpha, value)) and not _NO_NAME.search(value)


def _lines(words: Sequence[Piece]) -> list[_Line]:
    """Return the lines of text from the top, each divided at its wide gaps."""
    lines: list[list[Piece]] = []
    for word in sorted(words, key=lambda piece: -piece.middle):
        if lines and lines[-1][0].middle - word.middle <= SAME_LINE * max(lines[-1][0].height, word.height):
            lines[-1].append(word)
        else:
            lines.append([word])

    return [_divide(line) for line in lines]


def _divide(words: Sequence[Piece]) -> _Line:
    """Divide the words of a line of text at the wide gaps between them."""
    segments: _Line = []
    for word in sorted(words, key=lambda piece: piece.left):
        if segments and word.left - segments[-1].right < _WIDE * word.height:
            left, right, words_before = segments.pop()
            segments.append(_Segment(left, max(right, word.right), [*words_before, word]))
        else:
            segments.append(_Segment(word.left, word.right, [word]))
    return segments


def _columns(lines: Sequence[_Line]) -> list[_Column]:
    """Return the parts of the width in which the lines that have gaps have text."""
    columns: list[_Column] = []
    for left, right in sorted((segment.left, segment.right) for line in lines if len(line) > 1 for segment in line):
        if columns and left <= columns[-1][1]:
            column_left, column_right = columns.pop()
            columns.append((column_left, max(column_right, right)))
        else:
            columns.append((left, right))
    return columns


def _overlaps(segment: _Segment, column: _Column) -> bool:
    """Check whether a segment stands above or below a column."""
    return segment.left <= column[1] and segment.right >= column[0]


def _crosses_any(lines: Sequence[_Line], columns: Sequence[_Column]) -> bool:
    """Check whether a segment of some lines of text does not stand in exactly one column."""
    segments = [segment for line in lines for segment in line]
    return any(sum(_overlaps(segment, column) for column in columns) != 1 for segment in segments)


def _words_by_column(lines: Sequence[_Line], columns: Sequence[_Column]) -> Cells:
    """Return the words of some lines of text, by the number of their column. It is 0 for words outside all columns."""
    words: Cells = {}
    for line in lines:
        for segment in line:
            covered = [number for number, column in enumerate(columns) if _overlaps(segment, column)]
            words.setdefault(covered[0] if covered else 0, []).extend(segment.words)
    return words


def _has_short_cells(lines: Sequence[_Line], columns: Sequence[_Column]) -> bool:
    """Check whether at least half of the columns hold cells, and no sentences."""
    counts: list[list[int]] = [[] for _ in columns]
    for line in lines:
        for column, pieces in _words_by_column([line], columns).items():
            counts[column].append(len(pieces))
    short_columns = sum(median(numbers) <= _MOST_WORDS for numbers in counts if numbers)
    return 2 * short_columns >= len(columns)
