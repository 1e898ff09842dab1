"""Write the rows of tables as text and as metadata of passages, and read the rows from the metadata.

A file with tables is split into passages. The text of a passage has one line for each row. The metadata of the passage
has the rows again, as cells, so that the reader can count rows and compare numbers in them. The indexing writes this
metadata with :func:`write_tables`, and the reader reads it with :func:`read_tables`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, NamedTuple

from prefrag.components.text.unicode_form import normalize_unicode

# The name of the metadata field with the tables of a passage. Its value is JSON: a list of tables.
# A short table is written whole into each of its passages, so that its rows can be counted. Of a longer table, each
# passage has only its own rows.
TABLES = "tables"
# The maximum number of characters of a table that is written whole. If the names of the columns alone have more
# characters than this, nothing of the table is written.
_MOST_WHOLE = 6_000
# The maximum number of characters of rows that are written into a passage.
_MOST_OWN = 4 * _MOST_WHOLE
# The number of characters that JSON adds to each text: two quotes, a comma and a blank.
_JSON_CHARACTERS = 4
# The maximum number of rows of a table that is written whole. A row has at least two texts, its group and one cell, and
# JSON adds characters to both. So a table with more rows than this has more than `_MOST_WHOLE` characters in any case,
# and they need not be counted.
_MOST_ROWS_OF_WHOLE = _MOST_WHOLE // (2 * _JSON_CHARACTERS)


class Row(NamedTuple):
    """A row of a table.

    :param group: The group of rows that the row belongs to, such as the line "Vehicles" above it. Empty if there are
        no groups.
    :param cells: The texts of the cells, in the order of the columns.
    """

    group: str
    cells: tuple[str, ...]


@dataclass
class Table:
    """A table, or those of its rows that a passage has.

    :param number: The number of the table in its file, from 1.
    :param title: The text above the table, or an empty string.
    :param columns: The names of the columns. Empty if the columns have no names.
    :param rows: The rows of the table, or those of them that a passage has.
    :param first: The number of the first of these rows in the table, from 0.
    :param size: The number of rows of the whole table.
    """

    number: int
    title: str
    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    first: int = 0
    size: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether ``rows`` are all rows of the table."""
        return len(self.rows) == self.size

    def write(self, row: Row) -> str:
        """Write a row as a line of text: the title, the group, and each cell with the name of its column.

        For example, in a table "Fleet" with the columns "Boat" and "Seats", the row ``Row("Norwick", ("Tern", "48"))``
        becomes ``"Fleet; Norwick; Boat: Tern; Seats: 48"``.

        :param row: The row. It need not be in ``rows``.
        :returns: The line. Empty parts are left out.
        """
        parts = [part for part in (self.title, row.group) if part]
        # A row may have more cells than there are names, or fewer.
        for name, cell in zip_longest(self.columns, row.cells, fillvalue=""):
            if name and cell:
                parts.append(f"{name}: {cell}")
            elif cell:
                parts.append(cell)
        return "; ".join(parts)


def write_tables(rows: Sequence[tuple[Table, int]]) -> dict[str, str]:
    """Write the rows of a passage as metadata.

    Each table becomes a list: its number, its title, the names of its columns, the number of the first row that is
    written, the number of all its rows, and the rows that are written. A row becomes the list of its group and its
    cells.

    :param rows: For each row of the passage: its table, and its number in this table, from 0. They are in the order of
        the file.
    :returns: A dictionary with the metadata field :data:`TABLES`. It is empty if there are no rows, or if the names of
        the columns are too long.
    """
    # The tables of the passage, and the numbers of its rows in each table, both by the number of the table.
    tables = {table.number: table for table, _ in rows}
    row_numbers: dict[int, list[int]] = {}
    for table, row_number in rows:
        row_numbers.setdefault(table.number, []).append(row_number)

    written = []
    for table_number, own_rows in row_numbers.items():
        table = tables[table_number]
        # The names of hundreds of columns in each passage would be longer than its text.
        if sum(map(len, table.columns)) > _MOST_WHOLE:
            continue

        first, chosen_rows = _choose_rows(table, own_rows)
        texts = [[row.group, *row.cells] for row in chosen_rows]
        written.append([table_number, table.title, table.columns, first, len(table.rows), texts])
    if not written:
        return {}

    # A table may have a million cells. It is faster to normalise the whole JSON at once than each cell. But Unicode
    # may write an accented letter as two characters, the letter and the accent, and normalising joins them. JSON writes
    # a line break as two characters, a backslash and an "n". If a cell has a line break before an accent, the accent
    # would be joined to this "n". So a JSON text with a backslash is normalised cell by cell.
    text = json.dumps(written, ensure_ascii=False)
    if "\\" in text:
        return {TABLES: json.dumps(_normalise(written), ensure_ascii=False)}
    return {TABLES: normalize_unicode(text)}


def _choose_rows(table: Table, own_rows: Sequence[int]) -> tuple[int, list[Row]]:
    """Choose the rows to write into a passage: all rows of a short table, and otherwise the passage's own rows.

    Rows beyond the maximum number of characters are left out.

    :param table: The table.
    :param own_rows: The numbers of the passage's own rows in the table, from 0, in order.
    :returns: The number of the first row in the table, and the rows.
    """
    first = 0
    rows = table.rows
    if len(table.rows) > _MOST_ROWS_OF_WHOLE or _count_characters(table) > _MOST_WHOLE:
        first = own_rows[0]
        last = own_rows[-1]
        rows = table.rows[first : last + 1]

    fitting_rows = []
    characters = 0
    for row in rows:
        characters += _count_row(row)
        if characters > _MOST_OWN:
            break
        fitting_rows.append(row)
    return first, fitting_rows


def _normalise(value: object) -> object:
    """Normalise the Unicode form of all texts in nested lists. Other values stay as they are."""
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
    """Count the characters of a row as JSON, roughly.

    For example, ``_count_row(Row("", ("Tern",)))`` returns ``12``: four letters, and four characters for each text.
    """
    texts = (row.group, *row.cells)
    return sum(map(len, texts)) + _JSON_CHARACTERS * len(texts)


def read_tables(meta: Mapping[str, object]) -> list[Table]:
    """Read the tables of a passage from its metadata.

    :param meta: The metadata of the passage.
    :returns: The tables with those of their rows that the metadata has. The list is empty if there is no such field,
        or if the value of the field has another form. Another program may have written such a value.
    """
    text = meta.get(TABLES)
    if not isinstance(text, str):
        return []

    tables = []
    try:
        for number, title, columns, first, size, written_rows in json.loads(text):
            table = Table(
                number=int(number),
                title=str(title),
                columns=_texts(columns),
                rows=[_row(cells) for cells in written_rows],
                first=int(first),
                size=int(size),
            )
            tables.append(table)
    except (ValueError, TypeError, IndexError, RecursionError, OverflowError):
        return []

    for table in tables:
        last = table.first + len(table.rows)
        if table.first < 0 or last > table.size:
            return []
    return tables


def _row(cells: object) -> Row:
    """Read a row from a list of its group and its cells.

    For example, ``_row(["Norwick", "Tern", "48"])`` returns ``Row("Norwick", ("Tern", "48"))``.
    """
    group, *own_cells = _texts(cells)
    return Row(group, tuple(own_cells))


def _texts(values: Any) -> tuple[str, ...]:
    """Return a list of texts as a tuple.

    :raises TypeError: When the value is not a list, or has an item that is no text.
    """
    are_texts = isinstance(values, list) and all(isinstance(value, str) for value in values)
    if not are_texts:
        raise TypeError("not a list of texts")
    return tuple(values)
