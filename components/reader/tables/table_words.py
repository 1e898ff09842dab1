"""Read the words of a question and of the cells of tables in forms that can be compared.

The rules of this package answer a question only if each of its words has a place in the table. A word is compared by
its stem, which is its singular in lower case. A date is compared as a range of days, however it is written.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from prefrag.components.text.dates import find_dates

# Words of a question that choose no row and name no column. Words such as "not", "or" and "most" are not in this list.
# If a question has such a word and the table does not have it, the question is not answered.
_GRAMMAR_WORDS = (
    "a an the of in on at to for by from with is are was were be do does did has have had what which who whom whose "
    "when where how many much there it its we our my i me you your please all can could tell know "
    # Short forms of "what is" and the like, as people type them. With an apostrophe, the ending is removed first.
    "whats whos wheres whens"
)
_GRAMMAR = frozenset(_GRAMMAR_WORDS.split())
# Words for a direction or a limit, as in "from Graz" and "by May". A row can express this only by a column with that
# name, such as "From". Each of these words applies to the words behind it, up to the next word of grammar.
_RELATIONS = frozenset(("from", "to", "by", "until", "von", "nach", "bis"))
# Words of grammar that do not end what a word such as "from" applies to.
_ARTICLES = frozenset(("a", "an", "the"))
# A word, which may have signs inside. It matches "ORD-107123", "17.50" and "Ada's".
_WORD = re.compile(r"[^\W_]+(?:[-.,:/@'\u2019_][^\W_]+)*")
# A number with its unit, in two groups. A code is no measure. It matches "40mm". It does not match "A4".
_MEASURE = re.compile(r"(\d+(?:[.,]\d+)*)([^\W\d_]+)")
# A short form with a dot. Its group is the word without the dot. It matches "Tel.". It does not match "a.b".
_SHORT = re.compile(r"([^\W\d_]+)\.(?!\w)")
# A word of a question is searched for inside a longer word or a short form only if it has at least this many letters.
_LEAST_COMPOUND = 5
# A short form such as "Tel." counts only if it has at least this many letters.
_LEAST_SHORT = 3
# A question for a number of things, which are the group. It matches "How many invoices are open?".
HOW_MANY = re.compile(r"\W*how many\s+(\w+)", re.IGNORECASE)
# A sign at which a joined word is split into its parts.
_JOINTS = re.compile(r"[-.,:/@'\u2019_]")


@dataclass(frozen=True)
class Word:
    """A word or a date of a question.

    :param stem: The word in lower case and in the singular.
    :param typed: The word as the question writes it.
    :param days: For a date, the first and the last day that it may mean; None for a word.
    :param relation: The last word such as "from" or "by" that applies to this word, in lower case; empty if there is
        none.
    """

    stem: str
    typed: str
    days: tuple[date, date] | None = None
    relation: str = ""

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
    """The words and dates of a cell, of the name of a column, or of the text above a table.

    :param stems: The stems of all words, and of the parts of joined words.
    :param days: For each date, the first and the last day that it may mean.
    :param whole: The stems that a question must have if it means the whole cell: all words but those of grammar.
    :param short: The stems of the words before a dot, such as "tel" for "Tel.".
    """

    stems: frozenset[str]
    days: tuple[tuple[date, date], ...]
    whole: frozenset[str]
    short: frozenset[str] = frozenset()

    def hold_longer(self, word: Word) -> bool:
        """Check whether these words contain a longer word that ends with a word, or its short form.

        "Telephone" is a longer word for "phone", and "Rechnungsbetrag" for "Betrag". "Tel." is a short form of
        "telephone".

        For example, ``words_of("Telephone").hold_longer(Word("phone", "phone"))`` returns ``True``.

        :param word: A word of a question. Words of fewer than five letters, and words with other signs, are not
            searched for.
        :returns: Whether there is a longer word or a short form.
        """
        if len(word.stem) < _LEAST_COMPOUND or not word.stem.isalpha():
            return False
        if any(stem.endswith(word.stem) for stem in self.stems):
            return True
        # Only those short forms count that are among the stems too.
        short = self.short & self.stems
        return any(len(stem) >= _LEAST_SHORT and word.stem.startswith(stem) for stem in short)

    def hold(self, word: Word) -> bool:
        """Check whether these words contain a word, or a date that lies within the date of the question.

        For example, ``words_of("Oak board 40 mm").hold(Word("board", "boards"))`` returns ``True``. A cell with
        "2024-04-01" holds the date "April 2024".

        :param word: A word or a date of a question.
        :returns: Whether it is contained.
        """
        if word.days is None:
            return word.stem in self.stems
        first, last = word.days
        return any(first <= begin and end <= last for begin, end in self.days)


@lru_cache(maxsize=8_192)
def words_of(text: str) -> Words:
    """Read the words and dates of a text.

    For example, ``words_of("Order ORD-17").stems`` is ``{"order", "ord-17", "ord", "17"}``.

    :param text: A cell, the name of a column, or another text.
    :returns: Its words and dates.
    """
    typed = [part for match in _WORD.finditer(text) for part in _split(match[0])]
    whole = frozenset(stem_of(word) for word in typed)
    # A number such as "17.50" has no parts.
    with_letters = [word for word in typed if any(map(str.isalpha, word))]
    parts = {stem_of(part) for word in with_letters for part in _JOINTS.split(word) if len(part) > 1}

    days = tuple((day.first, day.last) for day in find_dates(text))
    short = frozenset(stem_of(match[1]) for match in _SHORT.finditer(text))
    return Words(whole | parts, days, whole - _GRAMMAR or whole, short)


def question_words(question: str) -> list[Word]:
    """Read those words of a question that say which row, which column or which table is meant.

    The words for "What is the price of oak boards 40mm?" have the stems "price", "oak", "board", "40" and "mm". The
    question "sales in April 2024" has two words: "sales" and the date.

    :param question: The question.
    :returns: The words and dates in order, without words of grammar.
    """
    words: list[Word] = []
    dates = {day.begin: day for day in find_dates(question)}
    end, relation = 0, ""
    for match in _WORD.finditer(question):
        if match.start() < end:
            continue

        day = dates.get(match.start())
        # In a code such as 2026-03 or 2025-B, the year is no date, because the word goes on behind the year.
        if day is not None and day.end >= match.end():
            end = day.end
            typed = question[day.begin : end]
            words.append(Word(stem_of(typed), typed, (day.first, day.last), relation))
            continue

        for part in _split(match[0]):
            is_grammar = _is_grammar(part, is_first=match.start() == 0)
            if not is_grammar:
                words.append(Word(stem_of(part), part, relation=relation))
            lower = part.lower()
            if lower in _RELATIONS:
                relation = lower
            elif is_grammar and lower not in _ARTICLES:
                relation = ""
    return words


def _is_grammar(word: str, *, is_first: bool) -> bool:
    """Check whether a word of a question is a word of grammar, such as "the".

    A single capital letter may be a name, such as "zone A". At the beginning of the question it is an article.
    """
    is_letter = len(word) == 1 and word.isupper() and word != "I" and not is_first
    return _without_possessive(word) in _GRAMMAR and not is_letter


def split_dates(words: Sequence[Word]) -> list[Word]:
    """Replace each date by the words that it is written with, for tables that split dates over several columns.

    The two words of "sales in April 2024" become three: "sales", "April" and "2024".

    :param words: The words of a question.
    :returns: The words without dates.
    """
    split: list[Word] = []
    for word in words:
        if word.days:
            split += _parts(word)
        else:
            split.append(word)
    return split


def with_dates_of(rows: Iterable[Mapping[int, str]], words: Sequence[Word]) -> list[Word]:
    """Prepare the words of a question for one table: keep dates as dates only if a cell of the table holds such a date.

    :param rows: For each row, the number of the column and the text of each cell.
    :param words: The words of the question.
    :returns: The words, with their dates either all kept or all split as :func:`split_dates` does.
    """
    dates = [word for word in words if word.days]
    if not dates:
        return list(words)
    cells = [words_of(text) for row in rows for text in row.values()]
    has_date = any(cell.hold(date) for date in dates for cell in cells)
    return list(words) if has_date else split_dates(words)


def all_stems(words: Sequence[Word]) -> set[str]:
    """List the stems of words, and the stems of the words that their dates are written with.

    :param words: The words of a question.
    :returns: The stems.
    """
    return {word.stem for word in [*words, *split_dates(words)]}


def _parts(word: Word) -> Iterator[Word]:
    """Split a date of a question into the words that it is written with."""
    parts = (part for match in _WORD.finditer(word.typed) for part in _split(match[0]))
    yield from (Word(stem_of(part), part, relation=word.relation) for part in parts)


def _split(word: str) -> tuple[str, ...]:
    """Split a measure into its number and its unit.

    For example, ``_split("40mm")`` returns ``("40", "mm")`` and ``_split("A4")`` returns ``("A4",)``.
    """
    measure = _MEASURE.fullmatch(word)
    return (measure[1], measure[2]) if measure else (word,)


def stem_of(word: str) -> str:
    """Return a word in lower case and in the singular. A word with a digit keeps its ending.

    For example, ``stem_of("Entries")`` returns ``"entry"`` and ``stem_of("A4s")`` returns ``"a4s"``.

    :param word: The word.
    :returns: Its stem.
    """
    word = _without_possessive(word)
    if any(map(str.isdigit, word)) or len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word

    if word.endswith("ies"):
        return word.removesuffix("ies") + "y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word.removesuffix("es")
    return word.removesuffix("s")


def _without_possessive(word: str) -> str:
    """Return a word in lower case and without an "'s" at its end.

    For example, ``_without_possessive("What's")`` returns ``"what"``, and ``_without_possessive("Ada's")`` returns
    ``"ada"``.
    """
    return word.lower().replace("\u2019", "'").removesuffix("'s")
