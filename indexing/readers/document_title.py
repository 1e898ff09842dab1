"""Decide by form whether the title in a file's metadata is one. Programs write paths, file names and defaults there."""

import re

_PATH = re.compile(r"[A-Za-z]:[\\/]|[\\/]{1,2}\w|\w+://")
_FILE_NAME = re.compile(r".*\w\.[a-z]{1,4}\d?", re.IGNORECASE)
# A default such as "(anonymous)", or a word with a number, such as "Layout 1".
_BRACKETED = re.compile(r"[(\[<].*[)\]>]")
_WORD = re.compile(r"\w{3,}")
# Only so many characters of a title and of the text are compared.
_MOST_TITLE = 300
_MOST_TEXT = 200_000
# Defaults whose words may stand in the text.
_DEFAULTS = ("untitled", "title", "document", "presentation", "powerpoint presentation")


def is_title(title: str, text: str, name: str) -> bool:
    """Check whether a title names its document.

    :param title: The title from the metadata.
    :param text: The text of the document.
    :param name: The name of the file, without its ending.
    :returns: Whether the title has a word in common with the text or the name, and is no path, file name or default.
    """
    plain = title[:_MOST_TITLE].strip()
    if _PATH.match(plain) or _FILE_NAME.fullmatch(plain) or _BRACKETED.fullmatch(plain):
        return False
    if plain.lower() in _DEFAULTS:
        return False
    beginnings = map(_beginning, _WORD.findall(plain.lower()))
    compared = [beginning for beginning in beginnings if not beginning.isdecimal()]
    # A title in a script without blanks, or of short words, cannot be compared.
    if not compared:
        return True
    document = f"{name} {text[:_MOST_TEXT]}".lower()
    return any(beginning in document for beginning in compared)


def _beginning(word: str) -> str:
    """Return the first letters of a word, of which the text may have another form."""
    # In "Document1", which is a word of a program, the number must be compared, too.
    return word if word[-1].isdecimal() else word[:5].rstrip("s")
