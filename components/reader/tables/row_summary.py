"""A count, a list or a sum of the rows that a question chooses."""

import re
from collections.abc import Mapping, Sequence
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
from prefrag.components.reader.tables.table_words import HOW_MANY, Word, all_stems, with_dates_of, words_of
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
    is_count, is_sum = HOW_MANY.match(question) is not None, _SUM.match(question) is not None
    if not (is_count or is_sum or _LIST.match(question)):
        return None
    asked = words if is_count else [word for word in words if word.stem not in _OPERATIONS]
    if not asked:
        return None
    current = [table for table in tables if not table.is_outdated(asked, documents)]
    fitting = (_choose_rows(asked, table, is_sum=is_sum) for table in current)
    choices = [choice for choice in fitting if choice is not None]
    if not is_sum:
        return _only_answer(choices, [_count_rows(choice, asked[0], is_count) for choice in choices])
    sums = [_sum_rows(choice, words, is_named=True) for choice in choices]
    if all(answer is None for answer in sums):
        sums = [_sum_rows(choice, words, is_named=False) for choice in choices]
    return _only_answer(choices, sums)


def _only_answer(choices: Sequence[_Choice], answers: Sequence[RowAnswer | None]) -> RowAnswer | None:
    """Return the only answer. With a second table that fits, or with rows that are not known, it would be a guess."""
    distinct: dict[str, tuple[RowAnswer, bool]] = {}
    for choice, answer in zip(choices, answers, strict=True):
        if answer is not None:
            distinct[f"{answer.text}\n{answer.sentence}"] = (answer, choice.table.is_whole)
    if len(distinct) != 1:
        return None
    [(answer, is_whole)] = distinct.values()
    return answer if is_whole else None


def _choose_rows(words: list[Word], table: TableExcerpt, *, is_sum: bool) -> _Choice | None:
    """Choose the rows that a question means. Returns None if a word is nowhere, or may mean more than one thing."""
    lines = without_totals(list(table.lines.values()), table)
    if lines is None or not lines:
        return None
    rows = [dict(table.cells(line.row)) for line in lines]
    words = with_dates_of(rows, words)
    bound = table.bound_columns(words)
    wanted: dict[int, list[Word]] = {}  # for a column the words that its cells must hold
    names: dict[Word, set[int]] = {}
    for place, word in enumerate(words):
        columns = {column for row in rows for column, text in row.items() if table.may_hold(word, column, text, bound)}
        if word.relation and not columns:
            return None
        # A town in a column of towns is meant rather than one in the name of a customer.
        alone = {column for row in rows for column in columns if words_of(row.get(column, "")).whole == {word.stem}}
        columns = alone or columns
        named = table.names(word)
        # The first word of a count or a list says what is counted or listed.
        is_noun = place == 0 and not is_sum
        names_column = is_noun or not columns
        if named and names_column:
            names[word] = named
        elif len(columns) == 1 and not named:
            wanted.setdefault(columns.pop(), []).append(word)
        elif columns or not _needs_no_column(place, words, table, is_sum=is_sum):
            return None
    chosen = _rows_with(wanted, lines, rows, all_stems(words))
    if not chosen:
        return None
    # Each column that is named is counted, has a value asked for, or is that of the records.
    if not is_sum:
        for word, named in names.items():
            if word != words[0] and not named & {*wanted, 0}:
                return None
    return _Choice(table, chosen, names)


def _rows_with(
    wanted: Mapping[int, Sequence[Word]], lines: Sequence[Line], rows: Sequence[Mapping[int, str]], stems: set[str]
) -> list[Line]:
    """Choose the rows that hold what is wanted of each column; none if it is unclear whether a row is meant."""
    chosen: list[Line] = []
    for line, row in zip(lines, rows, strict=True):
        is_chosen = True
        for column, own in wanted.items():
            cell = words_of(row.get(column, ""))
            matches = [cell.hold(word) for word in own]
            has_date = any(word.days for word in own)
            # A cell that says more than the question does may be meant or not.
            if any(matches) and not has_date and not cell.whole <= stems:
                return []
            is_chosen = is_chosen and all(matches)
        if is_chosen:
            chosen.append(line)
    return chosen


def _needs_no_column(place: int, words: Sequence[Word], table: TableExcerpt, *, is_sum: bool) -> bool:
    """Check whether a word stands above the table, or only says that a column holds numbers: "number of seats"."""
    if table.is_context(words[place]):
        return True
    if not is_sum or words[place].stem not in _COUNTING:
        return False
    return any(map(table.names, words[place + 1 : place + 2]))


def _count_rows(choice: _Choice, noun: Word, is_count: bool) -> RowAnswer | None:
    table, lines = choice.table, choice.lines
    named = choice.names.get(noun) or set()
    typed = noun.typed.lower()
    is_plural = typed != noun.stem
    column = min(named, default=0)
    if len(named) > 1 and column:
        return None
    is_table_named = is_plural and _is_named_after(noun, table)
    if not named and not is_table_named:
        return None
    values = column_cells(lines, column)
    if not all(values) or _may_hold_several(table, column):
        return None
    # Numbers in a column "Seats" are quantities: its rows are no seats.
    is_column_name = bool(named) and typed in table.columns[column].lower().split()
    if is_plural and is_column_name and all(map(read_amount, values)):
        return None
    # Of equal values the first is shown, in the place of the last.
    by_key = {value.casefold(): value for value in reversed(values)}
    distinct = list(reversed(by_key.values()))
    if is_count:
        return _row_answer(f"{len(distinct)}, counted in {counted(len(lines), 'row')}", choice)
    if len(distinct) > _MOST_LISTED:
        return None
    return _row_answer(", ".join(distinct), choice)


def _is_named_after(noun: Word, table: TableExcerpt) -> bool:
    """Check whether a table itself has a name, as a sheet "Invoices" has, and its first column tells its rows."""
    firsts = column_cells(table.lines.values(), 0)
    if len(set(firsts)) < len(firsts):
        return False
    for text in table.context:
        name = {stem for stem in text.whole if not any(map(str.isdigit, stem))}
        if name == {noun.stem}:
            return True
    return False


def _may_hold_several(table: TableExcerpt, column: int) -> bool:
    """Check whether a cell of a column may hold several values: whether a part of it is in another cell too."""
    cells = {text.casefold() for text in column_cells(table.lines.values(), column) if text}
    parts = [_parts_of(cell) for cell in cells]
    joined = [own for own in parts if len(own) > 1]
    parts_of_joined = set[str]().union(*joined)
    # A part that is in one cell only is counted once.
    return sum(len(own & parts_of_joined) for own in parts) > len(parts_of_joined)


def _parts_of(cell: str) -> set[str]:
    return {part.strip() for part in _PARTS.split(cell)} - {""}


def _sum_rows(choice: _Choice, words: Sequence[Word], is_named: bool) -> RowAnswer | None:
    """Add the numbers of a column: of the one that the question names or, if it names none, of the only one."""
    table = choice.table
    amounts = {column: read_amounts(choice.lines, column) for column in range(1, len(table.columns))}
    columns = [column for column, own in amounts.items() if own is not None]
    named_by_word = set[int]().union(*map(table.names, words))
    named_alone = set[int]().union(*choice.names.values())  # by words that stand in no cell
    by_words = [column for column in columns if column in named_by_word]
    by_own = [column for column in columns if column in named_alone]
    # In a table of two columns, the numbers are what it is about.
    unnamed = columns if len(table.columns) == 2 else []
    chosen = (by_own or by_words) if is_named else unnamed
    others = named_alone - {0, *chosen}
    if by_own:
        others = {column for column in others if not _names_records(choice.lines, column)}
    elif any(word.stem in _COUNTING and not table.names(word) for word in words):
        # "Total number of invoices" is a count.
        return None
    if len(chosen) != 1 or others:
        return None
    if is_named and not by_words:
        return None
    own = amounts[chosen[0]]
    if own is None or not is_summable(table, choice.lines, chosen[0]):
        return None
    before, _, after = own[0]
    total = sum((number for _, number, _ in own), Decimal())
    blank = " " if after[:1].isalpha() else ""
    text = f"{before}{total:,}{blank}{after}"
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
