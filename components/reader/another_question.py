"""Tell whether an answer is about another time or thing than the question, or ignores a "not" in the question."""

import re

from prefrag.components.text.title_mentions import FUNCTION_WORDS, normalize_words

_ORDINALS = re.findall(r"\w+", "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth")
# Words that distinguish things with the same name, as in "the old bridge". Words with the same value count as equal.
_STAGES = {
    **{"old": "old", "former": "old", "previous": "old", "new": "new", "present": "new", "current": "new"},
    **{"original": "1", "last": "last", "latest": "last", "next": "next"},
}
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
# Case matters, because "New York" is not new.
_DISTINGUISHING_WORD = re.compile(rf"\b(?:{'|'.join((*_STAGES, *_ORDINALS))})\b")
_EARLIER = re.compile(r"\b(?:former|previous|first|original|old) (\w+)")
_IS = re.compile(r"\b(?:is|are)\b", re.IGNORECASE)
_TIMES = (
    re.compile(r"\b(?:1\d{3}|20\d\d)\b"),
    re.compile(rf"\b(?:{'|'.join(_ORDINALS)}|\d{{1,3}}(?:st|nd|rd|th))\b", re.IGNORECASE),
    _DISTINGUISHING_WORD,
    # Case matters, because "may" is more often a verb than a month.
    re.compile(rf"\b(?:{_MONTHS})\b"),
    re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day", re.IGNORECASE),
)
_VALUE_OF_WORD = {**_STAGES, **{word: str(number) for number, word in enumerate(_ORDINALS, start=1)}}
# Phrases such as "how old", in which a word of `_STAGES` has another meaning.
_IDIOMS = re.compile(r"\b(?:how old|years?[ -]old|last names?|next to|present at)\b", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|cannot)\b|n['\u2019]t\b", re.IGNORECASE)
# A condition or a reason. A "not" in it does not count: "What helps if it does not start?" denies nothing.
_CONDITION = re.compile(r"\s(?:if|when|because|although|though)\s.*", re.DOTALL)
ANY_NEGATION = re.compile(rf"{_NOT.pattern}|\b(?:no|none|nobody|nothing|neither|nor|without)\b", re.IGNORECASE)
_FIGURE = re.compile(r"\d")
_OF_CALENDAR = re.compile(rf"(?:{_MONTHS}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s?")
_NAME = re.compile(r"\b[A-Z][^\W\d_][\w'\u2019-]*(?: [A-Z][\w'\u2019-]+)*")
_CLAUSE_ENDS = re.compile(r"[,;](?!\d)|[()]|\s(?:but|while|whereas|and (?:in|on))\s")
# Brackets in a question say which thing is meant, as in "(1932 film)", so a year in them is not compared.
_ASIDE = re.compile(r"\([^)]*\)")


def is_of_another_time(question: str, sentence: str, begin: int, end: int) -> bool:
    """Check whether the clause around an answer names a different year, ordinal, month or weekday than the question.

    Words such as "old", "new" and "original" are compared too. If the question and the clause both contain years, but
    none in common, the clause is about another time, unless the answer (``sentence[begin:end]``) itself has a year.
    "Who is the chair?" asks for the present chair, so a clause about a former or the first chair is about another time.
    """
    start, stop = _clause_around(sentence, begin, end)
    clause = sentence[start:stop]
    for pattern in _TIMES:
        asked, said = _values(pattern, _ASIDE.sub(" ", question)), _values(pattern, clause)
        differs = bool(asked) and bool(said) and asked.isdisjoint(said)
        if differs and not pattern.search(sentence[begin:end]):
            return True
    is_open = bool(_IS.search(question)) and not _values(_DISTINGUISHING_WORD, question)
    return is_open and not set(_EARLIER.findall(clause)).isdisjoint(re.findall(r"\w+", question.lower()))


def is_of_another_name(question: str, sentence: str, begin: int, end: int) -> bool:
    """Check whether a figure stands in a clause about another name than the question, which has a clause of its own.

    In "The offer of Brook is 40 pounds, the offer of Quill 30 pounds", 40 pounds is no answer to a question on Quill.

    :param question: The question.
    :param sentence: The sentence with the answer.
    :param begin: Where the answer begins in the sentence.
    :param end: Where it ends.
    :returns: Whether the answer has a figure, its clause has a name but none of the question, and a clause with a name
        of the question has a figure too.
    """
    if not _FIGURE.search(sentence[begin:end]):
        return False
    start, stop = _clause_around(sentence, begin, end)
    asked = set(normalize_words(question).split())
    names = [name for name in _NAME.finditer(sentence) if not _OF_CALENDAR.fullmatch(name.group())]
    inside = [name for name in names if start <= name.start() < stop]
    # The first word of a sentence has a capital, whatever it is.
    has_other = any(name.start() > 0 or " " in name.group() for name in inside)
    told = {word for name in inside for word in normalize_words(name.group()).split()} - FUNCTION_WORDS
    if not has_other or asked & told:
        return False
    outside = [name for name in names if not start <= name.start() < stop]
    named = [name for name in outside if asked.issuperset(normalize_words(name.group()).split())]
    clauses = [slice(*_clause_around(sentence, *name.span())) for name in named]
    return any(_FIGURE.search(sentence[clause]) for clause in clauses)


def _clause_around(sentence: str, begin: int, end: int) -> tuple[int, int]:
    ends = [0, *(match.end() for match in _CLAUSE_ENDS.finditer(sentence)), len(sentence)]
    left = max(place for place in ends if place <= begin)
    right = min(place for place in ends if place >= end)
    return left, right


def ignores_negation(question: str, said: str) -> bool:
    """Check whether a question has a negation, as in "Who never signed?", but an answer's text (``said``) has none."""
    return bool(_NOT.search(_CONDITION.sub("", question))) and not ANY_NEGATION.search(said)


def _values(pattern: re.Pattern[str], text: str) -> set[str]:
    words = {match.group().lower() for match in pattern.finditer(_IDIOMS.sub(" ", text))}
    # "3rd" has the value "3", as "third" has.
    return {_VALUE_OF_WORD.get(word) or re.sub(r"(?<=\d)[a-z]+$", "", word) for word in words}
