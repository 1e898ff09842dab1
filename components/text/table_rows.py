"""The rows of tables: how a row is written as text, and how a passage's metadata holds the rows that stand in it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest
from typing import Any, NamedTuple

from prefrag.components.text.unicode_form import normalize_unicode

# The metadata field: JSON with a list of tables. A table of few characters is written whole into each of its passages,
# so that its rows can be counted; of a larger table, each passage has only its own rows.
TABLES = "tables"
# A table up to this many characters is written whole; so long may also be the names of the columns.
_MOST_WHOLE = 6_000
# So many characters of its own rows are written into a passage.
_MOST_OWN = 4 * _MOST_WHOLE
# A table with more rows surely has more characters than `_MOST_WHOLE`, so they need not be counted.
_MOST_ROWS_OF_WHOLE = _MOST_WHOLE // 8
# What JSON adds to each text: two quotes, a comma and a blank.
_JSON_CHARACTERS = 4


class Row(NamedTuple):
    """A row of a table: the group that it stands in (such as the line "Vehicles" above it), and its cells."""

    group: str
    cells: tuple[str, ...]


@dataclass
class Table:
    """A table, or those of its rows that a passage holds."""

    number: int  # in its file, from 1
    title: str  # what stands above the table
    columns: tuple[str, ...]  # their names; empty if the table has none
    rows: list[Row] = field(default_factory=list)
    first: int = 0  # the number of the first of the rows in the table, from 0
    size: int = 0  # the number of rows of the whole table

    @property
    def is_whole(self) -> bool:
        """Whether `rows` are all rows of the table."""
        return len(self.rows) == self.size

    def write(self, row: Row) -> str:
        """Write a row as `title; group; column: value; column: value`, without what is empty."""
        parts = [part for part in (self.title, row.group) if part]
        for name, cell in zip_longest(self.columns, row.cells, fillvalue=""):
            if cell:
                parts.append(f"{name}: {cell}" if name else cell)
        return "; ".join(parts)


def write_tables(rows: Sequence[tuple[Table, int]]) -> dict[str, str]:
    """Write the rows of a passage as metadata.

    :param rows: For each row its table and its number in the table, in order.
    :returns: The metadata field, or nothing if there are no rows.
    """
    numbers: dict[int, list[int]] = {}
    tables = {table.number: table for table, _ in rows}
    for table, number in rows:
        numbers.setdefault(table.number, []).append(number)
    written = []
    for number, own in numbers.items():
        table = tables[number]
        # The names of hundreds of columns in each passage would be longer than its text.
        if sum(map(len, table.columns)) > _MOST_WHOLE:
            continue
        first, chosen = 0, table.rows
        if len(table.rows) > _MOST_ROWS_OF_WHOLE or _count_characters(table) > _MOST_WHOLE:
            first = own[0]
            chosen = table.rows[first : own[-1] + 1]
        sizes = accumulate(map(_count_row, chosen))
        number_that_fit = sum(size <= _MOST_OWN for size in sizes)
        texts = [[row.group, *row.cells] for row in chosen[:number_that_fit]]
        written.append([number, table.title, table.columns, first, len(table.rows), texts])
    if not written:
        return {}
    # A table may have a million cells, so all of them are normalised in one text. Behind an escaped character, such as
    # the \n of a line break, an accent would join the letter n: a text with an escape is normalised cell by cell.
    text = json.dumps(written, ensure_ascii=False)
    if "\\" in text:
        return {TABLES: json.dumps(_normalise(written), ensure_ascii=False)}
    return {TABLES: normalize_unicode(text)}


def _normalise(value: Any) -> Any:
    """Normalise all texts in nested lists."""
    if isinstance(value, str):
        return normalize_unicode(value)
    if isinstance(value, list | tuple):
        return [_normalise(part) for part in value]
    return value


def _count_characters(table: Table) -> int:
    """Count the characters of a table as JSON, roughly."""
    names = sum(len(name) + _JSON_CHARACTERS for name in (table.title, *table.columns))
    return names + sum(map(_count_row, table.rows))


def _count_row(row: Row) -> int:
    return len(row.group) + sum(map(len, row.cells)) + _JSON_CHARACTERS * (1 + len(row.cells))


def read_tables(meta: Mapping[str, object]) -> list[Table]:
    """Read the tables of a passage; none if its metadata has none in this form, as another program may have written."""
    text = meta.get(TABLES)
    if not isinstance(text, str):
        return []
    tables = []
    try:
        for number, title, names, first, size, cells in json.loads(text):
            rows = [_row(cells_of_row) for cells_of_row in cells]
            tables.append(Table(int(number), str(title), _texts(names), rows, int(first), int(size)))
    except (ValueError, TypeError, IndexError, RecursionError, OverflowError):
        return []
    for table in tables:
        last = table.first + len(table.rows)
        if table.first < 0 or last > table.size:
            return []
    return tables


def _row(cells: object) -> Row:
    group, *own = _texts(cells)
    return Row(group, tuple(own))


def _texts(values: Any) -> tuple[str, ...]:
    are_texts = isinstance(values, list) and all(isinstance(value, str) for value in values)
    if not are_texts:
        raise TypeError("not a list of texts")
    return tuple(values)
