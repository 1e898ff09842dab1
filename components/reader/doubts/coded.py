"""Find out whether a text is about a thing with another code than the question, as order PO45010 for order PO45001.

Plain numbers and single letters behind a noun, as in "stall 3", are compared in
:mod:`~prefrag.components.reader.doubts.numbered`.
"""

import re
from collections.abc import Sequence

from prefrag.components.reader.codes import Code, find_codes, runs_of
from prefrag.components.reader.doubts.statement import COMMON, MOST_CHARACTERS, POINTS_BACK, Statement, words_of
from prefrag.components.reader.span_features import stem
from prefrag.components.text.dates import ENGLISH_MONTHS
from prefrag.components.text.title_mentions import FUNCTION_WORDS

# The noun directly before a code, which is the group. It matches "order ", "part number ", "serial: " and "serial SN:".
_NOUN_BEFORE = re.compile(
    r"\b([^\W\d_]{3,}):? (?:(?:number|no\.?|nr\.?|code):? )?(?:[A-Z]{1,4}: ?)?[#(]?$", re.IGNORECASE
)
# A word before a code, perhaps with a noun between them, that makes the code a reference or the begin of a range. Its
# group is the word. It matches "since version " and "see ".
_REFERENCE = re.compile(r"\b(see|since|from|to|into|under|than|unlike)(?: the)?(?: [^\W\d_]+)? $", re.IGNORECASE)
# What makes a code the begin of a range. It matches " or later" and "+".
_OR_LATER = re.compile(r"\+| (?:or|and) (?:later|newer|higher|above|up)\b| (?:onwards?|upwards?)\b")
# Words between two codes or numbers of a list, as in "M12 and 13".
_LISTED = r"(?:\b(?:and|or|to) |[,&] ?)"
# The sign or word of a range, as in "M10 to M14".
_RANGED = r"\s?(?:to|until|through|[-\u2013]|\.\.\.?)\s?"
# Codes of the same letters are of one series, as B204 and B17 are. So are codes of the same digits, as B204 and C204,
# if the digits are at least so many. With fewer digits they may be equal by chance.
_FEWEST_SAME_DIGITS = 3
# A name with a number. It matches "Corvo 20".
_NUMBERED_NAME = re.compile(rf"(?<!^)\b(?!(?:{'|'.join(ENGLISH_MONTHS)})\b)[a-z]?[A-Z][A-Za-z]+ \d+\b")
# The rest of a longer name behind the shorter one, as " Pro Max". It is the group.
_LONGER = r" ((?:[A-Z][A-Za-z]*)(?: [A-Z][A-Za-z]*)?)"
# What stands before a name that belongs to something. It matches "of the " and "for model ".
_OF = re.compile(r"\b(?:of|for) (?:the |an? )?(?:[a-z]+ )?$")
# What stands before a name that begins a clause. It matches "The model ". It does not match "In ".
_SUBJECT = re.compile(
    r"(?:^|[.,;:]\s)(?:the |an? )?(?:(?!(?:in|on|at|by|from|with)\b)[a-z]+ )?$|\b(?:that|the|an?) $", re.IGNORECASE
)
# A verb behind a name. It matches " is" and " lasts".
_VERB = re.compile(r" (?:are|can|had|may|must|was|were|will|[a-z]+s)\b")


def is_other_code(statement: Statement) -> bool:
    """Check whether the text has a code like that of the question, but not the code of the question.

    Examples:
    - "Who approved order PO45001?": "Order PO45010 was approved by Greta Fenn."
    - "What is the voltage of model X1?": "The voltage of model X1 Pro is 24 volts."

    If the question offers several codes, as "Is it M12 or M13?" does, the text needs one of them.

    :param statement: The sentence with the answer.
    :returns: Whether the sentence, or its title, is about a thing with another code.
    """
    asked = find_codes(statement.question[:MOST_CHARACTERS])
    is_told = [_is_told(code, statement) for code in asked]
    if any(is_told) and " or " in statement.question:
        return False

    lacking = [code for code, told in zip(asked, is_told, strict=True) if not told]
    # A code in the answer is what is asked for.
    text = f"{statement.named}. {statement.before}\n{statement.after}"
    others = [code for code in find_codes(text) if not _is_part(code.runs, runs_of(statement.question))]
    if any(_is_rival(code, statement.question, other, text) for code in lacking for other in others):
        return True
    return _has_longer_name(statement, asked)


def has_asked_codes(statement: Statement) -> bool | None:
    """Check whether the sentence or the title has all codes of the question.

    :param statement: The sentence, with or without an answer.
    :returns: Whether it has them; None for a question without codes.
    """
    asked = find_codes(statement.question[:MOST_CHARACTERS])
    text = f"{statement.named}. {statement.sentence}"
    return all(_has_code(code.runs, text) for code in asked) if asked else None


def _is_told(code: Code, statement: Statement) -> bool:
    """Check whether a code of the question stands in the sentence, in the title or in a heading.

    A sentence with a word such as "it" may mean a thing whose code stands in an earlier sentence.
    """
    texts = [statement.named, statement.heading, statement.opening, statement.sentence]
    if POINTS_BACK.search(statement.sentence):
        texts += statement.earlier
    return any(_has_code(code.runs, text) for text in texts)


def _has_code(runs: tuple[str, ...], text: str) -> bool:
    """Check whether a text has a code, also in other words: in a list, in a range, or with a whole word for its letter.

    For example, the code "M12" stands in "M12", "m 12", "M11 and 12", "M10 to M14" and "Machine 12".
    """
    if _is_part(runs, runs_of(text)):
        return True

    *first, last = runs
    # A small letter, as in "and a man", is no part of a list.
    end = rf"{last.upper()}(?![^\W_])"
    is_spelled = False
    if list(map(str.isdigit, runs)) == [False, True]:
        is_spelled = re.search(rf"\b(?i:{first[0][0]})[a-z]+[ -]{end}", text) is not None
    if is_spelled or re.search(rf"{_LISTED}{end}", text):
        return True

    prefix = r"\W?".join(first)
    number = r"(\d{1,9})" if last.isdigit() else r"([A-Z])"
    ranges = re.findall(rf"(?i:{prefix})\W?{number}{_RANGED}(?:(?i:{prefix})\W?)?{number}", text)
    return any(_rank(low) <= _rank(last) <= _rank(high) for low, high in ranges)


def _rank(run: str) -> tuple[int, str]:
    """Return a key that sorts numbers by their value and letters by the alphabet."""
    digits = run.lstrip("0")
    return len(digits), digits.upper()


def _is_rival(code: Code, question: str, other: Code, text: str) -> bool:
    """Check whether a code of the text names a thing of the same kind as a code of the question.

    :param code: The code of the question, which the text lacks.
    :param question: The question.
    :param other: The code of the text.
    :param text: The text.
    :returns: Whether both stand behind the same noun, or are of one series.
    """
    # Text on batch 77 may hold for batch 77/A.
    if _is_part(other.runs, code.runs) or _OR_LATER.match(text, other.end):
        return False
    reference = _REFERENCE.search(text[: other.begin])
    asked_reference = _REFERENCE.search(question[: code.begin])
    if reference and (not asked_reference or reference[1].lower() != asked_reference[1].lower()):
        return False

    noun = _noun_before(code, question)
    if noun and noun == _noun_before(other, text):
        return True
    return code.has_letters and _are_of_series(code.runs, other.runs)


def _noun_before(code: Code, text: str) -> str:
    """Return the stem of the noun directly before a code, such as "order" in "order PO45001"; empty if none stands."""
    match = _NOUN_BEFORE.search(text[: code.begin])
    if match is None or match[1].lower() in COMMON | FUNCTION_WORDS:
        return ""
    return stem(match[1].lower())


def _are_of_series(runs: Sequence[str], others: Sequence[str]) -> bool:
    """Check whether two codes are built in the same way, with the same letters or the same digits.

    For example, "C-2024-118" and "C-2025-7" are, and "4711-A" and "4711-B". "M12" and "SN4471-X" are not.
    """
    if list(map(str.isdigit, runs)) != list(map(str.isdigit, others)):
        return False
    pairs = list(zip(runs, others, strict=True))
    has_same_letters = all(run == other for run, other in pairs if not run.isdigit())
    has_same_digits = all(run == other for run, other in pairs if run.isdigit())
    return has_same_letters or (has_same_digits and sum(map(len, filter(str.isdigit, runs))) >= _FEWEST_SAME_DIGITS)


def _is_part(runs: Sequence[str], others: Sequence[str]) -> bool:
    """Check whether some runs stand among others, next to each other and in the same order."""
    length = len(runs)
    return any(tuple(others[place : place + length]) == tuple(runs) for place in range(len(others) - length + 1))


def _has_longer_name(statement: Statement, codes: Sequence[Code]) -> bool:
    """Check whether the text has a name of the question only as a part of a longer name, as "X1 Pro" for "X1"."""
    question = statement.question
    names = [question[code.begin : code.end] for code in codes if code.has_letters]
    return any(_is_only_in_longer_name(name, statement) for name in [*names, *_NUMBERED_NAME.findall(question)])


def _is_only_in_longer_name(name: str, statement: Statement) -> bool:
    """Check whether each place of a name in the title and the sentence is a part of a longer name.

    In "In room B12 Kai Noll has a bike" and "E10 Sensor broken" the words behind the code are no part of its name. So
    "of" must stand before the name, or it must be the subject of a verb.
    """
    titled_sentence = f"{statement.named}. {statement.sentence}"
    places = [match.span() for match in re.finditer(rf"\b{re.escape(name)}(?![^\W_])", titled_sentence, re.IGNORECASE)]
    if not places:
        return False

    for begin, end in places:
        longer = re.match(_LONGER, titled_sentence[end:])
        if longer is None or longer[1] in statement.answer:
            return False
        # "Flat 3 Mill Road" is an address.
        is_numbered = name.rpartition(" ")[2].isdigit()
        if is_numbered and len(longer[1].split()) > 1:
            return False
        if any(word in words_of(statement.question) for word in words_of(longer[1])):
            return False

        before, after = titled_sentence[:begin], titled_sentence[end + longer.end() :]
        is_of = _OF.search(before) is not None and re.match(" [a-z]|[.!?]?$", after) is not None
        is_subject = _SUBJECT.search(before) is not None and _VERB.match(after) is not None
        if not is_of and not is_subject:
            return False
    return True
