"""Join the lines of paragraphs that people or programs have broken at the width of a page."""

import re
from itertools import groupby, pairwise

from prefrag.components.text.sentences import FIELD, ends_with_stop

# The width of a typed page in characters. If the lines of a text are longer, each of them is a whole paragraph.
_MOST_WIDTH = 130
# In a text that is narrower than this, such as a poem, only lines that end within a sentence are joined.
_LEAST_WIDTH = 30
# A line is joined with the next line if the line and the next word fill more than this share of the width. 60% is
# enough, because many lines end early.
_FULL = 0.6
# After a full stop, more of the width must be filled, because the paragraph may end there.
_FULL_STOPPED = 0.8
_LETTER = re.compile(r"[^\W\d_]")
# The beginning of a list item, as in "- milk", "-v, --verbose", "3. Open it" or "(b) Close it". A bullet may be a
# hyphen, a plus sign, an asterisk, a dash, a dot or a circle.
_ITEM = re.compile(r"[-+*\u2022\u2013\u25cf\u25e6](?:\s|-?\w)|\(?(?:\d{1,3}|[A-Za-z])[.)]\s")
# A gap between columns, a bar, or the dots in a table of contents. Two blanks are no gap: justified text has them, too.
_COLUMNS = re.compile(r"\S(?: {3,}|\t)\s*\S|\||(?:\. ?){4}")
# Blanks, and the signs (>) before a quotation in a mail.
_INDENT = re.compile(r"\s*(?:>\s?)*")
# The part of a word before a hyphen at the end of a line, as in "para-".
_BROKEN_WORD = re.compile(r"[^\W_]*[^\W\d_]-$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
# Such a part is looked for in this many characters at the end of a line.
_LONGEST_PART = 50


def unwrap_lines(text: str, most_width: int = _MOST_WIDTH) -> str:
    """Join the lines of each paragraph, and the parts of words that are hyphenated at line ends.

    A line is joined with the next line if it is so full that the next word had no room. If the next line begins with a
    small letter, the line need only be longer than half the width. The width is that of the whole text, which nine of
    ten lines do not exceed. So verses, addresses and headings, whose lines are shorter, are not joined, and neither are
    lists, tables and code. If the text is wider than ``most_width`` characters, nothing is joined.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    lengths = sorted(len(line) for line in lines if _LETTER.search(line))
    width = lengths[len(lengths) * 9 // 10] if lengths else 0
    if not 0 < width <= most_width:
        return text
    words: set[str] = set()
    # The words are needed only to tell what a hyphen at the end of a line means.
    if any(line.endswith("-") for line in lines):
        words = {match[0].lower() for match in re.finditer(r"[^\W_]+(?:-[^\W_]+)*", text)}
    pieces: list[str] = []
    for has_letters, block in groupby(lines, key=lambda line: bool(_LETTER.search(line))):
        if has_letters:
            pieces.append(_join(list(block), width, words))
        else:
            pieces += block
    return "\n".join(pieces)


def _join(block: list[str], width: int, words: set[str]) -> str:
    pieces = block[:1]
    hang = _hang(block[0])
    is_joined = False  # whether the line is joined with the line before it
    for line, following in pairwise(block):
        begin = following[_indent(following) :]
        is_joined = _goes_on(line, following, width, hang, is_joined)
        if not is_joined:
            pieces += ["\n", following]
            hang = _hang(following)
            continue
        part = _BROKEN_WORD.search(line[-_LONGEST_PART:])
        rest = _FIRST_WORD.match(begin)
        if part is None or rest is None:
            pieces.append(" ")
        elif begin[0].islower() and not _has_hyphen(part[0], rest[0], words):
            pieces[-1] = pieces[-1].removesuffix("-")
        pieces.append(begin)
    return "".join(pieces)


def _has_hyphen(part: str, rest: str, words: set[str]) -> bool:
    """Check whether a word is broken after a hyphen of its own, as "well-known" may be. ``part`` ends in the hyphen.

    The word has this hyphen if the text elsewhere has it with the hyphen, and nowhere without.
    """
    with_hyphen = f"{part}{rest}".lower()
    without_hyphen = f"{part[:-1]}{rest}".lower()
    return with_hyphen in words and without_hyphen not in words


def _goes_on(line: str, following: str, width: int, hang: int, is_joined: bool) -> bool:
    """Check whether the paragraph of a line goes on in the following line.

    ``hang`` is the least indentation of further lines of the present list item; 0 outside a list. ``is_joined`` says
    whether the line itself goes on a paragraph.
    """
    begin = following[_indent(following) :]
    if line.endswith(("|", ";", "{", "}", "\\")):
        return False
    if _ITEM.match(begin) and not line.endswith(","):
        return False
    if line.lstrip().startswith(">") != following.lstrip().startswith(">"):
        return False
    # Two rows of a table, or two fields such as "Name: Ada".
    text = line.lstrip()
    if _COLUMNS.search(text) and _COLUMNS.search(begin):
        return False
    if FIELD.match(text) and FIELD.match(begin):
        return False
    # The further lines of a list item, also one that describes an option, are indented more than its first line.
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
    return len(line) + 1 + len(next_word) > share * width


def _hang(line: str) -> int:
    """Count the blanks that a next line needs at least to belong to the list item of ``line``; 0 if it is no item."""
    indent = _indent(line)
    return indent + 1 if _ITEM.match(line, indent) else 0


def _indent(line: str) -> int:
    """Count the blanks and quotation signs (>) at the beginning of a line."""
    match = _INDENT.match(line)
    return match.end() if match else 0
