"""Answer a question with a count, a list or a sum of the rows of a table.

The words of the question choose the rows, and they name the columns that are counted, listed or added. If a word is
found nowhere, or if it may mean two columns, there is no answer.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import dropwhile
from typing import NamedTuple

from haystack import Document

from prefrag.components.reader.tables.amounts import (
    Amount,
    column_cells,
    is_multiplied,
    is_summable,
    read_amount,
    read_amounts,
    without_totals,
)
from prefrag.components.reader.tables.row_fit import Fit
from prefrag.components.reader.tables.row_retraction import is_taken_back_by_row, is_taken_back_by_title, is_without
from prefrag.components.reader.tables.row_subject import has_dated_rows, naming_column, repeats_cell
from prefrag.components.reader.tables.table_excerpt import Line, RowAnswer, TableExcerpt
from prefrag.components.reader.tables.table_words import HOW_MANY, Word, all_stems, with_dates_of, words_of
from prefrag.components.text.counted import counted

# The maximum number of rows that are shown below an answer.
_MOST_SHOWN = 8
# The maximum number of values in a list. A longer list is no answer.
_MOST_LISTED = 20
# The maximum number of rows whose cells are searched for notes such as "cancelled". A cell takes up to a millisecond.
_MOST_CHECKED = 100
# The beginning of a question for a list. It matches "Which customers are open" and "list the boats".
_LIST = re.compile(r"\W*(?:list|which|what are)\b", re.IGNORECASE)
# The beginning of a question for a sum. It matches "total of the open invoices" and "What is the sum of the items?".
_SUM = re.compile(r"\W*(?:what(?: is|'s| was)\s+)?(?:the\s+)?(?:total|sum)\b", re.IGNORECASE)
# Words that only say what to do with the rows.
_OPERATIONS = frozenset(("list", "total", "sum"))
# Words that only say that a column holds numbers, as in "number of seats".
_COUNTING = frozenset(("number", "amount"))
# A sign or word, in English or German, between the values of one cell. It matches "Red, Blue" and "Red and Blue".
_PARTS = re.compile(r"[,;/&\n]|\sand\s|\sund\s", re.IGNORECASE)
# A number with a short unit. It matches "10 kg" in "Dog up to 10 kg". It does not match "Van 4", "5th" and "9 am".
_MEASURE = re.compile(r"\d\s?(?!(?:st|nd|rd|th|am|pm)\b)(?:[a-z]{1,3}|[AVW])\b")


class _Choice(NamedTuple):
    """The rows of a table that a question chooses.

    :param question: The question.
    :param words: The words of the question, without words such as "list" and "total".
    :param table: The table.
    :param records: All rows of the table, without a row of totals.
    :param lines: The chosen rows.
    :param named: For each word of the question that names columns, the numbers of these columns.
    :param wanted: For each column that chooses the rows, the words that its cells must hold.
    """

    question: str
    words: list[Word]
    table: TableExcerpt
    records: list[Line]
    lines: list[Line]
    named: dict[Word, set[int]]
    wanted: dict[int, list[Word]]


def answer_with_rows(
    question: str, words: list[Word], tables: Sequence[TableExcerpt], documents: Sequence[Document]
) -> RowAnswer | None:
    """Answer with a count, a list or a sum.

    For a table of invoices, the answer to "How many invoices are open?" is "2, counted in 2 rows". The answer to
    "total of the open invoices" is "505.50, the sum of 2 rows".

    :param question: The question.
    :param words: The words of the question.
    :param tables: The tables of the passages.
    :param documents: The passages that were found.
    :returns: The answer; None if the question asks for something else, or if a second table gives another answer.
    """
    is_count = HOW_MANY.match(question) is not None
    is_sum = _SUM.match(question) is not None
    is_list = _LIST.match(question) is not None
    if not (is_count or is_sum or is_list):
        return None

    asked = words
    if not is_count:
        asked = [word for word in words if word.stem not in _OPERATIONS]
    if not asked:
        return None

    current_tables = [table for table in tables if not table.is_outdated(asked, documents)]
    choices_of_tables = (_choose_rows(question, asked, table, is_sum=is_sum) for table in current_tables)
    choices = [choice for choice in choices_of_tables if choice is not None]

    if not is_sum:
        counts_or_lists = [_count_rows(choice, asked[0], is_count) for choice in choices]
        return _only_answer(choices, counts_or_lists)
    sums = [_sum_rows(choice, words, is_named=True) for choice in choices]
    if all(answer is None for answer in sums):
        sums = [_sum_rows(choice, words, is_named=False) for choice in choices]
    return _only_answer(choices, sums)


def _only_answer(choices: Sequence[_Choice], answers: Sequence[RowAnswer | None]) -> RowAnswer | None:
    """Return the only answer of all tables.

    With a second answer, or with a table of which some rows are unknown, an answer would be a guess. Then None is
    returned.
    """
    # Of equal answers, the last one counts.
    distinct: dict[tuple[str, str], tuple[RowAnswer, TableExcerpt]] = {}
    for choice, answer in zip(choices, answers, strict=True):
        if answer is not None:
            distinct[answer.text, answer.sentence] = (answer, choice.table)
    if len(distinct) != 1:
        return None
    [(only_answer, table)] = distinct.values()
    return only_answer if table.is_whole else None


def _choose_rows(question: str, words: list[Word], table: TableExcerpt, *, is_sum: bool) -> _Choice | None:
    """Choose the rows that a question means.

    :param question: The question.
    :param words: The words of the question, without words such as "list" and "total".
    :param table: The table.
    :param is_sum: Whether the question asks for a sum.
    :returns: The rows; None if a word is found nowhere, or may mean more than one column.
    """
    lines = without_totals(list(table.lines.values()), table)
    if not lines or _repeat_cells_above(lines, 0):
        return None

    rows = [dict(table.cells(line.row)) for line in lines]
    words = with_dates_of(rows, words)
    bound = table.bound_columns(words)

    # For each column, the words that its cells must hold.
    wanted: dict[int, list[Word]] = {}
    # For each word that names columns, the numbers of these columns.
    named: dict[Word, set[int]] = {}

    for place, word in enumerate(words):
        columns_with_word = _columns_with(word, rows, table, bound)
        if word.relation and not columns_with_word:
            return None

        columns_named = table.names(word)
        # The first word of a count or a list says what is counted or listed.
        is_noun = place == 0 and not is_sum
        if columns_named and (is_noun or not columns_with_word):
            named[word] = columns_named
        elif len(columns_with_word) == 1 and not columns_named:
            wanted.setdefault(columns_with_word.pop(), []).append(word)
        elif columns_with_word or not _needs_no_column(place, words, table, is_sum=is_sum):
            return None

    chosen = _rows_with(wanted, lines, rows, all_stems(words))
    names_other_column = not is_sum and _names_other_column(named, wanted, words[0])
    if not chosen or names_other_column:
        return None
    return _Choice(question, words, table, lines, chosen, named, wanted)


def _names_other_column(named: Mapping[Word, set[int]], wanted: Mapping[int, list[Word]], noun: Word) -> bool:
    """Check whether a question for a count or a list names a column that plays no part in the answer.

    A column plays a part if its values are counted, if it holds a value of the question, or if it is the first column.

    :param named: As in :class:`_Choice`.
    :param wanted: As in :class:`_Choice`.
    :param noun: The first word of the question, which says what is counted or listed.
    """
    columns_with_part = {*wanted, 0}
    return any(columns.isdisjoint(columns_with_part) for word, columns in named.items() if word != noun)


def _columns_with(
    word: Word, rows: Sequence[Mapping[int, str]], table: TableExcerpt, bound: Mapping[Word, set[int]]
) -> set[int]:
    """Find the columns with cells that a word of the question may mean.

    :param word: The word.
    :param rows: For each row, the number of the column and the text of each cell.
    :param table: The table.
    :param bound: The columns from :meth:`TableExcerpt.bound_columns`.
    :returns: The numbers of the columns.
    """
    columns: set[int] = set()
    for row in rows:
        columns.update(column for column, text in row.items() if table.may_hold(word, column, text, bound))
    # A column with a cell that is only this word is meant, such as a column of towns. A column of customers may have
    # the town in a name.
    exact_columns = {column for column in columns if _has_exact_cell(word, rows, column)}
    return exact_columns or columns


def _has_exact_cell(word: Word, rows: Sequence[Mapping[int, str]], column: int) -> bool:
    """Check whether a cell of a column has no other word."""
    return any(words_of(row.get(column, "")).whole == {word.stem} for row in rows)


def _repeat_cells_above(lines: Sequence[Line], column: int) -> bool:
    """Check whether an empty cell of a column, or a sign such as a quotation mark, may stand for the cell above it."""
    below = dropwhile(lambda line: repeats_cell(line.row.cells, column), lines)
    return any(repeats_cell(line.row.cells, column) for line in below)


def _rows_with(
    wanted: Mapping[int, Sequence[Word]], lines: Sequence[Line], rows: Sequence[Mapping[int, str]], stems: set[str]
) -> list[Line]:
    """Choose the rows whose cells hold the words that are wanted of each column.

    :param wanted: For each column, the words that its cells must hold.
    :param lines: The rows.
    :param rows: For each row, the number of the column and the text of each cell.
    :param stems: The stems of the question.
    :returns: The rows; empty if it is unclear whether a row is meant.
    """
    chosen: list[Line] = []
    for line, row in zip(lines, rows, strict=True):
        is_chosen = True
        for column, column_words in wanted.items():
            cell = words_of(row.get(column, ""))
            matches = [cell.hold(word) for word in column_words]
            has_date = any(word.days for word in column_words)
            # A cell that says more than the question does may be meant or not.
            if any(matches) and not has_date and not cell.whole <= stems:
                return []
            is_chosen = is_chosen and all(matches)
        if is_chosen:
            chosen.append(line)
    return chosen


def _needs_no_column(place: int, words: Sequence[Word], table: TableExcerpt, *, is_sum: bool) -> bool:
    """Check whether a word stands above the table, or only says that a column has numbers, as in "number of seats"."""
    if table.is_context(words[place]):
        return True
    if not is_sum or words[place].stem not in _COUNTING:
        return False
    return any(map(table.names, words[place + 1 : place + 2]))


def _count_rows(choice: _Choice, noun: Word, is_count: bool) -> RowAnswer | None:
    """Count or list the different values in the column of the first word of a question.

    If no column has this name but the table has, as a sheet "Invoices" has, the first column is used.

    :param choice: The rows that the question chooses.
    :param noun: The first word of the question, which says what is counted or listed.
    :param is_count: Whether the values are counted; else they are listed.
    :returns: The answer; None if it is unclear what a row stands for.
    """
    column = _column_to_count(choice, noun)
    if column is None:
        return None
    values = column_cells(choice.lines, column)
    if not all(values) or _may_hold_several(choice.table, column):
        return None

    # Values that differ only in capitals are equal. The first of them is shown, at the place of the last of them.
    by_key = {value.casefold(): value for value in reversed(values)}
    distinct = list(reversed(by_key.values()))

    is_sure = _lists_all(choice, column)
    if is_count and any(map(_MEASURE.search, distinct)):
        # Rows such as "Dog up to 10 kg" and "Dog over 25 kg" are kinds of things. How many things there are is unknown.
        return None
    if is_count:
        return _row_answer(f"{len(distinct)}, counted in {counted(len(choice.lines), 'row')}", choice, is_sure)
    if len(distinct) > _MOST_LISTED:
        return None
    return _row_answer(", ".join(distinct), choice, is_sure)


def _column_to_count(choice: _Choice, noun: Word) -> int | None:
    """Choose the column whose values are counted or listed.

    :param choice: The rows that the question chooses.
    :param noun: The first word of the question, which says what is counted or listed.
    :returns: The number of the column; None if the noun names no column and no table, or if the column holds
        quantities.
    """
    table = choice.table
    columns = choice.named.get(noun) or set()
    typed = noun.typed.lower()
    is_plural = typed != noun.stem
    if not columns:
        return 0 if is_plural and _is_named_after(noun, table) else None

    column = min(columns)
    # Of several columns with this name, only the first of the table is clearly meant.
    if len(columns) > 1 and column != 0:
        return None
    # Numbers in a column "Seats" are quantities, so its rows are no seats.
    is_column_name = typed in table.columns[column].lower().split()
    if is_plural and is_column_name and all(map(read_amount, column_cells(choice.lines, column))):
        return None
    return column


def _lists_all(choice: _Choice, column: int) -> bool:
    """Check whether a table is about the things in a column, so that it lists all of them.

    A table of visits has the horses that were seen, and not all horses. So all things are counted only in the first
    column, or in the one that names the rows, and only if none occurs twice. Things with a property, such as those of a
    day, are counted in any column.
    """
    if choice.wanted:
        return True
    cells = column_cells(choice.records, column)
    if len(set(cells)) < len(cells):
        return False
    names_rows = column == naming_column(choice.table) and not has_dated_rows(choice.table)
    return column == 0 or names_rows


def _is_named_after(noun: Word, table: TableExcerpt) -> bool:
    """Check whether a noun is the name of the table, as of a sheet "Invoices", and each row has its own first cell."""
    firsts = column_cells(table.lines.values(), 0)
    if len(set(firsts)) < len(firsts):
        return False
    for text in table.context:
        stems_without_digits = {stem for stem in text.whole if not any(map(str.isdigit, stem))}
        if stems_without_digits == {noun.stem}:
            return True
    return False


def _may_hold_several(table: TableExcerpt, column: int) -> bool:
    """Check whether a cell of a column may hold several values, because a part of the cell stands in another cell too.

    A column with the cells "Red, Blue" and "Red" may. A column with the cells "Bell, Stone & Co" and "Reed" may not.
    """
    cells = {text.casefold() for text in column_cells(table.lines.values(), column) if text}
    parts_of_cells = [_parts_of(cell) for cell in cells]
    # The parts of all cells that may hold several values.
    joined_parts: set[str] = set()
    for parts in parts_of_cells:
        if len(parts) > 1:
            joined_parts |= parts
    # If each of these parts stands in a single cell, there are as many occurrences as parts.
    occurrences = sum(len(parts & joined_parts) for parts in parts_of_cells)
    return occurrences > len(joined_parts)


def _parts_of(cell: str) -> set[str]:
    """Split a cell into the values that it may hold.

    For example, ``_parts_of("Red, Blue and Green")`` returns ``{"Red", "Blue", "Green"}``.
    """
    return {part.strip() for part in _PARTS.split(cell)} - {""}


def _sum_rows(choice: _Choice, words: Sequence[Word], is_named: bool) -> RowAnswer | None:
    """Add the numbers of one column.

    :param choice: The rows that the question chooses.
    :param words: The words of the question.
    :param is_named: Whether to add the column that the question names. Else the only column with numbers is added, but
        only in a table of two columns.
    :returns: The answer; None if no column, or more than one, may be meant, or if its numbers cannot be added.
    """
    table = choice.table
    amounts: dict[int, list[Amount]] = {}
    for number in range(1, len(table.columns)):
        amounts_of_column = read_amounts(choice.lines, number)
        if amounts_of_column is not None:
            amounts[number] = amounts_of_column

    column = _column_to_add(choice, words, list(amounts), is_named)
    if column is None or not is_summable(table, choice.lines, column) or is_multiplied(table, column):
        return None

    addends = amounts[column]
    total = sum((amount.number for amount in addends), Decimal())
    # All amounts have the same unit.
    before, after = addends[0].before, addends[0].after
    blank = " " if after[:1].isalpha() else ""
    text = f"{before}{total:,}{blank}{after}"
    return _row_answer(f"{text}, the sum of {counted(len(addends), 'row')}", choice, is_sure=True)


def _column_to_add(choice: _Choice, words: Sequence[Word], columns: list[int], is_named: bool) -> int | None:
    """Choose the column whose numbers are added.

    :param choice: The rows that the question chooses.
    :param words: The words of the question.
    :param columns: The columns with numbers.
    :param is_named: As in :func:`_sum_rows`.
    :returns: The number of the column; None if no column, or more than one, may be meant.
    """
    table = choice.table
    named = set[int]().union(*map(table.names, words))
    # The columns that are named by words that stand in no cell.
    named_alone = set[int]().union(*choice.named.values())
    named_columns = [column for column in columns if column in named]
    alone_columns = [column for column in columns if column in named_alone]
    if is_named and not named_columns:
        return None

    # In a table of two columns, the numbers are what the table is about.
    unnamed_columns = columns if len(table.columns) == 2 else []
    chosen = alone_columns or named_columns if is_named else unnamed_columns

    # The columns that the question names besides, which the sum would have to take into account.
    others = named_alone - {0, *chosen}
    if alone_columns:
        others = {column for column in others if not _names_records(choice.lines, column)}
    elif any(word.stem in _COUNTING and not table.names(word) for word in words):
        # "Total number of invoices" is a count.
        return None
    return chosen[0] if len(chosen) == 1 and not others else None


def _names_records(lines: Sequence[Line], column: int) -> bool:
    """Check whether a column has another text in each row, so that it names the rows, as "boats" of a fleet does."""
    cells = column_cells(lines, column)
    all_differ = len(set(cells)) == len(cells)
    return all(cells) and all_differ and not any(map(read_amount, cells))


def _is_taken_back(choice: _Choice) -> bool:
    """Check whether a title or a cell takes one of the rows back, as a cell "cancelled" does."""
    places: dict[Word, set[int]] = {word: set() for word in choice.words}
    for column, words in choice.wanted.items():
        for word in words:
            places[word] = {column}
    fits = [Fit(choice.table, line, None, places) for line in choice.lines[:_MOST_CHECKED]]
    if any(is_taken_back_by_row(choice.question, fit) for fit in fits):
        return True
    return is_taken_back_by_title(choice.question, fits[0]) or is_without(choice.question, fits[0])


def _row_answer(text: str, choice: _Choice, is_sure: bool) -> RowAnswer:
    """Make the answer, with up to eight of its rows. Its passage is the first that shows one of the rows.

    If a row has an empty cell in a column that chooses the rows, the row may belong to the answer. Then it is not sure.
    Nor is it sure if the table takes a row back.
    """
    choosing_cells = [cell for column in choice.wanted for cell in column_cells(choice.records, column)]
    is_complete = choice.table.is_whole and all(choosing_cells)
    is_sure = is_sure and is_complete and not _is_taken_back(choice)

    shown = [line.text for line in choice.lines[:_MOST_SHOWN]]
    hidden = len(choice.lines) - len(shown)
    if hidden:
        shown.append(f"and {counted(hidden, 'more row')}")
    documents_of_lines = [line.document for line in choice.lines if line.document is not None]
    document = documents_of_lines[0] if documents_of_lines else choice.table.document
    return RowAnswer(text, document, "\n".join(shown), is_sure)
