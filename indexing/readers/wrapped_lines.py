"""Join the lines of paragraphs that people or programs have broken at the width of a page.

The readers of plain text, Markdown, PDF and mail call :func:`unwrap_lines`. The idea is that a line in the middle of a
paragraph is full: the next word had no room in it. Verses, addresses and headings have shorter lines and stay as they
are.
"""

import re
from itertools import groupby, pairwise

from prefrag.components.text.sentences import FIELD, ends_with_stop

# The maximum width of a typed page, in characters. In a wider text, each line is a whole paragraph.
_MOST_WIDTH = 130
# A text with fewer characters in a line than this may be a poem. Then a line is joined with the next line only if it
# ends in a comma, or if the next line begins with a small letter.
_LEAST_WIDTH = 30
# A line is full if the line and the next word would fill more than this share of the width. 60% is enough, because many
# lines of a paragraph end early.
_FULL = 0.6
# A line that ends in a full stop must fill more than this share of the width, because the paragraph may end there.
_FULL_STOPPED = 0.8
# Matches a letter.
_LETTER = re.compile(r"[^\W\d_]")
# Matches the beginning of a list item, as in "- milk", "-v, --verbose", "3. Open it" or "(b) Close it". A bullet may be
# a hyphen, a plus sign, an asterisk, a dash, a dot or a circle. "10 tea" does not match.
_ITEM = re.compile(r"[-+*\u2022\u2013\u25cf\u25e6](?:\s|-?\w)|\(?(?:\d{1,3}|[A-Za-z])[.)]\s")
# Matches a part of a row of a table or of a table of contents. There are three kinds of parts:
# - a gap of three blanks ("a   b") or a tab. Two blanks are no gap, because justified text has them, too.
# - a bar ("a | b")
# - four dots ("Intro .... 3")
_COLUMNS = re.compile(r"\S(?: {3,}|\t)\s*\S|\||(?:\. ?){4}")
# Matches the blanks at the beginning of a line, and the signs (>) of a quotation in a mail. It matches "  > > " in
# "  > > text".
_INDENT = re.compile(r"\s*(?:>\s?)*")
# Matches the first part of a word that is broken at the end of a line, such as "para-". "1990-" does not match.
_BROKEN_WORD = re.compile(r"[^\W_]*[^\W\d_]-$")
# Matches a word, with its hyphens, such as "well-known".
_HYPHENATED = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
# Matches the letters at the beginning of the next line.
_FIRST_WORD = re.compile(r"[^\W\d_]+")
# Matches the rest of a broken word with the signs behind it, and the blanks before the next word.
_REST_OF_WORD = re.compile(r"(?P<word>\S+)\s*")
# The first part of a broken word has at most this many characters.
_LONGEST_PART = 50


def unwrap_lines(text: str, most_width: int = _MOST_WIDTH) -> str:
    r"""Join the lines of each paragraph, and the parts of words that are broken at line ends.

    A line is joined with the next line if it is so full that the next word had no room. If the next line begins with a
    small letter, it is enough that the line is longer than half the width. Lists, tables and code are not joined. For
    example, "the same para-\ngraph" becomes "the same paragraph" if both lines are full.

    :param text: The text.
    :param most_width: The maximum width in characters. The width of a text is the length that nine of ten of its lines
        do not exceed. A wider text is returned unchanged.
    :returns: The text with joined lines.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    width = _width(lines)
    if not 0 < width <= most_width:
        return text

    # All words of the text in small letters. They show whether a hyphen at a line end belongs to its word.
    words: set[str] = set()
    if any(line.endswith("-") for line in lines):
        words = {match[0].lower() for match in _HYPHENATED.finditer(text)}

    pieces: list[str] = []
    for has_letters, block in groupby(lines, key=lambda line: bool(_LETTER.search(line))):
        if has_letters:
            pieces.append(_join(list(block), width, words))
        else:
            pieces += block
    return "\n".join(pieces)


def join_broken_words(pages: list[str]) -> None:
    """Move the rest of a word that is broken at the end of a page from the next page to its first part.

    :param pages: The text of each page. They are changed in place.
    """
    # The words of all pages in small letters. They are collected when the first broken word is met.
    words: set[str] = set()
    for number in range(len(pages) - 1):
        first_part = _BROKEN_WORD.search(pages[number][-_LONGEST_PART:])
        second_part = _FIRST_WORD.match(pages[number + 1])
        rest = _REST_OF_WORD.match(pages[number + 1])
        if first_part is None or second_part is None or rest is None or not second_part[0][0].islower():
            continue
        words = words or {match[0].lower() for page in pages for match in _HYPHENATED.finditer(page)}
        if not _has_hyphen(first_part[0], second_part[0], words):
            pages[number] = pages[number].removesuffix("-")
        pages[number] += rest["word"]
        pages[number + 1] = pages[number + 1][rest.end() :]


def _width(lines: list[str]) -> int:
    """Return the length that nine of ten lines with letters do not exceed; 0 if no line has a letter."""
    lengths = sorted(len(line) for line in lines if _LETTER.search(line))
    if not lengths:
        return 0
    nine_of_ten = len(lengths) * 9 // 10
    return lengths[nine_of_ten]


def _join(block: list[str], width: int, words: set[str]) -> str:
    """Join the lines of a block that has no blank line.

    :param block: The lines. Each has a letter.
    :param width: The width of the whole text in characters.
    :param words: The words of the whole text in small letters.
    :returns: The block, with line breaks only where a paragraph ends.
    """
    pieces = block[:1]
    hang = _hang(block[0])
    # Whether the line is joined with the line before it.
    is_joined = False
    for line, following in pairwise(block):
        begin = following[_indent(following) :]
        is_joined = _goes_on(line, following, width, hang, is_joined)
        if not is_joined:
            pieces += ["\n", following]
            hang = _hang(following)
            continue

        first_part = _BROKEN_WORD.search(line[-_LONGEST_PART:])
        second_part = _FIRST_WORD.match(begin)
        if first_part is None or second_part is None:
            # The line does not end in a broken word.
            pieces.append(" ")
        elif begin[0].islower() and not _has_hyphen(first_part[0], second_part[0], words):
            pieces[-1] = pieces[-1].removesuffix("-")
        pieces.append(begin)
    return "".join(pieces)


def _has_hyphen(first_part: str, second_part: str, words: set[str]) -> bool:
    """Check whether a word that is broken at a line end has a hyphen of its own, as "well-known" has.

    It has a hyphen if another place of the text has the word with a hyphen, and no place has it without.

    :param first_part: The part of the word before the line end, with the hyphen, such as "well-".
    :param second_part: The part behind the line end, such as "known".
    :param words: The words of the whole text in small letters.
    """
    with_hyphen = f"{first_part}{second_part}".lower()
    without_hyphen = f"{first_part[:-1]}{second_part}".lower()
    return with_hyphen in words and without_hyphen not in words


def _goes_on(line: str, following: str, width: int, hang: int, is_joined: bool) -> bool:
    """Check whether the paragraph of a line goes on in the following line.

    :param line: The line.
    :param following: The next line.
    :param width: The width of the whole text in characters.
    :param hang: The number of blanks that the next line needs at least to belong to the present list item. 0 outside a
        list.
    :param is_joined: Whether the line itself is joined with the line before it.
    """
    begin = following[_indent(following) :]
    if _are_apart(line, following, begin):
        return False

    # The further lines of a list item are indented more than its first line.
    if hang and _indent(following) >= hang:
        return not line.endswith(":")

    is_aligned = is_joined and _indent(line) == _indent(following)
    begins_small = begin[0].islower() and not line.endswith(":")
    if begins_small or line.endswith(","):
        return len(line) > width / 2 or is_aligned
    if width < _LEAST_WIDTH:
        return False

    is_stopped = ends_with_stop(line)
    if is_aligned and not is_stopped:
        return True
    share = _FULL_STOPPED if is_stopped else _FULL
    next_word = begin.split(maxsplit=1)[0]
    length_with_next_word = len(line) + 1 + len(next_word)
    return length_with_next_word > share * width


def _are_apart(line: str, following: str, begin: str) -> bool:
    """Check whether two lines are never joined, such as two items of a list, two rows of a table or two lines of code.

    :param line: The line.
    :param following: The next line.
    :param begin: The next line without its indentation.
    """
    if line.endswith(("|", ";", "{", "}", "\\")):
        return True
    if _ITEM.match(begin) and not line.endswith(","):
        return True
    text = line.lstrip()
    if text.startswith(">") != following.lstrip().startswith(">"):
        return True

    # Two rows of a table are not joined, and neither are two fields such as "Name: Ada".
    if _COLUMNS.search(text) and _COLUMNS.search(begin):
        return True
    return bool(FIELD.match(text) and FIELD.match(begin))


def _hang(line: str) -> int:
    """Count the blanks that the next line needs at least to belong to the list item that begins in ``line``.

    For example, "  - milk" gives 3. The result is 0 if the line does not begin a list item.
    """
    indent = _indent(line)
    return indent + 1 if _ITEM.match(line, indent) else 0


def _indent(line: str) -> int:
    """Count the blanks and quotation signs (>) at the beginning of a line."""
    match = _INDENT.match(line)
    return match.end() if match else 0
