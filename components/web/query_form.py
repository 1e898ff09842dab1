"""Write a query to the web in one form, and write texts in a form in which equal words look equal.

The same form of a query is checked, shown to the user, sent and logged. So no hidden character can carry text to the
web that the user does not see. The second form is only for comparisons: words count as equal if they look equal.
"""

import html
import re
import unicodedata
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from prefrag.components.text.one_line import one_line
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS, normalize_unicode

# A character that is drawn as nothing, and that `_visible` does not drop. Most of these characters are called "default
# ignorable" by Unicode. Three others are symbols or a mark for Unicode, but are drawn as nothing too.
# Matches: "a\u2800b". Does not match: "a b".
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
# The maximum number of marks, such as accents, on one letter. Burmese needs that many. Further marks are dropped.
_MAX_MARKS = 4
# The Latin letter in the Unicode name of a character. The letter is group 1, a capital as in all names: "L" in both
# examples. Matches: "LATIN SMALL LETTER L WITH STROKE", "REGIONAL INDICATOR SYMBOL LETTER L".
# Does not match: "GREEK SMALL LETTER ALPHA".
_LATIN = re.compile(r"(?:LATIN|INDICATOR) .*?LETTER (?:.* )?([A-Z])(?: WITH .+)?$")
# Lower-case letters of Cyrillic, Greek and Armenian that look like a Latin letter. The second text has this Latin
# letter at the same place. The Unicode names of these letters tell only the sound, so `_LATIN` cannot find the Latin
# letter. The third text has the characters that are dropped: \u0640 makes an Arabic letter longer and does not change
# the word.
_LOOKALIKES: dict[int, Any] = str.maketrans(
    "авсԁегһіјкӏмнорԛѕтухԝαβεηικνορτυχωγզլհյոսցօ", "abcderhijklmhopqstyxwabehikvoptuxwyqlhjnugo", "\u0640"
)
# A character written by its number, as programs write it. Group 1 or group 2 is the number in hexadecimal digits.
# Matches: "\\u0020", "%u0020", "\\x20". Does not match: "%20".
_NUMBERED = re.compile(r"[\\%]u([0-9a-f]{4})|\\x([0-9a-f]{2})", re.IGNORECASE)
# The blanks between two characters of scripts without spaces. Matches: "船 舶". Does not match: "two words".
_BLANK_BETWEEN = re.compile(rf"(?<=[{UNSPACED_SCRIPTS}])\s+(?=[{UNSPACED_SCRIPTS}])")


def query_form(text: str) -> str:
    """Write a query so that all of it can be seen: one line, without characters that are drawn as nothing.

    Invisible characters are dropped without a blank in their place, because a blank would cut a word in two. Fullwidth
    and styled letters become plain letters. Other signs are sent as they are: 10² stays 10². A letter keeps up to four
    marks.

    For example, ``query_form("Who  paid 10²? ")`` returns ``"Who paid 10²?"``.

    :param text: The query.
    :returns: The query as it is sent.
    """
    if not text.isascii():
        visible = "".join(map(_visible, _UNSEEN.sub("", text)))
        text = unicodedata.normalize("NFC", _limit_marks(normalize_unicode(visible)))
    # Only controls and special blanks may still be unprintable. They become plain blanks.
    return one_line(text)


def comparison_form(text: str) -> str:
    """Write a text so that words that look equal are equal. This form is only compared, never sent or shown.

    Codes such as ``%20`` and ``&amp;`` are decoded. Accents and styles are dropped. Digits of other scripts become the
    digits 0 to 9, and letters that look like a Latin letter become this letter. Only letters and digits remain, in
    lower case, with one blank between words. For example, ``comparison_form("Łódź%20&amp; 10²")`` returns
    ``"lodz 102"``.

    :param text: The text.
    :returns: The text in the form to compare.
    """
    # Decode until nothing is left to decode, because a code may be encoded itself: %2520 is %20.
    decoded = _decode(text)
    while decoded != text:
        text = decoded
        decoded = _decode(text)

    # NFKC turns signs such as ² and ligatures into plain ones.
    plain = query_form(unicodedata.normalize("NFKC", text))
    if not plain.isascii():
        # NFKD separates the accents from their letters, so that `_plain_letter` can drop them.
        decomposed = unicodedata.normalize("NFKD", plain.casefold())
        without_accents = "".join(map(_plain_letter, decomposed))
        # `_plain_letter` returns capitals, and the lookalikes are in lower case. NFC joins what is left of letters and
        # marks, such as those of Hindi.
        latin = without_accents.casefold().translate(_LOOKALIKES)
        plain = unicodedata.normalize("NFC", latin)

    signs = []
    for sign in plain.casefold():
        # A mark, such as a vowel sign of Hindi, is a part of its word.
        is_of_word = sign.isalnum() or _is_mark(sign)
        signs.append(sign if is_of_word else " ")
    words = "".join(signs).split()
    return _BLANK_BETWEEN.sub("", " ".join(words))


def _decode(text: str) -> str:
    """Decode the codes of characters once: "%41", "&#65;" and "%u0041" become "A"."""
    numbered = _NUMBERED.sub(_read_number, text)
    return html.unescape(unquote(numbered))


def _is_mark(sign: str) -> bool:
    """Check whether a character is a mark on another one, such as an accent or a vowel sign of Hindi."""
    return unicodedata.category(sign).startswith("M")


def _read_number(code: re.Match[str]) -> str:
    """Return the character that a match of ``_NUMBERED`` names: "A" for "%u0041"."""
    return chr(int(code[1] or code[2], 16))


@lru_cache(maxsize=4096)
def _visible(sign: str) -> str:
    """Return a character as it is sent: a plain letter for a styled or wide letter, and nothing if it is invisible.

    For example, ``_visible(chr(0xff21))``, a fullwidth letter, is "A", and ``_visible("²")`` returns ``"²"``.
    """
    # The categories of format characters, private characters, unassigned ones, and halves of surrogate pairs.
    if unicodedata.category(sign) in ("Cf", "Co", "Cn", "Cs"):
        return ""
    is_styled = sign.isalnum() and unicodedata.decomposition(sign).startswith(("<wide>", "<narrow>", "<font>"))
    return unicodedata.normalize("NFKC", sign) if is_styled else sign


def _limit_marks(text: str) -> str:
    """Drop each mark behind the fourth mark in a row."""
    signs: list[str] = []
    marks = 0
    for sign in text:
        marks = marks + 1 if _is_mark(sign) else 0
        if marks <= _MAX_MARKS:
            signs.append(sign)
    return "".join(signs)


@lru_cache(maxsize=4096)
def _plain_letter(sign: str) -> str:
    """Return the plain form of a character for comparisons: a Latin letter, a digit, or nothing for an accent.

    For example, ``_plain_letter("ł")`` returns ``"L"``, and ``_plain_letter("٣")`` returns ``"3"``. Other characters
    are returned unchanged. A Latin letter is always a capital, which the caller turns into lower case.
    """
    name = unicodedata.name(sign, "")
    if name.startswith("COMBINING "):
        return ""
    if sign.isdecimal():
        return str(unicodedata.decimal(sign))
    latin = _LATIN.search(name)
    return latin[1] if latin else sign
