"""Answer questions that ask which of two things is earlier or later, by the dates in their passages.

Examples are "Who is older, A or B?" and "Which film came out first, A or B?". The module proceeds in these steps:

1. Find the two passages whose titles stand beside the "or" of the question.
2. Find out which event is compared, such as a birth, and whether the earlier or the later thing is asked for.
3. Find the date of this event in each of the two passages.
4. Compare the dates. If a date is missing or may mean either order, there is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from prefrag.components.reader.span_candidates import short_title
from prefrag.components.text.dates import WrittenDate, find_dates
from prefrag.components.text.title_mentions import FUNCTION_WORDS, normalize_words, title_key

# A text in brackets.
_BRACKET = re.compile(r"\([^()]*\)")
# The words for a birth, as a pattern. Each of the following patterns names one event. The words in a pattern mean the
# same event, such as "came out" and "released".
_BIRTH = r"born"
# The words for a death.
_DEATH = r"died|passed away|killed|(?:his|her|their) death"
# The words for the release of a work.
_RELEASE = r"released?|c[ao]me out|premiered?|published|issued|debuted|aired"
# The events that are not of a person's life.
_EVENTS = (
    _RELEASE,
    r"founded|established|started|began|begun|created|formed|launched|incorporated|set up",
    r"built|build|constructed|erected|completed",
    r"opene?d?|opens|inaugurated",
)
# Words that ask for the earlier thing.
_EARLIER = frozenset(("first", "earlier", "earliest", "older", "oldest", "before"))
# Words that ask for the later thing.
_LATER = frozenset(("later", "latest", "last", "recently", "recent", "younger", "youngest", "newer", "newest", "after"))
# Words that ask for the date of a person who belongs to the thing, as in "Which film has the director who died later?".
_OF_ANOTHER = frozenset(
    ("director", "directors", "whose", "composer", "performer", "author", "founder", "singer", "producer", "writer")
)
# Words that ask for a birth.
_BIRTHS = frozenset(("born", "older", "younger", "oldest", "youngest", "birth"))
# Words that ask for a death.
_DEATHS = frozenset(("died", "die", "death"))
# A negation. Questions with a negation are not answered here, because it is unclear what the "not" applies to.
_NEGATION = re.compile(r"\b(?:not|never|neither|nor|cannot|except)\b|n['\u2019]t\b", re.IGNORECASE)
# The end of a clause. The words for an event are compared only with words of their own clause.
_CLAUSE_END = re.compile(r"[.;:!?]\s|[,()\n]|\b(?:and|but)\b")
# Words before the event that show that the event does not count. It is not an event of the passage's title, or it did
# not happen, or it had not happened yet. It matches "which was", "to be" and "Her son".
_OF_SOMETHING_ELSE = re.compile(
    r"\b(?:which|that|who|whose|where|when|while|not|never|will|would|should|to|after|before|(?i:his|her|their|its))\b"
)
# A verb in the passive directly before the event. It matches "was" and "was first".
_PASSIVE = re.compile(r"\b(?:is|was|were|been)(?:\s(?:first|\w+ly))*$")
# A word before a participle that shows that the participle belongs to another thing. It matches "replaced a hall". It
# does not match "is a film".
_ANOTHER_THING = re.compile(r"\b[a-z]+ed\b|(?<!\bis )(?<!\bwas )\b(?:a|an|the)\b")
# A sign or word between the event and the date, behind which the date may belong to something else. It matches
# "built. A", "opened" and "before".
_BREAK = re.compile(
    r"(?<![A-Z])[.;:!?]\s|[()]|\b[a-z]+ed\b|\b(?:which|that|who|whose|where|when|while|not|never|after|before|burnt)\b"
)
# The end of the text between the event and the date. It matches "by Ann Lee in " and "in Sund, ". It does not match
# "with room ".
_BEFORE_DATE = re.compile(
    r"^\s*$|(?:\b(?:in|on|on\sthe|since|from|during|year|early|late|mid|spring|summer|autumn|fall|winter)|,)[\s-]$"
)
# A question for something else than one of the two things:
# - "When was the first built, A or B?": a question for a time, a place, a reason or a way
# - "Which firm built the ship that was launched first, A or B?": a question for the maker of one of the things
_ASKS_ELSE = re.compile(
    r"^\W*(?:when|where|why|how|(?:in|at|on|by|from|since|for|to) (?:which|what|whom))\b"
    r"|^\W*(?:who|(?:which|what) \w+) (?!has|have|had|is|was|are|were)\w+ (?:the|a|an) [^,]*\b(?:that|which|who)\b",
    re.IGNORECASE,
)
# Text behind a number that shows that the number is no year, such as " days" in "in 1500 days". A capital letter or a
# word such as "by" may follow a year. It matches " days" and " BC". It does not match " by Ann".
_COUNTS = re.compile(rf"\s(?!(?:{'|'.join(FUNCTION_WORDS)})\b)[^\W\dA-Z]|\s(?:of|more|other|BCE?)\b")
# Text behind a date that shows that the date begins a period. It matches "-1889" and " to 1889".
_LASTED = re.compile(r"(?:\s?[-\u2013\u2014]|\s(?:to|until|and))\s?\d")
# The beginning of a description that dates a work by its year. A number before a unit is no year. It matches
# "is a 1931 silent film". It does not match "is a 1200 page novel".
_DATED_WORK = re.compile(
    r"\b(?:is|was)\s(?:a|an|the)\s(?=\d{4}\s(?!page|minute|second|hour|year|word|line|vers|seat|met|kilo|mile|f[eo]|ton)[a-z])",
    re.IGNORECASE,
)
# The number of characters at the beginning of a passage in which a bracket may hold the dates of a life.
_BEGINNING = 400
# The maximum number of characters between a word for an event and its date.
_NEAR = 60

# The title and the text of a passage.
Passage = tuple[str, str]


@dataclass(frozen=True)
class DatedChoice:
    """The answer to a question that offers two things to choose from.

    :param name: The title of the chosen thing, without brackets.
    :param other: The title of the other thing.
    :param place: The index of the passage about the chosen thing.
    :param dated: The index of the passage with the date. It is the same passage or, for example, that of a film's
        director.
    :param begin: The index of the date's first character in the text of the passage ``dated``.
    """

    name: str
    other: str
    place: int
    dated: int
    begin: int

    def is_answer(self, answer: str) -> bool | None:
        """Check whether an answer is the chosen thing.

        :param answer: An answer that somebody proposes.
        :returns: True for the chosen thing, and False for the other one. None if the answer names neither of them, or
            both.
        """
        if not normalize_words(answer):
            return None
        is_chosen, is_other = _names_same(answer, self.name), _names_same(answer, self.other)
        return None if is_chosen == is_other else is_chosen


def _names_same(answer: str, name: str) -> bool:
    """Check whether one of two texts contains all words of the other in a row."""
    words_of_answer, words_of_name = f" {normalize_words(answer)} ", f" {normalize_words(name)} "
    return words_of_answer in words_of_name or words_of_name in words_of_answer


@dataclass(frozen=True)
class _DateOfThing:
    """The date of a thing.

    :param passage: The index of the passage with the date.
    :param date: The date.
    """

    passage: int
    date: WrittenDate

    def is_before(self, other: _DateOfThing) -> bool:
        """Check whether the whole time that this date may mean is before the other one."""
        return self.date.last < other.date.first


def choose_by_date(question: str, passages: Sequence[Passage]) -> DatedChoice | None:
    """Choose one of the two things that an English question names, by their dates.

    For "Who is older, A or B?", the thing with the earlier birth is chosen. Only a date that stands with the event of
    the question counts, as "built in 1950" for "Which was built first, A or B?".

    There is no choice in these cases:

    - The question does not offer the titles of two passages.
    - The question contains a negation, or does not ask which of the two is earlier or later.
    - A date is missing.
    - Either thing may be the earlier one, as with "1950" and "12 March 1950".

    :param question: The question.
    :param passages: The title and the text of each passage.
    :returns: The choice; None if there is none.
    """
    places = find_alternatives(question, passages)
    if places is None:
        return None

    names = []
    for place in places:
        title, _ = passages[place]
        names.append(short_title(title))
    # The words of the question, and the question itself, without the names of the two things. A film "The Last Day"
    # does not ask for the last one.
    asked = set(normalize_words(question).split())
    question_without_names = question
    for name in names:
        asked.difference_update(normalize_words(name).split())
        name_as_words = rf"(?<!\w){re.escape(name)}(?!\w)"
        question_without_names = re.sub(name_as_words, "", question_without_names, flags=re.IGNORECASE)

    if _NEGATION.search(question_without_names) or _ASKS_ELSE.search(question):
        return None
    asks_for_earlier = not asked.isdisjoint(_EARLIER)
    asks_for_later = not asked.isdisjoint(_LATER)
    event = _asked_event(question_without_names, asked)
    # A question with words for both, or for neither, is unclear.
    if asks_for_earlier == asks_for_later or not event:
        return None

    first, second = (_find_date(place, places, passages, event, asked) for place in places)
    if first is None or second is None:
        return None
    is_first_earlier = first.is_before(second)
    is_second_earlier = second.is_before(first)
    # If the dates overlap, as "1950" and "12 March 1950" do, either thing may be the earlier one.
    if not is_first_earlier and not is_second_earlier:
        return None

    first_name, second_name = names
    first_place, second_place = places
    is_first_chosen = is_first_earlier == asks_for_earlier
    if is_first_chosen:
        return DatedChoice(first_name, second_name, first_place, first.passage, first.date.begin)
    return DatedChoice(second_name, first_name, second_place, second.passage, second.date.begin)


def find_alternatives(question: str, passages: Sequence[Passage]) -> tuple[int, int] | None:
    """Find the two passages whose titles stand directly before and behind an "or" in the question.

    For example, ``find_alternatives("Who is older, Ann or Bo?", [("Bo", ""), ("Ann", "")])`` returns ``(1, 0)``.

    :param question: The question.
    :param passages: The title and the text of each passage.
    :returns: The indices of the two passages; None if there are no such passages.
    """
    places: dict[str, int] = {}
    # Of passages with the same title, the first one counts. So it is written last.
    for place, (title, _) in reversed(list(enumerate(passages))):
        places[title_key(title)] = place
        places[normalize_words(title)] = place
    places.pop("", None)

    for match in re.finditer(r"\bor\b", question):
        before = normalize_words(question[: match.start()]).split()
        after = normalize_words(question[match.end() :]).split()

        # The longest title that ends before the "or", and the longest title that begins behind it.
        texts_before = (" ".join(before[start:]) for start in range(len(before)))
        texts_behind = (" ".join(after[:end]) for end in range(len(after), 0, -1))
        first = next((places[title] for title in texts_before if title in places), None)
        second = next((places[title] for title in texts_behind if title in places), None)

        if first is None or second is None:
            continue
        if first != second:
            return first, second
    return None


def _asked_event(question: str, asked: set[str]) -> str:
    """Find the event that a question asks about.

    :param question: The question without the titles of the two things.
    :param asked: The words of the question without those of the titles.
    :returns: A pattern of the words for the event; empty if the event is unclear.
    """
    if asked & _DEATHS:
        return _DEATH
    if asked & _BIRTHS:
        return _BIRTH
    for event in _EVENTS:
        if _find_cues(event, question):
            return event
    verb = re.search(r"\b[a-z]{3,}ed\b", question)
    return verb[0] if verb else ""


def _find_date(
    place: int, offered: tuple[int, int], passages: Sequence[Passage], event: str, asked: set[str]
) -> _DateOfThing | None:
    """Find the date of a thing or, if the question asks for a person such as a director, the date of this person.

    :param place: The index of the passage about the thing.
    :param offered: The indices of the two passages about the things.
    :param passages: The title and the text of each passage.
    :param event: The pattern of the words for the event.
    :param asked: The words of the question.
    :returns: The date; None if there is none.
    """
    if not asked & _OF_ANOTHER:
        date = _date_of(event, *passages[place])
        return None if date is None else _DateOfThing(place, date)
    for other in _find_mentioned(place, offered, passages):
        date = _date_of(event, *passages[other])
        is_person = _date_of(_BIRTH, *passages[other]) is not None
        if date is not None and is_person:
            return _DateOfThing(other, date)
    return None


def _find_mentioned(place: int, offered: tuple[int, int], passages: Sequence[Passage]) -> Iterator[int]:
    """Find the other passages whose titles stand in the text of a passage, without the two that are offered."""
    _, text = passages[place]
    words_of_text = f" {normalize_words(text)} "
    for other, (title, _) in enumerate(passages):
        key = title_key(title)
        if key and other not in offered and f" {key} " in words_of_text:
            yield other


def _date_of(event: str, title: str, text: str) -> WrittenDate | None:
    """Find the date of an event. If the text gives two dates for the event, both must be possible together.

    The places are tried in this order: the bracket with the dates of a life, the dates behind the words for the event,
    and then, if no date stands there, the beginning of such a life or, for a release, a description such as "is a 1931
    silent film".
    """
    dates = find_dates(text)
    begin_of_life, end_of_life = _life(text, dates)
    if event == _BIRTH and begin_of_life is not None:
        return begin_of_life
    if event == _DEATH and end_of_life is not None:
        return end_of_life

    possible = (_date_at(cue, title) for cue in _find_cues(event, text))
    stated = [date for date in possible if date is not None]
    if stated:
        return _most_exact(stated)

    # A firm or a building may have a life too, as in "Brae Press (1890 - 1971)".
    if begin_of_life is not None and event in _EVENTS:
        return begin_of_life
    if event != _RELEASE:
        return None
    places_of_years = {match.end() for match in _DATED_WORK.finditer(text)}
    return next((date for date in dates if date.begin in places_of_years), None)


def _most_exact(dates: Sequence[WrittenDate]) -> WrittenDate | None:
    """Return the most exact of several dates of one event; None if another one contradicts it.

    "March 1950" does not contradict "12 March 1950", and "1951" does.
    """
    most_exact = min(dates, key=lambda date: date.last - date.first)
    is_consistent = all(date.first <= most_exact.last and most_exact.first <= date.last for date in dates)
    return most_exact if is_consistent else None


def _find_cues(event: str, text: str) -> list[re.Match[str]]:
    """Find the words for an event in a text."""
    return list(re.finditer(rf"(?<![\w-])(?:{event})(?![\w-])", text, re.IGNORECASE))


def _life(text: str, dates: Sequence[WrittenDate]) -> tuple[WrittenDate | None, WrittenDate | None]:
    """Find the dates of a life in the first bracket with a date, as in "(3 March 1890 - 2 June 1971)" or "(born 1890)".

    :param text: The text of a passage. Only its beginning is searched.
    :param dates: The dates in the text.
    :returns: The beginning and the end of the life. None for what the bracket does not give.
    """
    for bracket in _BRACKET.finditer(text[:_BEGINNING]):
        inside = [date for date in dates if bracket.start() < date.begin < bracket.end()]
        if not inside:
            continue
        begin = inside[0]
        end = inside[1] if len(inside) > 1 else None
        if re.search(r"\bborn\b", bracket[0]):
            return begin, end

        # Two numbers without a dash, as in "(1890, 1971)", need not be the years of a life.
        has_numbers = any(date.is_number for date in inside)
        has_dash = re.search("[-\u2013\u2014]", bracket[0]) is not None
        is_life = end is not None and (has_dash or not has_numbers)
        return (begin, end) if is_life else (None, None)
    return None, None


def _date_at(cue: re.Match[str], title: str) -> WrittenDate | None:
    """Find the date behind a word for an event, unless the date may belong to something else.

    In "Alpha Hall was built in 1940" it is 1940. In "It replaced a hall built in 1800" there is none.

    :param cue: The match of the word for the event in a text.
    :param title: The title of the passage.
    :returns: The date; None if there is none.
    """
    text = cue.string
    before = text[max(0, cue.start() - 2 * _NEAR) : cue.start()]
    clause = _CLAUSE_END.split(before)[-1].strip()
    if _is_on_something_else(clause, cue[0], title):
        return None

    after = text[cue.end() : cue.end() + 2 * _NEAR]
    for date in find_dates(after):
        between = after[: date.begin]

        if len(between) > _NEAR or _BREAK.search(between) or _LASTED.match(after, date.end):
            return None

        is_count = date.is_number and _COUNTS.match(after, date.end)
        if not is_count and _BEFORE_DATE.search(between):
            return replace(date, begin=cue.end() + date.begin)
    return None


def _is_on_something_else(clause: str, event: str, title: str) -> bool:
    """Check whether an event may belong to something else than the thing of the title.

    :param clause: The part of the clause before the word for the event.
    :param event: The word for the event.
    :param title: The title of the passage.
    :returns: Whether the event may belong to something else, or may not have happened.
    """
    names = [word for word in re.findall(r"\b[A-Z]\w+", clause) if word.lower() not in FUNCTION_WORDS]
    is_another = len(names) > 1 and normalize_words(names[0]) not in normalize_words(title).split()
    if is_another or _OF_SOMETHING_ELSE.search(clause):
        return True

    # A participle without "was" may belong to the title, as in "is a film released in 1931". In
    # "replaced a hall built in 1931" it does not.
    is_participle = bool(clause) and not event.endswith("death") and not _PASSIVE.search(clause)
    return is_participle and _ANOTHER_THING.search(clause, 1) is not None
