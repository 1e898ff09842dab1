"""Decide whether the title in the metadata of a file is a real title.

Many programs write a path, a file name or a default such as "Layout 1" into this field. The file converter calls
:func:`is_title` for PDF and Office files, and uses the file name if the title is not real.
"""

import re
from urllib.parse import unquote

# Matches the beginning of a path or of a web address, such as "C:\", "/home" or "http://".
_PATH = re.compile(r"[A-Za-z]:[\\/]|[\\/]{1,2}\w|\w+://")
# Matches a file name, such as "tea.docx".
_FILE_NAME = re.compile(r".*\w\.[a-z]{1,4}\d?", re.IGNORECASE)
# Matches the name of a program before the name of a file, as in "Microsoft Word - tea.docx".
_PROGRAM = re.compile(r"^Microsoft (?:Word|Excel|PowerPoint) - ")
# Matches how the program has opened the file, as in "tea.xls  [Compatibility Mode]".
_MODE = re.compile(r"\s*\[[^\[\]]{0,100}\]$")
# Matches the name of a sheet or program behind the ending of a file name, as in "tea.xlsx - Sheet1".
_SHEET = re.compile(r"(?<=\.)(xlsx?|ods|docx?|pptx?) - .*$", re.IGNORECASE)
# Matches a blank in the form that web addresses have.
_ENCODED_BLANK = re.compile(r"%20")
# Matches a letter.
_LETTER = re.compile(r"[^\W\d_]")
# Matches a title in brackets, which is a default such as "(anonymous)".
_BRACKETED = re.compile(r"[(\[<].*[)\]>]")
# Matches a word of at least three characters.
_WORD = re.compile(r"\w{3,}")
# At most this many characters of a title are read.
_MOST_PLAIN = 1_000
# At most this many characters of a title are compared.
_MOST_TITLE = 300
# At most this many characters of the text are compared.
_MOST_TEXT = 200_000
# Titles that programs write by default. Their words may also stand in the text, so they are listed here.
_DEFAULTS = ("untitled", "title", "document", "presentation", "powerpoint presentation")


def plain_title(title: str) -> str:
    """Return a title without what programs write around it.

    :param title: The title from the metadata, such as "Microsoft PowerPoint - Pier talk" or "berth%20fees".
    :returns: The title, such as "Pier talk" or "berth fees". A file name keeps its ending, which shows that it is no
        title: "Microsoft Excel - fees.xls  [Compatibility Mode]" and "fees.xls - Sheet1" become "fees.xls".
    """
    # A hostile title may have millions of characters.
    words = " ".join(title[:_MOST_PLAIN].split())
    if _ENCODED_BLANK.search(words) and " " not in words:
        words = " ".join(unquote(words).split())
    plain = _PROGRAM.sub("", words)
    if plain != words:
        return _MODE.sub("", plain)
    return _SHEET.sub(r"\1", words)


def is_title(title: str, text: str, name: str) -> bool:
    """Check whether a title names its document.

    A real title has a letter and a word in common with the text or the file name, and is no path, file name or default.
    For example,
    "Layout 1" is not the title of a text about tea.

    :param title: The title from the metadata.
    :param text: The text of the document.
    :param name: The file name without its suffix.
    :returns: Whether the title is real. True if the title has no word that can be compared.
    """
    plain = title[:_MOST_TITLE].strip()
    if not _LETTER.search(plain):
        return False
    if _PATH.match(plain) or _FILE_NAME.fullmatch(plain) or _BRACKETED.fullmatch(plain):
        return False
    if plain.lower() in _DEFAULTS:
        return False

    beginnings = map(_beginning, _WORD.findall(plain.lower()))
    compared = [beginning for beginning in beginnings if not beginning.isdecimal()]
    # A title of short words cannot be compared.
    if not compared:
        return True

    document = f"{name} {text[:_MOST_TEXT]}".lower()
    return any(beginning in document for beginning in compared)


def _beginning(word: str) -> str:
    """Return the first letters of a word, because the text may have another form of the word.

    For example, "reports" gives "repor", and "teas" gives "tea".
    """
    # A program may write a default such as "Document1". The text surely has the word "document", so the number must be
    # compared, too.
    return word if word[-1].isdecimal() else word[:5].rstrip("s")
