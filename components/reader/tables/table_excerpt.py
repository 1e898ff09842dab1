"""Collect what the passages that were found contain of a table.

A passage may hold only some rows of a table, and several passages may hold rows of the same table.
:func:`read_excerpts` puts these rows together. A :class:`TableExcerpt` has the rows, the names of the columns and the
words above the table. It knows which cells a word of a question may mean.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from haystack import Document

from prefrag.components.reader.tables.table_words import Word, Words, words_of
from prefrag.components.state.newness import is_newer
from prefrag.components.state.places import heading_of, standing_of
from prefrag.components.text.table_rows import Row, Table, read_tables

GROUP = -1
"""The number of the column that stands for the group of a row, such as the line "Vehicles" above the row."""

# The maximum number of rows that are read from all passages of a question together.
_MOST_ROWS = 5_000
# A year. Like a date, it is no measure, although it is written with digits.
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


class Line(NamedTuple):
    """A row of a table as a passage shows it.

    :param row: The row.
    :param text: The row as text, such as "Name: Bob Bell; Phone: 12".
    :param document: The passage that shows the row; None if only other passages of its file were found.
    """

    row: Row
    text: str
    document: Document | None


@dataclass
class TableExcerpt:
    """The part of a table that is known from the passages that were found.

    :param columns: The names of the columns.
    :param titles: The texts above the table: its title, its file's title and the heading of its section.
    :param document: The first passage with this table.
    :param size: The number of rows of the whole table.
    :param lines: The known rows by their number in the table, from 0.
    """

    columns: tuple[str, ...]
    titles: tuple[str, ...]
    document: Document
    size: int
    lines: dict[int, Line] = field(default_factory=dict)

    @property
    def context(self) -> tuple[Words, ...]:
        """The words above the table."""
        return tuple(map(words_of, self.titles))

    @property
    def is_whole(self) -> bool:
        """Whether all rows of the table are known."""
        return len(self.lines) == self.size

    @property
    def is_record(self) -> bool:
        """Whether the table is a single row, such as a form, so that its columns alone say which cell is meant."""
        return self.size == 1 and self.is_whole

    def cells(self, row: Row) -> Iterator[tuple[int, str]]:
        """List the cells of a row that are not empty.

        :param row: The row.
        :returns: For each cell the number of its column and its text. The group of the row comes first, as column -1.
        """
        yield from ((number, text) for number, text in enumerate((row.group, *row.cells), start=GROUP) if text)

    def names(self, word: Word) -> set[int]:
        """Find the columns whose names contain a word.

        :param word: A word of a question.
        :returns: The numbers of these columns.
        """
        return {number for number, name in enumerate(self.columns) if words_of(name).hold(word)}

    def asked(self, word: Word) -> set[int]:
        """Find the columns that a question for a cell names with a word.

        If no name contains the word itself, a longer word counts, as the column "Telephone" for "phone". It must be the
        only such column. Counts and sums do not use longer words, because a warehouse is no house.

        :param word: A word of the question.
        :returns: The numbers of these columns.
        """
        named = self.names(word)
        if named:
            return named
        longer = {number for number, name in enumerate(self.columns) if words_of(name).hold_longer(word)}
        return longer if len(longer) == 1 else set()

    def is_context(self, word: Word) -> bool:
        """Check whether a word stands above the table.

        :param word: A word of a question.
        :returns: Whether the title of the table, of its file or of its section contains the word.
        """
        return any(words.hold(word) for words in self.context)

    def bound_columns(self, words: Sequence[Word]) -> dict[Word, set[int]]:
        """Find the columns in which a number must stand, because the question names a column next to the number.

        In "invoice 17", the number must stand in a column "Invoice".

        :param words: The words of the question.
        :returns: For each such number the columns. The word before the number decides, if both neighbours name columns.
        """
        bound: dict[Word, set[int]] = {}
        for left, right in pairwise(words):
            # The word before a number decides rather than the word behind it.
            if right.is_number and self.names(left):
                bound[right] = self.names(left)
            if left.is_number and left not in bound and self.names(right):
                bound[left] = self.names(right)
        return bound

    def may_hold(self, word: Word, column: int, text: str, bound: Mapping[Word, set[int]]) -> bool:
        """Check whether a cell may be what a word of the question means.

        A measure, such as the number 17 in a column of quantities, counts only if the question names its column. A word
        behind "from" must stand in a column with the name "From".

        :param word: A word of the question.
        :param column: The number of the cell's column.
        :param text: The text of the cell.
        :param bound: The columns from :meth:`bound_columns`.
        :returns: Whether the cell may be meant.
        """
        if not words_of(text).hold(word):
            return False

        if word.relation and column not in self.names(Word(word.relation, word.relation)):
            return False

        if word in bound:
            return column in bound[word] or not _is_measure(column, text)
        return not word.is_number or not _is_measure(column, text)

    def is_outdated(self, words: Sequence[Word], documents: Sequence[Document]) -> bool:
        """Check whether the rows of the table may be outdated.

        They may be if the table's document has the label "superseded", "draft" or "old". They also may be if a newer
        document of the same source contains all the words.

        :param words: The words of a question, or those of them that matter.
        :param documents: The passages that were found.
        :returns: Whether the table may be outdated.
        """
        meta = self.document.meta
        if standing_of(meta) is not None:
            return True

        for document in documents:
            if document.meta.get("source") != meta.get("source") or not is_newer(document.meta, meta):
                continue

            title = document.meta.get("title") or ""
            text = words_of(f"{title}\n{document.content or ''}")
            if all(text.hold(word) for word in words):
                return True
        return False


class RowAnswer(NamedTuple):
    """An answer from the rows of a table.

    :param text: The answer.
    :param document: The passage with the rows.
    :param sentence: The rows as text, one per line.
    :param is_sure: Whether no other row and no newer document can give another answer.
    """

    text: str
    document: Document
    sentence: str
    is_sure: bool = True


def read_excerpts(documents: Sequence[Document]) -> list[TableExcerpt]:
    """Collect the tables of passages, each table once.

    :param documents: The passages.
    :returns: The tables, in the order in which the passages first show them.
    """
    tables: dict[tuple[object, ...], TableExcerpt] = {}
    rows_left = _MOST_ROWS
    for document in documents:
        for table in read_tables(document.meta):
            key = _identity_of(table, document)
            own_lines = _lines_of(table, document)
            if key not in tables:
                titles = _titles_above(table, document, own_lines.values())
                tables[key] = TableExcerpt(table.columns, titles, document, table.size)

            lines = tables[key].lines
            for number, line in own_lines.items():
                is_shown = line.document is not None
                if number in lines and not is_shown:
                    continue
                rows_left -= 1
                if rows_left > 0:
                    lines[number] = line
    return list(tables.values())


def _identity_of(table: Table, document: Document) -> tuple[object, ...]:
    """Return what is equal for the same table in two passages."""
    file = [str(document.meta.get(name) or "") for name in ("source", "file_path", "mail", "attachment", "title")]
    # Tables with the same rows in two passages of a file are one table.
    rows = tuple(table.rows) if table.is_whole else ()
    return (*file, table.number, table.columns, table.size, rows)


def _lines_of(table: Table, document: Document) -> dict[int, Line]:
    """Return the rows of a table by their numbers. A row that the passage does not show has no document."""
    shown = set((document.content or "").split("\n"))
    lines: dict[int, Line] = {}
    for number, row in enumerate(table.rows, start=table.first):
        text = table.write(row)
        lines[number] = Line(row, text, document if text in shown else None)
    return lines


def _titles_above(table: Table, document: Document, lines: Iterable[Line]) -> tuple[str, str, str]:
    """Return the title of a table, the title of its file and the heading of its section."""
    first_shown = next((line.text for line in lines if line.document is not None), "")
    place = (document.content or "").find(first_shown)
    return table.title, str(document.meta.get("title") or ""), heading_of(document.meta, place) or ""


def _is_measure(column: int, text: str) -> bool:
    """Check whether a cell holds a quantity: no letters, no year or date, and not in the first column."""
    if column <= 0 or any(map(str.isalpha, text)):
        return False
    is_time = _YEAR.fullmatch(text) is not None or bool(words_of(text).days)
    return not is_time
