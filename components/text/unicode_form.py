"""Normalise texts before they are compared, and check that they are valid Unicode."""

import unicodedata

# A regex range: the characters of Chinese, Japanese, Thai, Lao, Khmer and Burmese, which put no spaces between words.
WITHOUT_BLANKS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_LIGATURES = {sign: unicodedata.normalize("NFKC", sign) for sign in map(chr, range(0xFB00, 0xFB07))}


def normalize_unicode(text: str) -> str:
    """Write a text the way keyboards do: an accented letter as one character, and no typographic ligatures.

    File names from macOS and text copied from PDFs use other forms that look the same, and would not be found.
    Characters that look different are not changed: 10² does not become 102. The form is NFC, with "ﬁ" as two letters.
    """
    if text.isascii():
        return text
    text = unicodedata.normalize("NFC", text)
    for ligature, letters in _LIGATURES.items():
        text = text.replace(ligature, letters)
    return text


def is_text(text: str) -> bool:
    """Check whether a text can be stored and sent: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
