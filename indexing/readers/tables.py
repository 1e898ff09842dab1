"""Find the tables in a grid of cells: titles, headers, groups and rows.

Each reader of a kind of file gives its tables as a :class:`Grid`, whose cells are as a person sees them. This module
alone knows how people lay out tables: a title above, names of columns in one or several rows, merged cells, rows that
name a group, several tables beside or below each other, and tables whose columns are the records.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import NamedTuple

from prefrag.components.text.table_rows import Row, Table
from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.report import CannotRead

# The maximum number of columns to read. Excel has 16,384 columns, but a sheet that uses them all is mostly empty.
MOST_COLUMNS = 500
# The maximum number of cells that merged cells are copied to. A file of a few kilobytes can merge billions.
_MOST_FILLED = 1_000_000
# The maximum length of a text. It can be far longer than the file, because a column name is repeated in each row.
_MOST_TEXT = 100_000_000
_TOO_LONG = f"it has over {_MOST_TEXT // 10**6} million characters: split it into smaller files"
# Only the characters of numbers, as in "1,200.50", "-3 %", "12:30", "(40)" or an amount in dollars, euros or pounds.
_NUMBER = re.compile(r"[\s\d.,:/%+\-\u20ac$\u00a3()]*")
# A year, a month, a day, or two years such as 2023/24.
_TIME = re.compile(r"(?:19|20)\d\d(?:[-/]\d\d){0,2}")
# The maximum number of characters in the name of a column, and in a title or the name of a group.
_LONGEST_NAME = 80
_LONGEST_TITLE = 120
# The maximum number of rows that name the columns, one below the other. Such a row is called a floor of the header.
_MOST_FLOORS = 3
# In a table of fewer columns, a row with a single cell is a row without a value rather than the name of a group.
_FEWEST_GROUPED = 3
# Up to this many rows with a single cell each, between blank rows, are the title of the next table.
_MOST_TITLES = 3
# A table whose columns are its records has at most this many rows, and as many columns.
_MOST_SIDEWAYS = 40


class Span(NamedTuple):
    """A merged cell: where it begins, and how many rows and columns it covers."""

    row: int
    column: int
    rows: int
    columns: int


@dataclass
class Grid:
    """The cells of a table or of a sheet."""

    rows: list[list[str]]
    spans: Sequence[Span] = ()
    headers: frozenset[int] = frozenset()  # the rows that the file itself marks as names of columns


def place_cells(rows: Iterable[Sequence[tuple[str, int, int]]], headers: Iterable[int] = ()) -> Grid:
    """Make a grid of rows whose cells are given with the numbers of rows and columns that they cover, as in HTML."""
    grid: list[list[str]] = []
    spans: list[Span] = []
    covered: dict[int, int] = {}  # for a column that a cell from above covers, the first row that is free again
    for number, cells in enumerate(rows):
        line: list[str] = []
        for text, down, across in cells:
            while covered.get(len(line), 0) > number:
                line.append("")
            if len(line) >= MOST_COLUMNS:
                break
            width = max(1, min(across, MOST_COLUMNS - len(line)))
            if down > 1 or width > 1:
                spans.append(Span(number, len(line), max(1, down), width))
                covered |= dict.fromkeys(range(len(line), len(line) + width), number + down)
            line += [text, *[""] * (width - 1)]
        grid.append(line)
    return Grid(grid, spans, frozenset(headers))


def write_grid(grid: Grid, outline: Outline) -> Iterator[str]:
    """Write the rows of the tables in a grid, each on a line with a mark; see :meth:`Table.write`.

    :param grid: The cells. Its lists are changed.
    :param outline: The outline of the file, which makes the marks.
    :returns: The lines. Above a table may be lines without a mark, for text that is no part of it.
    :raises CannotRead: As soon as the lines are too long in total.
    """
    return limit_text(_write(grid, outline))


def limit_text(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines unchanged. Raises CannotRead as soon as they are too long in total."""
    room = _MOST_TEXT
    for line in lines:
        room -= len(line)
        if room < 0:
            raise CannotRead(_TOO_LONG)
        yield line


def _write(grid: Grid, outline: Outline) -> Iterator[str]:
    rows, room = grid.rows, _MOST_TEXT
    for number, row in enumerate(rows):
        line = [" ".join(value.split()) for value in row[:MOST_COLUMNS]]
        # What is too long to be written is refused before more of it is read: cells may repeat one long text.
        room -= sum(map(len, line))
        if room < 0:
            raise CannotRead(_TOO_LONG)
        while line and not line[-1]:
            line.pop()
        rows[number] = line
    wide = _fill(rows, grid.spans)
    above: list[str] = []
    earlier: dict[int, Table] = {}  # by the column at which they begin
    for block in _filled([*enumerate(rows)]):
        if len(block) <= _MOST_TITLES and all(_is_lone(row) for _, row in block):
            yield from above
            above = list(dict.fromkeys("".join(row) for _, row in block))
            continue
        for first, last in _runs_of_columns([row for _, row in block]):
            floors = _Floors(wide, grid.headers, first)
            for part in _filled([(number, row[first:last]) for number, row in block]):
                table, lines = _read_table(part, floors, above, earlier.get(first), outline)
                earlier[first] = table
                yield from lines
                # The table may be the earlier one, some of whose rows are written already.
                written = table.size
                table.size = len(table.rows)
                for place in range(written, table.size):
                    yield outline.mark_row(table, place) + table.write(table.rows[place])
        above = []
    yield from above


class _Floors(NamedTuple):
    """What tells the rows of a header."""

    # For each row, the columns that merged cells cover: begin and end. Empty if a merged cell has its row alone.
    wide: dict[int, list[tuple[int, int]]]
    marked: frozenset[int]
    first: int  # the column at which the table begins


def _fill(rows: list[list[str]], spans: Sequence[Span]) -> dict[int, list[tuple[int, int]]]:
    """Copy the text of each merged cell to all cells that it covers, except of a title, which has its row alone."""
    wide: dict[int, list[tuple[int, int]]] = {}
    room = _MOST_FILLED
    for span in spans:
        height = min(span.rows, len(rows) - span.row)
        begin, end = span.column, min(span.column + span.columns, MOST_COLUMNS)
        if height < 1 or begin >= len(rows[span.row]) or not rows[span.row][begin]:
            continue
        text = rows[span.row][begin]
        below = rows[span.row + height] if span.row + height < len(rows) else []
        first_below = next((column for column, value in enumerate(below) if value), begin)
        is_wide = end - begin > 1
        if is_wide and begin <= first_below and _is_lone(rows[span.row]):
            wide[span.row] = []
            continue
        room -= height * (end - begin)
        if room < 0:
            break
        for number in range(span.row, span.row + height):
            rows[number] += [""] * (end - len(rows[number]))
            rows[number][begin:end] = [text] * (end - begin)
            if is_wide:
                wide.setdefault(number, []).append((begin, end))
    return wide


def _is_lone(row: Sequence[str]) -> bool:
    """Check whether a single cell of a row has text."""
    return sum(map(bool, row)) == 1


def _filled(rows: Sequence[tuple[int, list[str]]]) -> Iterator[list[tuple[int, list[str]]]]:
    """Divide rows, which are given with their numbers, at blank rows."""
    for is_filled, block in groupby(rows, key=lambda row: any(row[1])):
        if is_filled:
            yield list(block)


def _runs_of_columns(rows: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Divide a block at blank columns, if at least two columns with text stand on either side."""
    width = max(map(len, rows), default=0)
    runs: list[tuple[int, int]] = []
    for column in range(width):
        # Most columns have text in one of the first rows.
        if not any(column < len(row) and row[column] for row in rows):
            continue
        if runs and column == runs[-1][1]:
            runs[-1] = (runs[-1][0], column + 1)
        else:
            runs.append((column, column + 1))
    if len(runs) > 1 and all(end - begin > 1 for begin, end in runs):
        return runs
    return [(runs[0][0], runs[-1][1])] if runs else []


def _read_table(
    block: list[tuple[int, list[str]]], floors: _Floors, above: list[str], earlier: Table | None, outline: Outline
) -> tuple[Table, list[str]]:
    """Read a block of rows. Returns its table, which may be the earlier one, and the lines that belong to no table."""
    titles = [*above]
    while len(block) > 1 and _is_lone(block[0][1]) and not all(_is_lone(row) for _, row in block):
        text = "".join(block.pop(0)[1])
        if text not in titles[-1:]:
            titles.append(text)
    title, lines = _join_titles(titles)
    if earlier is not None and not titles and _continues(block, earlier, floors):
        earlier.rows += _grouped(block, floors)
        return earlier, []
    depth = _count_floors(block, floors)
    rows = [row for _, row in block]
    if block[0][0] not in floors.marked and _is_sideways(rows, depth):
        labels, *records = zip(*rows, strict=False)
        names = [label.removesuffix(":") for label in labels]
        table = Table(outline.count_table(), title, tuple(_number_names(names)))
        table.rows += (Row("", record) for record in records)
        return table, lines
    # A name that covers several floors of the header stands in each of them, but is written once.
    names = [" ".join(dict.fromkeys(filter(None, floor))) for floor in zip_longest(*rows[:depth], fillvalue="")]
    table = Table(outline.count_table(), title, tuple(_number_names(names)))
    table.rows += _grouped(block[depth:], floors)
    return table, lines


def _join_titles(titles: Sequence[str]) -> tuple[str, list[str]]:
    """Join what stands above a table to its title, or use only the last line. Returns the title and the other lines."""
    joined = ", ".join(titles)
    if len(joined) <= _LONGEST_TITLE:
        return joined, []
    if len(titles[-1]) <= _LONGEST_TITLE:
        return titles[-1], list(titles[:-1])
    return "", list(titles)


def _continues(block: Sequence[tuple[int, list[str]]], earlier: Table, floors: _Floors) -> bool:
    """Check whether rows below a blank row belong to the table above it.

    They must be at least two, have text and numbers in the same columns as above, and not begin with names of columns.
    """
    number, first = block[0]
    rest = [row for _, row in block[1:]]
    if not rest or not earlier.columns:
        return False
    if number in floors.marked or len(first) > len(earlier.columns):
        return False
    kinds_above = _kinds(row.cells for row in earlier.rows)
    kinds = _kinds([first, *rest])
    if kinds.keys() != kinds_above.keys() or not all(kinds[column] <= kinds_above[column] for column in kinds):
        return False
    names_above = set(map(str.lower, earlier.columns))
    if any(value and value.lower() in names_above for value in first):
        return False
    if any(value and _is_number(value) for value in first):
        return True
    # Words above a column of numbers are its name.
    for column in range(len(first)):
        values = [row[column] for row in rest if column < len(row) and row[column]]
        if values and all(map(_is_number, values)):
            return False
    return True


def _kinds(rows: Iterable[Sequence[str]]) -> dict[int, set[bool]]:
    """Find the columns with text, and for each whether its cells are numbers: {True}, {False} or, for both, the two."""
    kinds: dict[int, set[bool]] = {}
    for row in rows:
        for column, value in enumerate(row):
            if value:
                kinds.setdefault(column, set()).add(_is_number(value))
    return kinds


def _grouped(block: Sequence[tuple[int, list[str]]], floors: _Floors) -> Iterator[Row]:
    """Yield the rows with their groups. A row of one cell names one if it is merged, or if such a row comes first."""
    group = ""
    is_empty = False  # whether the group has no rows yet
    has_groups = max(len(row) for _, row in block) >= _FEWEST_GROUPED and _names_group(block[0][1])
    for number, row in block:
        may_name_group = has_groups or floors.wide.get(number) == []
        if may_name_group and _names_group(row):
            # A name without rows is a row itself.
            if is_empty:
                yield Row("", (group,))
            group = row[0]
            is_empty = True
        elif any(row):
            is_empty = False
            yield Row(group, tuple(row))
    if is_empty:
        yield Row("", (group,))


def _names_group(row: Sequence[str]) -> bool:
    """Check whether the first cell of a row is the only one with text, and could be the name of a group."""
    return _is_lone(row) and 0 < len(row[0]) <= _LONGEST_TITLE and not _is_number(row[0])


def _count_floors(block: Sequence[tuple[int, list[str]]], floors: _Floors) -> int:
    """Count the rows that name the columns."""
    if len(block) < 2:
        return 0
    marked = 0
    while marked < len(block) and marked <= _MOST_FLOORS and block[marked][0] in floors.marked:
        marked += 1
    # In a sheet that is bold all over, only the first row can name the columns.
    if marked == len(block) or marked > _MOST_FLOORS:
        marked = 1
    rows = [row for _, row in block[: _MOST_FLOORS + 2]]
    most = min(_MOST_FLOORS, len(block) - 1)
    depth = 1
    while depth < most and _has_floor_below(rows, depth, block[depth - 1][0], floors):
        depth += 1
    if depth > 1:
        return depth
    if marked > 1 and any(rows[marked - 1]):
        return marked
    return int(_are_names(rows[0], rows[1], marked > 0))


def _has_floor_below(rows: list[list[str]], depth: int, number: int, floors: _Floors) -> bool:
    """Check whether a row of names continues in the next row, below names that cover several columns.

    ``depth`` rows name the columns so far; in the grid, the last of them has the ``number``. If the next row does, too,
    each name above it is copied, in ``rows``, to all columns that the name covers.
    """
    upper, lower = rows[depth - 1], rows[depth]
    spans = [(begin - floors.first, end - floors.first) for begin, end in floors.wide.get(number, ())]
    if not spans and depth == 1 and len(rows) > 2:
        spans = _spans_by_gaps(upper, lower)
        if spans:
            upper = upper + [""] * (max(end for _, end in spans) - len(upper))
            for begin, end in spans:
                upper[begin:end] = [upper[begin]] * (end - begin)
    if not spans:
        return False
    under: set[int] = set()
    for begin, end in spans:
        under.update(range(max(begin, 0), end))
        # Below a name that covers several columns, these must have different names.
        if len(set(lower[max(begin, 0) : end])) < 2:
            return False
    if any(column >= len(lower) or not lower[column] or _is_plain_number(lower[column]) for column in under):
        return False
    for column, value in enumerate(lower[: len(upper)]):
        # Beside them, the name above may only be repeated.
        if column not in under and value and upper[column] not in ("", value):
            return False
    rows[depth - 1][:] = upper
    return True


def _spans_by_gaps(upper: Sequence[str], lower: Sequence[str]) -> list[tuple[int, int]]:
    """Find names that cover several columns in files without merged cells: gaps above names that stand twice."""
    has_repeated_name = len(set(map(str.lower, lower))) < len(lower)
    if not has_repeated_name or len(lower) <= sum(map(bool, upper)):
        return []
    if "" in lower or any(map(_is_number, lower)):
        return []
    begins = [column for column, name in enumerate(upper) if name]
    ends = [*begins[1:], len(lower)]
    return [(begin, end) for begin, end in zip(begins, ends, strict=True) if end - begin > 1]


def _is_sideways(rows: Sequence[Sequence[str]], depth: int) -> bool:
    """Check whether the columns of a table are its records, named in its first column.

    Values are of two kinds, with digits or without. In each row, all values then are of the same kind, and there are
    rows of both kinds. In a table of two columns, all labels end in a colon instead.
    """
    width = len(rows[0])
    if not 2 <= width <= _MOST_SIDEWAYS or not 2 <= len(rows) <= _MOST_SIDEWAYS:
        return False
    if any(len(row) != width or not all(row) for row in rows):
        return False
    labels = [row[0] for row in rows]
    if any(map(_is_number, labels)) or max(map(len, labels)) > _LONGEST_NAME:
        return False
    if len({label.lower() for label in labels}) < len(rows):
        return False
    if width == 2:
        return all(label.endswith(":") for label in labels)
    kinds = [set(map(_has_digit, row[1:])) for row in rows]
    is_alike_in_rows = all(len(kinds_in_row) == 1 for kinds_in_row in kinds)
    return is_alike_in_rows and len(set[bool]().union(*kinds[depth:])) == 2


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value))


def _number_names(row: Sequence[str]) -> list[str]:
    """Add a number to the names that are repeated, as in "Price" and "Price 2"."""
    counts = Counter[str]()
    names = []
    for name in row:
        counts[name.lower()] += 1
        count = counts[name.lower()]
        names.append(f"{name} {count}" if name and count > 1 else name)
    return names


def _is_number(value: str) -> bool:
    return _NUMBER.fullmatch(value) is not None


def _is_plain_number(value: str) -> bool:
    return _is_number(value) and not _TIME.fullmatch(value)


def _are_names(first: Sequence[str], second: Sequence[str], has_header: bool) -> bool:
    """Check whether a first row names the columns: its values must be short, and not all the same.

    Numbers are names only if the file says so, or if they are years, months or days in a row above other values.
    """
    values = [value for value in first if value]
    if len({value.lower() for value in values}) < 2 or max(map(len, values)) > _LONGEST_NAME:
        return False
    columns = [column for column, value in enumerate(first) if value and _NUMBER.fullmatch(value)]
    if has_header or not columns:
        return True
    times = [first[column] for column in columns]
    below = [second[column] for column in columns if column < len(second)]
    others = [value for value in below if value and not _TIME.fullmatch(value)]
    is_in_order = sorted(set(times)) in (times, times[::-1])
    if not is_in_order or not all(map(_TIME.fullmatch, times)) or not others:
        return False
    # A single year may belong to a row of values, so it must stand above a number that is no year.
    return len(times) > 1 or all(map(_is_number, others))


def spans_of_kept(spans: Iterable[Span], numbers: Sequence[int]) -> list[Span]:
    """Move merged cells to the rows that were kept, when empty rows were left out.

    :param spans: The merged cells, whose rows are counted as in the file.
    :param numbers: For each kept row its number in the file, in order.
    :returns: The merged cells whose rows are counted as in the list of kept rows.
    """
    moved = []
    for span in spans:
        begin, end = bisect_left(numbers, span.row), bisect_left(numbers, span.row + span.rows)
        if begin < end and numbers[begin] == span.row:
            moved.append(Span(begin, span.column, end - begin, span.columns))
    return moved
