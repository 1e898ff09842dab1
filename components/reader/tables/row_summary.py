"""A count, a list or a sum of the rows that a question chooses."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from haystack import Document

from prefrag.components.reader.tables.amounts import (
    column_cells,
    is_summable,
    read_amount,
    read_amounts,
    without_totals,
)
from prefrag.components.reader.tables.table_excerpt import Line, RowAnswer, TableExcerpt
from prefrag.components.reader.tables.table_words import HOW_MANY, Word, all_stems, split_dates, words_of
from prefrag.components.text.counted import counted

_MOST_SHOWN = 8
_MOST_LISTED = 20
_LIST = re.compile(r"\W*(?:list|which|what are)\b", re.IGNORECASE)
_SUM = re.compile(r"\W*(?:what(?: is|'s| was)\s+)?(?:the\s+)?(?:total|sum)\b", re.IGNORECASE)
_OPERATIONS = frozenset(("list", "total", "sum"))
_COUNTING = frozenset(("number", "amount"))
_PARTS = re.compile(r"[,;/&\n]|\sand\s|\sund\s", re.IGNORECASE)


class _Choice(NamedTuple):
    """The rows of a table that a question chooses, and the columns that it names."""

    table: TableExcerpt
    lines: list[Line]
    names: dict[Word, set[int]]


def answer_with_rows(
    question: str, words: list[Word], tables: Sequence[TableExcerpt], documents: Sequence[Document]
) -> RowAnswer | None:
    """Answer with a count, a list or a sum; None if the question asks for none, or if a second table fits."""
    many, is_list, is_sum = HOW_MANY.match(question), _LIST.match(question), _SUM.match(question)
    if not (many or is_list or is_sum):
        return None
    asked = [word for word in words if word.stem not in _OPERATIONS] if not many else words
    if not asked:
        return None
    tables = [table for table in tables if not table.is_outdated(asked, documents)]
    answers: dict[str, tuple[RowAnswer, bool]] = {}
    for is_named in (True, False) if is_sum else (True,):
        for table in tables:
            choice = _choose_rows(asked, table, is_sum=is_sum is not None)
            if choice is None:
                continue
            answer = _sum_rows(choice, words, is_named) if is_sum else _count_rows(choice, asked[0], many is not None)
            if answer is not None:
                key = f"{answer.text}\n{answer.sentence}"
                answers[key] = (answer, table.is_whole)
        if answers:
            break
    # With a second table that fits, or with rows that are not known, an answer would be a guess.
    if len(answers) != 1:
        return None
    [(answer, is_whole)] = answers.values()
    return answer if is_whole else None


def _choose_rows(words: list[Word], table: TableExcerpt, *, is_sum: bool) -> _Choice | None:
    """Choose the rows that a question means. Returns None if a word is nowhere, or may mean more than one thing."""
    lines = without_totals(list(table.lines.values()), table)
    if lines is None or not lines:
        return None
    rows = [dict(table.cells(line.row)) for line in lines]
    if not any(words_of(text).hold(word) for word in words if word.days for row in rows for text in row.values()):
        words = split_dates(words)
    bound = table.bound_columns(words)
    wanted: dict[int, list[Word]] = {}
    names: dict[Word, set[int]] = {}
    for place, word in enumerate(words):
        columns = {column for row in rows for column, text in row.items() if table.may_hold(word, column, text, bound)}
        if word.relation and not columns:
            return None
        # A town in a column of towns is meant rather than one in the name of a customer.
        alone = {column for row in rows for column in columns if words_of(row.get(column, "")).whole == {word.stem}}
        columns = alone or columns
        named = table.names(word)
        if named and (not columns or (place == 0 and not is_sum)):
            names[word] = named
        elif len(columns) == 1 and not named:
            wanted.setdefault(columns.pop(), []).append(word)
        elif columns or not (table.is_context(word) or (is_sum and _counts_column(place, words, table))):
            return None
    stems = all_stems(words)
    chosen = []
    for line, row in zip(lines, rows, strict=True):
        fits = [[words_of(row.get(column, "")).hold(word) for word in own] for column, own in wanted.items()]
        for (column, own), matches in zip(wanted.items(), fits, strict=True):
            # A cell that says more than the question does may be meant or not.
            if any(matches) and not any(word.days for word in own) and not words_of(row[column]).whole <= stems:
                return None
        if all(map(all, fits)):
            chosen.append(line)
    # Each column that is named is counted, has a value asked for, or is that of the records.
    first_words = set(words[:1]) if not is_sum else set()
    for word, named in names.items():
        if word not in first_words and not is_sum and not named & {*wanted, 0}:
            return None
    return _Choice(table, chosen, names) if chosen else None


def _counts_column(place: int, words: Sequence[Word], table: TableExcerpt) -> bool:
    """Check whether a word only says that a column holds numbers, as in "total number of seats"."""
    return words[place].stem in _COUNTING and any(map(table.names, words[place + 1 : place + 2]))


def _count_rows(choice: _Choice, noun: Word, is_count: bool) -> RowAnswer | None:
    table, lines = choice.table, choice.lines
    named = choice.names.get(noun)
    if named:
        column = 0 if 0 in named else min(named)
        if len(named) > 1 and column:
            return None
    else:
        # The table itself is named, as by a sheet "Invoices", and its first column tells its rows.
        names = [{stem for stem in text.whole if not any(map(str.isdigit, stem))} for text in table.context]
        firsts = [line.row.cells[0] if line.row.cells else "" for line in table.lines.values()]
        column = 0
        if {noun.stem} not in names or len(set(firsts)) < len(firsts) or noun.typed.lower() == noun.stem:
            return None
    values = column_cells(lines, column)
    is_named_so = named and noun.typed.lower() in table.columns[column].lower().split()
    is_quantity = is_named_so and all(map(read_amount, values))
    if not all(values) or (is_quantity and noun.typed.lower() != noun.stem):
        return None
    if _may_hold_several(table, column):
        return None
    distinct = list({value.casefold(): value for value in reversed(values)}.values())[::-1]
    if is_count:
        return _row_answer(f"{len(distinct)}, counted in {counted(len(lines), 'row')}", choice)
    if len(distinct) > _MOST_LISTED:
        return None
    return _row_answer(", ".join(distinct), choice)


def _may_hold_several(table: TableExcerpt, column: int) -> bool:
    """Check whether a cell of a column may hold several values: whether a part of it is in another cell too."""
    cells = {
        text.casefold() for line in table.lines.values() for number, text in table.cells(line.row) if number == column
    }
    parts = [{part.strip() for part in _PARTS.split(cell)} - {""} for cell in cells]
    several = set[str]().union(*(part for part in parts if len(part) > 1))
    return sum(len(part & several) for part in parts) > len(several)


def _sum_rows(choice: _Choice, words: Sequence[Word], is_named: bool) -> RowAnswer | None:
    """Add the numbers of a column: of the one that the question names or, if it names none, of the only one."""
    table = choice.table
    amounts = {column: read_amounts(choice.lines, column) for column in range(1, len(table.columns))}
    columns = [column for column, own in amounts.items() if own is not None]
    by_words = [column for column in columns if any(column in table.names(word) for word in words)]
    by_own = [column for column in columns if any(column in named for named in choice.names.values())]
    # In a table of two columns, the numbers are what it is about.
    chosen = (by_own or by_words) if is_named else columns if len(table.columns) == 2 else []
    others = {number for named in choice.names.values() for number in named} - {0, *chosen}
    if by_own:
        others = {column for column in others if not _names_records(choice.lines, column)}
    elif any(word.stem in _COUNTING and not table.names(word) for word in words):
        # "Total number of invoices" is a count.
        return None
    if len(chosen) != 1 or others or (is_named and not by_words):
        return None
    own = amounts[chosen[0]]
    if own is None or not is_summable(table, choice.lines, chosen[0]):
        return None
    before, _, after = own[0]
    total = sum((number for _, number, _ in own), Decimal())
    text = f"{before}{total:,}{' ' if after and after[0].isalpha() else ''}{after}"
    return _row_answer(f"{text}, the sum of {counted(len(own), 'row')}", choice)


def _names_records(lines: Sequence[Line], column: int) -> bool:
    """Check whether each row has another text in a column, which then names the rows, as "boats" of a fleet does."""
    cells = column_cells(lines, column)
    return all(cells) and len(set(cells)) == len(cells) and not any(map(read_amount, cells))


def _row_answer(text: str, choice: _Choice) -> RowAnswer:
    lines = [line.text for line in choice.lines]
    more = [f"and {counted(len(lines) - _MOST_SHOWN, 'more row')}"] if len(lines) > _MOST_SHOWN else []
    document = next((line.document for line in choice.lines if line.document is not None), choice.table.document)
    return RowAnswer(text, document, "\n".join([*lines[:_MOST_SHOWN], *more]))
