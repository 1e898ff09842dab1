"""Normalise texts before they are compared, and check that they are valid Unicode.

The same letter can be written with different Unicode characters. Passages and queries are brought into the same form,
so that a search finds a word in either spelling.
"""

import unicodedata

# Ranges of characters for a regex class, as in `f"[{UNSPACED_SCRIPTS}]"`.
# They cover Chinese, Japanese, Thai, Lao, Khmer and Burmese, which are written without spaces between words.
UNSPACED_SCRIPTS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
# The seven typographic ligatures of Latin letters (U+FB00 to U+FB06), each with its separate letters.
# For example, the ligature "ﬁ" (U+FB01) has the value "fi".
_LIGATURES = {sign: unicodedata.normalize("NFKC", sign) for sign in map(chr, range(0xFB00, 0xFB07))}


def normalize_unicode(text: str) -> str:
    """Write a text as keyboards do: an accented letter is one character, and a ligature is two letters or more.

    File names from macOS and text copied from PDFs use other forms. These forms look the same, but no search would
    find them. The result has the Unicode form NFC, and no ligatures.

    For example, ``normalize_unicode("cafe" + chr(0x301))`` returns ``"caf" + chr(0xe9)``: the letter e and its accent
    become one character. The look of a text stays the same, so ``normalize_unicode("10²")`` returns ``"10²"`` and not
    "102".

    :param text: Any text.
    :returns: The text in this form.
    """
    if text.isascii():
        return text

    text = unicodedata.normalize("NFC", text)
    for ligature, letters in _LIGATURES.items():
        text = text.replace(ligature, letters)
    return text


def is_text(text: str) -> bool:
    """Check whether a text is valid Unicode.

    A Python string can contain half of a surrogate pair, which is not valid Unicode. Such a text could neither be
    stored nor sent. For example, ``is_text(chr(0xd800))`` returns ``False``.

    :param text: Any string.
    :returns: Whether the string can be encoded as UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
