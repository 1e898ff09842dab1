"""Find the encoding of a text by the letters of the languages that are written in Latin letters, and of Hebrew.

In the older encodings, the same byte is another letter for each part of Europe. For example, the byte for the Turkish
letter "ş" is the Icelandic letter "þ" in the encoding of Western Europe. So the right encoding is the one in
which the letters of the text belong to one language. The decoding of texts calls :func:`encoding_of_letters`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

# The encoding of older Macs for Western Europe. Excel for Mac saves CSV files in it.
_MAC = "mac_roman"
# The encoding of Windows for Western Europe.
_WESTERN = "cp1252"
# For each language of Western Europe, its letters that are not ASCII: German, Dutch, French, Catalan, Italian, Spanish,
# Portuguese, Irish, Albanian, Swedish and Finnish, Danish and Norwegian, Icelandic, Faroese. Foreign words bring
# further letters into some languages.
_WESTERN_LETTERS = (
    "äöüßéèàçáóñ",
    "ëïéèöüêó",
    "àâæçéèêëîïôœùûüÿ",
    "àáçéèíïóòúüñ",
    "àáèéìíîòóùúªºñ",
    "áàçèéíñóúüªº",
    "àáâãçéêíóôõúüªº",
    "áéíóú",
    "çë",
    "åäöéà",
    "æøåéèêóòôâà",
    "áðéíóúýþæö",
    "áðíóúýæø",
)
# The same for Central Europe: Polish, Czech, Slovak, Hungarian, Romanian, and Croatian and Slovene.
_CENTRAL_LETTERS = (
    "ąćęłńóśźż",
    "áčďéěíňóřšťúůýž",
    "áäčďéíĺľňóôŕšťúýž",
    "áéíóöőúüű",
    "ăâîşţ",
    "čćđšž",
)
# Turkish.
_TURKISH_LETTERS = ("çğıİöşüâîû",)
# Lithuanian, Latvian and Estonian.
_BALTIC_LETTERS = (
    "ąčęėįšųūž",
    "āčēģīķļņšūž",
    "äöõüšž",
)
# The other encodings, with the letters of their languages. Of two that fit equally well, the first is taken.
_OTHERS = {
    "cp1250": _CENTRAL_LETTERS,
    "iso8859_2": _CENTRAL_LETTERS,
    "cp1254": _TURKISH_LETTERS,
    "cp1257": _BALTIC_LETTERS,
    _MAC: _WESTERN_LETTERS,
}
# Matches a capital that is not ASCII behind a small letter, which a wrong encoding brings into words. In a French text
# in the encoding of MS-DOS, the letter "\u00e9" would be the "\u00c7" of a Mac.
_CAPITAL_INSIDE = re.compile("(?<=[a-z])[\u00c0-\u00d6\u00d8-\u00de\u0160\u0178\u017d]")
# With at least so many different ones, as in "Br\u0178gg, K\u0161ln, caf\u017d", fewer letters are enough for a Mac.
_LEAST_CAPITALS = 2
# At most this share of the bytes of such a text are not ASCII. In Chinese, more are.
_MOST_SPECIAL = 0.2
# The encoding of Windows for Hebrew.
_HEBREW = "cp1255"
# Matches a word of Hebrew letters. In a text in Latin letters that is read as Hebrew, they stand alone or beside ASCII
# letters.
_HEBREW_WORD = re.compile("(?<![A-Za-zא-ת])[א-ת]{2,}(?![A-Za-z])")
# Matches a letter of Hebrew that only ends words, with the letter behind it. In Hebrew there is no such pair. In a text
# in Cyrillic or Greek letters that is read as Hebrew, there are many.
_FINAL_INSIDE = re.compile("[ךםןףץ](?=[א-ת])")
# A text is in Hebrew only if it has at least this many letters of Hebrew.
_LEAST_HEBREW = 20
# Signs that may stand behind a letter: quotation marks, dashes, dots, currencies, the soft hyphen and exponents.
_SIGNS = frozenset("\u2018\u2019\u201a\u201c\u201d\u201e«»\u2013\u2014…·•°€£¥™®©§\u00ad¹²³")
# A language fits if at least this share of the characters that are not ASCII are its letters.
_NEARLY_ALL = 0.98
# The letters of a text tell its language only if they are at least this many, of this many kinds, and at least this
# share of all letters. In an English text with some foreign names they are fewer.
_LEAST_LETTERS = 6
_LEAST_KINDS = 3
_LEAST_SHARE = 0.02


def encoding_of_letters(data: bytes) -> str | None:
    """Find the encoding of a text in Hebrew, Turkish, a language of Central Europe or the Baltic, or from an older Mac.

    :param data: The bytes of the text, or of its lines that are not ASCII.
    :returns: The name of the encoding. None if the letters fit a language of Western Europe as well, if they are too
        few, or if no language fits.
    """
    if _is_hebrew(data):
        return _HEBREW
    has_wrong_capitals = _has_wrong_capitals(data)
    western_share, _ = _best_share(data, _WESTERN, _WESTERN_LETTERS)
    if western_share >= _NEARLY_ALL and not has_wrong_capitals:
        return None
    best: str | None = None
    best_share = _NEARLY_ALL
    for encoding, languages in _OTHERS.items():
        if encoding == _MAC and not _has_case_of_words(data):
            continue
        share, is_enough = _best_share(data, encoding, languages)
        is_enough = is_enough or (encoding == _MAC and has_wrong_capitals)
        if is_enough and (share > best_share or (best is None and share == best_share)):
            best, best_share = encoding, share
    return best


def _has_case_of_words(data: bytes) -> bool:
    """Check whether most special letters of a text are small, and none is a capital inside a word, if it is of a Mac.

    In a Cyrillic text that is read so, most are capitals.
    """
    text = data.decode(_MAC)
    special_letters = [character for character in text if character.isalpha() and not character.isascii()]
    n_capitals = sum(map(str.isupper, special_letters))
    return 2 * n_capitals < len(special_letters) and not _CAPITAL_INSIDE.search(text)


def _has_wrong_capitals(data: bytes) -> bool:
    """Check whether a text of mostly ASCII letters has capitals inside words if it is read as one of Windows."""
    n_special = sum(byte > 127 for byte in data)
    capitals = set(_CAPITAL_INSIDE.findall(data.decode(_WESTERN, "replace")))
    return len(capitals) >= _LEAST_CAPITALS and n_special <= _MOST_SPECIAL * len(data)


def _is_hebrew(data: bytes) -> bool:
    """Check whether a text is in Hebrew, if its bytes are read as Hebrew letters."""
    try:
        text = data.decode(_HEBREW)
    except UnicodeDecodeError:
        return False
    n_letters = sum(map(len, _HEBREW_WORD.findall(text)))
    is_enough = n_letters >= max(_LEAST_HEBREW, _NEARLY_ALL * _special_characters(text).total())
    # A few pairs may come from words that are written together by mistake.
    return is_enough and len(_FINAL_INSIDE.findall(text)) <= (1 - _NEARLY_ALL) * n_letters


def _best_share(data: bytes, encoding: str, languages: Sequence[str]) -> tuple[float, bool]:
    """Return how well the letters of a text fit the language that they fit best.

    :param data: The bytes of the text.
    :param encoding: The encoding in which they are read.
    :param languages: The letters of each language.
    :returns: The share of the characters that are not ASCII that are letters of the language, and whether there are
        enough letters to tell it. The share is 0 if the bytes do not fit the encoding.
    """
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return 0.0, False
    characters = _special_characters(text)
    total = characters.total()
    if not total:
        return 0.0, False
    share = max(_count_letters(characters, letters) / total for letters in languages)
    n_letters = sum(map(str.isalpha, text))
    is_enough = total >= max(_LEAST_LETTERS, _LEAST_SHARE * n_letters) and len(characters) >= _LEAST_KINDS
    return share, is_enough


def _count_letters(characters: Counter[str], letters: str) -> int:
    """Count the characters that are letters of a language, large or small."""
    return sum(n for character, n in characters.items() if character in letters or character.lower() in letters)


def _special_characters(text: str) -> Counter[str]:
    """Count the letters of a text that are not ASCII, and the characters that a wrong encoding brings into words.

    Those are control characters, and signs behind a letter other than quotation marks, dashes and the like.
    """
    characters = Counter[str]()
    before = ""
    for character in text:
        if not character.isascii():
            is_control = unicodedata.category(character) == "Cc"
            is_sign_in_word = before.isalpha() and character not in _SIGNS and not character.isspace()
            if character.isalpha() or is_control or is_sign_in_word:
                characters[character] += 1
        before = character
    return characters
