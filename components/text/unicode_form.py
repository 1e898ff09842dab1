"""Normalise texts before they are compared, and check that they are valid Unicode."""

import unicodedata

# For a regex class: Chinese, Japanese, Thai, Lao, Khmer and Burmese, which are written without spaces between words.
UNSPACED_SCRIPTS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_LIGATURES = {sign: unicodedata.normalize("NFKC", sign) for sign in map(chr, range(0xFB00, 0xFB07))}


def normalize_unicode(text: str) -> str:
    """Write a text the way keyboards do: an accented letter as one character, and no typographic ligatures.

    File names from macOS and text copied from PDFs use other forms, which look the same, but no search would find them.
    The look of a text stays the same: 10² does not become 102. The form is NFC, with "ﬁ" as two letters.
    """
    if text.isascii():
        return text
    text = unicodedata.normalize("NFC", text)
    for ligature, letters in _LIGATURES.items():
        text = text.replace(ligature, letters)
    return text


def is_text(text: str) -> bool:
    """Check whether a text is valid Unicode. Half of a surrogate pair is not, and could not be stored or sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
