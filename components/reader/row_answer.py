"""Answer a question from the rows of a table: with a cell, a count, a list or a sum.

This is a rule and not a model: every word of the question must be found in the row, in the names of columns or above
the table, so that no value of another row is given. If two rows fit, or a word fits none, there is no answer.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from haystack import Document

from prefrag.components.reader.question_form import asks_how_to, asks_yes_no
from prefrag.components.reader.table_words import Word, Words, question_words, split_dates, stem_of, words_of
from prefrag.components.state.newness import is_edition, is_newer
from prefrag.components.state.places import heading_of, standing_of
from prefrag.components.text.counted import counted
from prefrag.components.text.table_rows import Row, read_tables

_MOST_ROWS = 5_000
_MOST_SHOWN = 8
_MOST_LISTED = 20
_MOST_WORDS = 30
_MOST_CHECKED = 500_000
_GROUP = -1  # the number of the column that stands for the group of a row
_MANY = re.compile(r"\W*how many\s+(\w+)", re.IGNORECASE)
_LIST = re.compile(r"\W*(?:list|which|what are)\b", re.IGNORECASE)
_SEVERAL = re.compile(r"\W*(?:list|which|what)\s+(\w+)", re.IGNORECASE)
_SUM = re.compile(r"\W*(?:what(?: is|'s| was)\s+)?(?:the\s+)?(?:total|sum)\b", re.IGNORECASE)
# "Whose manager is Bo?" asks for the other end of what a column tells.
_REVERSED = re.compile(r"\b(?:whose|whom|wessen)\b|\bof\W*$", re.IGNORECASE)
_OPERATIONS = frozenset(("list", "total", "sum"))
_COUNTING = frozenset(("number", "amount"))
_TOTALS = frozenset(("total", "subtotal", "sum"))
# Labels of rows that tell of other rows.
_SUMMARIES = _TOTALS | frozenset(
    (
        *("all", "overall", "average", "mean", "median", "minimum", "maximum"),
        *("gesamt", "insgesamt", "gesamtsumme", "zwischensumme", "summe", "alle", "durchschnitt"),
    )
)
# Words behind or before the name of a column that say of which form its values are, as in "phone number".
_FORMS = {"number": r".*\d", "amount": r".*\d", "date": r".*\d", "time": r".*\d", "name": r"\D*"}
_AMOUNT = re.compile(r"([^\d\s+-]*)\s*([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*([^\d]*)")
# A year or a date is no measure, though it is written with digits.
# A number that is another in German, and one that is no number in English.
_GERMAN = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?!\.?\d)|,(?!\d{3}(?!\d))\d")
_DIGITS = re.compile(r"[^\d\s+-]{0,3}\s*([+-]?\d[\d.,]*)\s*\D*")
_RATES = frozenset(("percent", "percentage", "rate", "ratio", "share", "average", "prozent", "quote", "anteil", "satz"))
_TIMES = frozenset(("hour", "hr", "h", "time", "duration", "stunde", "stunden", "std", "zeit", "dauer"))
_UNITS = frozenset(("currency", "unit", "w\u00e4hrung", "einheit"))
_CURRENCY = re.compile(r"[A-Z]{3}|[$\u20ac\u00a3\u00a5]")
_PARTS = re.compile(r"[,;/&\n]|\sand\s|\sund\s", re.IGNORECASE)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


class Line(NamedTuple):
    """A row of a table as it is shown."""

    row: Row
    text: str
    document: Document | None  # the passage that holds it; None if only other passages of its file were found


@dataclass
class KnownTable:
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


class RowAnswer(NamedTuple):
    """An answer from the rows of a table."""

    text: str
    document: Document
    sentence: str  # the rows
    is_sure: bool = True  # whether no other row, and no newer document, can tell another answer


def known_tables(documents: Sequence[Document]) -> list[KnownTable]:
    """Collect the tables of passages, each once."""
    tables: dict[tuple[object, ...], KnownTable] = {}
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
            place = next((content.find(text) for text in texts if text in shown), 0)
            above = (table.title, str(meta.get("title") or ""), heading_of(meta, place) or "")
            gathered = tables.setdefault(
                key, KnownTable(table.columns, tuple(map(words_of, above)), document, table.size)
            )
            for number, (row, text) in enumerate(zip(table.rows, texts, strict=True), table.first):
                if (number not in gathered.lines or text in shown) and (room := room - 1) > 0:
                    gathered.lines[number] = Line(row, text, document if text in shown else None)
    return list(tables.values())


class Fit(NamedTuple):
    """A row that holds every word of a question, and the column that the question names; None if it names none."""

    table: KnownTable
    line: Line
    column: int | None


def answer_from_rows(question: str, documents: Sequence[Document]) -> RowAnswer | None:
    """Answer a question from the rows of one table.

    :param question: The question.
    :param documents: The passages that were found.
    :returns: The answer; None if no row, or more than one, fits the question, or if it asks for something else.
    """
    words = question_words(question)
    if asks_yes_no(question) or asks_how_to(question) or not 0 < len(words) <= _MOST_WORDS:
        return None
    # A number or a date behind "by" or "from" is the end of a range.
    if _REVERSED.search(question) or any(word.relation and word.is_number for word in words):
        return None
    tables = [table for table in known_tables(documents) if table.columns]
    return _answer_with_cell(question, words, tables, documents) or _answer_with_rows(
        question, words, tables, documents
    )


def row_limits(question: str, sentences: Sequence[str], documents: Sequence[Document], probable: float) -> list[float]:
    """Limit the probabilities of answers that another rule may have read from rows.

    :param question: The question.
    :param sentences: The sentence of each answer.
    :param documents: The passages that were found.
    :param probable: The least probability of an answer whose sentence is shown as its likely place.
    :returns: For each answer 1 if its sentence stands in no row; ``probable`` if only one row holds every word of the
        question, and the sentence is in it; else less than ``probable``.
    """
    tables = known_tables(documents)
    lines = [line.text for table in tables for line in table.lines.values()]
    words = question_words(question) if lines else []
    words = words if len(words) <= _MOST_WORDS else []
    fits = [fit.line.text for table in tables for fit in _fits(words, table)]
    return [
        1.0
        if not any(sentence in line for line in lines)
        else probable
        if len(fits) == 1 and sentence in fits[0]
        else 0.99 * probable
        for sentence in sentences
    ]


def _answer_with_cell(
    question: str, words: list[Word], tables: Sequence[KnownTable], documents: Sequence[Document]
) -> RowAnswer | None:
    fits = [fit for table in tables for fit in _fits(words, table) if fit.column is not None]
    if any(standing_of(fit.table.document.meta) is None for fit in fits):
        fits = [fit for fit in fits if standing_of(fit.table.document.meta) is None]
    # Compared by table, because many rows of one table may fit.
    fitting = {id(fit.table): fit.table for fit in fits}.values()
    replaced = {id(table) for table in fitting if any(_replaces(other, table) for other in fitting)}
    fits = [fit for fit in fits if id(fit.table) not in replaced]
    values = {_value(fit).lower() for fit in fits}
    if len(values) != 1 or len({id(fit.table) for fit in fits}) < len(fits):
        return None
    fit = next((fit for fit in fits if fit.line.document is not None), fits[0])
    value = _value(fit)
    if not value or not _suits(question, value, fit):
        return None
    # The other rows of a large table are unknown, and one of them may belong to the list.
    if not fit.table.is_whole and (several := _SEVERAL.match(question)) and stem_of(several[1]) != several[1].lower():
        return None
    if fit.line.document is None:
        return None
    texts = [words_of(text) for _, text in fit.table.cells(fit.line.row)]
    telling = [word for word in words if any(text.hold(word) for text in texts)]
    # The same name may stand in a row that is unknown.
    is_sure = fit.table.is_whole and not _is_outdated(fit.table, telling, documents)
    return RowAnswer(value, fit.line.document, fit.line.text, is_sure)


def _replaces(table: KnownTable, other: KnownTable) -> bool:
    """Check whether a table is a newer edition of the same columns, as a price list of the next year is."""
    meta, before = table.document.meta, other.document.meta
    return table.columns == other.columns and is_edition(meta, before) and is_newer(meta, before)


def _is_outdated(table: KnownTable, words: Sequence[Word], documents: Sequence[Document]) -> bool:
    """Check whether a table has the label of an old one, or a newer document of its source has all the words."""
    meta = table.document.meta
    if standing_of(meta) is not None:
        return True
    newer = (
        words_of(f"{document.meta.get('title') or ''}\n{document.content or ''}")
        for document in documents
        if document.meta.get("source") == meta.get("source") and is_newer(document.meta, meta)
    )
    return any(all(text.hold(word) for word in words) for text in newer)


def _value(fit: Fit) -> str:
    cells = fit.line.row.cells
    return cells[fit.column] if fit.column is not None and fit.column < len(cells) else ""


def _suits(question: str, value: str, fit: Fit) -> bool:
    """Check whether a value is of the form that the question asks for."""
    has_digit = any(map(str.isdigit, value))
    if many := _MANY.match(question):
        # "How many invoices" asks for the number of a column "Invoices", but counts the rows of a column "Invoice".
        named = fit.table.names(Word(stem_of(many[1]), many[1]))
        is_own = fit.column in named and many[1].lower() in fit.table.columns[fit.column or 0].lower().split()
        return _amount(value) is not None and (is_own or not named)
    asked = question.strip().lower()
    if asked.startswith("who"):
        return not has_digit
    return has_digit or not asked.startswith(("when", "how much"))


def _fits(words: list[Word], table: KnownTable) -> list[Fit]:
    """Find the rows of a table that hold every word of a question."""
    cells = [dict(table.cells(line.row)) for line in table.lines.values()]
    if not any(words_of(text).hold(word) for word in words if word.days for row in cells for text in row.values()):
        words = split_dates(words)
    in_table = {word for word in words if any(words_of(text).hold(word) for row in cells for text in row.values())}
    bound = _bound_columns(words, table)
    fits = (_fit(words, table, line, in_table, bound) for line in table.lines.values())
    return [fit for fit in fits if fit is not None]


def _bound_columns(words: Sequence[Word], table: KnownTable) -> dict[Word, set[int]]:
    """Find the columns that a number must stand in, because their name stands beside it, as in "invoice 17"."""
    bound: dict[Word, set[int]] = {}
    for before, word in pairwise(words):
        for number, beside in ((word, before), (before, word)):
            is_first = number is word or number not in bound
            if number.is_number and is_first and (columns := table.names(beside)):
                bound[number] = columns
    return bound


def _may_hold(word: Word, column: int, text: str, bound: Mapping[Word, set[int]], table: KnownTable) -> bool:
    """Check whether a cell may be what a word of the question means: a measure only if its column is named.

    What stands behind "from" may only stand in a column of that name.
    """
    if not words_of(text).hold(word):
        return False
    if word.relation and column not in table.names(Word(word.relation, word.relation)):
        return False
    if word in bound:
        return column in bound[word] or not _is_measure(column, text)
    return not word.is_number or not _is_measure(column, text)


def _is_measure(column: int, text: str) -> bool:
    return column > 0 and not any(map(str.isalpha, text)) and not _YEAR.fullmatch(text) and not words_of(text).days


def _fit(
    words: Sequence[Word], table: KnownTable, line: Line, in_table: set[Word], bound: Mapping[Word, set[int]]
) -> Fit | None:
    """Check whether a row holds every word of a question."""
    row = dict(table.cells(line.row))
    places = {
        word: {column for column, text in row.items() if _may_hold(word, column, text, bound, table)} for word in words
    }
    rest = [word for word in words if not places[word]]
    # A column that alone holds a word of the question tells the row. An e-mail may also hold a part of a name.
    telling = {column for columns in places.values() for column in columns if len(columns) == 1}
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
        is_name = first.is_name and second.is_name and not (first.is_number or second.is_number)
        if is_name and bool(places[first]) != bool(places[second]) and not {*table.asked(first), *table.asked(second)}:
            return None
    return Fit(table, line, column) if table.is_whole or _asks_for_cell(words, row, identified) else None


def _asked_column(words: Sequence[Word], rest: Sequence[Word], table: KnownTable, telling: set[int]) -> int | None:
    """Find the column that most words of the question name, if it is the only one, and does not tell the row."""
    stems = _stems(words)
    scores = {
        number: (
            sum(number in table.asked(word) for word in rest),
            sum(number in table.asked(word) for word in words),
            # "price" means a column "Price" rather than "Price of 2023".
            words_of(name).whole <= stems,
        )
        for number, name in enumerate(table.columns)
        if number not in telling
    }
    best = max(scores.values(), default=(0, 0, False))
    columns = [number for number, score in scores.items() if score == best]
    return columns[0] if best[0] and len(columns) == 1 else None


def _tells_form(
    word: Word, words: Sequence[Word], table: KnownTable, row: Mapping[int, str], column: int | None
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
    stems = _stems(words)
    return any(
        words_of(text).whole <= stems and (column == 0 or any(map(str.isdigit, text)))
        for column, text in row.items()
        if column in identified
    )


def _stems(words: Sequence[Word]) -> set[str]:
    return {word.stem for word in [*words, *split_dates(words)]}


# Counts, lists and sums


class _Choice(NamedTuple):
    """The rows of a table that a question chooses, and the columns that it names."""

    table: KnownTable
    lines: list[Line]
    names: dict[Word, set[int]]


def _answer_with_rows(
    question: str, words: list[Word], tables: Sequence[KnownTable], documents: Sequence[Document]
) -> RowAnswer | None:
    many, is_list, is_sum = _MANY.match(question), _LIST.match(question), _SUM.match(question)
    if not (many or is_list or is_sum):
        return None
    asked = [word for word in words if word.stem not in _OPERATIONS] if not many else words
    if not asked:
        return None
    tables = [table for table in tables if not _is_outdated(table, asked, documents)]
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


def _choose_rows(words: list[Word], table: KnownTable, *, is_sum: bool) -> _Choice | None:
    """Choose the rows that a question means. Returns None if a word is nowhere, or may mean more than one thing."""
    lines = _without_totals(list(table.lines.values()), table)
    if lines is None or not lines:
        return None
    rows = [dict(table.cells(line.row)) for line in lines]
    if not any(words_of(text).hold(word) for word in words if word.days for row in rows for text in row.values()):
        words = split_dates(words)
    bound = _bound_columns(words, table)
    wanted: dict[int, list[Word]] = {}
    names: dict[Word, set[int]] = {}
    for place, word in enumerate(words):
        columns = {
            column for row in rows for column, text in row.items() if _may_hold(word, column, text, bound, table)
        }
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
    stems = _stems(words)
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


def _counts_column(place: int, words: Sequence[Word], table: KnownTable) -> bool:
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
    values = [line.row.cells[column] if column < len(line.row.cells) else "" for line in lines]
    is_quantity = named and noun.typed.lower() in table.columns[column].lower().split() and all(map(_amount, values))
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


def _may_hold_several(table: KnownTable, column: int) -> bool:
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
    amounts = {column: _amounts(choice.lines, column) for column in range(1, len(table.columns))}
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
    if own is None or not _is_summable(choice, chosen[0]):
        return None
    before, _, after = own[0]
    total = sum((number for _, number, _ in own), Decimal())
    text = f"{before}{total:,}{' ' if after and after[0].isalpha() else ''}{after}"
    return _row_answer(f"{text}, the sum of {counted(len(own), 'row')}", choice)


def _is_summable(choice: _Choice, column: int) -> bool:
    """Check whether the numbers of a column can be added: all of one unit, no rates, and read in one way only."""
    table = choice.table
    name = table.columns[column]
    cells = _column(table.lines.values(), column)
    units = {after.lower() for _, _, after in filter(None, map(_amount, cells))}
    stems = words_of(name).stems
    if "%" in name or _RATES & stems or any("%" in cell or _GERMAN.search(cell) for cell in cells):
        return False
    # 1.30 may be an hour and a half.
    if _TIMES & {*stems, *units} and any(re.search(r"\.\d\d(?!\d)", cell) for cell in cells):
        return False
    for other, title in enumerate(table.columns):
        values = set(_column(choice.lines, other))
        if len(values) > 1 and (_UNITS & words_of(title).stems or any(map(_CURRENCY.fullmatch, values))):
            return False
    return True


def _column(lines: Iterable[Line], column: int) -> list[str]:
    return [line.row.cells[column] if column < len(line.row.cells) else "" for line in lines]


def _names_records(lines: Sequence[Line], column: int) -> bool:
    """Check whether each row has another text in a column, which then names the rows, as "boats" of a fleet does."""
    cells = _column(lines, column)
    return all(cells) and len(set(cells)) == len(cells) and not any(map(_amount, cells))


def _row_answer(text: str, choice: _Choice) -> RowAnswer:
    lines = [line.text for line in choice.lines]
    more = [f"and {counted(len(lines) - _MOST_SHOWN, 'more row')}"] if len(lines) > _MOST_SHOWN else []
    document = next((line.document for line in choice.lines if line.document is not None), choice.table.document)
    return RowAnswer(text, document, "\n".join([*lines[:_MOST_SHOWN], *more]))


def _amount(text: str) -> tuple[str, Decimal, str] | None:
    """Read a number with its unit; None for other text, and where a comma may divide decimals or thousands."""
    amount = _AMOUNT.fullmatch(text)
    if amount is None or len(amount[3].split()) > 1:
        return None
    return amount[1], Decimal(amount[2].replace(",", "")), amount[3].strip()


def _amounts(lines: Sequence[Line], column: int) -> list[tuple[str, Decimal, str]] | None:
    """Read the numbers of a column; None if a cell holds something else, or if their units differ."""
    cells = _column(lines, column)
    amounts = [amount for amount in map(_amount, cells) if amount is not None]
    units = {(before, after) for before, _, after in amounts}
    return amounts if amounts and len(amounts) == len(cells) and len(units) == 1 else None


def _without_totals(lines: list[Line], table: KnownTable) -> list[Line] | None:
    """Leave out the last row if it adds up the others, and says so. Returns None if it is unclear what a row is."""
    if not lines:
        return None
    *others, last = lines
    is_named = bool(_TOTALS & words_of(next((text for text in last.row.cells if text), "")).stems)
    pairs = [(_amounts(others, column), _amount(text)) for column, text in enumerate(last.row.cells) if column]
    sums = [own is not None and sum(number for _, number, _ in own) == amount[1] for own, amount in pairs if amount]
    adds_up = len(others) > 1 and bool(sums) and all(sums)
    is_total = adds_up and (is_named or not last.row.cells[0])
    if adds_up and not is_total:
        return None
    rows = others if is_total else lines
    is_unclear = any(map(_is_summary, rows)) or (table.is_whole and _hold_sums(rows))
    return None if is_unclear else rows


def _is_summary(line: Line) -> bool:
    return any(_SUMMARIES & words_of(text).stems for text in (line.row.group, *line.row.cells))


def _hold_sums(lines: Sequence[Line]) -> bool:
    """Check whether a row adds up two or more rows directly above or below it, as "Vehicles" above "Car" and "Van".

    A table that is too large to check may hold one.
    """
    width = max(len(line.row.cells) for line in lines)
    if len(lines) ** 2 * width > _MOST_CHECKED:
        return True
    for column in range(1, width):
        cells = [_DIGITS.fullmatch(text) for text in _column(lines, column)]
        has_signs = any(digits and set(digits[1]) & {".", ","} for digits in cells)
        for is_german in (False, True) if has_signs else (False,):
            numbers = [_read_number(digits[1], is_german) if digits else None for digits in cells]
            if any(_adds_up_next(part) for part in (numbers, numbers[::-1])):
                return True
    return False


def _adds_up_next(numbers: Sequence[Decimal | None]) -> bool:
    for place, number in enumerate(numbers):
        total = Decimal()
        for count, other in enumerate(numbers[place + 1 :], start=1):
            if number is None or other is None:
                break
            total += other
            if count > 1 and total == number:
                return True
    return False


def _read_number(digits: str, is_german: bool) -> Decimal | None:
    thousands, point = (".", ",") if is_german else (",", ".")
    text = digits.rstrip(".,").replace(thousands, "").replace(point, ".")
    return Decimal(text) if text.count(".") < 2 else None
