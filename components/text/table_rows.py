"""The rows of tables: how a row is written as text, and how a passage's metadata holds the rows that stand in it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, repeat
from typing import NamedTuple

from prefrag.components.text.unicode_form import normalize_unicode

# The metadata field: JSON with a list of tables. A table of few characters is written whole into each of its passages,
# so that its rows can be counted; of a larger table, each passage has only its own rows.
TABLES = "tables"
_MOST_WHOLE = 6_000
_MOST_OWN = 4 * _MOST_WHOLE


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
        columns = self.columns
        if len(columns) < len(row.cells):
            columns = (*columns, *repeat("", len(row.cells) - len(columns)))
        # Lists, since a table may have a million rows.
        cells = [f"{name}: {cell}" if name else cell for name, cell in zip(columns, row.cells, strict=False) if cell]
        return "; ".join([part for part in (self.title, row.group) if part] + cells)


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
        is_whole = len(table.rows) <= _MOST_WHOLE // 8 and _count_characters(table.rows, table) <= _MOST_WHOLE
        first, last = (0, len(table.rows)) if is_whole else (own[0], own[-1] + 1)
        sizes = accumulate(map(_count_row, table.rows[first:last]))
        last = first + sum(size <= _MOST_OWN for size in sizes)
        texts = [[row.group, *row.cells] for row in table.rows[first:last]]
        written.append([number, table.title, table.columns, first, len(table.rows), texts])
    if not written:
        return {}
    # A table may have a million cells, so all of them are normalised in one text. An accent would join the last letter
    # of an escaped character, so a text with one is written cell by cell.
    text = json.dumps(written, ensure_ascii=False)
    return {TABLES: json.dumps(_normalise(written), ensure_ascii=False) if "\\" in text else normalize_unicode(text)}


def _normalise(value: object) -> object:
    if isinstance(value, str):
        return normalize_unicode(value)
    return [_normalise(part) for part in value] if isinstance(value, list | tuple) else value


def _count_characters(rows: Sequence[Row], table: Table) -> int:
    return sum(len(part) + 4 for part in (table.title, *table.columns)) + sum(map(_count_row, rows))


def _count_row(row: Row) -> int:
    return len(row.group) + sum(map(len, row.cells)) + 4 * (1 + len(row.cells))


def read_tables(meta: Mapping[str, object]) -> list[Table]:
    """Read the tables of a passage; none if its metadata has none in this form, as another program may have written."""
    text = meta.get(TABLES)
    if not isinstance(text, str):
        return []
    try:
        tables = [
            Table(int(number), str(title), _texts(names), [_row(row) for row in rows], int(first), int(size))
            for number, title, names, first, size, rows in json.loads(text)
        ]
    except (ValueError, TypeError, IndexError, RecursionError, OverflowError):
        return []
    return tables if all(0 <= table.first <= table.size - len(table.rows) for table in tables) else []


def _row(cells: object) -> Row:
    group, *own = _texts(cells)
    return Row(group, tuple(own))


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("not a list of texts")
    return tuple(values)
