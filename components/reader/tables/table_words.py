"""The words of a question and of the cells of tables, in forms that can be compared."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from prefrag.components.text.dates import find_dates

# Words of a question that choose no rows and name no column. A word such as "not", "or" or "most" is none of them: a
# question with such a word must find it in the table, or is not answered.
_GRAMMAR_WORDS = (
    "a an the of in on at to for by from with is are was were be do does did has have had what which who whom whose "
    "when where how many much there it its we our my i me you your please all can could tell know"
)
_GRAMMAR = frozenset(_GRAMMAR_WORDS.split())
# Words that say in which direction or up to which value something is meant, which a row tells only by a column of that
# name. They hold for the words behind them, up to the next word of grammar.
_RELATIONS = frozenset(("from", "to", "by", "until", "von", "nach", "bis"))
_ARTICLES = frozenset(("a", "an", "the"))
_WORD = re.compile(r"[^\W_]+(?:[-.,:/@'\u2019_][^\W_]+)*")
# A number with its unit, as in 40mm; not a code such as A4.
_MEASURE = re.compile(r"(\d+(?:[.,]\d+)*)([^\W\d_]+)")
_SHORT = re.compile(r"([^\W\d_]+)\.(?!\w)")
_LEAST_COMPOUND, _LEAST_SHORT = 5, 3
# How many, and of what.
HOW_MANY = re.compile(r"\W*how many\s+(\w+)", re.IGNORECASE)
_JOINTS = re.compile(r"[-.,:/@'\u2019_]")


@dataclass(frozen=True)
class Word:
    """A word or a date of a question."""

    stem: str
    typed: str
    days: tuple[date, date] | None = None  # of a date: the first and the last day that it may mean
    relation: str = ""  # the word before it, in lower case, if that is one such as "from" or "by"

    @property
    def is_number(self) -> bool:
        """Whether the word holds a digit."""
        return any(map(str.isdigit, self.typed))

    @property
    def is_name(self) -> bool:
        """Whether the word begins with a capital letter."""
        return self.typed[:1].isupper()


@dataclass(frozen=True)
class Words:
    """The words and dates of a cell, of the name of a column, or of what stands above a table."""

    stems: frozenset[str]
    days: tuple[tuple[date, date], ...]
    # What has to be asked for if the whole cell is meant: the words, without those of grammar.
    whole: frozenset[str]
    # The words before a dot.
    short: frozenset[str] = frozenset()

    def hold_longer(self, word: Word) -> bool:
        """Check whether they hold a word of which a word is the end or, before a dot, the beginning.

        "Telephone" is a longer word for "phone", "Rechnungsbetrag" for "Betrag", and "Tel." is short for "telephone".
        """
        if len(word.stem) < _LEAST_COMPOUND or not word.stem.isalpha():
            return False
        if any(stem.endswith(word.stem) for stem in self.stems):
            return True
        # Not all of the words before a dot are among the stems.
        short = self.short & self.stems
        return any(len(stem) >= _LEAST_SHORT and word.stem.startswith(stem) for stem in short)

    def hold(self, word: Word) -> bool:
        """Check whether they hold a word or, of a date, a date that lies in it."""
        if word.days is None:
            return word.stem in self.stems
        first, last = word.days
        return any(first <= begin and end <= last for begin, end in self.days)


@lru_cache(maxsize=8_192)
def words_of(text: str) -> Words:
    """Read the words and dates of a text."""
    typed = [part for match in _WORD.finditer(text) for part in _split(match[0])]
    whole = frozenset(stem_of(word) for word in typed)
    joined = (word for word in typed if any(map(str.isalpha, word)))
    parts = {stem_of(part) for word in joined for part in _JOINTS.split(word) if len(part) > 1}
    days = tuple((day.first, day.last) for day in find_dates(text))
    short = frozenset(stem_of(match[1]) for match in _SHORT.finditer(text))
    return Words(whole | parts, days, whole - _GRAMMAR or whole, short)


def question_words(question: str) -> list[Word]:
    """Read the words of a question that say which row, which column or which table is meant, in order."""
    words: list[Word] = []
    dates = {day.begin: day for day in find_dates(question)}
    end, relation = 0, ""
    for match in _WORD.finditer(question):
        if match.start() < end:
            continue
        day = dates.get(match.start())
        # In a code such as 2026-03 or 2025-B, the year is no date.
        if day is not None and day.end >= match.end():
            end = day.end
            typed = question[day.begin : end]
            words.append(Word(stem_of(typed), typed, (day.first, day.last), relation))
            continue
        for part in _split(match[0]):
            # A single capital letter may be a name, such as a zone; at the beginning it is an article.
            is_capital = len(part) == 1 and part.isupper() and part != "I"
            is_letter = is_capital and match.start() > 0
            lower = part.lower()
            if is_letter or lower not in _GRAMMAR:
                words.append(Word(stem_of(part), part, relation=relation))
            if lower in _RELATIONS:
                relation = lower
            elif lower in _GRAMMAR - _ARTICLES and not is_letter:
                relation = ""
    return words


def split_dates(words: Sequence[Word]) -> list[Word]:
    """Return the words with each date as the words that it is written with, for tables that divide their dates."""
    split: list[Word] = []
    for word in words:
        if word.days:
            split += _parts(word)
        else:
            split.append(word)
    return split


def with_dates_of(rows: Iterable[Mapping[int, str]], words: Sequence[Word]) -> list[Word]:
    """Return the words of a question for the rows of a table: with their dates as dates only if a cell holds one."""
    dates = [word for word in words if word.days]
    if not dates:
        return list(words)
    cells = [words_of(text) for row in rows for text in row.values()]
    has_date = any(cell.hold(date) for date in dates for cell in cells)
    return list(words) if has_date else split_dates(words)


def all_stems(words: Sequence[Word]) -> set[str]:
    """Return the stems of the words, and of the words that their dates are written with."""
    return {word.stem for word in [*words, *split_dates(words)]}


def _parts(word: Word) -> Iterator[Word]:
    parts = (part for match in _WORD.finditer(word.typed) for part in _split(match[0]))
    yield from (Word(stem_of(part), part, relation=word.relation) for part in parts)


def _split(word: str) -> tuple[str, ...]:
    measure = _MEASURE.fullmatch(word)
    return (measure[1], measure[2]) if measure else (word,)


def stem_of(word: str) -> str:
    """Return a word in lower case and in the singular. A word with a digit stays as it is."""
    word = word.lower().replace("\u2019", "'").removesuffix("'s")
    if any(map(str.isdigit, word)) or len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "xes", "sses")) else word.removesuffix("s")
