"""Find out whether a number is only the total of several parts, while the question asks for one of them."""

import re

from prefrag.components.reader.doubts.statement import DETERMINER, Statement
from prefrag.components.reader.span_features import stems_of

# The numbers from one to twenty, as words.
_NAMES = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
# The same with their values.
_VALUES = {word: value for value, word in enumerate(_NAMES.split(), start=1)}
# A whole number in figures or in words. It matches "12" and "seven". It does not match "12.4" and "40s".
_NUMBER = rf"\b(?:\d{{1,6}}(?![\d.,%]*\d|%|[a-z])|{'|'.join(_VALUES)})\b"
# A part of a total: at most two words, its number, and the word behind it, which is the group ``next``. It matches
# "two in the barn", "Ida has two" and " one lies in the store".
_PART = re.compile(
    rf"\s*(?:of which )?(?:[^\W\d_]+ ){{0,2}}?(?P<number>{_NUMBER})(?: (?P<next>[a-z]+))?", re.IGNORECASE
)
# A word behind the number of a part that is no other noun. It matches "in" and "of".
_NO_NOUN = re.compile(r"(?:in|on|at|of|for|from|with|to|by|under|are|is|were|was|have|has)?")
# A place, an owner or a name in a question, which can tell a part from the total. Its group is the place or name. It
# matches "in the store", "to Enno" and "has Ida". It does not match "live" and "many people".
_PLACE = re.compile(
    rf"\b(?:in|on|at|of|for|from|with|to|by|under|behind|near|over|above|below|beside|inside|outside)"
    rf"(?: {DETERMINER})? (?P<noun>[^?,;]+?)(?=\W*$| (?:in|on|at|of|for|from|with|to|by|under)\b)"
    r"|(?<=[a-z] )(?P<name>(?-i:[A-Z])\w+)",
    re.IGNORECASE,
)
# The sign or word between a total and its parts, and between two parts. It matches ": ", " (" and " and ".
_BETWEEN = re.compile(r"[,;:](?!\d)|[()\u2013\u2014]|\s(?:and|but|while)\s")


def is_total(statement: Statement) -> bool:
    """Check whether the answer counts all, while a later part of the sentence counts those of the question.

    An example is "How many bins are in the yard?" with the answer "seven": "There are seven bins: two in the yard."

    :param statement: The sentence with the answer.
    :returns: Whether a part of the sentence has a smaller number and the place or name of the question, and the total
        lacks it.
    """
    total = re.match(_NUMBER, statement.answer, re.IGNORECASE)
    asks_number = statement.question.lower().lstrip().startswith("how many")
    if total is None or not asks_number:
        return False
    own, *parts = _BETWEEN.split(statement.after)
    places = " ".join(match["noun"] or match["name"] for match in _PLACE.finditer(statement.question))
    asked_places = statement.asked & stems_of(places)
    before_parts = stems_of(f"{statement.named} {statement.before} {statement.answer} {own}")
    # "The village has 800 inhabitants, and 300 live in the old part" counts those who live in the village.
    if asked_places & before_parts:
        return False
    return any(_counts(statement, part, asked_places, _value(total[0])) for part in parts)


def _counts(statement: Statement, part: str, asked_places: frozenset[str], total: int) -> bool:
    """Check whether a part of the sentence counts fewer of the same things, with the place or name of the question.

    :param statement: The sentence with the answer.
    :param part: The part of the sentence.
    :param asked_places: The stems of the question's place or name.
    :param total: The answer as a number.
    :returns: Whether the part, and not the total, counts what is asked for.
    """
    match = _PART.match(part)
    if match is None or asked_places.isdisjoint(stems_of(part)):
        return False
    if _value(match["number"]) >= total:
        return False
    # "5 rebounds" counts other things than "20 points". "One lies in the store" counts one of them.
    following = match["next"] or ""
    return _NO_NOUN.fullmatch(following) is not None or statement.asks(following)


def _value(number: str) -> int:
    """Return the value of a whole number in figures or in words. For example, ``_value("Seven")`` returns ``7``."""
    # A word with an unusual letter, such as a dotless i, is no number that is known.
    return int(number) if number.isdigit() else _VALUES.get(number.casefold(), 0)
