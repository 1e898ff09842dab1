"""Find out whether a sentence states the answer only for a case, a time or somebody that the question does not name.

Each rule checks one form by its place: a phrase in front of the subject, a phrase behind the answer, a word before an
office, a possessive behind a name.
"""

import re
from datetime import date

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
from prefrag.components.text.dates import ENGLISH_MONTHS
from prefrag.components.text.title_mentions import FUNCTION_WORDS

# The first three letters of each month, as in "jan".
_SHORT_MONTHS = tuple(name[:3].lower() for name in ENGLISH_MONTHS)
# The month of a date, whole or short.
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
# A date from which something holds. Its groups are the month and the year. It matches "From 1 January 2027", "as of
# May" and "from 2027". It does not match "from 9 to 17".
_FROM_DATE = re.compile(
    r"\b(?:from|as of|as from|effective|starting|beginning)(?: on)?(?: the)? (?:\d{1,2}(?:st|nd|rd|th)?(?: of)? )?"
    rf"(?:(?P<month>{_MONTH})\b\.?(?: \d{{1,2}}(?:st|nd|rd|th)?,?(?= \d{{4}}))?(?: (?P<year>\d{{4}})\b)?"
    r"|(?P<only>20\d\d)\b)(?![^,;.]{0,12}(?:\b(?:to|through|until|till|and)\b|[-\u2013]))",
    re.IGNORECASE,
)
# A phrase in front of the subject that names a case, which is one of two groups:
# - "For members the": people, the group ``group``
# - "With a sibling, the", "Without a towel, the": something that is there or not, the group ``thing``
# It does not match "For your information, the", "Without doubt, the", "For years the" and "For safety reasons the".
_CASE_IN_FRONT = re.compile(
    r"^\W*(?:for(?P<group>(?: [^\W\d_]+)?"
    r"(?! (?:years|months|weeks|days|hours|ages|decades|centuries|reasons|purposes)\b)"
    rf" (?:[a-z]+(?<!s)s|children|people))|with(?:out)?(?P<thing> an? (?!doubt\b)[^\W\d_]+)),? (?={DETERMINER} )",
    re.IGNORECASE,
)
# The same behind an amount. It matches " for members." and " euros without a towel".
_CASE_BEHIND = re.compile(
    r"^(?: ?[^\W\d_]+| ?[%\u20ac$\u00a3])?(?: each)? (?:for|with|without)"
    rf"(?P<case>(?: {DETERMINER})?(?: [^\W\d_]+){{1,2}})(?=[.,;]|$| and\b)",
    re.IGNORECASE,
)
# A question for an amount of today. It matches "What is the fee?" and "How much does it cost?". It does not match
# "When is it?" and "How much did it cost?".
_ASKS_AMOUNT = re.compile(
    r"^\W*(?:what|how (?:much|many|long))(?: [^\W_]+){0,3}?(?: (?:is|are|does|do)\b|['\u2019]s )", re.IGNORECASE
)
# An amount or a time, with its unit. It matches "180 euros" and "9.30".
_AMOUNT = re.compile(r"\d[\d.,:]*(?: ?(?P<unit>[^\W\d_]+|[%\u20ac$\u00a3]))?")
# A phrase behind an amount that says for which of several cases it holds. Its groups are the preposition, the case, the
# other amount and what follows it. It matches " in May and 180 euros in June" and " on weekdays, 19".
_OTHER_CASE = re.compile(
    r"^(?: [^\W\d_]+)? (?P<way>in|on|for|at|with|per|from)(?P<case>(?: [^\W\d_]+){1,3}?),?(?: and| or| but)?"
    r"(?: (?:at|from|it is|only|for|in|on))? (?P<other>\d[\d.,:]*)(?P<behind>.*)"
)
# A comparison behind an amount. It matches " euros less than", " more seats than" and " higher than that".
_DIFFERENCE = re.compile(
    r"^(?: (?!(?:to|of|from|by|and|or)\b)[^\W\d_]+)? "
    r"(?P<than>less|more|fewer|(?!other|over|after|under|either|number|per)[a-z]{3,}er)(?: [a-z]+)? than\b"
)
# A question for the person in an office, which is the group. It matches "Who is the treasurer?".
_OFFICE = re.compile(
    rf"^\W*who(?: is|['\u2019]s| are) {DETERMINER} ([a-z][^?]*?)(?: (?:of|in|at|for|on|to)\b|\W*$)", re.IGNORECASE
)
# A word before an office that makes it a lower or an earlier one, at the end of a text. The list is short and complete.
# It matches "assistant " and "ex-". It does not match "club " and "head ".
_LOWER_RANK = re.compile(
    r"\b(?:deputy|assistant|vice|acting|former|ex|honorary|junior|associate|sub|interim|outgoing|designate|under)[ -]$",
    re.IGNORECASE,
)
# The last name of a question, behind "of", "has" or a possessive. It matches "of Ann Low?".
_OF_NAME = re.compile(r"\b(?:of|for) ((?-i:[A-Z])[\w.]*(?: (?-i:[A-Z])[\w.]*)*)\W*$|\b((?:[A-Z]\w+ ?)+)['\u2019]s\b")


def is_restricted(statement: Statement) -> bool:
    """Check whether the sentence states the answer only for a case, a later time, a difference or another office.

    Examples:
    - "What is the entry fee?": "For members the entry fee is 12 euros."
    - "Who is the treasurer?": "The assistant treasurer is Bo Lind."

    :param statement: The sentence with the answer.
    :returns: Whether the answer holds for the question only in a part of the cases, or not yet.
    """
    return (
        _is_later(statement)
        or _is_for_case(statement)
        or _is_for_one_of_cases(statement)
        or _is_difference(statement)
        or _is_other_office(statement)
    )


def is_of_another_person(statement: Statement) -> bool:
    """Check whether the sentence is about somebody else than the name of the question.

    Examples for "What is the number of Ann Low?":
    - "The number of Ann Low's mother is 4417."
    - "Dear Ann, my number is 4417."

    :param statement: The sentence with the answer.
    :returns: Whether somebody else has what is asked for.
    """
    match = _OF_NAME.search(statement.question)
    if match is None or statement.lacking:
        return False
    name = (match[1] or match[2]).strip()
    return _belongs_to_relative(statement, name) or _is_addressed_to(statement, name)


def _is_later(statement: Statement) -> bool:
    """Check whether the sentence holds only from a later date on, while the question asks about the present.

    A month without a year is not later.
    """
    asks_time = re.search(r"\d{4}|^\W*[Ww]hen\b", statement.question) is not None
    if asks_time or not ASKS_PRESENT.search(statement.question):
        return False
    match = _FROM_DATE.search(statement.sentence)
    if match is None or statement.asks(match["month"] or ""):
        return False
    holds_answer = match.start() <= len(statement.before) < match.end()
    year = match["year"] or match["only"]
    if holds_answer or year is None:
        return False
    # A month with an unusual letter counts as the first one.
    short = (match["month"] or "")[:3].casefold()
    month = _SHORT_MONTHS.index(short) + 1 if short in _SHORT_MONTHS else 1
    today = date.today()
    return (int(year), month) > (today.year, today.month)


def _is_for_case(statement: Statement) -> bool:
    """Check whether an amount holds for members, with a sibling or the like, where the question names no such case.

    Behind the amount the phrase may also tell its purpose, as "for the roof" does. It is a case only if the passage has
    another amount for another case.
    """
    if not re.search(r"\d", statement.answer) or not _ASKS_AMOUNT.search(statement.question):
        return False
    behind = _CASE_BEHIND.match(statement.after)
    if behind and _is_unasked(statement, behind["case"]) and _has_other_case(statement):
        return True

    in_front = _CASE_IN_FRONT.match(statement.sentence)
    # "For details the number is 4417" has no unit, so it is no amount.
    amount = _amount_of(statement)
    if in_front is None or amount is None or not amount["unit"]:
        return False
    is_before_answer = in_front.end() <= len(statement.before)
    return is_before_answer and _is_unasked(statement, in_front["group"] or in_front["thing"])


def _amount_of(statement: Statement) -> re.Match[str] | None:
    """Match the amount in the answer, with its unit in the answer or behind it."""
    return _AMOUNT.search(statement.answer + statement.after[:20])


def _has_other_case(statement: Statement) -> bool:
    """Check whether another amount of the same unit is for another case, as "12 euros for members" beside "20 euros".

    The sentence has the answer for one case. The other case stands in the sentence, or in another one.
    """
    amount = _amount_of(statement)
    if amount is None or amount["unit"] is None:
        return False
    other = rf"\d[\d.,:]* ?{re.escape(amount['unit'])}"
    words = r"(?: [^\W\d_]+){1,6}"
    pattern = re.compile(rf"{other} (?:for|with|without)\b|\b(?:for|with|without){words},? {other}", re.IGNORECASE)
    # The own case stands behind the answer, so the text before the answer and the rest behind the case are searched.
    own = _CASE_BEHIND.match(statement.after)
    rest = statement.after[own.end() :] if own else statement.after
    return any(pattern.search(text) for text in (statement.before, rest, *statement.others.split("\n")))


def _is_unasked(statement: Statement, case: str) -> bool:
    """Check whether a case has a word of its own, and none of the question, the title or the headings."""
    words = [word for word in WORD.findall(case) if word[0].isupper() or word.lower() not in COMMON]
    stems = {stem(word.lower()) for word in words}
    told = stems_of(f"{statement.question} {statement.named} {statement.heading}")
    return bool(stems) and stems.isdisjoint(told)


def _is_for_one_of_cases(statement: Statement) -> bool:
    """Check whether another amount follows for another case, as in "120 euros in May and 180 euros in June"."""
    amount = _amount_of(statement)
    match = _OTHER_CASE.match(statement.after)
    if amount is None or match is None or not re.match(r"\d", statement.answer):
        return False
    behind = match["behind"]
    # The other case has the same preposition, as the second "in" of "in May and 180 euros in June".
    if behind and match["way"] not in words_of(behind):
        return False

    unit = amount["unit"]
    has_unit = unit is not None and unit not in FUNCTION_WORDS
    if has_unit and not re.match(rf" ?{re.escape(unit)}", behind):
        return False
    return _is_unasked(statement, match["case"])


def _is_difference(statement: Statement) -> bool:
    """Check whether the amount is only a difference, as in "180 euros less than the tent"."""
    match = _DIFFERENCE.match(statement.after)
    if match is None or not re.search(r"\d", statement.answer):
        return False
    asks_difference = match["than"] in words_of(statement.question) or " than" in statement.question
    return not asks_difference


def _is_other_office(statement: Statement) -> bool:
    """Check whether a word before the office makes it another office, as "assistant" does with "treasurer"."""
    asked = _OFFICE.search(statement.question)
    if asked is None or not ASKS_PERSON.search(statement.question):
        return False
    texts_before = []
    for office in re.finditer(rf"\b{re.escape(asked[1])}\b", statement.sentence):
        texts_before.append(statement.sentence[: office.start()])
    return bool(texts_before) and all(_has_lower_rank(statement, text) for text in texts_before)


def _has_lower_rank(statement: Statement, before: str) -> bool:
    """Check whether the text before an office ends in a word for a lower rank, which the question lacks."""
    match = _LOWER_RANK.search(before)
    return match is not None and _is_unasked(statement, match[0])


def _belongs_to_relative(statement: Statement, name: str) -> bool:
    """Check whether what is asked for belongs to a relative of the name, as "Ann Low's mother" does."""
    names = list(re.finditer(rf"\b{re.escape(name)}\b", statement.sentence))
    if not names:
        return False
    return all(_is_relative_at(statement, match.start(), match.end()) for match in names)


def _is_relative_at(statement: Statement, begin: int, end: int) -> bool:
    """Check whether a name from ``begin`` to ``end`` only tells whose relative somebody is."""
    before, behind = statement.sentence[:begin], statement.sentence[end:]
    # "The number of Ann Low's mother is 4417" is not her number. "Peru's largest city is Lima" tells what Peru has.
    relative_behind = re.match(r"['\u2019]s? (?:[a-z]+ )?([a-z]+) (?:is|are|was|has|lives|costs)\b", behind)
    if relative_behind and re.search(r"\b(?:of|for) $", before):
        return not statement.asks(relative_behind[0])

    # "The number of the mother of Ann Low is 4417"
    relative_before = re.search(rf"\b(?:of|for) {DETERMINER} ([a-z]+) of $", before)
    return relative_before is not None and not statement.asks(relative_before[1])


def _is_addressed_to(statement: Statement, name: str) -> bool:
    """Check whether the writer tells of himself, and only addresses the name, as in "Dear Bo, my number is 4417."."""
    tells_of_writer = re.search(r"\b(?:my|our|I|me)\b", statement.sentence) is not None
    asks_about_writer = re.search(r"\b(?:my|I)\b", statement.question) is not None
    if not tells_of_writer or asks_about_writer:
        return False

    first_name = re.escape(name.split()[0])
    text_before = "\n".join([*statement.earlier, statement.before])
    is_greeted = re.search(rf"(?:^|\n)\W*(?:[A-Z][a-z]+ )?{first_name}(?: [A-Z]\w+)?[,!:]", text_before) is not None
    # A last line that begins with the name is a signature, so the name is the writer.
    is_signed = re.search(rf"(?:^|\n)\W*{first_name}\b[^,\n]*$", statement.others) is not None
    return is_greeted and not is_signed
