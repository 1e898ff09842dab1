"""Find out whether the answer belongs to the counterpart of what is asked for.

The counterpart may be the thing that is compared, the predecessor, the one who is represented, the other side of a
deal, or the consequence of a cause. Each rule checks one form by the place of the answer. The words that name the
relation are few, and the reader's card names them.

:data:`COUNTERPART` maps the name of each doubt to its rule.
"""

import re
from collections.abc import Callable

from prefrag.components.reader.doubts.statement import (
    ASKS_PERSON,
    ASKS_PRESENT,
    COMMON,
    DETERMINER,
    WORD,
    Statement,
    words_of,
)
from prefrag.components.reader.span_features import stem, stems_of

# A comparison before the answer. Its group is what is compared. It matches "than the old one, which weighed " and "than
# the fee of ". It does not match "than usual with ", behind which the value of the subject stands.
_COMPARED = re.compile(
    rf"\bthan (?P<other>(?:{DETERMINER} )?(?:[^\W\d_]+ ){{0,3}}?[^\W\d_]+)(?: of|,? (?:which|that|who)\b[^;.]*) $",
    re.IGNORECASE,
)
# Words directly before somebody who is not in the place any more. It matches "took over from " and "in place of ".
_BEFORE_PREDECESSOR = re.compile(
    r"\b(?:(?:take[ns]?|took|taking) over from|succee(?:d|ds|ded|ding)|replac(?:e|es|ed|ing)|(?:in place|instead) of)"
    r" (?:[A-Z][\w.]* )?$"
)
# Words directly behind somebody who only represents an office, which is the group. It matches " is standing in for the
# teacher" and " deputises for the chair".
_BEHIND_DEPUTY = re.compile(
    r"^,? (?:is |was |will be |has been )?"
    r"(?:stand(?:s|ing)? in|stood in|deputis(?:es?|ed|ing)|fill(?:s|ed|ing)? in|cover(?:s|ed|ing)?|act(?:s|ed|ing))"
    rf" for (?P<office>{DETERMINER} [^,;.]*)"
)
# Words of a question that such a person may answer.
_ASKS_DEPUTY = re.compile(
    r"\b(?:stand|deput|fill|cover|act|instead|replac|succe|took|takes|place|predecess|previous|former|before|if|when"
    r"|while|away|absen)",
    re.IGNORECASE,
)
# Pairs of verbs for the two sides of one event, each with its forms, separated by slashes. What was bought was sold at
# the same time for the same price, so the pairs of roles matter only to a question for a person.
_ROLES = (
    "buy buys bought buying/sell sells sold selling",
    "lend lends lent lending/borrow borrows borrowed borrowing",
    "win wins won winning/lose loses lost losing",
    "send sends sent sending/receive receives received receiving",
)
_TIMES = (
    "arrive arrives arrived arriving/leave leaves left leaving depart departs departed departing",
    "begin begins began start starts started/end ends ended finish finishes finished",
    "open opens opened opening/close closes closed closing",
)
_ROLE_PAIRS = tuple(tuple(frozenset(side.split()) for side in pair.split("/")) for pair in _ROLES)
_TIME_PAIRS = tuple(tuple(frozenset(side.split()) for side in pair.split("/")) for pair in _TIMES)
# A question for a time. It matches "When does it close?" and "At what time".
_ASKS_TIME = re.compile(
    r"^\W*(?:and )?(?:when|(?:at |on |in )?(?:what|which) (?:time|day|date|month|year))\b", re.IGNORECASE
)
# What may stand between such a verb and its time: a name, and a preposition. It matches " Antwerp on " and " at ". It
# does not match " until " and " on 3 May and runs to ".
_UP_TO_TIME = r"(?: (?-i:[A-Z])[\w'\u2019]*| daily| again)*(?: (?:on|at|in|from|about|around|every|the))* $"
# A question for a cause. It matches "What caused the flood?" and "Why did he resign?".
_ASKS_CAUSE = re.compile(r"^\W*(?:what (?:caused|led to|made|triggered)|why)\b", re.IGNORECASE)
# Words directly before a consequence. It matches "led to the " and "which caused ".
_BEFORE_CONSEQUENCE = re.compile(rf"\b(?:led to|resulted in|caused|brought about)(?: {DETERMINER})? $")
# A question for a number.
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)
# Two things with one common value, before the value and behind it. They match "put together" and "between them". The
# deed of two, as in "They made 4 albums together", has no such value.
_IN_COMMON_BEFORE = re.compile(r"\b(?:together|combined|jointly|between them|added up)\b", re.IGNORECASE)
_IN_COMMON_BEHIND = re.compile(r"\b(?:combined|between them|added up)\b", re.IGNORECASE)
# Two names with "and" between them, as a subject. Its groups are the names.
_TWO_NAMES = re.compile(r"^\W*([A-Z]\w*(?: [A-Z]\w*)*) and ([A-Z]\w*(?: [A-Z]\w*)*)")
# A verb and its subject in a question. Its groups are both. It matches "is leo" and "does Ann".
_ASKS_OF = re.compile(
    r"\b(is|was|does|did|has|can|will) (?!(?:the|an?|it|he|she|that|this|there)\b)([^\W\d_]{3,})\b", re.IGNORECASE
)


def _is_compared(statement: Statement) -> bool:
    """Check whether the answer is the value of the thing that is compared.

    An example is "The new kiln is heavier than the old one, which weighed 310 kg" for "How heavy is the new kiln?".
    """
    compared = _COMPARED.search(statement.before)
    if compared is None or re.search(r"\bthan\b", statement.question):
        return False
    has_number = any(map(str.isdigit, statement.answer))
    other_stems = {stem(word) for word in words_of(compared["other"]) if word not in COMMON}
    is_asked = bool(other_stems) and other_stems <= statement.asked
    return has_number and not is_asked


def _is_replaced(statement: Statement) -> bool:
    """Check whether the answer is the predecessor, or stands in for the office that is asked for.

    Examples for "Who is the head teacher?" are "The head teacher took over from Ann Low" and "Ann Low stands in for the
    head teacher".
    """
    if not ASKS_PERSON.search(statement.question) or _ASKS_DEPUTY.search(statement.question):
        return False
    if _BEFORE_PREDECESSOR.search(statement.before):
        return ASKS_PRESENT.search(statement.question) is not None
    deputy = _BEHIND_DEPUTY.match(statement.after)
    return deputy is not None and statement.asks(deputy["office"])


def _is_other_side(statement: Statement) -> bool:
    """Check whether the verb beside the answer is that of the other side.

    An example is "Ann Low sold the mill" for "Who bought the mill?", and "It begins in June" for "When does it end?".
    """
    asks_person = ASKS_PERSON.search(statement.question) is not None
    if not asks_person and not _ASKS_TIME.search(statement.question):
        return False
    # A word with a capital may be a name, as in "Elm Close".
    asked = {word for word in WORD.findall(statement.question) if word[0].islower()}
    told = set(words_of(statement.sentence))
    for first, second in _ROLE_PAIRS if asks_person else _TIME_PAIRS:
        for side, other_side in ((first, second), (second, first)):
            is_asked = bool(asked & side) and not asked & other_side and not told & side
            verbs = "|".join(sorted(other_side))
            # The doer stands before its verb, a time behind it.
            is_doer = asks_person and re.match(rf" (?:[^\W_]+ )?(?:{verbs})\b", statement.after, re.IGNORECASE)
            is_time = not asks_person and re.search(rf"\b(?:{verbs}){_UP_TO_TIME}", statement.before, re.IGNORECASE)
            if is_asked and (is_doer or is_time):
                return True
    return False


def _is_consequence(statement: Statement) -> bool:
    """Check whether the answer is a consequence of what is asked for, while the question asks for its cause.

    An example is "The flood led to the burst pipe" for "What caused the flood?". "The frost led to a burst pipe" says
    why the school was shut.
    """
    consequence = _BEFORE_CONSEQUENCE.search(statement.before)
    if consequence is None or not _ASKS_CAUSE.search(statement.question):
        return False
    return statement.asks(statement.before[: consequence.start()])


def _is_common_value(statement: Statement) -> bool:
    """Check whether the answer belongs to two things together, only one of which the question names.

    An example is "Team Oak and Team Ash together have 88 points" for "How many points has Team Oak?".
    """
    is_in_common = _IN_COMMON_BEFORE.search(statement.before) or _IN_COMMON_BEHIND.search(statement.after)
    asks_number = _ASKS_NUMBER.search(statement.question) and not _IN_COMMON_BEFORE.search(statement.question)
    names = _TWO_NAMES.match(statement.sentence)
    if not is_in_common or not asks_number or names is None or not any(map(str.isdigit, statement.answer)):
        return False
    asked_stems = stems_of(statement.question)
    return sum(stems_of(name) <= asked_stems for name in names.groups()) == 1


def _is_of_relative(statement: Statement) -> bool:
    """Check whether the sentence says what is asked of somebody who belongs to the one who is asked for.

    An example is "Leo's mother is allergic to nuts" for "What is Leo allergic to?". "Leo's age is 7" does answer
    "How old is Leo?".
    """
    asked = _ASKS_OF.search(statement.question)
    if asked is None:
        return False
    verb, name = asked.groups()
    owned = re.search(
        rf"\b{re.escape(name)}['\u2019]s ([a-z]+) {verb} ((?:\w+ ?){{1,2}})", statement.sentence, re.IGNORECASE
    )
    is_named_alone = re.search(rf"\b{re.escape(name)}\b(?!['\u2019]s)", statement.sentence, re.IGNORECASE) is not None
    if owned is None or is_named_alone or stem(owned[1].lower()) in statement.asked:
        return False
    return statement.asks(owned[2])


# The rule for each doubt, in the order in which the rules are tried.
COUNTERPART: dict[str, Callable[[Statement], bool]] = {
    "compared": _is_compared,
    "replaced": _is_replaced,
    "other side": _is_other_side,
    "consequence": _is_consequence,
    "common value": _is_common_value,
    "of relative": _is_of_relative,
}
