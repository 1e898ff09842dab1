"""Find the tables on a PDF page, and read them as rows.

A table in a PDF is only drawn. In the text of the page, its cells stand one after the other: rows, columns and empty
cells are lost. This module finds the cells between the ruling lines of the page, and writes the words into them:

1. :mod:`pdf_rulings` finds frames of cells.
2. Each letter belongs to the cell in which its middle stands (:func:`_fill_cells`).
3. A frame is a table if enough of its cells have short texts (:func:`is_table`). Otherwise the text stays as it is.
4. Rows without a line between them are divided where their texts stand side by side (:func:`divide_rows`).
5. :mod:`pdf_aligned_tables` finds tables whose columns have no lines between them.

The cells become a :class:`Grid`, as the tables of Word do. The reader of PDF files calls :func:`find_tables` for each
page, and then :func:`insert_tables` for all pages.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.pdf_aligned_tables import read_aligned, read_stacks
from prefrag.indexing.readers.pdf_cells import Cells, Layout, Piece, divide_rows, is_table
from prefrag.indexing.readers.pdf_columns import Boxes, find_lines
from prefrag.indexing.readers.pdf_rulings import Frame, find_frames, find_rulings
from prefrag.indexing.readers.tables import Grid, Span, write_grid

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage
    from pypdfium2.raw import FS_RECTF

# The sign that stands for a table in the text of a page until the table is written. Nobody types this sign.
TABLE = "\u205d"
# Letters of two cells have at least this gap, as a multiple of their height. Letters of a word that crosses a line have
# none.
_GAP = 0.1
# A page with more words than this has no tables that are read.
_MOST_WORDS = 20_000
# At most this many frames of a page are read, the largest first.
_MOST_FRAMES = 40
# A part of a row with fewer letters than this is not looked for on the page.
_LEAST_LETTERS = 20
# Two borders are at the same place if their distance is not more than this, in points.
_NEAR = 2.5
# At most this many lines of text stand between the parts of a table on two pages: a footer and a header.
_MOST_BETWEEN = 2
# A form has this many columns: labels and values.
_FORM_COLUMNS = 2
# Matches the sign of a table and the line ends around it.
_SIGN = re.compile(rf"\n*{TABLE}\n*")
# Matches a word.
_WORD = re.compile(r"\S+")
# Matches what PDFium writes for a hyphen at the end of a line within a word.
_BROKEN_WORD = re.compile("[\ufffe\x02]\\s*")


class PageTable(NamedTuple):
    """A table of a page.

    :param grid: The texts of its cells.
    :param lines: The numbers of the lines of the page that the table replaces, in ascending order.
    :param words: For each row of the grid, the begin and the end of each word on the page.
    :param borders: The places of the lines between its columns, in points. Empty if there are no such lines.
    """

    grid: Grid
    lines: list[int]
    words: list[list[tuple[int, int]]]
    borders: tuple[float, ...]


def find_tables(
    page: PdfPage, part: PdfTextPage, text: str, lines: list[tuple[int, int]]
) -> tuple[list[tuple[int, int]], list[PageTable]]:
    """Find the tables of a page.

    :param page: The page object of pypdfium2.
    :param part: Its text page object.
    :param text: The text of the page.
    :param lines: The begin and the end of each line in ``text``, in the order of reading.
    :returns: The lines, and the tables in the order of their first lines. A line that stands partly inside a table is
        divided, so that each line stands wholly inside or outside.
    """
    # If PDFium and Python count the characters differently, the places of the characters are not known.
    if len(text) != part.count_chars() or TABLE in text:
        return lines, []
    boxes = Boxes(part)
    words = [_piece(*match.span(), boxes) for line in lines for match in _WORD.finditer(text, *line)]
    if len(words) > _MOST_WORDS:
        return lines, []
    tables: list[PageTable] = []
    # The number of the table to which each piece belongs, by the position of its first letter in the text.
    table_of: dict[int, int] = {}
    for layout, cells, borders in _read_all(page, text, words, boxes):
        numbers = {number for row in layout for number in row}
        begins = [piece.begin for number in numbers for piece in cells.get(number, ())]
        overlaps = any(begin in table_of for begin in begins)
        if overlaps:
            continue
        grid, words_of_rows = _make_grid(text, layout, cells)
        if _is_form(grid.rows):
            continue
        for begin in begins:
            table_of[begin] = len(tables)
        tables.append(PageTable(grid, [], words_of_rows, borders))
    if not tables:
        return lines, []

    divided: list[tuple[int, int]] = []
    for line in lines:
        for table_number, begin, end in _divide_line(text, line, table_of):
            if table_number is not None:
                tables[table_number].lines.append(len(divided))
            divided.append((begin, end))
    tables_with_lines = [table for table in tables if table.lines]
    return divided, sorted(tables_with_lines, key=lambda table: table.lines[0])


def _is_form(rows: Sequence[Sequence[str]]) -> bool:
    """Check whether two columns may be the labels and the values of a form, as "Customer" and "Quay Bakery".

    Its first row has no names. Read as a table, it would put each value below the first one. So two columns are a table
    only if the second has digits in all rows below the first, as prices have. Otherwise the lines stay as they are.

    :param rows: The texts of the cells.
    """
    if len(rows[0]) != _FORM_COLUMNS:
        return False
    return not all(_has_digit(value) for _, value in rows[1:] if value)


def _read_all(
    page: PdfPage, text: str, words: Sequence[Piece], boxes: Boxes
) -> Iterator[tuple[Layout, Cells, tuple[float, ...]]]:
    """Yield the numbers of the cells, the words and the borders of each table of a page. Tables may overlap.

    :param page: The page object of pypdfium2.
    :param text: The text of the page.
    :param words: The words of the page.
    :param boxes: The boxes of its letters.
    """
    horizontals, verticals = find_rulings(page)
    # The words that were read in a table or between lines, by the positions of their first letters.
    used: set[int] = set()
    for frame in find_frames(horizontals, verticals)[:_MOST_FRAMES]:
        cells, crossing = _fill_cells(frame, [word for word in words if word.begin not in used], boxes)
        layout = frame.layout()
        if is_table(layout, cells, crossing):
            used.update(piece.begin for pieces in cells.values() for piece in pieces)
            yield *divide_rows(frame, layout, cells, text), tuple(frame.columns)

    for layout, cells in read_stacks([word for word in words if word.begin not in used], horizontals, text):
        # Words between lines that are no table must not be read once more as a table without lines.
        used.update(piece.begin for pieces in cells.values() for piece in pieces)
        if is_table(layout, cells, 0):
            yield layout, cells, ()
    for layout, cells in read_aligned([word for word in words if word.begin not in used], text):
        yield layout, cells, ()


def insert_tables(pages: Sequence[list[str]], tables: Sequence[list[PageTable]]) -> list[Grid]:
    """Replace the lines of tables by a sign for each table.

    A table of which no line is left was repeated on several pages, as a letterhead is. It is left out.

    :param pages: The lines of each page. They are changed in place.
    :param tables: The tables of each page.
    :returns: The cells of the tables, in the order of the signs.
    """
    grids = []
    for number, next_number in pairwise(range(len(pages))):
        _name_columns_of_next(pages[number], tables[number], pages[next_number], tables[next_number])
    for lines, tables_of_page in zip(pages, tables, strict=True):
        # What stands in the place of each line of a table: the sign in that of its first line, else nothing.
        replacements: dict[int, str | None] = {}
        for table in tables_of_page:
            for number in table.lines:
                replacements[number] = None
            if any(lines[number].strip() for number in table.lines):
                replacements[table.lines[0]] = TABLE
                grids.append(table.grid)
        replaced = [replacements.get(number, line) for number, line in enumerate(lines)]
        lines[:] = [line for line in replaced if line is not None]
    return grids


def _name_columns_of_next(
    lines: list[str], tables: list[PageTable], next_lines: list[str], next_tables: list[PageTable]
) -> None:
    """Write the names of columns above a table that goes on on the next page, if that page does not repeat them.

    :param lines: The lines of a page.
    :param tables: The tables of this page.
    :param next_lines: The lines of the next page.
    :param next_tables: The tables of the next page. The first of them may be changed.
    """
    if not tables or not next_tables:
        return
    table, next_table = tables[-1], next_tables[0]
    if not _have_same_borders(table, next_table):
        return
    lines_below = lines[table.lines[-1] + 1 :]
    lines_above = [line for line in next_lines[: next_table.lines[0]] if line.strip()]
    # Only the footer of this page and the header of the next page may stand between the two parts.
    if sum(bool(line.strip()) for line in lines_below) + len(lines_above) > _MOST_BETWEEN:
        return
    # A header stands on both pages. Another line above the next table is the heading of that table alone.
    repeated = {_without_digits(line) for line in lines}
    if any(_without_digits(line) not in repeated for line in lines_above):
        return
    if not _goes_on(table.grid.rows, next_table.grid.rows):
        return

    names = _column_names(table.grid)
    if names:
        spans = [span._replace(row=span.row + 1) for span in next_table.grid.spans]
        named = Grid([names, *next_table.grid.rows], spans, frozenset([0]))
        next_tables[0] = next_table._replace(grid=named, words=[[], *next_table.words])


def _have_same_borders(table: PageTable, other: PageTable) -> bool:
    """Check whether two tables have lines between their columns, at the same places."""
    if not table.borders or len(table.borders) != len(other.borders):
        return False
    pairs = zip(table.borders, other.borders, strict=True)
    return all(abs(border - other_border) <= _NEAR for border, other_border in pairs)


def _goes_on(rows: Sequence[Sequence[str]], next_rows: Sequence[Sequence[str]]) -> bool:
    """Check whether the first row on the next page is a row of data: it has digits where the rows above have digits.

    A table of words alone does not show it.

    :param rows: The rows of the table.
    :param next_rows: The rows on the next page.
    """
    names, *body = rows
    columns_of_numbers = []
    for column, name in enumerate(names):
        values_above = [row[column] for row in body if row[column]]
        if not _has_digit(name) and all(map(_has_digit, values_above)):
            columns_of_numbers.append(column)
    first_row = next_rows[0]
    values = [first_row[column] for column in columns_of_numbers if column < len(first_row) and first_row[column]]
    return len(values) > 0 and all(map(_has_digit, values))


def _column_names(grid: Grid) -> list[str]:
    """Return the names of the columns with which a table is written. Empty if it is written without names."""
    # Writing changes a grid, so a copy is written.
    copy = Grid([[*row] for row in grid.rows], grid.spans, grid.headers)
    outline = Outline()
    outline.read("\n".join(write_grid(copy, outline)))
    if not outline.rows:
        return []
    _, written, _ = outline.rows[-1]
    # The rows of a form or of a turned table are no rows of the page, so their names are no names of its columns.
    last_row = [cell for cell in copy.rows[-1] if cell]
    last_written = [cell for cell in written.rows[-1].cells if cell]
    return [*written.columns] if last_written == last_row else []


def _without_digits(line: str) -> str:
    """Return a line without its digits, so that "Page 1" equals "Page 2"."""
    return re.sub(r"\d+", "", line).strip()


def _has_digit(value: str) -> bool:
    """Check whether a cell has a digit."""
    return any(map(str.isdigit, value))


def write_tables(texts: Sequence[str], grids: Sequence[Grid], outline: Outline) -> list[str]:
    """Write the rows of the tables in the place of their signs, as paragraphs of their own.

    :param texts: The text of each page.
    :param grids: The cells of the tables, in the order of the signs.
    :param outline: The outline of the file. The rows are added to it.
    :returns: The texts with the rows of the tables.
    """
    remaining_grids = iter(grids)

    def write_next(_: re.Match[str]) -> str:
        """Write the table for which the next sign stands."""
        rows = write_grid(next(remaining_grids), outline)
        return "\n\n" + "\n".join(rows) + "\n\n"

    return [_SIGN.sub(write_next, text) for text in texts]


def find_row(part: PdfTextPage, sentence: str) -> list[tuple[int, int]]:
    """Find the row of a table from which a sentence was written, such as "Item: Tea; Price: 3".

    :param part: The text page object of pypdfium2.
    :param sentence: The sentence.
    :returns: For each line of each cell of the row, the position of its first character in the text of the page and its
        number of characters. Empty if there is no such row.
    """
    text = part.get_text_range()
    _, tables = find_tables(part.page, part, text, find_lines(part, text))
    wanted = _plain(sentence)
    rows = [words for table in tables for words in _words_of_rows(table, wanted)]
    if not rows:
        return []

    runs: list[tuple[int, int]] = []
    for begin, end in sorted(rows[0]):
        if runs and text[runs[-1][1] : begin] in ("", " "):
            run_begin, _ = runs.pop()
            runs.append((run_begin, end))
        else:
            runs.append((begin, end))
    return [(begin, end - begin) for begin, end in runs]


def _plain(text: str) -> str:
    """Return the letters and digits of a text, in small letters."""
    return "".join(filter(str.isalnum, text)).lower()


def _words_of_rows(table: PageTable, wanted: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the begin and the end of the words of each row that is written with the wanted letters. A form is one row.

    :param table: The table. Its grid is changed.
    :param wanted: The letters and digits of the written row. If they are many, a part of the row is enough.
    """
    outline = Outline()
    outline.read("\n".join(write_grid(table.grid, outline)))
    for _, written, number in outline.rows:
        row = written.rows[number]
        letters = _plain(written.write(row))
        is_part = len(wanted) >= _LEAST_LETTERS and wanted in letters
        if letters != wanted and not is_part:
            continue
        # A form is written as a single row.
        if len(outline.rows) == 1:
            yield [word for words in table.words for word in words]
            continue
        cells = [cell for cell in row.cells if cell]
        for grid_row, words in zip(table.grid.rows, table.words, strict=True):
            if [cell for cell in grid_row if cell] == cells:
                yield words


def _piece(begin: int, end: int, boxes: Boxes) -> Piece:
    """Return a word, or some letters of a word, with their place on the page."""
    box = boxes[begin]
    # Take what is needed of this box before the next one overwrites it.
    left, middle, height = box.left, (box.top + box.bottom) / 2, box.top - box.bottom
    last = boxes[end - 1]
    # The hyphen at the end of a line may have no box.
    if last.right <= last.left and end - begin > 1:
        last = boxes[end - 2]
    return Piece(begin, end, left, max(left, last.right), middle, height)


def _fill_cells(frame: Frame, words: Sequence[Piece], boxes: Boxes) -> tuple[Cells, int]:
    """Find the cell of each letter. A word that reaches over several cells is divided into pieces.

    :returns: The pieces of each cell, and the number of words that cross a border without a gap.
    """
    cells: Cells = defaultdict(list)
    crossing = 0
    for word in words:
        first, last = frame.cell_at(word.left, word.middle), frame.cell_at(word.right, word.middle)
        if first == last:
            if first is not None:
                cells[first].append(word)
            continue

        pieces = []
        for cell, group in groupby(range(word.begin, word.end), key=lambda letter: _cell_of(frame, boxes[letter])):
            letters = list(group)
            piece = _piece(letters[0], letters[-1] + 1, boxes)
            pieces.append(piece)
            if cell is not None:
                cells[cell].append(piece)
        least_gap = _GAP * word.height
        crossing += any(after.left - before.right < least_gap for before, after in pairwise(pieces))
    return cells, crossing


def _cell_of(frame: Frame, box: FS_RECTF) -> int | None:
    """Return the number of the cell in which the middle of a letter stands; None if it stands outside the frame."""
    return frame.cell_at((box.left + box.right) / 2, (box.top + box.bottom) / 2)


def _make_grid(text: str, layout: Layout, cells: Cells) -> tuple[Grid, list[list[tuple[int, int]]]]:
    """Write the texts of the cells into a grid.

    :returns: The grid, and for each of its rows the begin and the end of its words on the page.
    """
    # The first and the last place of each cell in the layout, as row and column.
    first_places: dict[int, tuple[int, int]] = {}
    last_places: dict[int, tuple[int, int]] = {}
    for row_number, row in enumerate(layout):
        for column, cell in enumerate(row):
            first_places.setdefault(cell, (row_number, column))
            last_places[cell] = row_number, column

    rows = [["" for _ in row] for row in layout]
    words_of_rows: list[list[tuple[int, int]]] = [[] for _ in layout]
    spans = []
    for cell, (top, left) in first_places.items():
        pieces = cells.get(cell, ())
        rows[top][left] = _BROKEN_WORD.sub("", " ".join(text[piece.begin : piece.end] for piece in pieces))
        words_of_rows[top] += [(piece.begin, piece.end) for piece in pieces]
        bottom, right = last_places[cell]
        if (bottom, right) != (top, left):
            spans.append(Span(top, left, bottom - top + 1, right - left + 1))
    return Grid(rows, spans), words_of_rows


def _divide_line(text: str, line: tuple[int, int], table_of: dict[int, int]) -> Iterator[tuple[int | None, int, int]]:
    """Divide a line of the page where a table begins or ends.

    :param text: The text of the page.
    :param line: The begin and the end of the line.
    :param table_of: The number of the table for the position of the first letter of each piece of a table.
    :returns: For each part: the number of its table or None, its begin and its end.
    """
    line_begin, line_end = line
    # The tables of the parts, and the borders of the parts. The line begins and ends with its blanks, if it has any.
    tables: list[int | None] = []
    borders = [line_begin]
    for word in _WORD.finditer(text, line_begin, line_end):
        for place in range(word.start(), word.end()):
            # Only at these places a piece may begin, either of a table or of a text outside.
            may_begin = place == word.start() or place in table_of
            table = table_of.get(place)
            if may_begin and not tables:
                tables.append(table)
            elif may_begin and table != tables[-1]:
                tables.append(table)
                borders.append(place)
    borders.append(line_end)
    for table, (begin, end) in zip(tables or [None], pairwise(borders), strict=True):
        yield table, begin, end
