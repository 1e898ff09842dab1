"""The one form of a query to the web: what is checked, shown, sent and logged; and a form to compare words."""

import html
import re
import unicodedata
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from prefrag.components.text.one_line import one_line
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS, normalize_unicode

# Characters that Unicode calls ignorable by default, without those of the categories Cf and Cn; and three that are
# drawn as nothing although Unicode calls them symbols and a mark.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
_MAX_MARKS = 4  # on a letter; Burmese needs that many
# The Latin letter in the name of a character: "LATIN SMALL LETTER L WITH STROKE", "REGIONAL INDICATOR SYMBOL LETTER L".
_LATIN = re.compile(r"(?:LATIN|INDICATOR) .*?LETTER (?:.* )?([A-Z])(?: WITH .+)?$")
# Cyrillic, Greek and Armenian letters with the look of a Latin letter, in lower case. The names of letters tell only
# the sound. The last sign lengthens an Arabic letter, and tells nothing.
_LOOKALIKES: dict[int, Any] = str.maketrans(
    "авсԁегһіјкӏмнорԛѕтухԝαβεηικνορτυχωγզլհյոսցօ", "abcderhijklmhopqstyxwabehikvoptuxwyqlhjnugo", "\u0640"
)
# A character by its number, as programs write it: \u0020, %u0020, \x20.
_NUMBERED = re.compile(r"[\\%]u([0-9a-f]{4})|\\x([0-9a-f]{2})", re.IGNORECASE)
_BLANK_BETWEEN = re.compile(rf"(?<=[{UNSPACED_SCRIPTS}])\s+(?=[{UNSPACED_SCRIPTS}])")


def query_form(text: str) -> str:
    """Write a query so that all of it can be seen: one line, without characters that are drawn as nothing.

    Invisible characters are dropped without a blank in their place, so that they cut no word. Fullwidth and styled
    letters become plain ones, but 10² does not become 102. A letter keeps up to four marks.
    """
    if not text.isascii():
        text = "".join(map(_visible, _UNSEEN.sub("", text)))
        text = unicodedata.normalize("NFC", _limit_marks(normalize_unicode(text)))
    # What is left of the characters that cannot be printed are controls and blanks.
    return one_line(text)


def comparison_form(text: str) -> str:
    """Write a text so that words that look the same are the same. This form is compared, never sent or shown.

    Codes such as ``%20`` and ``&amp;`` are decoded, accents and styles dropped, digits of other scripts replaced by
    plain ones, and letters that look like Latin ones by these. Only letters and digits remain, in lower case, with
    blanks between words.
    """
    # Decode until nothing is left to decode, because a code may be encoded itself: %2520 is %20.
    while (decoded := html.unescape(unquote(_NUMBERED.sub(_read_number, text)))) != text:
        text = decoded
    text = query_form(unicodedata.normalize("NFKC", text))
    if not text.isascii():
        text = "".join(map(_plain_letter, unicodedata.normalize("NFKD", text.casefold())))
        text = unicodedata.normalize("NFC", text.casefold().translate(_LOOKALIKES))
    # A mark, such as a vowel sign of Hindi, is a part of its word.
    signs = [sign if sign.isalnum() or _is_mark(sign) else " " for sign in text.casefold()]
    return _BLANK_BETWEEN.sub("", " ".join("".join(signs).split()))


def _is_mark(sign: str) -> bool:
    return unicodedata.category(sign).startswith("M")


def _read_number(code: re.Match[str]) -> str:
    return chr(int(code[1] or code[2], 16))


@lru_cache(maxsize=4096)
def _visible(sign: str) -> str:
    if unicodedata.category(sign) in ("Cf", "Co", "Cn", "Cs"):
        return ""
    is_styled = sign.isalnum() and unicodedata.decomposition(sign).startswith(("<wide>", "<narrow>", "<font>"))
    return unicodedata.normalize("NFKC", sign) if is_styled else sign


def _limit_marks(text: str) -> str:
    signs: list[str] = []
    marks = 0
    for sign in text:
        marks = marks + 1 if _is_mark(sign) else 0
        if marks <= _MAX_MARKS:
            signs.append(sign)
    return "".join(signs)


@lru_cache(maxsize=4096)
def _plain_letter(sign: str) -> str:
    """Return the Latin letter of which a character is a form, nothing for an accent, else the character."""
    name = unicodedata.name(sign, "")
    if name.startswith("COMBINING "):
        return ""
    if sign.isdecimal():
        return str(unicodedata.decimal(sign))
    latin = _LATIN.search(name)
    return latin[1] if latin else sign
