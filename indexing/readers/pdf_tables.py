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
from operator import itemgetter
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
    :param lines: The numbers of the lines of the page that the table replaces.
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
    words = [_word(match, boxes) for line in lines for match in _WORD.finditer(text, *line)]
    if len(words) > _MOST_WORDS:
        return lines, []
    # The frames that are tables, with their grids and the words of their rows.
    tables: list[tuple[Grid, list[list[tuple[int, int]]], tuple[float, ...]]] = []
    # The number of the table in which each letter stands, by its position in the text.
    table_of: dict[int, int] = {}
    for layout, cells, borders in _read_all(page, text, words, boxes):
        pieces = [piece for cell in {cell for row in layout for cell in row} for piece in cells.get(cell, ())]
        if any(piece.begin in table_of for piece in pieces):
            continue
        grid, parts = _make_grid(text, layout, cells)
        if _is_form(grid.rows):
            continue
        table_of |= dict.fromkeys((piece.begin for piece in pieces), len(tables))
        tables.append((grid, parts, borders))
    if not tables:
        return lines, []

    divided: list[tuple[int, int]] = []
    lines_of: dict[int, list[int]] = defaultdict(list)
    for line in lines:
        for table, begin, end in _divide_line(text, line, table_of):
            if table is not None:
                lines_of[table].append(len(divided))
            divided.append((begin, end))
    page_tables = []
    for number, lines_of_table in lines_of.items():
        grid, words_of_rows, borders = tables[number]
        page_tables.append(PageTable(grid, lines_of_table, words_of_rows, borders))
    return divided, page_tables


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
    used: set[int] = set()
    for frame in find_frames(horizontals, verticals)[:_MOST_FRAMES]:
        cells, crossing = _fill_cells(frame, [word for word in words if word.begin not in used], boxes)
        layout = frame.layout()
        if is_table(layout, cells, crossing):
            used.update(piece.begin for pieces in cells.values() for piece in pieces)
            yield *divide_rows(frame, layout, cells, text), tuple(frame.columns)

    for layout, cells in read_stacks([word for word in words if word.begin not in used], horizontals, text):
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
    numbers = range(len(pages))
    for number, next_number in pairwise(numbers):
        _name_columns_of_rest(pages[number], tables[number], pages[next_number], tables[next_number])
    for lines, tables_of_page in zip(pages, tables, strict=True):
        inside = {number for table in tables_of_page for number in table.lines}
        signs = {}
        for table in tables_of_page:
            if any(lines[number].strip() for number in table.lines):
                signs[table.lines[0]] = TABLE
                grids.append(table.grid)
        if inside:
            lines[:] = [
                signs.get(number, line) for number, line in enumerate(lines) if number in signs or number not in inside
            ]
    return grids


def _name_columns_of_rest(
    lines: list[str], tables: list[PageTable], next_lines: list[str], next_tables: list[PageTable]
) -> None:
    """Give the rest of a table on the next page the names of its columns, if that page does not repeat them.

    The rest begins the next page and has the same borders between its columns. A header or a footer may stand between.
    Its first row is a row of data, and no other names.

    :param lines: The lines of a page.
    :param tables: Its tables.
    :param next_lines: The lines of the next page.
    :param next_tables: Its tables. The first of them may be changed.
    """
    if not tables or not next_tables:
        return
    table, rest = tables[-1], next_tables[0]
    between = [*lines[table.lines[-1] + 1 :], *next_lines[: rest.lines[0]]]
    has_same_borders = len(table.borders) == len(rest.borders) > 0 and all(
        abs(border - other) <= _NEAR for border, other in zip(table.borders, rest.borders, strict=True)
    )
    if not has_same_borders or sum(bool(line.strip()) for line in between) > _MOST_BETWEEN:
        return
    # A line above the rest that is not repeated on both pages is the heading of another table.
    repeated = {_without_digits(line) for line in lines}
    if any(_without_digits(line) not in repeated for line in next_lines[: rest.lines[0]] if line.strip()):
        return
    if not _goes_on(table.grid.rows, rest.grid.rows):
        return

    outline = Outline()
    copy = Grid([[*row] for row in table.grid.rows], table.grid.spans, table.grid.headers)
    outline.read("\n".join(write_grid(copy, outline)))
    last_row = [cell for cell in copy.rows[-1] if cell]
    if outline.rows and outline.rows[-1][1].columns:
        written = outline.rows[-1][1]
        # The rows of a form or of a turned table are no rows of the page, so their names are no names of its columns.
        if [cell for cell in written.rows[-1].cells if cell] != last_row:
            return
        names = [*written.columns]
        spans = [span._replace(row=span.row + 1) for span in rest.grid.spans]
        named = Grid([names, *rest.grid.rows], spans, frozenset([0]))
        next_tables[0] = rest._replace(grid=named, words=[[], *rest.words])


def _goes_on(rows: Sequence[Sequence[str]], rest: Sequence[Sequence[str]]) -> bool:
    """Check whether the first row on the next page is a row of data: it has digits where the rows above have digits.

    A table of words alone does not show it.

    :param rows: The rows of the table.
    :param rest: The rows on the next page.
    """
    columns = [
        column
        for column, name in enumerate(rows[0])
        if not _has_digit(name) and all(_has_digit(row[column]) for row in rows[1:] if row[column])
    ]
    has_values = [column for column in columns if rest[0][column : column + 1] not in ([], [""])]
    return len(has_values) > 0 and all(_has_digit(rest[0][column]) for column in has_values)


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
    waiting = iter(grids)
    return [
        _SIGN.sub(lambda _: "\n\n" + "\n".join(write_grid(next(waiting), outline)) + "\n\n", text) for text in texts
    ]


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
    words = next((words for table in tables for words in _words_of_row(table, wanted)), [])

    runs: list[tuple[int, int]] = []
    for begin, end in sorted(words):
        if runs and text[runs[-1][1] : begin] in ("", " "):
            runs[-1] = runs[-1][0], end
        else:
            runs.append((begin, end))
    return [(begin, end - begin) for begin, end in runs]


def _plain(text: str) -> str:
    """Return the letters and digits of a text, in small letters."""
    return "".join(filter(str.isalnum, text)).lower()


def _words_of_row(table: PageTable, wanted: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the words of each row of a table that is written with some letters, or of a form.

    :param table: The table. Its grid is changed.
    :param wanted: The letters of the written row. Many letters may also be a part of the row.
    """
    outline = Outline()
    outline.read("\n".join(write_grid(table.grid, outline)))
    for _, written, number in outline.rows:
        row = written.rows[number]
        letters = _plain(written.write(row))
        if letters != wanted and (len(wanted) < _LEAST_LETTERS or wanted not in letters):
            continue
        # A form is written as a single row.
        if len(outline.rows) == 1:
            yield [word for words in table.words for word in words]
            continue
        cells = [cell for cell in row.cells if cell]
        for grid_row, words in zip(table.grid.rows, table.words, strict=True):
            if [cell for cell in grid_row if cell] == cells:
                yield words


def _word(match: re.Match[str], boxes: Boxes) -> Piece:
    """Return a word of the page with its place."""
    return _piece(match.start(), match.end(), boxes)


def _piece(begin: int, end: int, boxes: Boxes) -> Piece:
    """Return some letters of a word with their place."""
    box = boxes[begin]
    left, middle, height = box.left, (box.top + box.bottom) / 2, box.top - box.bottom
    last = boxes[end - 1]
    # The hyphen at the end of a line may have no box.
    if last.right <= last.left and end - begin > 1:
        last = boxes[end - 2]
    return Piece(begin, end, left, max(left, last.right), middle, height)


def _fill_cells(frame: Frame, words: Sequence[Piece], boxes: Boxes) -> tuple[Cells, int]:
    """Find the cell of each letter.

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

        pieces = [
            (cell, _piece(places[0], places[-1] + 1, boxes))
            for cell, places in (
                (cell, list(group))
                for cell, group in groupby(range(word.begin, word.end), key=lambda place: _cell_of(frame, boxes[place]))
            )
        ]
        crossing += any(after.left - before.right < _GAP * word.height for (_, before), (_, after) in pairwise(pieces))
        for cell, piece in pieces:
            if cell is not None:
                cells[cell].append(piece)
    return cells, crossing


def _cell_of(frame: Frame, box: FS_RECTF) -> int | None:
    """Return the number of the cell in which the middle of a letter stands; None if it stands outside the frame."""
    return frame.cell_at((box.left + box.right) / 2, (box.top + box.bottom) / 2)


def _make_grid(text: str, layout: Layout, cells: Cells) -> tuple[Grid, list[list[tuple[int, int]]]]:
    """Write the texts of the cells into a grid.

    :returns: The grid, and for each of its rows the begin and the end of its words on the page.
    """
    boxes: dict[int, tuple[int, int, int, int]] = {}
    for number, row in enumerate(layout):
        for column, cell in enumerate(row):
            first_row, first_column, *_ = boxes.get(cell, (number, column))
            boxes[cell] = first_row, first_column, number, column

    rows = [["" for _ in row] for row in layout]
    parts: list[list[tuple[int, int]]] = [[] for _ in layout]
    spans = []
    for cell, (top, left, bottom, right) in boxes.items():
        words = [text[piece.begin : piece.end] for piece in cells.get(cell, ())]
        rows[top][left] = _BROKEN_WORD.sub("", " ".join(words))
        parts[top] += [(piece.begin, piece.end) for piece in cells.get(cell, ())]
        if bottom > top or right > left:
            spans.append(Span(top, left, bottom - top + 1, right - left + 1))
    return Grid(rows, spans), parts


def _divide_line(text: str, line: tuple[int, int], table_of: dict[int, int]) -> Iterator[tuple[int | None, int, int]]:
    """Divide a line of the page where a table begins or ends.

    :param text: The text of the page.
    :param line: The begin and the end of the line.
    :param table_of: The number of the table at the begin of each piece of a table.
    :returns: For each part: the number of its table or None, its begin and its end.
    """
    begins: list[tuple[int | None, int]] = []
    for word in _WORD.finditer(text, *line):
        for place in range(word.start(), word.end()):
            if place == word.start() or place in table_of:
                begins.append((table_of.get(place), place))
    parts = [(table, next(group)[1]) for table, group in groupby(begins, key=itemgetter(0))]
    if len(parts) < 2:
        yield parts[0][0] if parts else None, *line
        return
    ends = [begin for _, begin in parts[1:]] + [line[1]]
    for number, ((table, begin), end) in enumerate(zip(parts, ends, strict=True)):
        yield table, begin if number else line[0], end
