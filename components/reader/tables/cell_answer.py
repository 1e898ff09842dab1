"""The cell of a table that a question asks for: the row holds its words, and a column has the name of what is asked."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from haystack import Document

from prefrag.components.reader.tables.amounts import read_amount
from prefrag.components.reader.tables.table_excerpt import Line, RowAnswer, TableExcerpt
from prefrag.components.reader.tables.table_words import (
    HOW_MANY,
    Word,
    Words,
    all_stems,
    stem_of,
    with_dates_of,
    words_of,
)
from prefrag.components.state.newness import is_edition, is_newer
from prefrag.components.state.places import standing_of

_SEVERAL = re.compile(r"\W*(?:list|which|what)\s+(\w+)", re.IGNORECASE)
# Words behind or before the name of a column that say of which form its values are, as in "phone number".
_FORMS = {"number": r".*\d", "amount": r".*\d", "date": r".*\d", "time": r".*\d", "name": r"\D*"}


class Fit(NamedTuple):
    """A row that holds every word of a question, and the column that the question names; None if it names none."""

    table: TableExcerpt
    line: Line
    column: int | None


def answer_with_cell(
    question: str, words: list[Word], tables: Sequence[TableExcerpt], documents: Sequence[Document]
) -> RowAnswer | None:
    """Answer with the one cell that fits; None if no cell, or another value too, fits the question."""
    fits = _current_fits([fit for table in tables for fit in find_fits(words, table) if fit.column is not None])
    values = {_value(fit).lower() for fit in fits}
    has_rows_of_same_table = len({id(fit.table) for fit in fits}) < len(fits)
    if len(values) != 1 or has_rows_of_same_table:
        return None
    fit = next((fit for fit in fits if fit.line.document is not None), fits[0])
    value = _value(fit)
    if not value or not _suits(question, value, fit):
        return None
    # The other rows of a large table are unknown, and one of them may belong to the list.
    if not fit.table.is_whole and _asks_for_several(question):
        return None
    if fit.line.document is None:
        return None
    texts = [words_of(text) for _, text in fit.table.cells(fit.line.row)]
    telling = [word for word in words if _is_in(word, texts)]
    # The same name may stand in a row that is unknown.
    is_sure = fit.table.is_whole and not fit.table.is_outdated(telling, documents)
    return RowAnswer(value, fit.line.document, fit.line.text, is_sure)


def _current_fits(fits: list[Fit]) -> list[Fit]:
    """Leave out the rows of old tables: if others fit, of those with the label of an old one, and of old editions."""
    unlabelled = [fit for fit in fits if standing_of(fit.table.document.meta) is None]
    current = unlabelled or fits
    # Compared by table, because many rows of one table may fit.
    tables = {id(fit.table): fit.table for fit in current}
    replaced: set[int] = set()
    for key, table in tables.items():
        if any(_replaces(other, table) for other in tables.values()):
            replaced.add(key)
    return [fit for fit in current if id(fit.table) not in replaced]


def _asks_for_several(question: str) -> bool:
    """Check whether a question asks for several things, as in "which boats"."""
    asked = _SEVERAL.match(question)
    return asked is not None and stem_of(asked[1]) != asked[1].lower()


def _is_in(word: Word, texts: Iterable[Words]) -> bool:
    return any(text.hold(word) for text in texts)


def _replaces(table: TableExcerpt, other: TableExcerpt) -> bool:
    """Check whether a table is a newer edition of the same columns, as a price list of the next year is."""
    meta, before = table.document.meta, other.document.meta
    return table.columns == other.columns and is_edition(meta, before) and is_newer(meta, before)


def _value(fit: Fit) -> str:
    cells = fit.line.row.cells
    return cells[fit.column] if fit.column is not None and fit.column < len(cells) else ""


def _suits(question: str, value: str, fit: Fit) -> bool:
    """Check whether a value is of the form that the question asks for."""
    has_digit = any(map(str.isdigit, value))
    many = HOW_MANY.match(question)
    if many:
        return read_amount(value) is not None and _may_be_number_of(many[1], fit)
    asked = question.strip().lower()
    if asked.startswith("who"):
        return not has_digit
    return has_digit or not asked.startswith(("when", "how much"))


def _may_be_number_of(things: str, fit: Fit) -> bool:
    """Check whether a cell may be the number of things, rather than one of the things.

    "How many invoices" asks for the number of a column "Invoices", but counts the rows of a column "Invoice".
    """
    named = fit.table.names(Word(stem_of(things), things))
    if not named:
        return True
    if fit.column is None or fit.column not in named:
        return False
    return things.lower() in fit.table.columns[fit.column].lower().split()


def find_fits(words: list[Word], table: TableExcerpt) -> list[Fit]:
    """Find the rows of a table that hold every word of a question."""
    rows = [dict(table.cells(line.row)) for line in table.lines.values()]
    words = with_dates_of(rows, words)
    cells = [words_of(text) for row in rows for text in row.values()]
    in_table = {word for word in words if _is_in(word, cells)}
    bound = table.bound_columns(words)
    fits = (_fit(words, table, line, in_table, bound) for line in table.lines.values())
    return [fit for fit in fits if fit is not None]


def _fit(
    words: Sequence[Word], table: TableExcerpt, line: Line, in_table: set[Word], bound: Mapping[Word, set[int]]
) -> Fit | None:
    """Check whether a row holds every word of a question."""
    row = dict(table.cells(line.row))
    places: dict[Word, set[int]] = {}
    for word in words:
        places[word] = {column for column, text in row.items() if table.may_hold(word, column, text, bound)}
    rest = [word for word in words if not places[word]]
    # A column that alone holds a word of the question tells the row. An e-mail may also hold a part of a name.
    telling = set[int]().union(*(columns for columns in places.values() if len(columns) == 1))
    column = _asked_column(words, rest, table, telling)
    identified = set[int]().union(*places.values()) - {column}
    if not identified:
        return None
    for word in rest:
        if word.relation:
            return None
        named = table.asked(word)
        if column in named or named & identified or _tells_form(word, words, table, row, column):
            continue
        # A word that stands in another row must not count as the title's.
        if word in in_table or not table.is_context(word):
            return None
    # Two capitalised words beside each other are one name, of which a row may not hold half.
    for first, second in pairwise(words):
        if first.is_number or second.is_number:
            continue
        if not first.is_name or not second.is_name:
            continue
        holds_half = len([word for word in (first, second) if places[word]]) == 1
        if holds_half and not table.asked(first) and not table.asked(second):
            return None
    is_certain = table.is_whole or _asks_for_cell(words, row, identified)
    return Fit(table, line, column) if is_certain else None


def _asked_column(words: Sequence[Word], rest: Sequence[Word], table: TableExcerpt, telling: set[int]) -> int | None:
    """Find the column that most words of the question name, if it is the only one, and does not tell the row."""
    stems = all_stems(words)
    asked = {word: table.asked(word) for word in words}
    scores: dict[int, tuple[int, int, bool]] = {}
    for number, name in enumerate(table.columns):
        if number in telling:
            continue
        by_rest = sum(number in asked[word] for word in rest)
        by_all = sum(number in asked[word] for word in words)
        # "price" means a column "Price" rather than "Price of 2023".
        is_whole_name = words_of(name).whole <= stems
        scores[number] = (by_rest, by_all, is_whole_name)
    best = max(scores.values(), default=(0, 0, False))
    columns = [number for number, score in scores.items() if score == best]
    is_named = best[0] > 0
    return columns[0] if is_named and len(columns) == 1 else None


def _tells_form(
    word: Word, words: Sequence[Word], table: TableExcerpt, row: Mapping[int, str], column: int | None
) -> bool:
    """Check whether a word stands beside the name of the column, and says of which form the value is."""
    form = _FORMS.get(word.stem)
    if column is None or form is None or not re.match(form, row.get(column, "")):
        return False
    place = words.index(word)
    beside = [*words[max(0, place - 1) : place], *words[place + 1 : place + 2]]
    return any(column in table.asked(other) for other in beside)


def _asks_for_cell(words: Sequence[Word], row: Mapping[int, str], identified: set[int]) -> bool:
    """Check whether a question has all words of a cell that names its row: the first one, or one with a number.

    The rows of a large table are not all known, and others may have the same town, or a part of the same name.
    """
    stems = all_stems(words)
    for column, text in row.items():
        names_row = column == 0 or any(map(str.isdigit, text))
        if column in identified and names_row and words_of(text).whole <= stems:
            return True
    return False
