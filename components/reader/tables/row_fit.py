"""Describe a row of a table that contains the words of a question."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prefrag.components.reader.tables.table_excerpt import GROUP, Line, TableExcerpt
from prefrag.components.reader.tables.table_words import Word, stem_of


class Fit(NamedTuple):
    """A row that contains every word of a question.

    :param table: The table.
    :param line: The row.
    :param column: The number of the column that the question names; None if the question names none.
    :param places: For each word of the question the columns whose cells contain the word.
    """

    table: TableExcerpt
    line: Line
    column: int | None
    places: Mapping[Word, set[int]]

    @property
    def value(self) -> str:
        """The text of the cell in the column that the question names; empty if there is none."""
        cells = self.line.row.cells
        return cells[self.column] if self.column is not None and self.column < len(cells) else ""

    @property
    def column_name(self) -> str:
        """The name of the column that the question names; empty if there is none."""
        return "" if self.column is None else self.table.columns[self.column]

    @property
    def other_cells(self) -> dict[int, str]:
        """The texts of the row's other cells, by the numbers of their columns. Empty cells are left out."""
        return {number: text for number, text in self.table.cells(self.line.row) if number != self.column}

    @property
    def telling(self) -> dict[Word, set[int]]:
        """For each word that stands in other cells of the row, the columns of these cells. The group is left out."""
        columns = {word: places - {self.column, GROUP} for word, places in self.places.items()}
        return {word: places for word, places in columns.items() if places}

    @property
    def stems(self) -> set[str]:
        """The stems of the question's words."""
        return {word.stem for word in self.places}

    def asks(self, words: Sequence[str]) -> bool:
        """Check whether the question has one of some words.

        :param words: The words.
        :returns: Whether the question has one of them.
        """
        return any(stem_of(word) in self.stems for word in words)
