"""Check whether an answer is about another time or thing than the question, or ignores a "not" in the question.

Each check compares the question with the clause around the answer, word by word. A clause is a part of a sentence, up
to the next comma or to a word such as "but". The checks use neither a model nor a parser.
"""

import re

from prefrag.components.text.dates import ENGLISH_MONTHS
from prefrag.components.text.title_mentions import FUNCTION_WORDS, normalize_words

# The ordinals up to 12, in order.
_ORDINALS = re.findall(r"\w+", "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth")
# Words that distinguish things with the same name, as in "the old bridge", and the value of each. Words with the same
# value mean the same: the former bridge is the old bridge, and the original bridge is the first one.
_STAGES = {
    "old": "old",
    "former": "old",
    "previous": "old",
    "new": "new",
    "present": "new",
    "current": "new",
    "original": "1",
    "last": "last",
    "latest": "last",
    "next": "next",
}
# For each of these words and each ordinal its value, such as "3" for "third".
_VALUE_OF_WORD = {**_STAGES, **{word: str(number) for number, word in enumerate(_ORDINALS, start=1)}}
# The names of the months, as alternatives of a pattern.
_MONTHS = "|".join(ENGLISH_MONTHS)
# The days of the week, as a pattern.
_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
# One of the words above, or an ordinal. Capital letters do not match, because "New York" is not new. It matches "the
# old bridge" and "the third bridge". It does not match "New York".
_DISTINGUISHING_WORD = re.compile(rf"\b(?:{'|'.join((*_STAGES, *_ORDINALS))})\b")
# The times that are compared. Each kind is compared for itself: a year with years, a month with months.
_TIMES = (
    # A year. It matches "1990".
    re.compile(r"\b(?:1\d{3}|20\d\d)\b"),
    # An ordinal in words or figures. It matches "third" and "3rd".
    re.compile(rf"\b(?:{'|'.join(_ORDINALS)}|\d{{1,3}}(?:st|nd|rd|th))\b", re.IGNORECASE),
    _DISTINGUISHING_WORD,
    # A month. Case matters, because "may" is more often a verb than a month.
    re.compile(rf"\b(?:{_MONTHS})\b"),
    # A day of the week. It matches "Mondays", too.
    re.compile(rf"\b{_WEEKDAY}", re.IGNORECASE),
)
# A part of a clause up to an "and".
_PARTS = re.compile(r"(?:\band\b)?(?:(?!\band\b).)+", re.DOTALL)
# Words that may stand beside a time without saying anything else. It matches "in", "of" and "still".
_TIME_ALONE = re.compile(
    r"\b(?:and|between|from|to|until|in|of|on|for|during|since|by|the|both|also|still|again|only|even|then)\b",
    re.IGNORECASE,
)
# A word or number, but not the "s" that is left of "Mondays".
_WORD_OR_NUMBER = re.compile(r"[^\W_]{2}|\d")
# Phrases in which such a word has another meaning, so that it is not compared. It matches "how old", "10 years old",
# "last name" and "next to".
_IDIOMS = re.compile(r"\b(?:how old|years?[ -]old|last names?|next to|present at)\b", re.IGNORECASE)
# A word for an earlier thing, and the thing, which is the group. It matches "the former chair".
_EARLIER = re.compile(r"\b(?:former|previous|first|original|old) (\w+)")
# A verb that shows that a question is about the present.
_IS = re.compile(r"\b(?:is|are)\b", re.IGNORECASE)
# A "not" or "never". It matches "Who never signed?" and "isn't".
_NOT = re.compile(r"\b(?:not|never|cannot)\b|n['\u2019]t\b", re.IGNORECASE)
# A condition or a reason at the end of a question. It matches " if it does not start?" in "What helps if it does not
# start?". That question denies nothing.
_CONDITION = re.compile(r"\s(?:if|when|because|although|though)\s.*", re.DOTALL)
# Any word for a negation. It matches "not", "nobody" and "without".
ANY_NEGATION = re.compile(rf"{_NOT.pattern}|\b(?:no|none|nobody|nothing|neither|nor|without)\b", re.IGNORECASE)
# A digit.
_DIGIT = re.compile(r"\d")
# A month or a day of the week. It has a capital letter, but it is no name of a thing.
_OF_CALENDAR = re.compile(rf"(?:{_MONTHS}|{_WEEKDAY})s?")
# A name: one or more words with a capital letter. In "the offer of Brook Hall" it matches "Brook Hall".
_NAME = re.compile(r"\b[A-Z][^\W\d_][\w'\u2019-]*(?: [A-Z][\w'\u2019-]+)*")
# The sign or conjunction at which a clause ends. It matches the comma in "yes, but", and " while " in "old while new".
# It does not match "1,500".
_CLAUSE_ENDS = re.compile(r"[,;](?!\d)|[()]|\s(?:but|while|whereas|and (?:in|on))\s")
# A text in brackets. In a question, it says which thing is meant, as in "(1932 film)". So a year in it is not compared.
_ASIDE = re.compile(r"\([^)]*\)")


def is_of_another_time(question: str, sentence: str, begin: int, end: int) -> bool:
    """Check whether the clause around an answer is about another time than the question.

    It is in three cases:

    - The question and the clause both name a time of the same kind, but none in common. Times are years, ordinals,
      months, weekdays, and words such as "old", "new" and "original". The case does not count if the answer itself
      names such a time, because the question may ask for it.
    - The answer is an amount in one part of the clause, and the time that is asked for stands with something else in
      another part, behind or before an "and". So "The fee was 2 euros in 2023 and rose to 3 euros in 2024" does not
      answer "What was the fee in 2024?" with 2 euros.
    - The question asks about the present, and the clause is about an earlier thing: "its first chair was Ann" does not
      answer "Who is the chair?".

    For example, ``is_of_another_time("Who won in 1990?", "Ann won in 1980.", 0, 3)`` returns ``True``.

    :param question: The question.
    :param sentence: The sentence with the answer.
    :param begin: The index of the answer's first character in the sentence.
    :param end: The index after its last character.
    :returns: Whether the clause is about another time.
    """
    answer = sentence[begin:end]
    begin_of_clause, end_of_clause = _clause_around(sentence, begin, end)
    clause = sentence[begin_of_clause:end_of_clause]

    question_without_asides = _ASIDE.sub(" ", question)
    for kind_of_time in _TIMES:
        times_of_question = _values(kind_of_time, question_without_asides)
        times_of_clause = _values(kind_of_time, clause)
        both_have_times = bool(times_of_question) and bool(times_of_clause)
        differs = both_have_times and times_of_question.isdisjoint(times_of_clause)
        is_asked_for = kind_of_time.search(answer) is not None
        if is_asked_for:
            continue
        if differs or _stands_in_other_part(kind_of_time, times_of_question, clause, begin - begin_of_clause):
            return True
    return _asks_for_present(question) and _tells_of_earlier_thing(clause, question)


def _stands_in_other_part(kind_of_time: re.Pattern[str], times_of_question: set[str], clause: str, begin: int) -> bool:
    """Check whether an "and" separates an amount from the time that is asked for, and the amount has another time.

    A part of the clause behind an "and" needs a word or number of its own beside the time. So "2 euros in 2023 and in
    2024" is one part. ``begin`` is the index of the answer in the clause.
    """
    if not times_of_question or not _DIGIT.match(clause, begin):
        return False

    own_part = ""
    times_elsewhere: set[str] = set()
    for part in _PARTS.finditer(clause):
        without_time = _TIME_ALONE.sub(" ", kind_of_time.sub(" ", part[0]))
        is_own = part.start() <= begin < part.end()
        # "The first floor and the second floor have 12 rooms": a part before that of the amount needs its own amount.
        says_more = _DIGIT if part.end() <= begin else _WORD_OR_NUMBER
        if is_own or not says_more.search(without_time):
            own_part += part[0]
        else:
            times_elsewhere |= _values(kind_of_time, part[0])
    own_times = _values(kind_of_time, own_part)
    has_other_time = bool(own_times) and own_times.isdisjoint(times_of_question)
    return has_other_time and not times_elsewhere.isdisjoint(times_of_question)


def _asks_for_present(question: str) -> bool:
    """Check whether a question has "is" or "are", and no word such as "old" or "first".

    For example, ``_asks_for_present("Who is the chair?")`` returns ``True``.
    """
    return _IS.search(question) is not None and not _values(_DISTINGUISHING_WORD, question)


def _tells_of_earlier_thing(clause: str, question: str) -> bool:
    """Check whether a clause has a thing of the question behind a word such as "former", as in "the former chair"."""
    earlier_things = set(_EARLIER.findall(clause))
    words_of_question = re.findall(r"\w+", question.lower())
    return not earlier_things.isdisjoint(words_of_question)


def _values(kind_of_time: re.Pattern[str], text: str) -> set[str]:
    """List the times of one kind in a text, in a form in which equal times are equal.

    For example, the pattern of the ordinals finds ``{"3", "4"}`` in "the third and the 4th".

    :param kind_of_time: One of the patterns in ``_TIMES``.
    :param text: The text.
    :returns: The value of each word that matches, if it has one; else the word in lower case, without an ending such as
        that of "4th".
    """
    words = {match.group().lower() for match in kind_of_time.finditer(_IDIOMS.sub(" ", text))}
    return {_VALUE_OF_WORD.get(word) or re.sub(r"(?<=\d)[a-z]+$", "", word) for word in words}


def is_of_another_name(question: str, sentence: str, begin: int, end: int) -> bool:
    """Check whether a number stands in a clause about another name than the question.

    In "The offer of Brook is 40 pounds, the offer of Quill 30 pounds", 40 pounds is no answer to a question on Quill.

    :param question: The question.
    :param sentence: The sentence with the answer.
    :param begin: The index of the answer's first character in the sentence.
    :param end: The index after its last character.
    :returns: True if three conditions hold. The answer has a digit. Its clause has a name, but no word of the question
        in its names. And another clause has a name of the question and a digit.
    """
    if not _DIGIT.search(sentence[begin:end]):
        return False

    begin_of_clause, end_of_clause = _clause_around(sentence, begin, end)
    names_of_clause: list[re.Match[str]] = []
    names_outside: list[re.Match[str]] = []
    for name in _NAME.finditer(sentence):
        if _OF_CALENDAR.fullmatch(name[0]):
            continue
        is_inside = begin_of_clause <= name.start() < end_of_clause
        names = names_of_clause if is_inside else names_outside
        names.append(name)

    # The first word of a sentence has a capital letter even if it is no name.
    has_name = any(name.start() > 0 or " " in name[0] for name in names_of_clause)
    words_of_question = set(normalize_words(question).split())
    words_of_names = {word for name in names_of_clause for word in _words_of(name)}
    shared_words = (words_of_question & words_of_names) - FUNCTION_WORDS
    if not has_name or shared_words:
        return False

    asked_names = [name for name in names_outside if words_of_question.issuperset(_words_of(name))]
    return any(_has_digit_beside(sentence, name) for name in asked_names)


def _words_of(name: re.Match[str]) -> list[str]:
    """Split a name into its words, in the form of :func:`normalize_words`."""
    return normalize_words(name[0]).split()


def _has_digit_beside(sentence: str, name: re.Match[str]) -> bool:
    """Check whether the clause with a name has a digit."""
    begin_of_clause, end_of_clause = _clause_around(sentence, name.start(), name.end())
    return _DIGIT.search(sentence[begin_of_clause:end_of_clause]) is not None


def _clause_around(sentence: str, begin: int, end: int) -> tuple[int, int]:
    """Return the indices in the sentence at which the clause around a part of it begins and ends.

    The part is the text from the index ``begin`` up to ``end``, such as an answer.
    """
    borders = [0, *(match.end() for match in _CLAUSE_ENDS.finditer(sentence)), len(sentence)]
    begin_of_clause = max(border for border in borders if border <= begin)
    end_of_clause = min(border for border in borders if border >= end)
    return begin_of_clause, end_of_clause


def ignores_negation(question: str, said: str) -> bool:
    """Check whether a question has a negation, but the text with the answer has none.

    For example, ``ignores_negation("Who never signed?", "Ann signed.")`` returns ``True``.

    :param question: The question.
    :param said: The title and the sentence with the answer.
    :returns: Whether the negation is ignored.
    """
    question_without_condition = _CONDITION.sub("", question)
    is_negated = _NOT.search(question_without_condition) is not None
    return is_negated and ANY_NEGATION.search(said) is None
