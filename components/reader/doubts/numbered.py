"""Find out whether a text is about a thing with another number or letter than the question, as stall 17 for stall 3."""

import re
from collections.abc import Iterator

from prefrag.components.reader.codes import find_codes
from prefrag.components.reader.doubts.statement import COMMON, POINTS_BACK, Statement
from prefrag.components.reader.span_features import stem, stems_of
from prefrag.components.text.title_mentions import FUNCTION_WORDS

# A noun with the numbers behind it. It matches "boat number 7", "part 8", "batch #77" and "rooms 10 to 14". It does
# not match "7 boats".
_NUMBERED = re.compile(
    r"\b([^\W\d_]{3,}) (?:(?:number|no\.?|nr\.?) )?#?(\d+(?:(?:, | and | or | to | & | ?[-\u2013] ?)\d+)*)\b",
    re.IGNORECASE,
)
# A noun with the letters behind it. It matches "flat B" and "Flats A and B". It does not match "Malcolm X." with a full
# stop behind an initial, "when I" and "plan Be".
_LETTERED = re.compile(
    r"\b([^\W\d_]{3,}) ((?!I\b)[A-Z](?:(?:, | and | or | to | & | ?[-\u2013/] ?)[A-Z])*)\b(?![.'\u2019])(?! [A-Z])"
)
# A noun with numbers or letters to choose from, each perhaps with the noun before it. It matches "room 12 or the room
# 14" and "Flat B, flat C or flat D". The first group is the noun.
_OPTIONS = re.compile(
    r"\b([^\W\d_]{3,}) (?:\d+|[A-Z])(?:, (?:the )?\1 (?:\d+|[A-Z]))*"
    r",? or (?:(?:at|by|for|from|in|of|on|to|with) )?(?:the )?(?:\1 )?(?:\d+|[A-Z])\b",
    re.IGNORECASE,
)
# Words before a number that are no names of things: months and "around". It matches "June" in "June 7".
_NO_THING = re.compile(
    r"(?:jan|febr|april|june|july|augus|septe|octob|novem|decem)[a-z]*|march|may|around", re.IGNORECASE
)
# Words directly before a label that make it a reference to another place. It matches "see " and "under the ".
_REFERENCE = re.compile(
    r"\b(?:see(?: also)?|under|from|to|into|in accordance with|according to|pursuant to|compare)(?: the)? $",
    re.IGNORECASE,
)
# A range of numbers. It matches "10 to 14" and "10-14".
_RANGE = re.compile(r"(\d{1,6})(?: to | ?[-\u2013] ?)(\d{1,6})\b")
# One number or letter of a label. It matches "10" and "A".
_PART = re.compile(r"\d+|\b[A-Z]\b")


def is_other_number(statement: Statement) -> bool:
    """Check whether the text has a noun of the question with another number or letter.

    Examples:
    - "How many seats has boat number 7?": "Boat number 4 has 13 seats."
    - "What is stall 3 bedded with?": "Stall 17 is free. The stall is bedded with straw."

    If the question offers several numbers, as "Is the piano in room 12 or room 14?" does, the text needs one of them.

    :param statement: The sentence with the answer.
    :returns: Whether the sentence, or the text around it, is about another number of this noun.
    """
    # "room 12 or in the room 14" becomes "room 12 or 14".
    question = _OPTIONS.sub(lambda match: f"{match[1]} {' or '.join(_PART.findall(match[0]))}", statement.question)
    return any(
        _is_other_in_sentence(statement, noun, label) or _is_other_in_passage(statement, noun, label)
        for noun, label in _labels(question)
    )


def has_asked_numbers(statement: Statement) -> bool | None:
    """Check whether the sentence or the title has all nouns of the question with their numbers or letters.

    :param statement: The sentence, with or without an answer.
    :returns: Whether it has them; None for a question without numbers behind nouns.
    """
    asked = list(_things(statement.question))
    text = f"{statement.named}. {statement.sentence}"
    return all(_are_among(label, _labels_of(noun, text)) for noun, label in asked) if asked else None


def has_other_numbers(statement: Statement) -> bool:
    """Check whether the sentence, or the text around it, is about another number of a noun of the question.

    Other than in :func:`is_other_number`, the number must belong to a noun. So "the 2010 census" does not count.

    :param statement: The sentence, with or without an answer.
    :returns: Whether it is about another number.
    """
    return any(
        _is_other_in_sentence(statement, noun, label) or _is_other_in_passage(statement, noun, label)
        for noun, label in _things(statement.question)
    )


def _things(question: str) -> Iterator[tuple[str, str]]:
    """Find the nouns of a question with their numbers or letters, as :func:`_labels` does, without words of grammar."""
    # In "the pump P-151" and "who drew 40-117-B", the first part of a code is no label of its own.
    for code in find_codes(question):
        question = question[: code.begin] + "-" * (code.end - code.begin) + question[code.end :]
    for noun, label in _labels(question):
        if noun not in COMMON | FUNCTION_WORDS and not _NO_THING.fullmatch(noun):
            yield noun, label


def _is_other_in_sentence(statement: Statement, noun: str, label: str) -> bool:
    """Check whether the sentence or the title has the noun only with other numbers.

    Below the heading "Section 4" the sentence may refer to "section 7".
    """
    text = f"{statement.named}. {statement.sentence}"
    others = _labels_of(noun, text, with_references=not _is_in_heading(statement, noun, label))
    return bool(others) and not _are_among(label, others)


def _is_other_in_passage(statement: Statement, noun: str, label: str) -> bool:
    """Check whether the sentence has no number for the noun, and the nearest number before it is another one.

    Labels in references such as "see article 9" do not count. A heading or title with the number of the question shows
    that the passage is about it.
    """
    if noun in COMMON | FUNCTION_WORDS or _NO_THING.fullmatch(noun) or _is_in_heading(statement, noun, label):
        return False
    if _labels_of(noun, f"{statement.named}. {statement.sentence}"):
        return False
    # "About 60 million people died." does not speak of the thing in the sentence before.
    if noun not in stems_of(statement.sentence) and not POINTS_BACK.search(statement.sentence):
        return False
    for sentence in reversed(statement.earlier):
        nearest = _labels_of(noun, sentence, with_references=False)
        if nearest:
            return not _are_among(label, nearest)
    return False


def _is_in_heading(statement: Statement, noun: str, label: str) -> bool:
    """Check whether a heading or the title has the noun with the number of the question, as "Section 4 Deposit" has."""
    return _are_among(label, _labels_of(noun, f"{statement.heading}. {statement.named}"))


def _labels(text: str, with_references: bool = True) -> Iterator[tuple[str, str]]:
    """Find the nouns of a text that have numbers or letters behind them.

    For example, ``list(_labels("Flats A and B"))`` is ``[("flat", "A and B")]``.

    :param text: The text.
    :param with_references: Whether those of references such as "see article 9" count.
    :returns: For each of them the stem of the noun, and its numbers or letters.
    """
    for match in [*_NUMBERED.finditer(text), *_LETTERED.finditer(text)]:
        noun, label = match.groups()
        if not with_references and _REFERENCE.search(text, 0, match.start()):
            continue
        if noun.lower() not in FUNCTION_WORDS or label[0].isdigit():
            yield stem(noun.lower()), label


def _labels_of(noun: str, text: str, with_references: bool = True) -> list[str]:
    """List the numbers and letters that stand behind a noun in a text."""
    return [label for name, label in _labels(text, with_references) if name == noun]


def _are_among(label: str, others: list[str]) -> bool:
    """Check whether all numbers and letters of a question are among those of a text, or one of them if it offers them.

    A label such as "12 or 14" offers numbers.
    """
    enough = any if " or " in label else all
    return enough(_is_among(part, others) for part in _PART.findall(label))


def _is_among(part: str, others: list[str]) -> bool:
    """Check whether a number or letter is among those of a text, or lies in a range such as "10 to 14".

    For example, ``_is_among("12", ["10 to 14"])`` returns ``True`` and ``_is_among("12", ["10 and 14"])`` returns
    ``False``.

    :param part: The number or letter of the question.
    :param others: The texts behind a noun, each with one or more numbers or letters.
    :returns: Whether one of the texts has it.
    """
    if part.isdigit():
        ranges = [(int(low), int(high)) for other in others for low, high in _RANGE.findall(other)]
        if len(part) <= 6 and any(low <= int(part) <= high for low, high in ranges):
            return True
    return any(part in _PART.findall(other) for other in others)
