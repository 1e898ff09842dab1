"""One way of writing for texts that are compared."""

from __future__ import annotations

import unicodedata

_LIGATURES = {sign: unicodedata.normalize("NFKC", sign) for sign in map(chr, range(0xFB00, 0xFB07))}


def one_form(text: str) -> str:
    """
    Write a text as keyboards do: a letter with its accents as one character, and no ligatures of typesetters.

    File names of macOS and texts copied from PDFs come otherwise, look the same, and would not be found. What also
    looks different stays as it is: 10² is not 102.

    :param text: any text.
    :returns: the text in Unicode's composed form (NFC), "ﬁ" as two letters.
    """
    if text.isascii():
        return text
    text = unicodedata.normalize("NFC", text)
    for ligature, letters in _LIGATURES.items():
        text = text.replace(ligature, letters)
    return text
