"""Check whether an answer is about another time or thing than the question, or ignores a "not" in the question.

The checks compare the question with the clause around the answer, word by word. They use neither a model nor a parser.
"""

import re

from prefrag.components.text.title_mentions import FUNCTION_WORDS, normalize_words

# The ordinals up to 12, in order.
_ORDINALS = re.findall(r"\w+", "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth")
# Words that distinguish things with the same name, as in "the old bridge". Words with the same value count as equal.
_STAGES = {
    **{"old": "old", "former": "old", "previous": "old", "new": "new", "present": "new", "current": "new"},
    **{"original": "1", "last": "last", "latest": "last", "next": "next"},
}
# The names of the months, as alternatives of a pattern.
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
# Such a word or an ordinal. Capital letters do not match, because "New York" is not new. It matches "the old bridge"
# and "the third bridge". It does not match "New York".
_DISTINGUISHING_WORD = re.compile(rf"\b(?:{'|'.join((*_STAGES, *_ORDINALS))})\b")
# A word for an earlier thing, and the thing, which is the group. It matches "the former chair".
_EARLIER = re.compile(r"\b(?:former|previous|first|original|old) (\w+)")
# A verb that shows that a question is about the present.
_IS = re.compile(r"\b(?:is|are)\b", re.IGNORECASE)
# The patterns of the times that are compared: years, ordinals, distinguishing words, months and weekdays.
_TIMES = (
    re.compile(r"\b(?:1\d{3}|20\d\d)\b"),
    re.compile(rf"\b(?:{'|'.join(_ORDINALS)}|\d{{1,3}}(?:st|nd|rd|th))\b", re.IGNORECASE),
    _DISTINGUISHING_WORD,
    # Case matters, because "may" is more often a verb than a month.
    re.compile(rf"\b(?:{_MONTHS})\b"),
    re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day", re.IGNORECASE),
)
# For each distinguishing word and each ordinal its value. Words with the same value count as equal.
_VALUE_OF_WORD = {**_STAGES, **{word: str(number) for number, word in enumerate(_ORDINALS, start=1)}}
# Phrases in which such a word has another meaning. They are ignored. It matches "how old", "10 years old" and
# "next to".
_IDIOMS = re.compile(r"\b(?:how old|years?[ -]old|last names?|next to|present at)\b", re.IGNORECASE)
# A "not" or "never". It matches "Who never signed?" and "isn't".
_NOT = re.compile(r"\b(?:not|never|cannot)\b|n['\u2019]t\b", re.IGNORECASE)
# A condition or a reason. A "not" in it does not count, because "What helps if it does not start?" denies nothing.
_CONDITION = re.compile(r"\s(?:if|when|because|although|though)\s.*", re.DOTALL)
# Any word for a negation. It matches "nobody" and "without".
ANY_NEGATION = re.compile(rf"{_NOT.pattern}|\b(?:no|none|nobody|nothing|neither|nor|without)\b", re.IGNORECASE)
# A digit.
_DIGIT = re.compile(r"\d")
# A month or a weekday. It is not compared as a name.
_OF_CALENDAR = re.compile(rf"(?:{_MONTHS}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s?")
# A name: one or more words with a capital letter. It matches "the offer of Brook".
_NAME = re.compile(r"\b[A-Z][^\W\d_][\w'\u2019-]*(?: [A-Z][\w'\u2019-]+)*")
# The sign or conjunction at which a clause ends. It matches "yes, but" and "old while new". It does not match "1,500".
_CLAUSE_ENDS = re.compile(r"[,;](?!\d)|[()]|\s(?:but|while|whereas|and (?:in|on))\s")
# A text in brackets. In a question, it says which thing is meant, as in "(1932 film)". So a year in it is not compared.
_ASIDE = re.compile(r"\([^)]*\)")


def is_of_another_time(question: str, sentence: str, begin: int, end: int) -> bool:
    """Check whether the clause around an answer names a different time than the question.

    Compared are years, ordinals, months and weekdays, and words such as "old", "new" and "original". If the question
    and the clause both have such words, but none in common, the clause is about another time. This does not hold if the
    answer itself has such a word, such as a year.

    "Who is the chair?" asks for the present chair. So a clause about a former or the first chair is about another time.

    For example, ``is_of_another_time("Who won in 1990?", "Ann won in 1980.", 0, 3)`` returns ``True``.

    :param question: The question.
    :param sentence: The sentence with the answer.
    :param begin: The index of the answer's first character in the sentence.
    :param end: The index after its last character.
    :returns: Whether the clause is about another time.
    """
    start, stop = _clause_around(sentence, begin, end)
    clause = sentence[start:stop]

    for pattern in _TIMES:
        times_of_question = _values(pattern, _ASIDE.sub(" ", question))
        times_of_clause = _values(pattern, clause)
        both_have_times = bool(times_of_question) and bool(times_of_clause)
        differs = both_have_times and times_of_question.isdisjoint(times_of_clause)
        if differs and not pattern.search(sentence[begin:end]):
            return True

    asks_for_present = _IS.search(question) is not None and not _values(_DISTINGUISHING_WORD, question)
    earlier_things = _EARLIER.findall(clause)
    return asks_for_present and not set(earlier_things).isdisjoint(re.findall(r"\w+", question.lower()))


def is_of_another_name(question: str, sentence: str, begin: int, end: int) -> bool:
    """Check whether a number stands in a clause about another name than the question.

    In "The offer of Brook is 40 pounds, the offer of Quill 30 pounds", 40 pounds is no answer to a question on Quill.

    :param question: The question.
    :param sentence: The sentence with the answer.
    :param begin: The index of the answer's first character in the sentence.
    :param end: The index after its last character.
    :returns: True if three conditions hold. The answer has a digit. Its clause has a name, but no name of the question.
        And another clause has a name of the question and a digit.
    """
    if not _DIGIT.search(sentence[begin:end]):
        return False

    start, stop = _clause_around(sentence, begin, end)
    words_of_question = set(normalize_words(question).split())
    names = [name for name in _NAME.finditer(sentence) if not _OF_CALENDAR.fullmatch(name.group())]
    inside = [name for name in names if start <= name.start() < stop]

    # The first word of a sentence has a capital letter even if it is no name.
    has_name = any(name.start() > 0 or " " in name.group() for name in inside)
    words_of_names = {word for name in inside for word in normalize_words(name.group()).split()}
    shared = words_of_question & words_of_names
    if not has_name or shared - FUNCTION_WORDS:
        return False

    outside = [name for name in names if not start <= name.start() < stop]
    asked_outside = [name for name in outside if words_of_question.issuperset(normalize_words(name.group()).split())]
    for name in asked_outside:
        left, right = _clause_around(sentence, name.start(), name.end())
        if _DIGIT.search(sentence[left:right]):
            return True
    return False


def _clause_around(sentence: str, begin: int, end: int) -> tuple[int, int]:
    """Return the indices in the sentence at which the clause with the answer begins and ends."""
    ends = [0, *(match.end() for match in _CLAUSE_ENDS.finditer(sentence)), len(sentence)]
    left = max(place for place in ends if place <= begin)
    right = min(place for place in ends if place >= end)
    return left, right


def ignores_negation(question: str, said: str) -> bool:
    """Check whether a question has a negation, but the text with the answer has none.

    For example, ``ignores_negation("Who never signed?", "Ann signed.")`` returns ``True``.

    :param question: The question.
    :param said: The title and the sentence with the answer.
    :returns: Whether the negation is ignored.
    """
    without_condition = _CONDITION.sub("", question)
    return _NOT.search(without_condition) is not None and not ANY_NEGATION.search(said)


def _values(pattern: re.Pattern[str], text: str) -> set[str]:
    """List the values of all words in a text that match a pattern. The words "third" and "3rd" have the value "3".

    For example, ``_values(_TIMES[1], "the third and the 4th")`` returns ``{"3", "4"}``.
    """
    words = {match.group().lower() for match in pattern.finditer(_IDIOMS.sub(" ", text))}
    # "3rd" has the value "3", as "third" has.
    return {_VALUE_OF_WORD.get(word) or re.sub(r"(?<=\d)[a-z]+$", "", word) for word in words}
