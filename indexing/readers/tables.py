"""Find the tables in a grid of cells, with their titles, column names, groups and rows.

The readers of Office, HTML, CSV and other files turn each table or sheet into a :class:`Grid`. A grid holds the cells
as a person sees them. :func:`write_grid` then writes each row of each table in the grid as one line of text, such as
``Item: Tea; Price: 3``. Only this module knows how people lay out tables:

1. A blank row divides two tables below each other. A blank column divides two tables beside each other.
2. A row with a single cell above a table is its title. A sentence below a table is a note, and no title.
3. The first rows of a table may name the columns. In the code, these rows are the header.
4. Merged cells hold a text that belongs to several rows or columns.
5. A row with a single cell inside a table names the group of the rows below it.
6. In some tables each column is a record, and the first column names the fields.
7. A form has a label before each value. :mod:`form` reads it, and it is written as a single row.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, dropwhile, groupby, pairwise, zip_longest
from typing import NamedTuple

from prefrag.components.text.distinct import distinct
from prefrag.components.text.table_rows import Row, Table
from prefrag.indexing.passage_splitting import MOST_CHARACTERS, MOST_WORDS
from prefrag.indexing.readers.form import FormCell, Pair, read_form
from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.report import CannotRead

# The maximum number of columns to read. Columns to the right of this limit are ignored. Excel has 16,384 columns, but
# a sheet that uses them all is mostly empty.
MOST_COLUMNS = 500
# The text of merged cells is copied to at most this many cells in total. Further merged cells are not copied. Without
# a limit, a file of a few kilobytes could ask for billions of copies.
_MOST_MERGED_CELLS = 1_000_000
# The maximum number of characters of a written text. A longer file is refused. The text can be far longer than the
# file, because a column name is repeated in each row.
_MOST_TEXT = 100_000_000
# The reason for refusing such a file.
_TOO_LONG = f"it has over {_MOST_TEXT // 10**6} million characters: split it into smaller files"
# Matches a text that has only the characters of numbers, such as "1,200.50", "-3 %", "12:30", "(40)", or an amount with
# the sign of dollars, euros or pounds. Does not match "5 kg" or "Q1". An empty text matches, too.
_NUMBER = re.compile(r"[\s\d.,:/%+\-\u20ac$\u00a3()]*")
# Matches a unit without a number, such as "%". In a cell of its own, it is no number, but the name of a column.
_UNIT = re.compile(r"[%\u20ac$\u00a3]")
# Matches a year ("2023"), a month ("2023-05"), a day ("2023-05-31") or two years ("2023/24").
_TIME = re.compile(r"(?:19|20)\d\d(?:[-/]\d\d){0,2}")
# The name of a column has at most this many characters. A row with a longer cell does not name columns.
_LONGEST_NAME = 80
# A title has at most this many characters. A longer text above a table is no part of the table. The name of a group has
# at most this many characters, too. A longer text in a row of its own is an ordinary row.
_LONGEST_TITLE = 120
# A header has at most this many rows, one below the other.
_MOST_HEADER_ROWS = 3
# In a table with at least this many columns, a row with a single cell may name a group. In a narrower table, such a row
# is an ordinary row without a value.
_LEAST_GROUPED_COLUMNS = 3
# Up to this many rows with a single cell each, between blank rows, are the title of the next table.
_MOST_TITLES = 3
# Below a table, a text with at least this many words and a stop at its end is a note, and no title of the next table.
_LEAST_NOTE_WORDS = 3
# Matches the end of a sentence at the end of a text. A colon does not match, because it may end a title.
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*$")
# Matches the beginning of a note that need not end in a stop, such as "Note: net prices" or "* net".
_NOTE = re.compile(
    r"\* | (?: notes? | n\.?b\.? | sources? | hinweis | anmerkung | quelle ) \s? :", re.IGNORECASE | re.VERBOSE
)
# Matches a person with a title, such as "Mr Cobb".
_PERSON = re.compile(
    r"(?: mrs? | ms | miss | dr | prof | rev | frau | herrn? ) \.? \s \S.*", re.IGNORECASE | re.VERBOSE
)
# Matches a day of the week in English or German, such as "Monday", "Mon" or "Montag".
_WEEKDAY = re.compile(
    r"""
    (?: mon | tues? | wed(?:nes)? | thu(?:rs)? | fri | sat(?:ur)? | sun ) (?:day)? \.?
    | (?: mon | diens | donners | frei | sams | sonn ) tag | mittwoch | sonnabend
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Matches the digits that stand together in a text.
_DIGITS = re.compile(r"\d+")
# Below a blank row, names in small letters stand in at least this many columns, above at least this many rows.
_LEAST_NAMED_COLUMNS = 2
_LEAST_NAMED_ROWS = 2
# This many rows below the names of columns show whether the columns hold numbers.
_MOST_VALUE_ROWS = 3
# A form has at most this many rows.
_MOST_FORM_ROWS = 500
# A table whose columns are its records has at most this many rows, and at most this many columns.
_MOST_SIDEWAYS = 40


class Span(NamedTuple):
    """A merged cell. Rows and columns are numbered from 0.

    :param row: The row in which the cell begins.
    :param column: The column in which the cell begins.
    :param rows: How many rows the cell covers, at least 1.
    :param columns: How many columns the cell covers, at least 1.
    """

    row: int
    column: int
    rows: int
    columns: int


class PlacedCell(NamedTuple):
    """A cell that states how many rows and columns it covers.

    :param text: The text.
    :param down: How many rows the cell covers.
    :param across: How many columns the cell covers.
    :param marks: The numbers of the ways in which the file marks the cell as a name.
    """

    text: str
    down: int
    across: int
    marks: Collection[int] = ()


@dataclass
class Grid:
    """The cells of a table or of a sheet.

    :param rows: The text of each cell, row by row. Rows may have different lengths. An empty cell is "". A merged cell
        has its text only in its first row and column; the other cells that it covers are "".
    :param spans: The merged cells.
    :param headers: The numbers of the rows, from 0, that the file itself marks as names of columns.
    :param marks: For each way in which the file marks single cells as names, such as bold letters or a background, the
        row and the column of the cells that are marked so.
    """

    rows: list[list[str]]
    spans: Sequence[Span] = ()
    headers: frozenset[int] = frozenset()
    marks: Sequence[Collection[tuple[int, int]]] = ()


def place_cells(rows: Iterable[Sequence[PlacedCell]], headers: Iterable[int] = ()) -> Grid:
    """Make a grid of cells that state how many rows and columns they cover, as cells in HTML do.

    For example, the row ``[PlacedCell("A", 2, 1), PlacedCell("B", 1, 2)]`` above the row ``[PlacedCell("c", 1, 1),
    PlacedCell("d", 1, 1)]`` becomes the rows ``["A", "B", ""]`` and ``["", "c", "d"]``.

    :param rows: The cells of each row.
    :param headers: The numbers of the rows, from 0, that name the columns.
    :returns: The grid. It has at most `MOST_COLUMNS` columns.
    """
    grid: list[list[str]] = []
    spans: list[Span] = []
    # The row and the column of the cells that are marked, by the way of marking.
    marked: dict[int, set[tuple[int, int]]] = {}
    # For each column that a cell from above covers: the first row below that cell.
    covered: dict[int, int] = {}

    for number, cells in enumerate(rows):
        line: list[str] = []
        for cell in cells:
            while covered.get(len(line), 0) > number:
                line.append("")
            column = len(line)
            if column >= MOST_COLUMNS:
                break
            width = max(1, min(cell.across, MOST_COLUMNS - column))
            if cell.down > 1 or width > 1:
                spans.append(Span(number, column, max(1, cell.down), width))
                for covered_column in range(column, column + width):
                    covered[covered_column] = number + cell.down
            for way in cell.marks:
                marked.setdefault(way, set()).add((number, column))
            line.append(cell.text)
            line += [""] * (width - 1)
        grid.append(line)

    n_ways = max(marked, default=-1) + 1
    marks = [marked.get(way, set()) for way in range(n_ways)]
    return Grid(grid, spans, frozenset(headers), marks)


def write_grid(grid: Grid, outline: Outline) -> Iterator[str]:
    """Write each row of the tables in a grid as one line of text.

    For example, the rows ``["Prices"]``, ``["Item", "Price"]`` and ``["Tea", "3"]`` become the single line
    ``Prices; Item: Tea; Price: 3``. Each line begins with a mark, which lets the outline find the row again later.
    :meth:`Table.write` writes the rest of the line.

    :param grid: The cells. The lists in ``grid.rows`` are changed.
    :param outline: The outline of the file, which makes the marks.
    :returns: The lines. A text that stands above a table but is no part of the table becomes a line without a mark.
    :raises CannotRead: As soon as the lines have more than 100 million characters in total.
    """
    return limit_text(_write(grid, outline))


def limit_text(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines unchanged until they are too long in total.

    :param lines: The lines.
    :returns: The same lines.
    :raises CannotRead: As soon as the lines have more than 100 million characters in total.
    """
    room = _MOST_TEXT
    for line in lines:
        room -= len(line)
        if room < 0:
            raise CannotRead(_TOO_LONG)
        yield line


def _write(grid: Grid, outline: Outline) -> Iterator[str]:
    """Yield the lines of :func:`write_grid`."""
    _clean_cells(grid.rows)
    merged_columns = _copy_merged_cells(grid.rows, grid.spans)
    # The texts that stand directly above the next block, and may be the title of its tables.
    above: list[str] = []
    # The last table that was read at each place, by the column at which the table begins. A form is no table here.
    earlier: dict[int, Table] = {}
    # Whether a table stands above the present block.
    is_later = False
    # The column after the last of each merged cell, by the row and the column in which it begins.
    merged_ends = {(span.row, span.column): span.column + span.columns for span in grid.spans}
    rows = [_NumberedRow(number, cells) for number, cells in enumerate(grid.rows)]
    for block in _split_at_blank_rows(rows):
        has_only_titles = len(block) <= _MOST_TITLES and all(_is_lone(row.cells) for row in block)
        if has_only_titles:
            yield from above
            above = distinct("".join(row.cells) for row in block)
            continue

        if is_later:
            yield from _take_notes(above)
        # The columns of the tables that stand beside each other.
        runs = _runs_of_columns([row.cells for row in block])
        if len(runs) > 1 and _is_wide_form(block, grid, merged_columns):
            (begin, _), *_, (_, end) = runs
            runs = [(begin, end)]
        if len(runs) > 1:
            above += _take_shared_titles(block, runs, merged_ends)
        merged_in_block = {row.number: merged_columns[row.number] for row in block if row.number in merged_columns}
        for begin, end in runs:
            merged_in_part = _columns_of_part(merged_in_block, begin, end)
            hints = _HeaderHints(merged_in_part, grid.headers, is_later, grid.marks, begin)
            rows_of_run = [_NumberedRow(row.number, row.cells[begin:end]) for row in block]
            if len(runs) > 1:
                _restore_lone_cells(rows_of_run, hints.merged_columns)
            for part in _split_at_blank_rows(rows_of_run):
                first_section, *sections = _split_at_repeated_names(part)
                yield from _write_part(first_section, hints, above, earlier, outline)
                for section in sections:
                    yield from _write_part(section, hints._replace(is_later=True), (), earlier, outline)
        above = []
        is_later = True
    yield from above


def _write_part(
    part: list[_NumberedRow],
    hints: _HeaderHints,
    above: Sequence[str],
    earlier: dict[int, Table],
    outline: Outline,
) -> Iterator[str]:
    """Yield the lines of one table or form, and of the texts above it.

    :param part: The rows of the table with its own titles, without a blank row between them. They are changed.
    :param hints: What helps to recognise the titles and the header.
    :param above: The texts that stand above the rows.
    :param earlier: The last table at each place, by the column at which it begins. It is changed.
    :param outline: The outline of the file.
    """
    titles, notes = _read_titles(part, hints, above)
    yield from notes
    pairs = _read_pairs(part, hints)
    if pairs:
        earlier.pop(hints.first_column, None)
        yield from _write_form(pairs, titles, outline)
        return
    table, lines_above = _read_table(part, hints, titles, earlier.get(hints.first_column), outline)
    earlier[hints.first_column] = table
    yield from lines_above
    yield from _write_new_rows(table, outline)


def _clean_cells(rows: list[list[str]]) -> None:
    """Replace all white space in cells by single blanks, and remove the empty cells at the ends of rows.

    :param rows: The rows, which are changed.
    :raises CannotRead: If the cells have more than 100 million characters in total.
    """
    room = _MOST_TEXT
    for number, row in enumerate(rows):
        line = [" ".join(value.split()) for value in row[:MOST_COLUMNS]]
        # Count the characters already here, before any line is written. The cells may repeat one long text many times.
        room -= sum(map(len, line))
        if room < 0:
            raise CannotRead(_TOO_LONG)
        while line and not line[-1]:
            line.pop()
        rows[number] = line


def _write_new_rows(table: Table, outline: Outline) -> Iterator[str]:
    """Yield a line for each row of a table that is not written yet. The size of the table counts the written rows."""
    written = table.size
    table.size = len(table.rows)
    for place in range(written, table.size):
        yield outline.mark_row(table, place) + table.write(table.rows[place])


class _NumberedRow(NamedTuple):
    """A row of a table with its number in the grid."""

    number: int
    cells: list[str]


class _HeaderHints(NamedTuple):
    """What helps to recognise the titles of a table and the rows that name its columns."""

    # The columns that wide merged cells cover, by the number of the row. Each pair is the first column of a merged cell
    # and the column after its last, counted from the first column of the table. The list is empty if a merged cell is
    # the only cell of its row.
    merged_columns: dict[int, list[tuple[int, int]]]
    # The numbers of the rows that the file itself marks as names of columns.
    marked: frozenset[int]
    # Whether another table stands above.
    is_later: bool
    # For each way of marking single cells, the row and the column of each marked cell in the grid.
    marks: Sequence[Collection[tuple[int, int]]]
    # The first column of the table in the grid.
    first_column: int


def _copy_merged_cells(rows: list[list[str]], spans: Sequence[Span]) -> dict[int, list[tuple[int, int]]]:
    """Copy the text of each merged cell to all cells that it covers. Return the columns of wide merged cells.

    For example, a cell that covers two columns turns ``["", "2023", ""]`` into ``["", "2023", "2023"]``, and the result
    has ``[(1, 3)]`` for that row. A merged cell that is alone in its row is a title or the name of a group, so its text
    is not copied. The result has an empty list for its row.
    """
    merged_columns: dict[int, list[tuple[int, int]]] = {}
    room = _MOST_MERGED_CELLS
    for span in spans:
        height = min(span.rows, len(rows) - span.row)
        if height < 1:
            continue
        first_row = rows[span.row]
        begin = span.column
        end = min(begin + span.columns, MOST_COLUMNS)
        width = end - begin
        text = first_row[begin] if begin < len(first_row) else ""
        if not text:
            continue

        row_below = span.row + height
        cells_below = rows[row_below] if row_below < len(rows) else []
        is_wide = width > 1
        if is_wide and _is_lone(first_row) and not _begins_left_of(cells_below, begin):
            merged_columns[span.row] = []
            continue

        room -= height * width
        if room < 0:
            break
        for number in range(span.row, row_below):
            rows[number] += [""] * (end - len(rows[number]))
            rows[number][begin:end] = [text] * width
            if is_wide:
                merged_columns.setdefault(number, []).append((begin, end))
    return merged_columns


def _begins_left_of(cells: Sequence[str], column: int) -> bool:
    """Check whether a row has text left of a column. Then a lone merged cell above it, at that column, is no title."""
    return any(cells[:column])


def _columns_of_part(
    merged_columns: dict[int, list[tuple[int, int]]], begin: int, end: int
) -> dict[int, list[tuple[int, int]]]:
    """Return the columns that wide merged cells cover in a part of the sheet, counted from its first column.

    For example, the columns ``[(0, 2), (3, 5)]`` of a row give ``[(0, 2)]`` in the part from column 3 to 5.

    :param merged_columns: The columns that wide merged cells cover in each row.
    :param begin: The first column of the part.
    :param end: The column after the last of the part.
    """
    columns_of_part: dict[int, list[tuple[int, int]]] = {}
    for number, spans in merged_columns.items():
        inside = [(max(first, begin) - begin, min(after, end) - begin) for first, after in spans]
        wide = [(first, after) for first, after in inside if after - first > 1]
        if wide or not spans:
            columns_of_part[number] = wide
    return columns_of_part


def _restore_lone_cells(rows: list[_NumberedRow], merged_columns: dict[int, list[tuple[int, int]]]) -> None:
    """Undo the copying of a merged cell that is alone in its row of a table, because another table stands beside it.

    Such a cell is a title or the name of a group, as in a sheet with a single table.

    :param rows: The rows of the table, which are changed.
    :param merged_columns: The columns that wide merged cells cover in each row of the table. It is changed, too.
    """
    for place, (number, cells) in enumerate(rows):
        spans = merged_columns.get(number, [])
        if len(spans) != 1:
            continue
        [(begin, end)] = spans
        has_others = any(cells[:begin]) or any(cells[end:])
        cells_below = rows[place + 1].cells if place + 1 < len(rows) else []
        if has_others or _begins_left_of(cells_below, begin):
            continue
        cells[begin + 1 : end] = [""] * (len(cells[begin:end]) - 1)
        merged_columns[number] = []


def _take_shared_titles(
    block: list[_NumberedRow], runs: Sequence[tuple[int, int]], merged_ends: dict[tuple[int, int], int]
) -> list[str]:
    """Remove the rows above tables beside each other that hold only a cell merged over several of these tables.

    :param block: The rows, which are changed.
    :param runs: The columns of each table.
    :param merged_ends: The column after the last of each merged cell, by the row and the column in which it begins.
    :returns: The texts of these cells. They are titles of all these tables.
    """
    _, end_of_first_table = runs[0]
    titles: list[str] = []
    while len(block) > 1 and _is_lone(block[0].cells):
        number, cells = block[0]
        text = "".join(cells)
        if merged_ends.get((number, cells.index(text)), 0) <= end_of_first_table:
            break
        titles.append(text)
        block.pop(0)
    return titles


def _take_notes(texts: list[str]) -> list[str]:
    """Remove the notes at the beginning of the texts between two tables, and return them.

    For example, in ``["Paid in two parts in May.", "Meals"]`` the first text is a note on the table above.

    :param texts: The texts, which are changed.
    """
    notes = []
    while texts and _is_note(texts[0]):
        notes.append(texts.pop(0))
    return notes


def _is_note(text: str) -> bool:
    """Check whether a text is a sentence, or begins as a note does."""
    is_sentence = len(text.split()) >= _LEAST_NOTE_WORDS and _SENTENCE_END.search(text) is not None
    return is_sentence or _NOTE.match(text) is not None


def _is_lone(row: Sequence[str]) -> bool:
    """Check whether exactly one cell of a row has text."""
    return sum(map(bool, row)) == 1


def _split_at_blank_rows(rows: Sequence[_NumberedRow]) -> Iterator[list[_NumberedRow]]:
    """Yield the blocks of rows between blank rows."""
    for has_text, block in groupby(rows, key=lambda row: any(row.cells)):
        if has_text:
            yield list(block)


def _split_at_repeated_names(part: list[_NumberedRow]) -> Iterator[list[_NumberedRow]]:
    """Yield the sections of a table in which the same names of columns stand again below a title.

    For example, this table has two sections::

        Income
        Item   Plan
        Fees    900
        Costs
        Item   Plan
        Rope    300

    :param part: The rows of the table, without a blank row between them.
    """
    names = next((row.cells for row in part if not _is_lone(row.cells)), [])
    may_be_names = len(names) > 1 and not any(value and _is_plain_number(value) for value in names)
    _, *repeated = [place for place, row in enumerate(part) if row.cells == names] if may_be_names else [0]
    begin = 0
    for place in repeated:
        end = place
        while end > begin + 1 and _names_group(part[end - 1].cells):
            end -= 1
        if end < place:
            yield part[begin:end]
            begin = end
    yield part[begin:]


def _runs_of_columns(rows: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Return the columns of each table in a block of rows, as pairs of the first column and the column after the last.

    A blank column divides two tables. For example, the rows ``["a", "b", "", "c", "d"]`` and ``["1", "2", "", "3",
    "4"]`` give ``[(0, 2), (3, 5)]``. A part with only one column is no table, so the row ``["a", "", "c", "d"]`` stays
    whole and gives ``[(0, 4)]``.
    """
    width = max(map(len, rows), default=0)
    runs: list[tuple[int, int]] = []
    for column in range(width):
        # This check is fast, because most columns have text in one of the first rows.
        if not any(column < len(row) and row[column] for row in rows):
            continue
        begin = column
        goes_on = bool(runs) and runs[-1][1] == column
        if goes_on:
            begin, _ = runs.pop()
        runs.append((begin, column + 1))
    if not runs:
        return []

    are_tables = all(end - begin > 1 for begin, end in runs)
    if are_tables:
        return runs
    first_begin, _ = runs[0]
    _, last_end = runs[-1]
    return [(first_begin, last_end)]


def _read_titles(block: list[_NumberedRow], hints: _HeaderHints, above: Sequence[str]) -> tuple[list[str], list[str]]:
    """Remove the titles of a table from a block of rows.

    :param block: The rows without a blank row between them. They are changed.
    :param hints: What helps to recognise the header.
    :param above: The texts that stand above the block.
    :returns: The titles, and the notes above them that belong to no table.
    """
    titles = [*above, *_take_titles(block, above)]
    # The last text stands directly above the table, so it is the title even if it is a sentence.
    notes = _take_notes(titles[:-1]) if hints.is_later else []
    return titles[len(notes) :], notes


def _is_wide_form(block: Sequence[_NumberedRow], grid: Grid, merged_columns: dict[int, list[tuple[int, int]]]) -> bool:
    """Check whether the parts of a block beside each other, with a gap between them, are one form."""
    hints = _HeaderHints(merged_columns, grid.headers, False, grid.marks, 0)
    below_titles = list(dropwhile(lambda row: _is_lone(row.cells), block))
    return bool(below_titles) and bool(_read_pairs(below_titles, hints))


def _read_pairs(block: Sequence[_NumberedRow], hints: _HeaderHints) -> list[Pair]:
    """Read the labels and values of a block of rows that is a form; empty if it is none.

    :param block: The rows without a blank row between them, and without titles.
    :param hints: What helps to recognise the header, and the labels.
    """
    marked = _count_marked_rows(block, hints)
    has_header = marked > 0 and not all(row.number in hints.marked for row in block)
    if has_header or len(block) > _MOST_FORM_ROWS:
        return []
    width = max(len(row.cells) for row in block)
    all_cells = _form_cells(block, hints, range(width))
    # An empty column may be a gap, or hold values that nobody has filled in yet.
    filled = {column for row in block for column in _own_columns(row, hints) if row.cells[column]}
    filled_cells = _form_cells(block, hints, sorted(filled))
    return read_form(all_cells) or read_form(filled_cells)


def _own_columns(row: _NumberedRow, hints: _HeaderHints) -> list[int]:
    """Return the columns of a row in which a cell begins. The others are covered by merged cells."""
    spans = hints.merged_columns.get(row.number, [])
    covered = {column for begin, end in spans for column in range(begin + 1, end)}
    return [column for column in range(len(row.cells)) if column not in covered]


def _form_cells(block: Sequence[_NumberedRow], hints: _HeaderHints, columns: Collection[int]) -> list[list[FormCell]]:
    """Return some columns of a block of rows as the cells of a form. A merged cell is one cell."""
    rows: list[list[FormCell]] = []
    for row in block:
        is_over_all = hints.merged_columns.get(row.number) == []
        if is_over_all:
            rows.append([FormCell("".join(row.cells), frozenset())])
            continue
        own = set(_own_columns(row, hints))
        cells: list[FormCell] = []
        for column in columns:
            if column >= len(row.cells):
                cells.append(FormCell("", frozenset()))
            elif column in own:
                place = (row.number, hints.first_column + column)
                ways = frozenset(way for way, places in enumerate(hints.marks) if place in places)
                cells.append(FormCell(row.cells[column], ways))
        rows.append(cells)
    return rows


def _write_form(pairs: Sequence[Pair], titles: Sequence[str], outline: Outline) -> Iterator[str]:
    """Write the labels and values of a form as a table with a single row, whose columns are the labels.

    A long form, and sentences in boxes, become a line for each pair or sentence, which are no rows.
    """
    title, lines = _join_titles(titles)
    yield from lines
    written = [title]
    for pair in pairs:
        written.append(f"{pair.label}: {pair.value}" if pair.label else pair.value)
    n_words = sum(len(text.split()) for text in written)
    is_short = n_words <= MOST_WORDS and sum(map(len, written)) + 2 * len(written) <= MOST_CHARACTERS
    if is_short and any(pair.label for pair in pairs):
        table = Table(outline.count_table(), title, tuple(_number_names([pair.label for pair in pairs])))
        table.rows.append(Row("", tuple(pair.value for pair in pairs)))
        yield from _write_new_rows(table, outline)
        return
    yield from filter(None, written)


def _read_table(
    block: list[_NumberedRow], hints: _HeaderHints, titles: list[str], earlier: Table | None, outline: Outline
) -> tuple[Table, list[str]]:
    """Read the table in a block of rows.

    :param block: The rows without a blank row between them, and without titles.
    :param hints: What helps to recognise the header.
    :param titles: The titles of the table.
    :param earlier: The table above this block that begins at the same column; None if there is none.
    :param outline: The outline of the file, which numbers the tables.
    :returns: The table, and the lines above it that belong to no table. The table is ``earlier`` itself if the block
        continues that table.
    """
    titles = [*titles, *_take_caption(block, hints)]
    title, lines = _join_titles(titles)
    if earlier is not None and not titles and _continues(block, earlier, hints):
        earlier.rows += _rows_with_groups(block, hints)
        return earlier, lines

    depth = _count_header_rows(block, hints)
    rows = [row.cells for row in block]
    has_marked_header = block[0].number in hints.marked
    if not has_marked_header and _is_sideways(rows, depth):
        # Turn the columns into rows.
        labels, *records = zip(*rows, strict=False)
        names = [label.removesuffix(":") for label in labels]
        table = Table(outline.count_table(), title, tuple(_number_names(names)))
        table.rows += (Row("", record) for record in records)
        return table, lines

    names = [_join_names(names_in_column) for names_in_column in zip_longest(*rows[:depth], fillvalue="")]
    if depth and earlier is not None and not titles:
        names = _fill_names(names, rows[depth:], earlier)
    # The columns below a merged cell, except the first of them. They share the name of the first.
    sharing = set[int]()
    if depth:
        last_header_row = block[depth - 1]
        for begin, end in hints.merged_columns.get(last_header_row.number, []):
            sharing.update(range(begin + 1, end))
    table = Table(outline.count_table(), title, tuple(_number_names(names, sharing)))
    table.rows += _rows_with_groups(block[depth:], hints)
    return table, lines


def _take_titles(block: list[_NumberedRow], above: Sequence[str]) -> list[str]:
    """Remove the rows with a single cell above a table, and return their texts.

    :param block: The rows, which are changed.
    :param above: The texts that stand above the block. A text that repeats the one directly above it is not returned.
    """
    titles: list[str] = []
    last_text = above[-1] if above else None
    while len(block) > 1 and _is_lone(block[0].cells):
        has_table = any(not _is_lone(row.cells) for row in block)
        if not has_table:
            break
        text = "".join(block.pop(0).cells)
        if text != last_text:
            titles.append(text)
        last_text = text
    return titles


def _take_caption(block: list[_NumberedRow], hints: _HeaderHints) -> list[str]:
    """Remove the title of a table from the first cell of a header with two rows, and return it.

    An example is this table::

        Boats            Price
        Number  Name     Summer  Winter
        7       Tern     40      30

    "Boats" is the title, because "Number" is the name of its column. The lower row must name columns of numbers.

    :param block: The rows of the table. The first cell is changed.
    :param hints: What helps to recognise the header.
    :returns: A list with the title, or an empty list.
    """
    if len(block) <= 2:
        return []
    upper, lower, *below = [row.cells for row in block[: 2 + _MOST_VALUE_ROWS]]
    caption = upper[0]
    name_below = lower[0]
    may_be_caption = 0 < len(caption) <= _LONGEST_TITLE and not _is_number(caption)
    if not may_be_caption or name_below.lower() in ("", caption.lower()):
        return []

    upper_names = ["", *upper[1:]]
    spans = hints.merged_columns.get(block[0].number, []) or _spans_above_numbers(upper_names, lower, below)
    if not spans:
        return []
    # Left of the first name that covers several columns, only the caption stands in the upper row.
    first, _ = spans[0]
    is_alone = first > 0 and not any(upper_names[:first])
    if not is_alone or not all(lower[:first]) or not _name_numbers(lower, spans, below):
        return []
    upper[0] = ""
    return [caption]


def _fill_names(names: list[str], rows: Sequence[Sequence[str]], earlier: Table) -> list[str]:
    """Fill the gaps in a row of names with the names of the table above, if its other columns are the same.

    The columns must hold the same kinds of values, and all names but the first must be those of the table above.

    For example, below a table "Costs, Number, Price", the row ``["Income", "", "Price"]`` names the columns "Income,
    Number, Price".

    :param names: The names of the columns of a table.
    :param rows: The rows below the names.
    :param earlier: The table above, which begins at the same column.
    """
    kinds_above = _kinds_of_columns(row.cells for row in earlier.rows)
    kinds = _kinds_of_columns(rows)
    has_same_columns = len(names) == len(earlier.columns) and kinds.keys() <= kinds_above.keys()
    if not has_same_columns or not all(kinds[column] <= kinds_above[column] for column in kinds):
        return names
    # Other names, such as those of other days, show that the columns are others too. A unit such as "%" shows nothing.
    pairs = zip(names[1:], earlier.columns[1:], strict=True)
    if any(name.isalpha() and name != name_above for name, name_above in pairs):
        return names
    return [name or name_above for name, name_above in zip(names, earlier.columns, strict=True)]


def _join_names(names: Iterable[str]) -> str:
    """Join the names of a column from the rows of the header.

    A name that covers several rows of the header stands in each of these rows. It is written only once.
    """
    return " ".join(distinct(filter(None, names)))


def _join_titles(titles: Sequence[str]) -> tuple[str, list[str]]:
    """Return the title of a table, and the other lines above the table.

    All lines together are the title if they are short enough. Otherwise only the last line is the title. If the last
    line is too long, too, the table has no title. For example, ``["Annual report", "Sales"]`` gives
    ``("Annual report, Sales", [])``.
    """
    joined = ", ".join(titles)
    if len(joined) <= _LONGEST_TITLE:
        return joined, []
    if len(titles[-1]) <= _LONGEST_TITLE:
        return titles[-1], list(titles[:-1])
    return "", list(titles)


def _continues(block: Sequence[_NumberedRow], earlier: Table, hints: _HeaderHints) -> bool:
    """Check whether rows below a blank row belong to the table above that blank row.

    There must be at least two rows. Words and numbers must stand in the same columns as above. The first row must not
    name columns.
    """
    first = block[0].cells
    rest = [row.cells for row in block[1:]]
    if not rest or not earlier.columns:
        return False
    if block[0].number in hints.marked or len(first) > len(earlier.columns):
        return False

    kinds_above = _kinds_of_columns(row.cells for row in earlier.rows)
    kinds = _kinds_of_columns([first, *rest])
    if kinds.keys() != kinds_above.keys():
        return False
    are_same_kinds = all(kinds[column] <= kinds_above[column] for column in kinds)
    if not are_same_kinds:
        return False

    values_of_first = list(filter(None, first))
    names_above = set(map(str.lower, earlier.columns))
    if any(value.lower() in names_above for value in values_of_first):
        return False
    if any(map(_is_number, values_of_first)):
        return True
    if _has_letters_of_names(first, earlier, rest):
        return False

    # A word above a column of numbers is the name of this column, so a new table begins here.
    kinds_below = _kinds_of_columns(rest)
    has_column_of_numbers = any(kinds_below.get(column) == {True} for column in range(len(first)))
    return not has_column_of_numbers


def _has_letters_of_names(row: Sequence[str], earlier: Table, rest: Sequence[Sequence[str]]) -> bool:
    """Check whether a row is all in small letters, as the names of columns are, where no value is.

    For example, ``["port", "pilot"]`` is so below the names ``["boat", "cook"]`` and the row ``["Tern", "Ada Lund"]``.
    Capitals show nothing, because values may be short forms, such as "BMW".

    :param row: The row.
    :param earlier: The table above it.
    :param rest: The rows below it. A single row shows too little.
    """
    if len(row) < _LEAST_NAMED_COLUMNS or len(rest) < _LEAST_NAMED_ROWS:
        return False
    are_short_words = not any(_has_digit(value) or len(value) > _LONGEST_NAME for value in row)
    if not are_short_words or len(set(row)) < len(row):
        return False
    if not all(map(str.islower, (*row, *earlier.columns))):
        return False
    values = filter(None, chain(*(earlier_row.cells for earlier_row in earlier.rows), *rest))
    return all(value[0].isupper() or value[0].isdigit() for value in values)


def _kinds_of_columns(rows: Iterable[Sequence[str]]) -> dict[int, set[bool]]:
    """Return, for each column with text, whether its cells are numbers.

    The value is ``{True}`` if all cells are numbers, ``{False}`` if none is, and ``{True, False}`` for a mixture. For
    example, the rows ``["Tea", "3"]`` and ``["Salt", "n/a"]`` give ``{0: {False}, 1: {True, False}}``.
    """
    kinds: dict[int, set[bool]] = {}
    for row in rows:
        for column, value in enumerate(row):
            if value:
                kinds.setdefault(column, set()).add(_is_number(value))
    return kinds


def _rows_with_groups(block: Sequence[_NumberedRow], hints: _HeaderHints) -> Iterator[Row]:
    """Yield the rows of a table with the groups in which they stand.

    A row with a single cell names a group in two cases: its cell is merged, or the first row of the table also has only
    a single cell. For example, the rows ``["Drinks"]`` and ``["Tea", "3", "4"]`` give one row: its group is "Drinks"
    and its cells are ``("Tea", "3", "4")``.
    """
    group = ""
    # Whether the group has no rows yet.
    is_empty = False
    width = max(len(row.cells) for row in block)
    has_groups = width >= _LEAST_GROUPED_COLUMNS and _names_group(block[0].cells)
    for number, cells in block:
        is_merged = hints.merged_columns.get(number) == []
        may_name_group = has_groups or is_merged
        if may_name_group and _names_group(cells):
            # The last group has no rows. So its name is no name, but an ordinary row.
            if is_empty:
                yield Row("", (group,))
            group = cells[0]
            is_empty = True
        elif any(cells):
            is_empty = False
            yield Row(group, tuple(cells))
    if is_empty:
        yield Row("", (group,))


def _names_group(row: Sequence[str]) -> bool:
    """Check whether the first cell of a row is the only one with text, and is short and no number."""
    if not _is_lone(row):
        return False
    is_short = 0 < len(row[0]) <= _LONGEST_TITLE
    return is_short and not _is_number(row[0])


def _count_header_rows(block: Sequence[_NumberedRow], hints: _HeaderHints) -> int:
    """Count the first rows that name the columns; 0 if the table has no header."""
    if len(block) < 2:
        return 0

    rows = [row.cells for row in block[: _MOST_HEADER_ROWS + 2]]
    most = min(_MOST_HEADER_ROWS, len(block) - 1)
    depth = 1
    while depth < most and _header_continues_below(rows, depth, block[depth - 1].number, hints):
        depth += 1
    if depth > 1:
        return depth

    marked = _count_marked_rows(block, hints)
    if marked > 1 and any(rows[marked - 1]):
        return marked
    return int(_are_names(rows[0], rows[1], has_header=marked > 0))


def _count_marked_rows(block: Sequence[_NumberedRow], hints: _HeaderHints) -> int:
    """Count the first rows that the file marks as names of columns."""
    marked = 0
    for row in block[: _MOST_HEADER_ROWS + 1]:
        if row.number not in hints.marked:
            break
        marked += 1
    # Some sheets are bold all over, so all rows are marked. Then only the first row can name the columns.
    is_bold_all_over = marked == len(block) or marked > _MOST_HEADER_ROWS
    return 1 if is_bold_all_over else marked


def _header_continues_below(rows: list[list[str]], depth: int, number: int, hints: _HeaderHints) -> bool:
    """Check whether the next row of a table still belongs to the header.

    The next row belongs to the header if it has names below a name that covers several columns, as here::

        Item  North         South
              Sales  Costs  Sales  Costs

    If the result is True, each name in the upper row is copied to all columns that the name covers.

    :param rows: The first rows of the table. The upper row is changed.
    :param depth: The number of header rows that are known so far. The last of these is the upper row.
    :param number: The number of the upper row in the grid.
    :param hints: What helps to recognise the header.
    :returns: Whether ``rows[depth]`` is a header row.
    """
    upper, lower = rows[depth - 1], rows[depth]
    spans = hints.merged_columns.get(number, [])
    may_lack_merged_cells = depth == 1 and len(rows) > 2
    if not spans and may_lack_merged_cells:
        below = rows[depth + 1 :]
        spans = _spans_by_gaps(upper, lower) or _spans_above_numbers(upper, lower, below)
        upper = _copy_names(upper, spans)
    if not spans:
        return False

    # The columns that stand under a name that covers several columns.
    under: set[int] = set()
    for begin, end in spans:
        under.update(range(begin, end))
        # The columns under one name must not all have the same name themselves.
        if len(set(lower[begin:end])) < 2:
            return False
    if not all(_has_name(lower, column) for column in under):
        return False
    for column, value in enumerate(lower[: len(upper)]):
        # In all other columns, the lower row may only repeat the name above.
        if column in under or not value:
            continue
        if upper[column] not in ("", value):
            return False
    rows[depth - 1][:] = upper
    return True


def _copy_names(row: list[str], spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return a row in which each name that covers several columns stands in all of them.

    For example, ``["North", "", "South"]`` with the columns ``[(0, 2), (2, 4)]`` gives ``["North", "North", "South",
    "South"]``.
    """
    width = max((end for _, end in spans), default=0)
    copied = row + [""] * (width - len(row))
    for begin, end in spans:
        copied[begin:end] = [copied[begin]] * (end - begin)
    return copied


def _has_name(row: Sequence[str], column: int) -> bool:
    """Check whether a row has a text in a column that may be a name, and is no plain number."""
    return column < len(row) and bool(row[column]) and not _is_plain_number(row[column])


def _spans_by_gaps(upper: Sequence[str], lower: Sequence[str]) -> list[tuple[int, int]]:
    """Return the columns of names that cover several columns, in a file without merged cells.

    In such a file, an empty cell right of a name belongs to the name. The lower row must have a name twice. For
    example, ``["North", "", "South", ""]`` above ``["Sales", "Costs", "Sales", "Costs"]`` gives ``[(0, 2), (2, 4)]``.
    """
    has_repeated_name = len(set(map(str.lower, lower))) < len(lower)
    if not has_repeated_name or len(lower) <= sum(map(bool, upper)):
        return []
    if "" in lower or any(map(_is_number, lower)):
        return []
    begins = [column for column, name in enumerate(upper) if name]
    # A name covers the columns up to the next name.
    spans = pairwise([*begins, len(lower)])
    return [(begin, end) for begin, end in spans if end - begin > 1]


def _spans_above_numbers(
    upper: Sequence[str], lower: Sequence[str], below: Sequence[Sequence[str]]
) -> list[tuple[int, int]]:
    """Return the columns of names that cover several columns, in a file without merged cells.

    The cells below such a name must be names, too, and those below these names must be numbers. For example, ``["Item",
    "Price", ""]`` above ``["", "Trade", "List"]`` and ``["Tea", "3", "4"]`` gives ``[(1, 3)]``.

    :param upper: The upper row of names.
    :param lower: The row below it.
    :param below: The next rows.
    """
    width = max(len(upper), len(lower))
    begins = [column for column, name in enumerate(upper) if name]
    covered = pairwise([*begins, width])
    spans = [(begin, end) for begin, end in covered if end - begin > 1 and any(lower[begin + 1 : end])]
    return spans if _name_numbers(lower, spans, below) else []


def _name_numbers(lower: Sequence[str], spans: Sequence[tuple[int, int]], below: Sequence[Sequence[str]]) -> bool:
    """Check whether a row has names in some columns, and the next rows have only numbers in them.

    :param lower: The row that may have names.
    :param spans: The columns, as pairs of the first column and the column after the last.
    :param below: The next rows.
    """
    n_values = 0
    for begin, end in spans:
        for column in range(begin, end):
            name = lower[column] if column < len(lower) else ""
            values = [row[column] for row in below[:_MOST_VALUE_ROWS] if column < len(row) and row[column]]
            n_values += len(values)
            are_numbers = all(map(_is_number, values)) and not _is_plain_number(name)
            have_digits = all(map(_has_digit, values)) and not _has_digit(name)
            if not name or not (are_numbers or have_digits):
                return False
    return n_values > 1


def _is_sideways(rows: Sequence[Sequence[str]], depth: int) -> bool:
    """Check whether each column of a table is a record, and the first column names the fields.

    An example are the rows ``["City", "Rome", "Oslo"]`` and ``["People", "2800000", "700000"]``. In such a table, the
    values of one row either all have digits or all have none, and rows of both kinds exist. Such a table has at least
    three columns, because two columns may be a form, which :func:`read_form` knows.

    :param rows: The rows of the table.
    :param depth: The number of first rows that seem to name columns. The values of these rows tell nothing.
    :returns: Whether the columns are records.
    """
    width = len(rows[0])
    has_size = 2 < width <= _MOST_SIDEWAYS and 2 <= len(rows) <= _MOST_SIDEWAYS
    if not has_size:
        return False
    is_full = all(len(row) == width and all(row) for row in rows)
    if not is_full:
        return False

    labels = [row[0] for row in rows]
    if any(map(_is_number, labels)) or max(map(len, labels)) > _LONGEST_NAME:
        return False
    different_labels = {label.lower() for label in labels}
    if len(different_labels) < len(rows):
        return False

    # For each row, whether its values have digits.
    kinds = [set(map(_has_digit, row[1:])) for row in rows]
    is_alike_in_rows = all(len(kinds_in_row) == 1 for kinds_in_row in kinds)
    kinds_of_records = set[bool]().union(*kinds[depth:])
    return is_alike_in_rows and len(kinds_of_records) == 2


def _has_digit(value: str) -> bool:
    """Check whether a cell has a digit."""
    return any(map(str.isdigit, value))


def _number_names(row: Sequence[str], sharing: Collection[int] = ()) -> list[str]:
    """Add a number to repeated names. For example, ``["Price", "Name", "Price"]`` gives "Price", "Name", "Price 2".

    :param row: The names.
    :param sharing: The numbers of the columns that stand under the same merged cell as the column before them. Such a
        column gets the name of the column before it, without a further number.
    :returns: The names with numbers.
    """
    written = {name.lower() for name in row}
    # How many times each name occurred so far, or the last number that it got.
    counts = Counter[str]()
    names: list[str] = []
    for column, name in enumerate(row):
        if column in sharing and name == row[column - 1]:
            names.append(names[-1])
            continue
        key = name.lower()
        counts[key] += 1
        if not name or counts[key] == 1:
            names.append(name)
            continue
        # The table itself may have a "Price 2".
        while f"{name} {counts[key]}".lower() in written:
            counts[key] += 1
        numbered = f"{name} {counts[key]}"
        written.add(numbered.lower())
        names.append(numbered)
    return names


def _is_number(value: str) -> bool:
    """Check whether a cell has only the characters of numbers, as in "1,200.50"."""
    return _NUMBER.fullmatch(value) is not None and not _UNIT.fullmatch(value)


def _is_plain_number(value: str) -> bool:
    """Check whether a cell is a number, but no year, month or day."""
    return _is_number(value) and not _TIME.fullmatch(value)


def _are_names(first: Sequence[str], second: Sequence[str], has_header: bool) -> bool:
    """Check whether the first row of a table names the columns.

    The cells must be short, and must not all be the same. Words are names. Numbers are names if the file marks the row
    as a header. Years, months or days in order are names, too, if the cells below them are other values. For example,
    ``["Region", "2023", "2024"]`` above ``["North", "5", "6"]`` names the columns, but ``["Item", "3"]`` does not.

    :param first: The first row.
    :param second: The second row.
    :param has_header: Whether the file marks the first row as a header.
    :returns: Whether the first row names the columns.
    """
    values = [value for value in first if value]
    different_values = {value.lower() for value in values}
    if len(different_values) < 2 or max(map(len, values)) > _LONGEST_NAME:
        return False
    columns_of_numbers = [column for column, value in enumerate(first) if value and _is_number(value)]
    if has_header:
        return True
    if _is_like_row_below(first, second):
        return False
    if not columns_of_numbers:
        return True

    numbers = [first[column] for column in columns_of_numbers]
    are_times = all(map(_TIME.fullmatch, numbers))
    ascending = sorted(set(numbers))
    is_in_order = ascending in (numbers, numbers[::-1])
    below = [second[column] for column in columns_of_numbers if column < len(second)]
    others_below = [value for value in below if value and not _TIME.fullmatch(value)]
    has_named_columns = are_times and is_in_order and bool(others_below)
    if not has_named_columns:
        return False
    # A single year may also be an ordinary value, so the cell below it must be a number that is no year.
    return len(numbers) > 1 or all(map(_is_number, others_below))


def _is_like_row_below(first: Sequence[str], second: Sequence[str]) -> bool:
    """Check whether a row has a value of the same kind as the row below it, so that it does not name the columns.

    Two values are of the same kind if they differ only in their digits, or if both are persons with a title or days of
    the week. For example, "8 to 5" does not name "9 to 5", and "Mr Cobb" does not name "Mrs Prowse". But several
    persons or days in the first row may name columns, as in a rota.
    """
    n_persons = 0
    n_weekdays = 0
    pairs = [pair for pair in zip(first, second, strict=False) if not any(map(_is_number, pair))]
    for value, value_below in pairs:
        differ_in_digits = value != value_below and _DIGITS.sub("0", value) == _DIGITS.sub("0", value_below)
        if differ_in_digits:
            return True
        n_persons += all(map(_PERSON.fullmatch, (value, value_below)))
        n_weekdays += all(map(_WEEKDAY.fullmatch, (value, value_below)))
    return n_persons == 1 or n_weekdays == 1


def spans_of_kept(spans: Iterable[Span], numbers: Sequence[int]) -> list[Span]:
    """Correct the rows of merged cells after some empty rows of the file were left out.

    For example, only the rows 0, 1, 5 and 6 of the file remain. Then a merged cell that begins in row 5 of the file
    begins in row 2 of the remaining rows.

    :param spans: The merged cells. Their rows are counted as in the file.
    :param numbers: The number in the file of each remaining row, in ascending order.
    :returns: The merged cells with rows counted as in the list of remaining rows. A merged cell whose first row was
        left out is not returned.
    """
    moved = []
    for span in spans:
        # The remaining rows of the merged cell are those from `begin` up to, but not including, `end`.
        begin = bisect_left(numbers, span.row)
        end = bisect_left(numbers, span.row + span.rows)
        if begin < end and numbers[begin] == span.row:
            moved.append(Span(begin, span.column, end - begin, span.columns))
    return moved


def without_columns(grid: Grid, hidden: Collection[int]) -> Grid:
    """Remove hidden columns from a sheet.

    A merged cell whose first column is hidden keeps its text if another of its columns is shown.

    :param grid: The cells of the sheet.
    :param hidden: The numbers of the hidden columns, from 0.
    :returns: The cells of the other columns.
    """
    if not hidden:
        return grid
    width = max(map(len, grid.rows), default=0)
    # For each column of the sheet, the number of shown columns left of it.
    places = [0]
    for column in range(max(width, MOST_COLUMNS)):
        is_shown = column not in hidden
        places.append(places[-1] + is_shown)

    rows = [list(row) for row in grid.rows]
    spans = []
    for span in grid.spans:
        end_column = span.column + span.columns
        begin = places[min(span.column, MOST_COLUMNS)]
        end = places[min(end_column, MOST_COLUMNS)]
        if begin == end:
            continue
        spans.append(span._replace(column=begin, columns=end - begin))
        row = rows[span.row] if span.row < len(rows) else []
        first_shown = next(column for column in range(span.column, end_column) if column not in hidden)
        if first_shown > span.column and span.column < len(row):
            row += [""] * (first_shown + 1 - len(row))
            row[first_shown] = row[span.column]
    shown_rows = [_without_cells(row, hidden) for row in rows]
    marks = []
    for cells in grid.marks:
        shown_cells = [(row, column) for row, column in cells if column not in hidden]
        marks.append({(row, places[column]) for row, column in shown_cells})
    return Grid(shown_rows, spans, grid.headers, marks)


def _without_cells(row: Sequence[str], hidden: Collection[int]) -> list[str]:
    """Return the cells of a row except those in hidden columns."""
    return [text for column, text in enumerate(row) if column not in hidden]
