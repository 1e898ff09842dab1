"""What the found passages hold of a table: its rows, the names of its columns, and what stands above it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from haystack import Document

from prefrag.components.reader.tables.table_words import Word, Words, words_of
from prefrag.components.state.newness import is_newer
from prefrag.components.state.places import heading_of, standing_of
from prefrag.components.text.table_rows import Row, read_tables

_MOST_ROWS = 5_000
_GROUP = -1  # the number of the column that stands for the group of a row
# A year or a date is no measure, though it is written with digits.
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


class Line(NamedTuple):
    """A row of a table as it is shown."""

    row: Row
    text: str
    document: Document | None  # the passage that holds it; None if only other passages of its file were found


@dataclass
class TableExcerpt:
    """What the found passages tell of one table."""

    columns: tuple[str, ...]
    context: tuple[Words, ...]  # the words above the table, of its section and of its file
    document: Document
    size: int
    lines: dict[int, Line] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether all its rows are known."""
        return len(self.lines) == self.size

    def cells(self, row: Row) -> Iterator[tuple[int, str]]:
        """Yield the number of the column and the text of each cell that has one, its group first."""
        yield from ((number, text) for number, text in enumerate((row.group, *row.cells), start=_GROUP) if text)

    def names(self, word: Word) -> set[int]:
        """Find the columns whose names hold a word."""
        return {number for number, name in enumerate(self.columns) if words_of(name).hold(word)}

    def asked(self, word: Word) -> set[int]:
        """Find the columns that a question for a cell names: if no name holds the word, the only one with a longer one.

        Counts and sums are about the word itself: a warehouse is no house.
        """
        longer = {number for number, name in enumerate(self.columns) if words_of(name).hold_longer(word)}
        return self.names(word) or (longer if len(longer) == 1 else set())

    def is_context(self, word: Word) -> bool:
        """Check whether a word stands above the table."""
        return any(words.hold(word) for words in self.context)

    def bound_columns(self, words: Sequence[Word]) -> dict[Word, set[int]]:
        """Find the columns that a number must stand in, because their name stands beside it, as in "invoice 17"."""
        bound: dict[Word, set[int]] = {}
        for before, word in pairwise(words):
            for number, beside in ((word, before), (before, word)):
                # The name before a number comes before the one behind it.
                is_first = number is word or number not in bound
                columns = self.names(beside) if number.is_number else None
                if columns and is_first:
                    bound[number] = columns
        return bound

    def may_hold(self, word: Word, column: int, text: str, bound: Mapping[Word, set[int]]) -> bool:
        """Check whether a cell may be what a word of the question means: a measure only if its column is named.

        What stands behind "from" may only stand in a column of that name.
        """
        if not words_of(text).hold(word):
            return False
        if word.relation and column not in self.names(Word(word.relation, word.relation)):
            return False
        if word in bound:
            return column in bound[word] or not _is_measure(column, text)
        return not word.is_number or not _is_measure(column, text)

    def is_outdated(self, words: Sequence[Word], documents: Sequence[Document]) -> bool:
        """Check whether the table has the label of an old one, or a newer document of its source has all the words."""
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
    """An answer from the rows of a table."""

    text: str
    document: Document
    sentence: str  # the rows
    is_sure: bool = True  # whether no other row, and no newer document, can tell another answer


def read_excerpts(documents: Sequence[Document]) -> list[TableExcerpt]:
    """Collect the tables of passages, each once."""
    tables: dict[tuple[object, ...], TableExcerpt] = {}
    room = _MOST_ROWS
    for document in documents:
        meta = document.meta
        content = document.content or ""
        shown = set(content.split("\n"))
        for table in read_tables(meta):
            file = tuple(str(meta.get(name) or "") for name in ("source", "file_path", "mail", "attachment", "title"))
            rows = tuple(table.rows) if table.is_whole else ()
            key = (*file, table.number, table.columns, table.size, rows)
            texts = [table.write(row) for row in table.rows]
            if key not in tables:
                place = next((content.find(text) for text in texts if text in shown), 0)
                above = (table.title, str(meta.get("title") or ""), heading_of(meta, place) or "")
                tables[key] = TableExcerpt(table.columns, tuple(map(words_of, above)), document, table.size)
            lines = tables[key].lines
            for number, (row, text) in enumerate(zip(table.rows, texts, strict=True), table.first):
                is_shown = text in shown
                if number in lines and not is_shown:
                    continue
                room -= 1
                if room > 0:
                    lines[number] = Line(row, text, document if is_shown else None)
    return list(tables.values())


def _is_measure(column: int, text: str) -> bool:
    if column <= 0 or any(map(str.isalpha, text)):
        return False
    is_time = _YEAR.fullmatch(text) is not None or bool(words_of(text).days)
    return not is_time
