"""Tells whether an answer is about another time than the question: the year before, the week after."""

import re

_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_TIMES = (
    re.compile(r"\b(?:1\d{3}|20\d\d)\b"),
    re.compile(rf"\b(?:{'|'.join(_ORDINALS)}|\d{{1,3}}(?:st|nd|rd|th))\b", re.IGNORECASE),
    # Case matters, because "may" is seldom a month.
    re.compile(rf"\b(?:{_MONTHS})\b"),
    re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day", re.IGNORECASE),
)
_CLAUSE_ENDS = re.compile(r"[,;](?!\d)|[()]|\s(?:but|while|whereas|and (?:in|on))\s")
# Brackets in a question tell which thing is meant, as in "(1932 film)", and not a time.
_ASIDE = re.compile(r"\([^)]*\)")


def is_of_another_time(question: str, sentence: str, begin: int, end: int) -> bool:
    """Check whether the clause around an answer names another year, ordinal, month or weekday than the question.

    They count only if question and clause have none of that kind in common, and the answer itself
    (``sentence[begin:end]``) contains none.
    """
    ends = [0, *(match.end() for match in _CLAUSE_ENDS.finditer(sentence)), len(sentence)]
    clause = sentence[max(one for one in ends if one <= begin) : min(one for one in ends if one >= end)]
    for pattern in _TIMES:
        asked, said = _values(pattern, _ASIDE.sub(" ", question)), _values(pattern, clause)
        if asked and said and not asked & said and not pattern.search(sentence[begin:end]):
            return True
    return False


def _values(pattern: re.Pattern[str], text: str) -> set[str]:
    found = {match.group().lower() for match in pattern.finditer(text)}
    return {str(_ORDINALS.index(one) + 1) if one in _ORDINALS else re.sub(r"(?<=\d)[a-z]+$", "", one) for one in found}
