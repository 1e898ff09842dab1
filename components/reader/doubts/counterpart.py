"""Find out whether the answer belongs to the counterpart of what is asked for.

The counterpart may be the thing that is compared, the predecessor, the one who is represented, the other side of a
deal, or the consequence of a cause. Each rule checks one form by the place of the answer. The words that name the
relation are few, and the reader's card names them.

:data:`COUNTERPART` maps the name of each doubt to its rule.
"""

import re
from collections.abc import Callable

from prefrag.components.reader.doubts.statement import ASKS_PERSON, DETERMINER, Statement, words_of
from prefrag.components.reader.span_features import stem, stems_of

# A comparison before the answer. Its group is what is compared. It matches "than the old one, which weighed " and "than
# Pilates at ". It does not match "than " and "than about ", directly before the answer.
_COMPARED = re.compile(
    rf"\bthan (?P<other>(?:{DETERMINER} )?(?:[^\W\d_]+ ){{0,3}}?[^\W\d_]+)"
    r"(?: (?:at|with|of|for)|,? (?:which|that|who)\b[^;.]*) $",
    re.IGNORECASE,
)
# Words directly before somebody who is not in the place any more. It matches "took over from " and "in place of ".
_BEFORE_PREDECESSOR = re.compile(
    r"\b(?:(?:take[ns]?|took|taking) over from|succee(?:d|ds|ded|ding)|replac(?:e|es|ed|ing)|(?:in place|instead) of)"
    r" (?:[A-Z][\w.]* )?$"
)
# Words directly behind somebody who only represents another. It matches " is standing in for" and " deputises for".
_BEHIND_DEPUTY = re.compile(
    r"^,? (?:is |was |will be |has been )?"
    r"(?:stand(?:s|ing)? in|stood in|deputis(?:es?|ed|ing)|fill(?:s|ed|ing)? in|cover(?:s|ed|ing)?|act(?:s|ed|ing))"
    r" for\b"
)
# Words of a question for such a person.
_ASKS_DEPUTY = re.compile(r"\b(?:stand|deput|fill|cover|act|instead|replac|succe|took|takes|place)", re.IGNORECASE)
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
# Words between such a verb and an answer that belongs to something else, as in "open until 6 pm" and "starts on 3 May
# and runs to 5 June".
_GOES_ON = re.compile(r"[,;\u2013-]|\b(?:and|or|until|till|to|through|then|reach(?:es|ed)?)\b", re.IGNORECASE)
# A question for a cause. It matches "What caused the flood?" and "Why did he resign?".
_ASKS_CAUSE = re.compile(r"^\W*(?:what (?:caused|led to|made|triggered)|why)\b", re.IGNORECASE)
# Words directly before a consequence. It matches "led to the " and "which caused ".
_BEFORE_CONSEQUENCE = re.compile(rf"\b(?:led to|resulted in|caused|brought about)(?: {DETERMINER})? $")
# The party of a deal that is named behind the deal. It matches "was sold to the dealer " and "lost to ".
_PARTY = re.compile(r"\b(?:to|by|from) (?:[^\W_]+ ){0,3}$")
# Several things with one common value. It matches "put together" and "between them".
_COMMON_VALUE = re.compile(r"\b(?:together|combined|jointly|between them|added up)\b", re.IGNORECASE)
# Two names with "and" between them, as a subject. Its groups are the names.
_TWO_NAMES = re.compile(r"^\W*([A-Z]\w*(?: [A-Z]\w*)*) and ([A-Z]\w*(?: [A-Z]\w*)*)")
# A verb and its subject in a question. Its groups are both. It matches "is leo" and "does Ann".
_ASKS_OF = re.compile(
    r"\b(is|was|does|did|has|can|will) (?!(?:the|an?|it|he|she|that|this|there)\b)([^\W\d_]{3,})\b", re.IGNORECASE
)


# A question for a number.
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)
# A word before another part of the same total.
_BESIDES = re.compile(r"\b(?:besides|in addition to|on top of|not (?:counting|including)|excluding|apart from)\b", re.I)


def _is_compared(statement: Statement) -> bool:
    """Check whether the answer is the value of the thing that is compared.

    An example is "The new kiln is heavier than the old one, which weighed 310 kg" for "How heavy is the new kiln?".
    """
    compared = _COMPARED.search(statement.before)
    if compared is None or re.search(r"\bthan\b", statement.question):
        return False
    has_number = any(map(str.isdigit, statement.answer))
    return has_number and not stems_of(compared["other"]) & statement.asked


def _is_replaced(statement: Statement) -> bool:
    """Check whether the answer is the predecessor, or stands in for the one who is asked for.

    Examples for "Who is the head teacher?" are "The head teacher took over from Ann Low" and "Ann Low stands in for the
    head teacher".
    """
    if not ASKS_PERSON.search(statement.question) or _ASKS_DEPUTY.search(statement.question):
        return False
    is_predecessor = _BEFORE_PREDECESSOR.search(statement.before) is not None
    return is_predecessor or _BEHIND_DEPUTY.match(statement.after) is not None


def _is_other_side(statement: Statement) -> bool:
    """Check whether the verb beside the answer is that of the other side, as "sold" is for "who bought?"."""
    if _PARTY.search(statement.before):
        return False
    asked = set(words_of(statement.question))
    told = set(words_of(statement.sentence))
    for first, second in _ROLE_PAIRS if ASKS_PERSON.search(statement.question) else _TIME_PAIRS:
        for side, other_side in ((first, second), (second, first)):
            is_asked = bool(asked & side) and not asked & other_side
            if is_asked and not told & side and _is_beside(statement, other_side):
                return True
    return False


def _is_beside(statement: Statement, verbs: frozenset[str]) -> bool:
    """Check whether one of these verbs stands before the answer with nothing else between, or directly behind it."""
    pattern = rf"\b(?:{'|'.join(sorted(verbs))})\b"
    before = list(re.finditer(pattern, statement.before, re.IGNORECASE))
    if before and not _GOES_ON.search(statement.before[before[-1].end() :]):
        return True
    return re.match(rf"\W*(?:[^\W_]+ )?{pattern}", statement.after, re.IGNORECASE) is not None


def _is_consequence(statement: Statement) -> bool:
    """Check whether the answer is a consequence, while the question asks for a cause.

    An example is "The flood led to the burst pipe" for "What caused the flood?".
    """
    asks_cause = _ASKS_CAUSE.search(statement.question) is not None
    return asks_cause and _BEFORE_CONSEQUENCE.search(statement.before) is not None


def _is_common_value(statement: Statement) -> bool:
    """Check whether the answer belongs to two things together, only one of which the question names.

    An example is "Team Oak and Team Ash together have 88 points" for "How many points has Team Oak?".
    """
    if not _COMMON_VALUE.search(statement.sentence) or _COMMON_VALUE.search(statement.question):
        return False
    names = _TWO_NAMES.match(statement.sentence)
    if names is None or not any(map(str.isdigit, statement.answer)):
        return False
    asked_stems = stems_of(statement.question)
    return sum(stems_of(name) <= asked_stems for name in names.groups()) == 1


def _is_of_relative(statement: Statement) -> bool:
    """Check whether the sentence is about something of the one who is asked for.

    An example is "Leo's mother is allergic to nuts" for "What is Leo allergic to?".
    """
    asked = _ASKS_OF.search(statement.question)
    if asked is None:
        return False
    verb, name = asked.groups()
    owned = re.search(rf"\b{re.escape(name)}['\u2019]s ([a-z]+) {verb}\b", statement.sentence, re.IGNORECASE)
    is_named_alone = re.search(rf"\b{re.escape(name)}\b(?!['\u2019]s)", statement.sentence, re.IGNORECASE) is not None
    return owned is not None and not is_named_alone and stem(owned[1].lower()) not in statement.asked


def _is_part(statement: Statement) -> bool:
    """Check whether the answer counts only a part, beside which the sentence names another one.

    An example is "The firm has nine staff in the shop, besides the fitters" for "How many staff has the firm?".
    """
    if not _ASKS_NUMBER.search(statement.question) or _BESIDES.search(statement.question):
        return False
    return _BESIDES.search(statement.after) is not None


# The rule for each doubt, in the order in which the rules are tried.
COUNTERPART: dict[str, Callable[[Statement], bool]] = {
    "compared": _is_compared,
    "replaced": _is_replaced,
    "other side": _is_other_side,
    "consequence": _is_consequence,
    "common value": _is_common_value,
    "of relative": _is_of_relative,
    "beside others": _is_part,
}
