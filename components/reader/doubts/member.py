"""Find out whether a number belongs to another member of a list than the one that the question names.

An example is "Twenty-five points make a bronze badge, fifty a silver and one hundred a gold". The list has three
members, one for each badge. The verb "make" and the noun "points" stand only in the first member. A later member has
only its number ("fifty") and what distinguishes it ("a silver").
"""

import re
from typing import NamedTuple

from prefrag.components.reader.doubts.statement import DETERMINER, Statement
from prefrag.components.reader.span_features import stems_of
from prefrag.components.text.number_words import ONES, TEENS, TENS

# A number in figures or in words. The word "one" alone is left out, because it mostly is no number. The alternatives
# match, in this order, "4.30" and "7th", "fifty" and "twenty-five", "a hundred" and "two thousand", and "seven".
_NUMBER = (
    r"(?:\d[\d.,]*(?:st|nd|rd|th)?"
    rf"|(?:{'|'.join(TENS)})(?:-[a-z]+)?"
    rf"|(?:(?:a|{'|'.join(ONES)}) )?(?:hundred|thousand)"
    rf"|{'|'.join((*ONES[1:], *TEENS))})\b"
)
# The sign or word between two members. It matches ", ", "; " and " and ". It does not match the comma of "1,500" and of
# "June 8, 1977".
_BETWEEN = re.compile(r"(?:;|,(?! \d{4}\b))\s+(?:and |but |or )?|\s(?:and|but)\s")
# What may stand before the number of a member: a currency, "at", "from" and the like.
_BEFORE_NUMBER = r"(?:(?:at|for|from|only|about) )?[$\u00a3\u20ac]?\s?"
# A member without a verb, whose number stands at its beginning. Up to five words follow, which are the group ``rest``.
# It matches "fifty a silver" and "9 pounds for the second child". It does not match "After 3 years in Brae".
_NUMBER_FIRST = re.compile(rf"^{_BEFORE_NUMBER}(?P<number>{_NUMBER})(?P<rest>(?: [^\s\d]+){{1,5}})\W*$", re.IGNORECASE)
# The same with the number at its end, and at most a unit behind it. It matches "the garden 60" and "the lake 4 km".
_NUMBER_LAST = re.compile(
    rf"^(?P<rest>(?:{DETERMINER} )?[^\s\d]+(?: [^\s\d]+){{0,3}}?) {_BEFORE_NUMBER}(?P<number>{_NUMBER})"
    r"(?: [a-z.]{1,7})?\W*$",
    re.IGNORECASE,
)
# What makes a part no member of the list: a verb, or words that count a part of a total. It matches "is returned under
# section 7" and "12 of them in the attic".
_NO_MEMBER = re.compile(r"\b(?:is|are|was|were|has|have|had|does|do|did|will|can|of (?:them|which|these|those))\b")
# Words of a question that can tell one member from another: one or two words behind an article, a preposition or a form
# of "to be". They are the group ``words``. They stand in a lookahead, so that they may overlap. It matches "a silver
# badge", "the garden", "on Saturday" and "is dinner".
_DISTINCTION = re.compile(
    rf"\b(?:{DETERMINER}|in|on|at|of|for|from|with|to|by|under|is|are|does|do)"
    r" (?=(?P<words>[^\W\d_][\w-]*(?: [^\W\d_][\w-]*)?))",
    re.IGNORECASE,
)

# The beginning of a part with its own verb, which is no member of a list. It matches "runs until" and "reaches York".
# It does not match "juniors 4".
_OWN_VERB = re.compile(r"[a-z]+s (?:[A-Z]|(?:until|till|to|on|in|at|by|from|for)\b)")


class _Member(NamedTuple):
    """A part of a sentence between two commas, or between a comma and "and". It may be a member of a list.

    :param text: The part, such as "fifty a silver".
    :param has_answer: Whether the answer, or a part of it, stands in it.
    """

    text: str
    has_answer: bool


def is_other_member(statement: Statement) -> bool:
    """Check whether the answer is the number of one member of a list, while the question names another member.

    :param statement: The sentence with the answer. An example is the sentence above with the answer "Twenty-five", for
        the question "How many points for a silver badge?".
    :returns: True if another member without a verb has its own number and a word of the question, such as "silver",
        that the answer's member lacks.
    """
    is_number = re.match(rf"{_BEFORE_NUMBER}{_NUMBER}", statement.answer, re.IGNORECASE) is not None
    if not is_number:
        return False

    members = _split_into_members(statement)
    if any(member.has_answer and _OWN_VERB.match(member.text) for member in members):
        # "The course starts on 3 May and runs until 5 June" is no list.
        return False
    text_of_answer = " ".join(member.text for member in members if member.has_answer)
    stems_of_answer = stems_of(text_of_answer)

    # The noun of the question, such as "points", stands in the first member, so it tells nothing there. A later member
    # has only what distinguishes it. If that is a word of the question, the answer's member is the right one.
    is_right_member = not statement.asked.isdisjoint(stems_of_answer)
    if _is_behind_number(members) and is_right_member:
        return False

    distinctions = " ".join(match["words"] for match in _DISTINCTION.finditer(statement.question))
    lacking = statement.asked - stems_of(f"{text_of_answer} {statement.named}")
    telling = lacking & stems_of(distinctions)
    other_members = [member.text for member in members if not member.has_answer]
    return any(_has_number_of_asked(member, telling, statement.question) for member in other_members)


def _is_behind_number(members: list[_Member]) -> bool:
    """Check whether a member without a verb, with its own number, stands before the first member with the answer."""
    for member in members:
        if member.has_answer:
            return False
        if _read_member(member.text) is not None:
            return True
    return False


def _split_into_members(statement: Statement) -> list[_Member]:
    """Split the sentence at commas and at "and". Two members are returned for "The hall seats 120, the garden 60"."""
    sentence = statement.sentence
    begin_of_answer = len(statement.before)
    end_of_answer = begin_of_answer + len(statement.answer)

    borders = [(border.start(), border.end()) for border in _BETWEEN.finditer(sentence)]
    end_of_sentence = (len(sentence), len(sentence))
    members: list[_Member] = []
    begin = 0
    for end, begin_of_next in [*borders, end_of_sentence]:
        has_answer = begin < end_of_answer and begin_of_answer < end
        members.append(_Member(sentence[begin:end], has_answer))
        begin = begin_of_next
    return members


def _read_member(member: str) -> re.Match[str] | None:
    """Find the number of a member without a verb, and the rest of its words; None if it has another form.

    For "fifty a silver" the group ``number`` is "fifty", and the group ``rest`` is " a silver".
    """
    return _NUMBER_FIRST.match(member) or _NUMBER_LAST.match(member)


def _has_number_of_asked(member: str, telling: frozenset[str], question: str) -> bool:
    """Check whether a member has the number of what the question asks for.

    :param member: The text of a member without the answer.
    :param telling: The stems of the question's words that can tell a member and that the answer's member lacks.
    :param question: The question.
    :returns: Whether the member has its own number, which the question does not name, and one of these words.
    """
    form = _read_member(member)
    if form is None or _NO_MEMBER.search(member) or form["number"] in question:
        return False
    return not telling.isdisjoint(stems_of(form["rest"]))
