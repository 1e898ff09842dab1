"""Answer questions that ask which of two things is earlier or later, by the dates in their passages."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prefrag.components.reader.span_candidates import short_title
from prefrag.components.text.title_mentions import normalize_words, title_key

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})\s+(?P<month>{_MONTH})\s+|(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}}),?\s+)?"
    r"(?P<year>1[0-9]{3}|20[0-9]{2})\b",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"\([^()]*\)")
_BORN = re.compile(r"\bborn\b", re.IGNORECASE)
_DIED = re.compile(r"\b(?:died|death|passed away|killed)\b", re.IGNORECASE)
_EARLIER = frozenset(("first", "earlier", "earliest", "older", "oldest", "before"))
_LATER = frozenset(("later", "latest", "last", "recently", "recent", "younger", "youngest", "newer", "newest", "after"))
_OF_ANOTHER = frozenset(
    ("director", "directors", "whose", "composer", "performer", "author", "founder", "singer", "producer", "writer")
)
_BIRTHS = frozenset(("born", "older", "younger", "oldest", "youngest", "birth"))
_DEATHS = frozenset(("died", "die", "death"))
# Questions with a negation are not answered here, because the "not" may or may not apply to a word such as "older".
_NEGATION = re.compile(r"\b(?:not|never|neither|nor|cannot|except)\b|n['\u2019]t\b", re.IGNORECASE)
# A person's dates must be in brackets in the first 400 characters, or at most 60 characters after a word like "born".
_BEGINNING = 400
_NEAR = 60

Passage = tuple[str, str]


@dataclass(frozen=True)
class DatedChoice:
    """The answer to a question that offers two things to choose from."""

    name: str  # the title of the thing, without brackets
    place: int  # the index of the passage about the thing
    dated: int  # the index of the passage with the date: the same passage or, for example, that about a film's director
    begin: int  # the index of the date's first character in the text of the passage `dated`


@dataclass(frozen=True)
class _Date:
    years: float
    begin: int


@dataclass(frozen=True)
class _Dates:
    first: _Date | None
    birth: _Date | None
    death: _Date | None


def choose_by_date(question: str, passages: Sequence[Passage]) -> DatedChoice | None:
    """Choose one of the two things that an English question names, as in "Who is older, A or B?", by their dates.

    Returns None if the question does not offer the titles of two passages, contains a negation, or does not ask which
    is earlier or later. Also returns None if a date is missing or if both dates are the same.
    """
    places = find_alternatives(question, passages)
    if places is None:
        return None
    names = [short_title(passages[place][0]) for place in places]
    asked = {*normalize_words(question).split()} - {word for name in names for word in normalize_words(name).split()}
    outside = question
    for name in names:
        outside = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "", outside, flags=re.IGNORECASE)
    if _NEGATION.search(outside):
        return None
    direction = bool(asked & _EARLIER) - bool(asked & _LATER)
    dates = [_find_date(place, places, passages, asked) for place in places]
    if not direction or dates[0] is None or dates[1] is None or dates[0][1].years == dates[1][1].years:
        return None
    first_is_earlier = dates[0][1].years < dates[1][1].years
    chosen = 0 if first_is_earlier == (direction > 0) else 1
    dated, date = dates[chosen] or (0, _Date(0, 0))
    return DatedChoice(names[chosen], places[chosen], dated, date.begin)


def find_alternatives(question: str, passages: Sequence[Passage]) -> tuple[int, int] | None:
    """Return the indices of the two passages whose titles are before and after an "or" in the question, or None."""
    places = {
        key: place
        for place, (title, _) in reversed(list(enumerate(passages)))
        for key in (title_key(title), normalize_words(title))
        if key
    }
    for match in re.finditer(r"\bor\b", question):
        before, after = (
            normalize_words(question[: match.start()]).split(),
            normalize_words(question[match.end() :]).split(),
        )
        first = next((key for start in range(len(before)) if (key := " ".join(before[start:])) in places), None)
        second = next((key for end in range(len(after), 0, -1) if (key := " ".join(after[:end])) in places), None)
        if first and second and places[first] != places[second]:
            return places[first], places[second]
    return None


def _find_date(
    place: int, offered: tuple[int, int], passages: Sequence[Passage], asked: set[str]
) -> tuple[int, _Date] | None:
    """Find the date of a thing or, if asked for, of its director or author. Return the passage's index and the date."""
    for other in _find_mentioned(place, offered, passages) if asked & _OF_ANOTHER else [place]:
        dates = _read_dates(passages[other][1])
        date = dates.death if asked & _DEATHS else dates.birth if asked & _BIRTHS else dates.first
        if date is not None and (dates.birth is not None or not asked & _OF_ANOTHER):
            return other, date
    return None


def _find_mentioned(place: int, offered: tuple[int, int], passages: Sequence[Passage]) -> Iterator[int]:
    spoken = f" {normalize_words(passages[place][1])} "
    for other, (title, _) in enumerate(passages):
        if other not in offered and (key := title_key(title)) and f" {key} " in spoken:
            yield other


def _read_dates(text: str) -> _Dates:
    found = [_read_date(match) for match in _DATE.finditer(text)]
    life: list[_Date] = []
    for bracket in _BRACKET.finditer(text[:_BEGINNING]):
        life = [one for one in found if bracket.start() < one.begin < bracket.end()]
        if life:
            is_life = len(life) > 1 or _BORN.search(bracket[0])
            life = life if is_life else []
            break
    birth = life[0] if life else _find_after(_BORN, text)
    death = life[1] if len(life) > 1 else _find_after(_DIED, text)
    return _Dates(found[0] if found else None, birth, death)


def _find_after(cue: re.Pattern[str], text: str) -> _Date | None:
    near = (_DATE.search(text, match.end(), match.end() + _NEAR) for match in cue.finditer(text))
    return next((_read_date(date) for date in near if date is not None), None)


def _read_date(match: re.Match[str]) -> _Date:
    month, day = match["month"] or match["month2"], match["day"] or match["day2"]
    # A year without a month counts as the middle of that year.
    months = _MONTHS.index(month.lower()) + int(day) / 32 if month else 6
    return _Date(int(match["year"]) + months / 12, match.start())
