"""Find out whether a number belongs to another member of a list than the one that the question names.

In "Twenty-five points make a bronze badge, fifty a silver and one hundred a gold", the verb and the noun stand only in
the first member. Each later member has only its number and what distinguishes it.
"""

import re
from typing import NamedTuple

from prefrag.components.reader.doubts.statement import DETERMINER, Statement
from prefrag.components.reader.span_features import stems_of

# A number in figures or in words. It matches "4.30", "fifty", "twenty-five" and "one hundred".
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_NUMBER = (
    r"(?:\d[\d.,]*(?:st|nd|rd|th)?"
    rf"|(?:{_TENS})(?:-[a-z]+)?"
    r"|(?:(?:a|one|two|three|four|five|six|seven|eight|nine) )?(?:hundred|thousand)"
    r"|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen)\b"
)
# The sign or word between two members. It matches ", ", "; " and " and ". It does not match the comma of "1,500" and of
# "June 8, 1977".
_BETWEEN = re.compile(r"(?:;|,(?! \d{4}\b))\s+(?:and |but |or )?|\s(?:and|but)\s")
# What may stand before the number of a member: a currency, "at", "from" and the like.
_BEFORE_NUMBER = r"(?:(?:at|for|from|only|about) )?[$\u00a3\u20ac]?\s?"
# A member without a verb: its number stands at its beginning or at its end, beside at most five words. It matches
# "fifty a silver", "9 pounds for the second child" and "the garden 60". It does not match "After 3 years in Brae".
_FIRST = re.compile(rf"^{_BEFORE_NUMBER}(?P<number>{_NUMBER})(?P<rest>(?: [^\s\d]+){{1,5}})\W*$", re.IGNORECASE)
_LAST = re.compile(
    rf"^(?P<rest>(?:{DETERMINER} )?[^\s\d]+(?: [^\s\d]+){{0,3}}?) {_BEFORE_NUMBER}(?P<number>{_NUMBER})"
    r"(?: [a-z.]{1,7})?\W*$",
    re.IGNORECASE,
)

# What makes a part no member of the list: a verb, or words that count a part of a total. It matches "is returned under
# section 7" and "12 of them in the attic".
_NO_MEMBER = re.compile(r"\b(?:is|are|was|were|has|have|had|does|do|did|will|can|of (?:them|which|these|those))\b")
# Up to two words behind an article, a preposition or a form of "to be" in a question, which are the group. They can
# tell a member from another. It matches "a silver badge", "the garden", "on Saturday" and "is dinner".
_DISTINCTION = re.compile(
    rf"\b(?:{DETERMINER}|in|on|at|of|for|from|with|to|by|under|is|are|does|do)"
    r" (?=(?P<words>[^\W\d_][\w-]*(?: [^\W\d_][\w-]*)?))",
    re.IGNORECASE,
)


class _Member(NamedTuple):
    """A part of a sentence between two commas, or between a comma and "and".

    :param text: The part.
    :param has_answer: Whether the answer stands in it.
    """

    text: str
    has_answer: bool


def is_other_member(statement: Statement) -> bool:
    """Check whether the answer is the number of one member of a list, while the question names another member.

    An example is "How many points for a silver badge?" with the answer "Twenty-five" from the sentence above.

    :param statement: The sentence with the answer.
    :returns: Whether another member without a verb has its own number and a word of the question that the answer's
        member lacks.
    """
    if not re.match(rf"{_BEFORE_NUMBER}{_NUMBER}", statement.answer, re.IGNORECASE):
        return False

    members = _members(statement)
    own = " ".join(member.text for member in members if member.has_answer)
    lacking = statement.asked - stems_of(f"{own} {statement.named}")

    # The verb and the noun stand in the first member. So a later member with a word of the question is the right one.
    numbers_before = [member for member in members if _FIRST.match(member.text) or _LAST.match(member.text)]
    is_first = not numbers_before or members.index(numbers_before[0]) >= _index_of_answer(members)
    if not is_first and not statement.asked.isdisjoint(stems_of(own)):
        return False

    distinctions = " ".join(match["words"] for match in _DISTINCTION.finditer(statement.question))
    telling = lacking & stems_of(distinctions)
    return any(_has(member.text, telling, statement) for member in members if not member.has_answer)


def _index_of_answer(members: list[_Member]) -> int:
    """Return the index of the first member with the answer."""
    return [member.has_answer for member in members].index(True)


def _members(statement: Statement) -> list[_Member]:
    """Split the sentence at commas and at "and". Two members are returned for "The hall seats 120, the garden 60"."""
    begin = len(statement.before)
    end = begin + len(statement.answer)
    members: list[_Member] = []
    place = 0
    for border in [*_BETWEEN.finditer(statement.sentence), None]:
        stop = len(statement.sentence) if border is None else border.start()
        members.append(_Member(statement.sentence[place:stop], place < end and begin < stop))
        place = stop if border is None else border.end()
    return members


def _has(member: str, telling: frozenset[str], statement: Statement) -> bool:
    """Check whether a member has its own number and a word of the question that tells it from the answer's member."""
    match = _FIRST.match(member) or _LAST.match(member)
    if match is None or _NO_MEMBER.search(member) or match["number"] in statement.question:
        return False
    return not telling.isdisjoint(stems_of(match["rest"]))
