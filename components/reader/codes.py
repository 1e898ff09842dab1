"""Find codes in a text: labels of letters and digits, such as the order "PO45001" and the article "4711-B".

Two codes are compared as wholes, because one other character names another thing. Case, blanks and the signs between
the parts do not matter: "PO 45001", "po45001" and "PO-45001" are the same code.
"""

import re
from dataclasses import dataclass

# The part of a code with a digit. It matches "45001", "M12", "0x8005", "rc3", "8b" and "M8x40". It does not match "5mg"
# and "1990s".
_WITH_DIGIT = r"(?:0[xX][0-9A-Fa-f]+|(?:[A-Z]{1,6}|[a-z]{1,6})?\d+(?:[A-Za-z]{1,3}\d+)*(?:[A-Z]{1,3}|[a-f])?)"
# A sign between two parts, as in "C-2024-118" and "77/B".
_SIGN = r"[-./_]"
# A code with such signs, or one of a single part. The first part is no lone small letter, as "c" is in "c.1920". It
# matches "AX-200-L", "T.04.2" and "M12". It does not match "size" in "A4-size".
_JOINED = rf"(?:{_WITH_DIGIT}|[A-Z]{{1,6}}(?={_SIGN}))(?:{_SIGN}(?:{_WITH_DIGIT}|[A-Z]{{1,6}}|[a-z])(?![^\W_]))*"
# Capital letters and a number behind a blank. It matches "PO 45001", "HK-AB 123", "K-AB 123" and "KI XZ 9". It does not
# match "UK 2024", because four such digits mostly are a year.
_SPACED = rf"(?:[A-Z]{{2,4}}(?:[- ][A-Z]{{1,3}}){{0,2}}|[A-Z]-[A-Z]{{1,3}}) (?!(?:19|20)\d\d\b)\d+(?:{_SIGN}\d+)*"
# A code or a number, which :func:`find_codes` tells apart.
_CODE = re.compile(rf"(?<![^\W_])(?<!\d[.,])(?:{_SPACED}|{_JOINED})(?![^\W_])")
# A run of letters or of digits. In "C-2024-118" there are three.
_RUN = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True)
class Code:
    """A code in a text.

    :param begin: The index of its first character in the text.
    :param end: The index after its last character.
    :param runs: Its runs of letters and of digits, in lower case. For "PO-45001" they are "po" and "45001".
    """

    begin: int
    end: int
    runs: tuple[str, ...]

    @property
    def has_letters(self) -> bool:
        """Whether it has a letter. The code "2025/118" has none, and might also be a date or a version."""
        return not all(map(str.isdigit, self.runs))


def find_codes(text: str) -> list[Code]:
    """Find the codes of a text.

    A code has a digit, and it has a letter or several parts. For example, the codes of
    ``"Order PO45001 of 12 May for 2025/118"`` are "PO45001" and "2025/118".

    :param text: The text.
    :returns: The codes in order.
    """
    codes = [Code(match.start(), match.end(), runs_of(match[0])) for match in _CODE.finditer(text)]
    return [code for code in codes if len(code.runs) > 1 and any(map(str.isdigit, code.runs))]


def runs_of(text: str) -> tuple[str, ...]:
    """List the runs of letters and of digits of a text, in lower case.

    For example, ``runs_of("Order PO-45001")`` returns ``("order", "po", "45001")``.

    :param text: The text.
    :returns: The runs in order.
    """
    return tuple(run.lower() for run in _RUN.findall(text))
