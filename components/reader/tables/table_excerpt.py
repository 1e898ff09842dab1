"""Collect the rows of each table from the passages of a search.

A file with a long table is split into several passages, and a search may find only some of them. For example, one
passage has the rows "Ann" and "Bob" of a list of phones, and another passage has the row "Carl". :func:`read_excerpts`
puts these three rows together in one :class:`TableExcerpt`. It also has the names of the columns and the titles above
the table, and it checks which of its cells a word of a question may mean.
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
"""The number under which the group of a row is listed among the cells of the row.

A table may have a line such as "Vehicles" above several rows. "Vehicles" is then the group of each of these rows.
"""

# Fewer rows than this are read from all passages of a question together. A row that is read from two passages counts
# twice.
_ROW_LIMIT = 5_000
# A year from 1500 to 2099. A cell with a year names a time and no quantity, although it is written with digits.
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


class Line(NamedTuple):
    """A row of a table as a passage shows it.

    :param row: The row.
    :param text: The row as text, such as "Name: Bob Bell; Phone: 12".
    :param document: The passage that has the row in its text. None if no passage of the search has it in its text. Such
        a row was read from the metadata of a passage, which has all rows of a short table.
    """

    row: Row
    text: str
    document: Document | None


@dataclass
class TableExcerpt:
    """The rows of a table that were read from the passages of a search. They may be all rows of the table.

    :param columns: The names of the columns.
    :param titles: The texts above the table: its title, its file's title and the heading of its section.
    :param document: The first passage with this table.
    :param size: The number of rows of the whole table.
    :param lines: The rows that were read, by their number in the table, from 0.
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
        """Whether all rows of the table were read."""
        return len(self.lines) == self.size

    @property
    def is_record(self) -> bool:
        """Whether the whole table is a single row, such as a form that was filled in.

        The name of a column is then enough to choose a cell. No word of the question has to choose a row.
        """
        return self.size == 1 and self.is_whole

    def cells(self, row: Row) -> Iterator[tuple[int, str]]:
        """List the cells of a row that are not empty.

        :param row: The row.
        :returns: For each cell the number of its column and its text. The group of the row comes first, with the number
            :data:`GROUP`.
        """
        if row.group:
            yield GROUP, row.group
        for column, text in enumerate(row.cells):
            if text:
                yield column, text

    def names(self, word: Word) -> set[int]:
        """Find the columns whose names contain a word.

        :param word: A word of a question.
        :returns: The numbers of these columns.
        """
        return {number for number, name in enumerate(self.columns) if words_of(name).hold(word)}

    def asked(self, word: Word) -> set[int]:
        """Find the columns that are named by a word of a question. The question must ask for a single cell.

        A column is named if its name contains the word. If there is no such column, a longer word with the same end
        counts too: "phone" names the column "Telephone". But if several columns have such a longer word, none of them
        is named.

        A question for a count or a sum needs :meth:`names` instead. A longer word may mean another thing, as
        "warehouse" is not a kind of "house", and rows of other things must not be counted.

        :param word: A word of the question.
        :returns: The numbers of the named columns.
        """
        named = self.names(word)
        if named:
            return named

        longer = {number for number, name in enumerate(self.columns) if words_of(name).hold_longer(word)}
        if len(longer) == 1:
            return longer
        return set()

    def is_context(self, word: Word) -> bool:
        """Check whether a word stands above the table.

        :param word: A word of a question.
        :returns: Whether the title of the table, of its file or of its section contains the word.
        """
        return any(words.hold(word) for words in self.context)

    def bound_columns(self, words: Sequence[Word]) -> dict[Word, set[int]]:
        """Find the columns that a question names directly before or behind a number.

        For example, "invoice 17" and "17 pieces" name the columns "Invoice" and "Pieces". The 17 of "invoice 17" may
        stand in the column "Invoice", but not as a quantity in another column.

        :param words: The words of the question.
        :returns: For each number with such a neighbour the columns that the neighbour names. If both neighbours name
            columns, those of the word before the number.
        """
        named_before: dict[Word, set[int]] = {}
        named_behind: dict[Word, set[int]] = {}
        for left, right in pairwise(words):
            if right.is_number and self.names(left):
                named_before[right] = self.names(left)
            # If the question has the same number twice, the first place of the number counts.
            if left.is_number and left not in named_behind and self.names(right):
                named_behind[left] = self.names(right)
        # For a number that is in both, the columns of the word before it are taken.
        return named_behind | named_before

    def may_hold(self, word: Word, column: int, text: str, bound: Mapping[Word, set[int]]) -> bool:
        """Check whether a cell may be what a word of the question means.

        The cell must contain the word. There are two more conditions. A word behind "from", as in "from Graz", must
        stand in a column with the name "From". A number must not stand in a cell with a quantity, such as the 17 in a
        column "Pieces", unless the question names this column beside the number.

        :param word: A word of the question.
        :param column: The number of the cell's column.
        :param text: The text of the cell.
        :param bound: For each number of the question the columns from :meth:`bound_columns`.
        :returns: Whether the cell may be meant.
        """
        if not words_of(text).hold(word):
            return False

        if word.relation:
            # The relation is a word such as "from". Here it is used as a word that may be the name of a column.
            relation = Word(stem=word.relation, typed=word.relation)
            if column not in self.names(relation):
                return False

        if not word.is_number:
            return True
        is_named_beside_number = column in bound.get(word, ())
        return is_named_beside_number or not _is_quantity(column, text)

    def is_outdated(self, words: Sequence[Word], documents: Sequence[Document]) -> bool:
        """Check whether the rows of the table may be outdated.

        They may be if the table's passage has the label "superseded", "draft" or "old". They also may be if a newer
        passage of the same source contains all the words.

        :param words: The words of a question, or those of them that matter.
        :param documents: The passages of the search.
        :returns: Whether the table may be outdated.
        """
        meta = self.document.meta
        # The label of a passage that is not current, such as "draft".
        label = standing_of(meta)
        if label is not None:
            return True

        for document in documents:
            has_same_source = document.meta.get("source") == meta.get("source")
            if not has_same_source:
                continue
            if not is_newer(document.meta, meta):
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
    rows_read = 0
    for document in documents:
        for table in read_tables(document.meta):
            key = _key_of(table, document)
            own_lines = _lines_of(table, document)
            if key not in tables:
                titles = _titles_above(table, document, own_lines.values())
                tables[key] = TableExcerpt(table.columns, titles, document, table.size)

            lines = tables[key].lines
            for number, line in own_lines.items():
                is_shown = line.document is not None
                # A row of an earlier passage is replaced only by a row that the text of this passage shows.
                if number in lines and not is_shown:
                    continue
                rows_read += 1
                if rows_read < _ROW_LIMIT:
                    lines[number] = line
    return list(tables.values())


def _key_of(table: Table, document: Document) -> tuple[object, ...]:
    """Return a key for a table. Two passages that have the same table, or rows of it, give the same key."""
    file = [str(document.meta.get(name) or "") for name in ("source", "file_path", "mail", "attachment", "title")]
    # If the metadata of a passage has the whole table, its rows are a part of the key. If it has only some rows, they
    # are left out, because another passage has other rows of the same table.
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
    """Return the title of a table, the title of its file and the heading of its section.

    The section is that of the first row that the passage shows. If it shows none, it is the section with which the
    passage begins.
    """
    title_of_file = str(document.meta.get("title") or "")
    shown = [line.text for line in lines if line.document is not None]
    place = (document.content or "").find(shown[0]) if shown else 0
    heading = heading_of(document.meta, place) or ""
    return table.title, title_of_file, heading


def _is_quantity(column: int, text: str) -> bool:
    """Check whether a cell holds a quantity, such as the 17 in a column "Pieces".

    A cell with a letter, a year or a date is no quantity. The cells of the first column and the group are none either,
    because they say what the row is about.
    """
    if column in (GROUP, 0):
        return False
    has_letter = any(map(str.isalpha, text))
    if has_letter:
        return False

    is_year = _YEAR.fullmatch(text) is not None
    has_date = bool(words_of(text).days)
    return not is_year and not has_date
