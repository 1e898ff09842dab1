"""Find a code that is typed with other signs between its parts than in a document: "KXY317" for "K-XY 317".

An index finds words, and the parts of "K-XY 317" are three words. So the index also gets each code without its signs,
and a query, too. When a passage is read, the code of the question gets the spelling of the passage. Only the signs and
the case may differ. Signs may be missing, but not move: "A1.12" is not "A11.2". So a code never becomes another one.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

# The signs that may stand between two parts of a code, for a regex class.
_SIGNS = "-./_"
# A further part behind a sign: capitals and digits, a word with a digit, or one letter, but not as in "30-second".
_PART = r"(?:[A-Z\d]{1,12}|(?=[a-z]{1,11}\d)[a-z\d]{1,12}|\d[a-z\d]{1,11}|[a-z])"
# A further part behind a blank: a number, or four letters before a number as in "GB29 NWBK 6016".
_GROUP = r"(?:\d{1,12}|[A-Z]{4}(?= \d))"
# A code with signs or blanks in a document. It matches "K-XY 317", "DE33 2004 1133" and "0431 5517 18". It does not
# match "Hall 12" and "19th-century". It begins with the set of its first characters, because then it is searched fast.
_WRITTEN = re.compile(
    rf"[A-Z\d](?<![^\W_].)(?![a-z]+[{_SIGNS} ])[A-Za-z\d]{{0,17}}"
    rf"(?:[{_SIGNS}]{_PART}(?![^\W_])|[ ]{_GROUP}(?![^\W_])){{1,9}}",
    re.ASCII,
)
# A code in a question. It matches "KXY317", "K-XY317" and "BX 4417".
_TYPED = re.compile(rf"(?<![^\W_])(?:[A-Z]{{1,4}} (?=\d))?[A-Za-z\d]+(?:[{_SIGNS}][A-Za-z\d]+)*(?![^\W_])", re.ASCII)
# The smallest number of characters of a code with letters and digits, and of one of digits only. A shorter number may
# be two numbers beside each other, as in "in 2019 84 boats came".
_FEWEST_CHARACTERS = 4
_FEWEST_DIGITS = 8
# A code with more characters is not compared. An IBAN has at most 34.
_MOST_CHARACTERS = 34


def joined_codes(text: str) -> list[str]:
    """List the codes of a text without the signs and blanks between their parts.

    A number behind the code may belong to it or not, so the code stands in the list with and without it.

    For example, ``joined_codes("K-XY 317 is new.")`` returns ``["KXY317"]``.

    :param text: The text.
    :returns: The codes.
    """
    codes: dict[str, None] = {}
    for match in _WRITTEN.finditer(text):
        parts = match[0].split(" ")
        # "ISBN" before a blank may be a part of the code or not, and so may be a number behind a blank.
        first_counts = (0, 1) if parts[0].isalpha() else (0,)
        for first in first_counts:
            for last in range(first + 1, len(parts) + 1):
                written = " ".join(parts[first:last])
                code = _joined(written)
                if code != written and _is_code(code):
                    codes[code] = None
    return list(codes)


def spell_codes(question: str, texts: Sequence[str]) -> str:
    """Give each code of a question that stands in no text the spelling that it has in a text.

    For example, ``spell_codes("Who owns KXY317?", ["K-XY 317: Ann"])`` returns ``"Who owns K-XY 317?"``.

    :param question: The question.
    :param texts: The texts.
    :returns: The question. It is unchanged if no text has the code with other signs.
    """
    for typed in reversed(list(_TYPED.finditer(question))):
        code = _joined(typed[0])
        if not _is_code(code):
            continue
        spelling = _choose_spelling(typed[0], list(_spellings(code, typed[0], texts)))
        question = question[: typed.start()] + spelling + question[typed.end() :]
    return question


def _choose_spelling(typed: str, spellings: Sequence[str]) -> str:
    """Choose the first spelling with the parts of the code that was typed. Signs may be missing, but not move.

    For example, "A1.12" is not "A11.2". And "1112" is left as it is if there are both.

    :param typed: The code of the question.
    :param spellings: The spellings in the texts.
    :returns: The spelling; ``typed`` if none has the same parts, or if the spellings have different parts.
    """
    alike = [spelling for spelling in spellings if _have_same_parts(typed, spelling)]
    are_all_alike = all(_have_same_parts(alike[0], spelling) for spelling in alike)
    return alike[0] if alike and are_all_alike else typed


def _have_same_parts(spelling: str, other: str) -> bool:
    """Check whether all borders between the parts of one spelling are in the other one, too."""
    borders, other_borders = _borders(spelling), _borders(other)
    return borders <= other_borders or other_borders <= borders


def _borders(code: str) -> set[int]:
    """Return how many characters of a code stand before each sign, and before each change of letters and digits."""
    parts = re.findall(r"\d+|[^\W\d_]+", code)
    return set(accumulate(map(len, parts)))


def _spellings(code: str, typed: str, texts: Sequence[str]) -> Iterator[str]:
    """Yield the spellings of a code in texts, first that of the question."""
    as_typed = re.compile(rf"(?<![^\W_]){re.escape(typed)}(?![^\W_])", re.IGNORECASE)
    if any(map(as_typed.search, texts)):
        yield typed

    with_signs = re.compile(rf"(?<![^\W_]){f'[{_SIGNS} ]?'.join(code)}(?![^\W_])", re.IGNORECASE | re.ASCII)
    for text in texts:
        for match in with_signs.finditer(text):
            # In "in 2019 a boat came", the blank divides no code.
            written = _joined(match[0])
            if match[0] == written or written in joined_codes(match[0]):
                yield match[0]


def _joined(code: str) -> str:
    """Leave out the signs and blanks of a code."""
    return re.sub(rf"[{_SIGNS} ]", "", code)


def _is_code(joined: str) -> bool:
    """Check whether a word without signs is long enough for a code, and has a digit."""
    if joined.isdigit():
        return _FEWEST_DIGITS <= len(joined) <= _MOST_CHARACTERS
    has_digit = any(map(str.isdigit, joined))
    return has_digit and _FEWEST_CHARACTERS <= len(joined) <= _MOST_CHARACTERS
