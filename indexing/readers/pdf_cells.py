"""Decide whether cells of a PDF page are a table, and divide its rows.

The cells come from ruling lines, or from columns of text with gaps between them. Some tables have lines only around
them and below the names of the columns. Then all rows seem to be one, and :func:`divide_rows` divides them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from prefrag.indexing.readers.pdf_rulings import Frame

# A table has at least this many cells with text.
_LEAST_CELLS = 4
# At least this share of the cells of a table has text. A drawing has more empty cells.
_LEAST_FILLED = 0.2
# A text with more characters than this is no cell, but a page of text with a frame around it.
_LONGEST_CELL = 1_500
# At most this share of the words of a table crosses a line. In a drawing, more do.
_MOST_CROSSING = 0.05
# Rows are divided only in tables whose lines form at most this many rows. A table with more lines has one for each row.
_MOST_UNDIVIDED = 3
# A row is divided into at least this many rows. If it is divided into two rows, all of their cells have text.
_LEAST_DIVIDED = 3
# Two letters stand in the same line if their middles differ by less than this share of their height.
SAME_LINE = 0.5
# The width of a blank, and of the free space beside a text in its cell, as a multiple of the height of the letters.
_BLANK = 0.25
# Lines of text count as rows without further signs if they have at least this many cells, and this share has text.
_LEAST_WIDTH = 3
_MOSTLY_FILLED = 0.85
# If other signs speak for rows, this share of the cells needs text.
_LEAST_ALIGNED = 0.6


class Piece(NamedTuple):
    """Some letters of a page that belong to one cell.

    :param begin: The position of the first letter in the text of the page.
    :param end: The position behind the last letter.
    :param left: The left edge of the letters, in points.
    :param right: Their right edge.
    :param middle: The height of their middle above the bottom of the page, in points.
    :param height: The height of the letters.
    """

    begin: int
    end: int
    left: float
    right: float
    middle: float
    height: float


# The pieces of each cell of a frame, by the number of the cell.
Cells = dict[int, list[Piece]]
# The numbers of the cells of a table, row by row. A cell that covers several rows or columns is repeated.
Layout = list[list[int]]


def is_table(layout: Layout, cells: Cells, crossing: int) -> bool:
    """Check whether a frame is a table, and no drawing and no page layout.

    :param layout: The numbers of its cells.
    :param cells: The pieces of each cell.
    :param crossing: How many words cross a border.
    """
    if len(layout) < 2 or len(layout[0]) < 2:
        return False
    shown = {cell for row in layout for cell in row}
    filled = {cell for cell in shown if cell in cells}
    if len(filled) < _LEAST_CELLS or len(filled) < _LEAST_FILLED * len(shown):
        return False
    columns = zip(*layout, strict=True)
    if not _have_neighbours(layout, filled) or not _have_neighbours(columns, filled):
        return False
    if any(_count_characters(cells[cell]) > _LONGEST_CELL for cell in filled):
        return False
    words = sum(map(len, cells.values()))
    return crossing <= _MOST_CROSSING * words


def _count_characters(pieces: Sequence[Piece]) -> int:
    """Count the characters of the pieces of a cell."""
    return sum(piece.end - piece.begin for piece in pieces)


def _have_neighbours(lines: Iterable[Sequence[int]], filled: set[int]) -> bool:
    """Check whether at least two rows, or at least two columns, have two or more cells with text."""
    return sum(len(filled.intersection(line)) > 1 for line in lines) > 1


def divide_rows(frame: Frame, layout: Layout, cells: Cells, text: str) -> tuple[Layout, Cells]:
    """Divide the rows without a line between them.

    Only a table with few lines has such rows, below the row of the names. A text that goes on in its cell looks much
    like two rows. So a row is divided only if each of its lines has a number in the same column, as a price list has.

    :param frame: The frame of the table.
    :param layout: The numbers of its cells.
    :param cells: The pieces of each cell.
    :param text: The text of the page.
    :returns: The layout and the pieces of each cell. The new cells have negative numbers.
    """
    right_of = {cell: frame.columns[column + 1] for row in frame.cells for column, cell in enumerate(row)}
    # How many places of the layout a cell takes. A cell that covers several rows or columns takes several.
    sizes = Counter(cell for row in layout for cell in row)
    has_few_lines = len(layout) <= _MOST_UNDIVIDED
    divided: Layout = []
    divided_cells = dict(cells)
    last_number = 0
    for row_number, row in enumerate(layout):
        is_header = row_number == 0
        may_be_divided = not is_header and has_few_lines and all(sizes[cell] == 1 for cell in row)
        rows = rows_in(row, cells, right_of, has_few_lines) if may_be_divided else []
        if not _have_numbers(rows, row, text):
            divided.append(row)
            continue
        for pieces_of in rows:
            new_row = []
            for cell in row:
                last_number -= 1
                new_row.append(last_number)
                if cell in pieces_of:
                    divided_cells[last_number] = pieces_of[cell]
            divided.append(new_row)
        for cell in row:
            divided_cells.pop(cell, None)
    return divided, divided_cells


def _have_numbers(rows: Sequence[Cells], row: Sequence[int], text: str) -> bool:
    """Check whether there are rows, and each of them has a digit in the same cell, other than the first.

    :param rows: The rows.
    :param row: The numbers of their cells.
    :param text: The text of the page.
    """
    if not rows:
        return False
    return any(all(_has_digit(pieces.get(cell, ()), text) for pieces in rows) for cell in row[1:])


def _has_digit(pieces: Sequence[Piece], text: str) -> bool:
    """Check whether a cell has a digit. ``text`` is the text of the page."""
    return any(text[place].isdigit() for piece in pieces for place in range(piece.begin, piece.end))


def rows_in(row: Sequence[int], cells: Cells, right_of: dict[int, float], has_few_lines: bool) -> list[Cells]:
    """Find the rows in a row of cells that has no ruling lines within it.

    The lines of text in three or more cells that are nearly all filled count as rows. Otherwise, each row needs a text
    in its first cell, and no line of text may be full. In a text that goes on in its cell the lines are full: the next
    word had no room.

    :param row: The numbers of the cells.
    :param cells: The pieces of each cell.
    :param right_of: The right border of each cell.
    :param has_few_lines: Whether the table has so few ruling lines that most of its rows have none between them.
    :returns: The pieces of each cell, row by row. Empty if it is a single row.
    """
    lines = lines_in(row, cells)
    if len(lines) < 2:
        return []

    # How many texts are full at the end of a row, although there is a text below them in the same cell.
    full = 0
    rows: list[Cells] = lines[:1]
    for line_above, line in pairwise(lines):
        fullness = [
            is_full(line_above[cell], pieces, right_of[cell]) for cell, pieces in line.items() if cell in line_above
        ]
        all_go_on = len(fullness) == len(line) and all(fullness)
        # A row begins with its first cell. Without a text there, the line may go on with the texts of the row above.
        if row[0] not in line and all_go_on:
            for cell, pieces in line.items():
                rows[-1][cell] = [*rows[-1][cell], *pieces]
        else:
            rows.append(line)
            full += sum(fullness)

    filled = sum(map(len, rows)) / (len(rows) * len(row))
    are_many = len(rows) >= _LEAST_DIVIDED
    if are_many and len(row) >= _LEAST_WIDTH and filled >= _MOSTLY_FILLED:
        return rows
    if not has_few_lines or full > 0 or any(row[0] not in pieces_of for pieces_of in rows):
        return []
    least_filled = _LEAST_ALIGNED if are_many else 1
    return rows if filled >= least_filled else []


def lines_in(row: Sequence[int], cells: Cells) -> list[Cells]:
    """Return the lines of text in a row of cells, from the top. A line is the pieces of each cell beside each other."""
    lines: list[Cells] = []
    # The highest piece of the present line.
    highest: Piece | None = None
    placed = [(piece, cell) for cell in row for piece in cells.get(cell, ())]
    for piece, cell in sorted(placed, key=lambda pair: -pair[0].middle):
        if highest is None or highest.middle - piece.middle > SAME_LINE * max(highest.height, piece.height):
            lines.append({})
            highest = piece
        lines[-1].setdefault(cell, []).append(piece)
    return [{cell: sorted(pieces) for cell, pieces in line.items()} for line in lines]


def is_full(line: Sequence[Piece], below: Sequence[Piece], right: float) -> bool:
    """Check whether the first word of the next line had no room in a line of a cell.

    :param line: The words of the line.
    :param below: The words of the next line.
    :param right: The right border of the cell.
    """
    next_word = min(below, key=lambda piece: piece.left)
    end_of_line = max(piece.right for piece in line)
    blank = _BLANK * next_word.height
    # The line would go on with a blank and the next word, and there would be a blank before the border of the cell.
    return end_of_line + (next_word.right - next_word.left) + blank > right - blank
