"""Answer a question with one cell of a table.

A fit is a row that contains the words of the question, together with the column that the question names. In
"phone of Bob Bell", the words "Bob Bell" identify the row, and "phone" names the column. The cell is the answer if it
is the only value that fits.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from haystack import Document

from prefrag.components.reader.tables.amounts import read_amount
from prefrag.components.reader.tables.row_doubts import find_row_doubt
from prefrag.components.reader.tables.row_exception import is_said_otherwise
from prefrag.components.reader.tables.row_fit import Fit
from prefrag.components.reader.tables.row_subject import goes_on_below
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
from prefrag.components.reader.tables.value_kind import is_value
from prefrag.components.state.newness import is_edition, is_newer
from prefrag.components.state.places import standing_of
from prefrag.components.text.dates import ENGLISH_MONTHS

# The beginning of a question for several things; the group is the next word. It matches "which boats are open".
_SEVERAL = re.compile(r"\W*(?:list|which|what)\s+(\w+)", re.IGNORECASE)
# A question for a price that need not name it. It matches "How much is a boat" and "how much does the boat cost?". It
# does not match "How much oil".
_ASKS_PRICE = re.compile(r"\W*how\s+much\s+(?:is|are|was|were|does|do|did)\b", re.IGNORECASE)
# A currency, as a sign, a code or a word.
_CURRENCY = r"(?:[$\u00a3\u20ac]|GBP|EUR|USD|CHF|pounds?|euros?)"
# The name of a column of prices: a word for a price, a year and a currency at most. It matches "Price", "Fee 2026" and
# "Unit price (£)". It does not match "Late fee", "Cost centre" and "Price valid until".
_PRICES = re.compile(
    r"\W*(?:(?:list|unit|full|our|the) )?(?:prices?|costs?|fees?|charges?|fares?|rent)(?: \d{4})?"
    rf"(?:\W*(?:in )?{_CURRENCY})?\W*"
    rf"|\W*{_CURRENCY}\W*",
    re.IGNORECASE,
)
# An amount of money, alone in its cell. It matches "142", "£6.50" and "12 euros". It does not match "+£3" and "B3".
_AMOUNT = re.compile(
    rf"{_CURRENCY}?\s?(?:\d+|\d{{1,3}}(?:[.,]\d{{3}})+)(?:[.,]\d{{1,2}})?\s?(?:{_CURRENCY}|p)?", re.IGNORECASE
)
# A name with a number, as of a team. It matches "Team 5" and "Night Crew B12". It does not match "12 people", "B12" and
# "May 2".
_NUMBERED_NAME = re.compile(rf"(?!(?:{'|'.join(ENGLISH_MONTHS)})\b)[A-Z][^\W\d_]+(?: [A-Z][^\W\d_]+)* [A-Z]?\d+")
# The words of such a question that only say that it asks for a price.
_COSTING = frozenset(("cost", "price"))
# For words that say which form a value has, as in "phone number", the pattern of such values.
_FORMS = {"number": r".*\d", "amount": r".*\d", "date": r".*\d", "time": r".*\d", "name": r"\D*"}


def answer_with_cell(
    question: str, words: list[Word], tables: Sequence[TableExcerpt], documents: Sequence[Document]
) -> RowAnswer | None:
    """Answer with the one cell that fits the question.

    :param question: The question.
    :param words: The words of the question.
    :param tables: The tables of the passages.
    :param documents: The passages that were found.
    :returns: The answer; None if no cell fits, or if cells with different values or several rows of one table fit.
    """
    fits_of_tables = [fit for table in tables for fit in find_fits(question, words, table)]
    fits = _current_fits([fit for fit in fits_of_tables if fit.column is not None])
    values = {fit.value.lower() for fit in fits}
    # Tables are compared by their identity, because two tables may be equal.
    different_tables = {id(fit.table) for fit in fits}
    has_rows_of_same_table = len(different_tables) < len(fits)
    if len(values) != 1 or has_rows_of_same_table:
        return None

    # A row without a document was not shown by any passage. Another table may show a row with the same value.
    fit = next((fit for fit in fits if fit.line.document is not None), fits[0])
    value = fit.value
    is_answer = is_value(question, value) and _suits(question, value, fit)
    if not is_answer or is_said_otherwise(question, fit):
        return None

    # Only some rows of a large table are known, and another row may belong to the list. So may the row below.
    may_go_on = not fit.table.is_whole or goes_on_below(question, fit)
    if may_go_on and _asks_for_several(question):
        return None
    if fit.line.document is None:
        return None

    cells = [words_of(text) for _, text in fit.table.cells(fit.line.row)]
    words_in_row = [word for word in words if _is_in(word, cells)]
    is_current = not fit.table.is_outdated(words_in_row, documents)
    # Another form may have the same labels, so its other cells must say which form is meant.
    identifying_columns = set[int]().union(*fit.places.values()) - {fit.column}
    # If only some rows are known, an unknown row may have the same name.
    is_only_row = bool(identifying_columns) and fit.table.is_whole
    is_sure = is_current and is_only_row and not find_row_doubt(question, fit)
    return RowAnswer(value, fit.line.document, fit.line.text, is_sure)


def _current_fits(fits: list[Fit]) -> list[Fit]:
    """Remove the rows of outdated tables.

    If any table is without a label such as "old", tables with such a label are removed. Older editions of a table are
    removed if a newer edition fits too.
    """
    unlabelled = [fit for fit in fits if standing_of(fit.table.document.meta) is None]
    current = unlabelled or fits
    # Tables are compared, not fits, because many rows of one table may fit.
    tables = {id(fit.table): fit.table for fit in current}
    replaced: set[int] = set()
    for key, table in tables.items():
        if any(_replaces(other, table) for other in tables.values()):
            replaced.add(key)
    return [fit for fit in current if id(fit.table) not in replaced]


def _asks_for_several(question: str) -> bool:
    """Check whether a question asks for several things, as "Which boats are open?" does.

    For example, ``_asks_for_several("Which boats are open?")`` returns ``True``.
    """
    asked = _SEVERAL.match(question)
    return asked is not None and stem_of(asked[1]) != asked[1].lower()


def _is_in(word: Word, texts: Iterable[Words]) -> bool:
    """Check whether one of the texts contains a word."""
    return any(text.hold(word) for text in texts)


def _replaces(table: TableExcerpt, other: TableExcerpt) -> bool:
    """Check whether a table is a newer edition of another one, as a price list of the next year is.

    Both must have the same columns.
    """
    meta, other_meta = table.document.meta, other.document.meta
    return table.columns == other.columns and is_edition(meta, other_meta) and is_newer(meta, other_meta)


def _suits(question: str, value: str, fit: Fit) -> bool:
    """Check whether a value has the form that the question asks for.

    The answer to "How many" must be a number. The answer to "When" must have a digit. The answer to "Who" must have
    none, unless it is a name such as "Team 5" below the name of a column that the question has.
    """
    many = HOW_MANY.match(question)
    if many is not None:
        things = many[1]
        return read_amount(value) is not None and _may_be_number_of(things, fit)

    has_digit = any(map(str.isdigit, value))
    asked = question.strip().lower()
    if asked.startswith("who"):
        is_asked_column = words_of(fit.column_name).whole <= fit.stems
        is_name = _NUMBERED_NAME.fullmatch(value) is not None
        return not has_digit or (is_asked_column and is_name)
    if _ASKS_PRICE.match(question) and _price_column(fit.table) == fit.column:
        return _AMOUNT.fullmatch(value) is not None
    return has_digit or not asked.startswith(("when", "how much"))


def _may_be_number_of(things: str, fit: Fit) -> bool:
    """Check whether a cell may be the number of things, rather than one of the things.

    "How many invoices" asks for the number in a column "Invoices". But in a column "Invoice" it counts the rows.
    """
    named = fit.table.names(Word(stem_of(things), things))
    if not named:
        return True
    if fit.column is None:
        return False
    if fit.column not in named:
        return len(named) == 1 and _holds_counts(fit.table, fit.column)
    return things.lower() in fit.table.columns[fit.column].lower().split()


class _Asked(NamedTuple):
    """What a question asks of one table.

    :param table: The table.
    :param words: The words of the question.
    :param in_table: Those words that stand in any row of the table.
    :param bound: The columns from :meth:`TableExcerpt.bound_columns`.
    :param price_column: The column that is asked for if the question asks for a price and names no column; None if
        there is no such column.
    :param counted_column: The column that is named after what is counted, as "Days" in "how many days"; None if there
        is none.
    """

    table: TableExcerpt
    words: Sequence[Word]
    in_table: set[Word]
    bound: Mapping[Word, set[int]]
    price_column: int | None
    counted_column: int | None


def find_fits(question: str, words: list[Word], table: TableExcerpt) -> list[Fit]:
    """Find the rows of a table that contain every word of a question.

    :param question: The question.
    :param words: The words of the question.
    :param table: The table.
    :returns: One fit per row.
    """
    rows = [dict(table.cells(line.row)) for line in table.lines.values()]
    words = with_dates_of(rows, words)

    cells = [words_of(text) for row in rows for text in row.values()]
    asked = _Asked(
        table=table,
        words=words,
        in_table={word for word in words if _is_in(word, cells)},
        bound=table.bound_columns(words),
        price_column=_price_column(table) if _ASKS_PRICE.match(question) else None,
        counted_column=_counted_column(question, table),
    )
    fits = (_fit(asked, line) for line in table.lines.values())
    return [fit for fit in fits if fit is not None]


def _counted_column(question: str, table: TableExcerpt) -> int | None:
    """Find the column of numbers whose whole name is what the question counts.

    In a table with the columns "Name", "Days" and "Left", "How many days has Ann left?" counts days. So the column
    "Days" is returned. A year in the name does not count.

    :param question: The question.
    :param table: The table.
    :returns: The number of the column; None if the question counts nothing, or if no column or several ones are so
        named.
    """
    many = HOW_MANY.match(question)
    if many is None:
        return None
    named = table.names(Word(stem_of(many[1]), many[1]))
    if len(named) != 1 or not named <= _number_columns(table):
        return None
    [column] = named
    words = {word for word in words_of(table.columns[column]).whole if not word.isdigit()}
    return column if words == {stem_of(many[1])} else None


def _holds_counts(table: TableExcerpt, column: int | None) -> bool:
    """Check whether a column may hold numbers of things: no years, no money, and nothing else."""
    if column is None or column not in _number_columns(table) or re.search(_CURRENCY, table.columns[column]):
        return False
    texts = [dict(table.cells(line.row)).get(column, "") for line in table.lines.values()]
    return not any(re.fullmatch(r"(?:1[5-9]|20)\d\d", text) for text in texts)


def _number_columns(table: TableExcerpt) -> set[int]:
    """Find the columns that hold numbers only. Empty cells do not count."""
    texts: dict[int, list[str]] = {}
    for line in table.lines.values():
        for number, text in table.cells(line.row):
            texts.setdefault(number, []).append(text)
    return {number for number, cells in texts.items() if all(read_amount(cell) is not None for cell in cells)}


def _price_column(table: TableExcerpt) -> int | None:
    """Find the only column of prices; None if there are none or several."""
    columns = [number for number, name in enumerate(table.columns) if _PRICES.fullmatch(name)]
    return columns[0] if len(columns) == 1 else None


def _fit(asked: _Asked, line: Line) -> Fit | None:
    """Check whether a row contains every word of a question.

    :param asked: What the question asks of the table.
    :param line: The row.
    :returns: The fit; None if a word has no place in the row, in the name of a column or above the table.
    """
    table = asked.table
    row = dict(table.cells(line.row))
    places: dict[Word, set[int]] = {}
    for word in asked.words:
        places[word] = {column for column, text in row.items() if table.may_hold(word, column, text, asked.bound)}
    # In "the ticket of team 3" the number belongs to the team, so the cell "Team 2" does not fit.
    numbered = {first for first, second in pairwise(asked.words) if second.typed.isdigit()}
    for word in _names_repeated(table, places):
        if word in numbered:
            continue
        places[word] = set()
    column = _column_of_value(asked, places)

    # The columns by which the question identifies the row. If there is none, the question may mean any row.
    identified = set[int]().union(*places.values()) - {column}
    if not identified and not table.is_record:
        return None

    words_without_cell = [word for word in asked.words if not places[word]]
    if not all(_has_place(word, asked, row, column, identified) for word in words_without_cell):
        return None
    if any(_holds_half(first, second, table, places) for first, second in pairwise(asked.words)):
        return None
    is_certain = table.is_whole or _asks_for_cell(asked.words, row, identified)
    return Fit(table, line, column, places) if is_certain else None


def _names_repeated(table: TableExcerpt, places: Mapping[Word, set[int]]) -> list[Word]:
    """List the words that name a column, although the cell in this column repeats them.

    In a column "Team" with the cell "Team 5", "the team of ticket 8" asks for the cell, but "the fitter of team 5" does
    not. So a word counts if no other word of the question stands in the cell, and if another cell has such a word.

    :param table: The table.
    :param places: For each word of the question the columns whose cells in the row contain the word.
    :returns: The words.
    """
    repeated: list[Word] = []
    for word, columns in places.items():
        others = set[int]().union(*(places[other] for other in places if other != word))
        if columns == table.names(word) and len(columns) == 1 and others and columns.isdisjoint(others):
            repeated.append(word)
    return repeated


def _column_of_value(asked: _Asked, places: Mapping[Word, set[int]]) -> int | None:
    """Find the column whose cell the question asks for: the one that it names, or the only column of prices.

    :param asked: What the question asks of the table.
    :param places: For each word of the question the columns whose cells in the row contain the word.
    :returns: The number of the column; None if there is no such column.
    """
    # A column identifies the row if it alone holds a word of the question. A word that several columns hold does not
    # count: an e-mail address may also contain a part of a name.
    identifying: set[int] = set()
    for columns in places.values():
        if len(columns) == 1:
            identifying |= columns

    words_without_cell = [word for word in asked.words if not places[word]]
    column = None
    if asked.counted_column is not None:
        # "How many days has Ann left?" asks for the column "Left" beside a column "Days".
        uncounted = [word for word in words_without_cell if asked.table.asked(word) != {asked.counted_column}]
        column = _asked_column(uncounted, uncounted, asked.table, identifying)
    if not _holds_counts(asked.table, column):
        column = _asked_column(asked.words, words_without_cell, asked.table, identifying)
    if column is None and asked.price_column not in identifying:
        return asked.price_column
    return column


def _has_place(
    word: Word, asked: _Asked, row: Mapping[int, str], column: int | None, identified: Collection[int]
) -> bool:
    """Check whether a word that no cell of the row contains has a place elsewhere, so that the row may still be meant.

    :param word: The word of the question.
    :param asked: What the question asks of the table.
    :param row: For the row, the number of the column and the text of each cell.
    :param column: The column that the question asks for; None if there is none.
    :param identified: The columns by which the question identifies the row.
    :returns: Whether the word names a column, only says what is counted, what it costs or which form the value has, or
        stands above the table.
    """
    if word.relation:
        return False
    named = asked.table.asked(word)
    names_column = column in named or not named.isdisjoint(identified)
    if names_column or _tells_form(word, asked.words, asked.table, row, column):
        return True

    names_counted_column = asked.counted_column is not None and named == {asked.counted_column}
    if names_counted_column and _holds_counts(asked.table, column):
        return True
    asks_for_price = column is not None and column == asked.price_column
    if asks_for_price and word.stem in _COSTING:
        return True
    # A word that stands in another row does not count as a word above the table.
    return word not in asked.in_table and asked.table.is_context(word)


def _holds_half(first: Word, second: Word, table: TableExcerpt, places: Mapping[Word, set[int]]) -> bool:
    """Check whether a row holds only half of a name.

    Two neighbouring words with capitals are one name.

    :param first: A word of the question.
    :param second: The next word.
    :param table: The table.
    :param places: For each word the columns whose cells contain the word.
    :returns: Whether the two words are a name and the row holds only one of them.
    """
    may_be_name = all(word.is_name and not word.is_number for word in (first, second))
    if not may_be_name or table.asked(first) or table.asked(second):
        return False
    return bool(places[first]) != bool(places[second])


def _asked_column(
    words: Sequence[Word], words_without_cell: Sequence[Word], table: TableExcerpt, identifying: set[int]
) -> int | None:
    """Find the column that most words of the question name.

    A column that identifies the row is left out.

    :param words: The words of the question.
    :param words_without_cell: Those words that no cell of the row contains.
    :param table: The table.
    :param identifying: The columns that identify the row.
    :returns: The number of the column; None if no column, or more than one, is named by most words.
    """
    stems = all_stems(words)
    asked = {word: table.asked(word) for word in words}

    scores: dict[int, tuple[int, int, bool]] = {}
    for number, name in enumerate(table.columns):
        if number in identifying:
            continue
        by_words_without_cell = sum(number in asked[word] for word in words_without_cell)
        by_all_words = sum(number in asked[word] for word in words)

        # Of two columns with equal scores, "price" means a column "Price" rather than a column "Price of 2023".
        is_whole_name = words_of(name).whole <= stems
        if by_words_without_cell:
            scores[number] = (by_words_without_cell, by_all_words, is_whole_name)

    best = max(scores.values(), default=None)
    columns = [number for number, score in scores.items() if score == best]
    return columns[0] if len(columns) == 1 else None


def _tells_form(
    word: Word, words: Sequence[Word], table: TableExcerpt, row: Mapping[int, str], column: int | None
) -> bool:
    """Check whether a word next to the column's name only says which form the value has, as in "phone number"."""
    form = _FORMS.get(word.stem)
    if column is None or form is None or not re.match(form, row.get(column, "")):
        return False
    place = words.index(word)
    beside = [words[number] for number in (place - 1, place + 1) if 0 <= number < len(words)]
    return any(column in table.asked(other) for other in beside)


def _asks_for_cell(words: Sequence[Word], row: Mapping[int, str], identified: set[int]) -> bool:
    """Check whether a question contains all words of a cell that names its row: the first cell, or a cell with a digit.

    This is needed for a large table, because only some of its rows are known. An unknown row may have the same town, or
    a part of the same name.
    """
    stems = all_stems(words)
    for column, text in row.items():
        names_row = column == 0 or any(map(str.isdigit, text))
        if column in identified and names_row and words_of(text).whole <= stems:
            return True
    return False
