"""Answer questions that ask which of two things is earlier or later, by the dates in their passages."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from prefrag.components.reader.span_candidates import short_title
from prefrag.components.text.dates import WrittenDate, find_dates
from prefrag.components.text.title_mentions import FUNCTION_WORDS, normalize_words, title_key

_BRACKET = re.compile(r"\([^()]*\)")
# The words for an event. Those of one line name the same event: "Which film came out first?", "released in 1931".
_BIRTH = r"born"
_DEATH = r"died|passed away|killed|(?:his|her|their) death"
_RELEASE = r"released?|c[ao]me out|premiered?|published|issued|debuted|aired"
_EVENTS = (
    _RELEASE,
    r"founded|established|started|began|begun|created|formed|launched|incorporated|set up",
    r"built|build|constructed|erected|completed",
    r"opene?d?|opens|inaugurated",
)
_EARLIER = frozenset(("first", "earlier", "earliest", "older", "oldest", "before"))
_LATER = frozenset(("later", "latest", "last", "recently", "recent", "younger", "youngest", "newer", "newest", "after"))
_OF_ANOTHER = frozenset(
    ("director", "directors", "whose", "composer", "performer", "author", "founder", "singer", "producer", "writer")
)
_BIRTHS = frozenset(("born", "older", "younger", "oldest", "youngest", "birth"))
_DEATHS = frozenset(("died", "die", "death"))
# Questions with a negation are not answered here, because the "not" may or may not apply to a word such as "older".
_NEGATION = re.compile(r"\b(?:not|never|neither|nor|cannot|except)\b|n['\u2019]t\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.;:!?]\s|[,()\n]|\b(?:and|but)\b")
# Before the word for the event: it is not the thing of the title, it did not happen, or it had not happened yet.
_OF_SOMETHING_ELSE = re.compile(
    r"\b(?:which|that|who|whose|where|when|while|not|never|will|would|should|to|after|before|(?i:his|her|their|its))\b"
)
_PASSIVE = re.compile(r"\b(?:is|was|were|been)(?:\s(?:first|\w+ly))*$")
_ANOTHER_THING = re.compile(r"\b[a-z]+ed\b|(?<!\bis )(?<!\bwas )\b(?:a|an|the)\b")
# Between the word for the event and the date there is something else that the date may be of.
_BREAK = re.compile(
    r"(?<![A-Z])[.;:!?]\s|[()]|\b[a-z]+ed\b|\b(?:which|that|who|whose|where|when|while|not|never|after|before|burnt)\b"
)
_BEFORE_DATE = re.compile(
    r"^\s*$|(?:\b(?:in|on|on\sthe|since|from|during|year|early|late|mid|spring|summer|autumn|fall|winter)|,)[\s-]$"
)
# What asks for something else than one of the two things: "When was the first built, A or B?", "Which firm built the
# ship that was launched first, A or B?".
_ASKS_ELSE = re.compile(
    r"^\W*(?:when|where|why|how|(?:in|at|on|by|from|since|for|to) (?:which|what|whom))\b"
    r"|^\W*(?:who|(?:which|what) \w+) (?!has|have|had|is|was|are|were)\w+ (?:the|a|an) [^,]*\b(?:that|which|who)\b",
    re.IGNORECASE,
)
# A number before a small word of its own is no year: "in 1500 days". A year before another number begins a time.
_COUNTS = re.compile(rf"\s(?!(?:{'|'.join(FUNCTION_WORDS)})\b)[^\W\dA-Z]|\s(?:of|more|other|BCE?)\b")
_LASTED = re.compile(r"(?:\s?[-\u2013\u2014]|\s(?:to|until|and))\s?\d")
# A work is often dated by what it is: "is a 1931 silent film". A number before a unit is no year: "a 1200 page novel".
_DATED_WORK = re.compile(
    r"\b(?:is|was)\s(?:a|an|the)\s(?=\d{4}\s(?!page|minute|second|hour|year|word|line|vers|seat|met|kilo|mile|f[eo]|ton)[a-z])",
    re.IGNORECASE,
)
# A person's dates must be in brackets in the first 400 characters, or at most 60 characters after a word like "born".
_BEGINNING = 400
_NEAR = 60

Passage = tuple[str, str]


@dataclass(frozen=True)
class DatedChoice:
    """The answer to a question that offers two things to choose from."""

    name: str  # the title of the thing, without brackets
    other: str  # the title of the other thing
    place: int  # the index of the passage about the thing
    dated: int  # the index of the passage with the date: the same passage or, for example, that about a film's director
    begin: int  # the index of the date's first character in the text of the passage `dated`

    def is_answer(self, answer: str) -> bool | None:
        """Check whether an answer is this thing; None if it names neither of the two things, or both."""
        key = f" {normalize_words(answer)} "
        names = [f" {normalize_words(name)} " for name in (self.name, self.other)]
        is_first, is_other = (key in name or name in key for name in names)
        return None if is_first == is_other or not key.strip() else is_first


def choose_by_date(question: str, passages: Sequence[Passage]) -> DatedChoice | None:
    """Choose one of the two things that an English question names, as in "Who is older, A or B?", by their dates.

    Only a date that stands with the event of the question counts: "built" in "Which was built first, A or B?". Returns
    None if the question does not offer the titles of two passages, contains a negation, or does not ask which of these
    is earlier or later. Also returns None if a date is missing, or if one thing may have been both earlier and later
    than the other, as with "1950" and "12 March 1950".
    """
    places = find_alternatives(question, passages)
    if places is None:
        return None
    names = [short_title(passages[place][0]) for place in places]
    asked = {*normalize_words(question).split()} - {word for name in names for word in normalize_words(name).split()}
    outside = question
    for name in names:
        outside = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "", outside, flags=re.IGNORECASE)
    if _NEGATION.search(outside) or _ASKS_ELSE.search(question):
        return None
    # 1 if the earlier thing is asked for, -1 if the later one; 0 if neither, or both, so that it is unclear.
    direction = bool(asked & _EARLIER) - bool(asked & _LATER)
    event = _asked_event(outside, asked)
    if not direction or not event:
        return None
    first, second = (_find_date(place, places, passages, event, asked) for place in places)
    if first is None or second is None:
        return None
    if first[1].last >= second[1].first and second[1].last >= first[1].first:
        return None
    is_first_earlier = first[1].last < second[1].first
    asks_for_earlier = direction > 0
    chosen = 0 if is_first_earlier == asks_for_earlier else 1
    dated, date = (first, second)[chosen]
    return DatedChoice(names[chosen], names[1 - chosen], places[chosen], dated, date.begin)


def find_alternatives(question: str, passages: Sequence[Passage]) -> tuple[int, int] | None:
    """Return the indices of the two passages whose titles are before and after an "or" in the question, or None."""
    places: dict[str, int] = {}
    # Of passages with the same title, the first one counts, so it is written last.
    for place, (title, _) in reversed(list(enumerate(passages))):
        places[title_key(title)] = place
        places[normalize_words(title)] = place
    places.pop("", None)
    for match in re.finditer(r"\bor\b", question):
        before = normalize_words(question[: match.start()]).split()
        after = normalize_words(question[match.end() :]).split()
        # The longest titles that end and begin at the "or".
        ends = (" ".join(before[start:]) for start in range(len(before)))
        begins = (" ".join(after[:end]) for end in range(len(after), 0, -1))
        first = next((places[words] for words in ends if words in places), None)
        second = next((places[words] for words in begins if words in places), None)
        if first is None or second is None:
            continue
        if first != second:
            return first, second
    return None


def _asked_event(question: str, asked: set[str]) -> str:
    """Return the pattern of the words for the event that the question asks about, or "" if it is not clear."""
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
) -> tuple[int, WrittenDate] | None:
    """Find the date of a thing or, if asked for, of its director or author. Return the passage's index and the date."""
    if not asked & _OF_ANOTHER:
        date = _date_of(event, *passages[place])
        return None if date is None else (place, date)
    for other in _find_mentioned(place, offered, passages):
        date = _date_of(event, *passages[other])
        is_person = _date_of(_BIRTH, *passages[other]) is not None
        if date is not None and is_person:
            return other, date
    return None


def _find_mentioned(place: int, offered: tuple[int, int], passages: Sequence[Passage]) -> Iterator[int]:
    spoken = f" {normalize_words(passages[place][1])} "
    for other, (title, _) in enumerate(passages):
        key = title_key(title)
        if key and other not in offered and f" {key} " in spoken:
            yield other


def _date_of(event: str, title: str, text: str) -> WrittenDate | None:
    """Find the date of an event. If the text dates the event twice, both dates must be possible together."""
    dates = find_dates(text)
    life = _life(text, dates)
    if event == _BIRTH and life:
        return life[0]
    if event == _DEATH and len(life) > 1:
        return life[1]
    possible = (_date_at(cue, title) for cue in _find_cues(event, text))
    stated = [date for date in possible if date is not None]
    if stated:
        best = min(stated, key=lambda date: date.last - date.first)
        is_consistent = all(date.first <= best.last and best.first <= date.last for date in stated)
        return best if is_consistent else None
    if life and event in _EVENTS:
        return life[0]
    if event != _RELEASE:
        return None
    works = {match.end() for match in _DATED_WORK.finditer(text)}
    return next((date for date in dates if date.begin in works), None)


def _find_cues(event: str, text: str) -> list[re.Match[str]]:
    return list(re.finditer(rf"(?<![\w-])(?:{event})(?![\w-])", text, re.IGNORECASE))


def _life(text: str, dates: Sequence[WrittenDate]) -> list[WrittenDate]:
    """Return the dates in the first bracket with a date, if they are of a life: a birth, or a beginning and an end."""
    for bracket in _BRACKET.finditer(text[:_BEGINNING]):
        inside = [date for date in dates if bracket.start() < date.begin < bracket.end()]
        if not inside:
            continue
        if re.search(r"\bborn\b", bracket[0]):
            return inside
        has_numbers = any(date.is_number for date in inside)
        is_range = not has_numbers or re.search("[-\u2013\u2014]", bracket[0])
        return inside if is_range and len(inside) > 1 else []
    return []


def _date_at(cue: re.Match[str], title: str) -> WrittenDate | None:
    """Find the date behind a word for an event, unless it may be the date of something else."""
    text = cue.string
    clause = _CLAUSE_END.split(text[max(0, cue.start() - 2 * _NEAR) : cue.start()])[-1].strip()
    names = [word for word in re.findall(r"\b[A-Z]\w+", clause) if word.lower() not in FUNCTION_WORDS]
    is_another = len(names) > 1 and normalize_words(names[0]) not in normalize_words(title).split()
    # A participle without "was" is of the title in "is a film released in 1931", and not in "replaced a hall built in
    # 1931".
    is_participle = bool(clause) and not cue[0].endswith("death") and not _PASSIVE.search(clause)
    if is_another or _OF_SOMETHING_ELSE.search(clause):
        return None
    if is_participle and _ANOTHER_THING.search(clause, 1):
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
