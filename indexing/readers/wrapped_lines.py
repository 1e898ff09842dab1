"""Join the lines of paragraphs that people or programs have broken at the width of a page."""

import re
from itertools import groupby, pairwise

from prefrag.components.text.sentences import FIELD, ends_with_stop

# The width of a typed page in characters. If lines are longer, each line is taken for a whole paragraph.
_MOST_WIDTH = 130
_LEAST_WIDTH = 30
# A line is joined with the next line if the line and the next word fill more than this share of the width. 60% is
# enough, because many lines end early. After a full stop, 80% is needed, because the paragraph may end there.
_FULL, _FULL_STOPPED = 0.6, 0.8
_LETTER = re.compile(r"[^\W\d_]")
_ITEM = re.compile(r"[-+*\u2022\u2013\u25cf\u25e6](?:\s|-?\w)|\(?(?:\d{1,3}|[A-Za-z])[.)]\s")
# Matches gaps between columns and the dots in a table of contents, but not the two blanks that justified text may have.
_COLUMNS = re.compile(r"\S(?: {3,}|\t)\s*\S|\||(?:\. ?){4}")
_INDENT = re.compile(r"\s*(?:>\s?)*")
_PARTED = re.compile(r"[^\W_]*[^\W\d_]-$")
_BEGIN = re.compile(r"[^\W\d_]+")
_MOST_PARTED = 50


def unwrap_lines(text: str, most_width: int = _MOST_WIDTH) -> str:
    """Join the lines of each paragraph, and the parts of words that are hyphenated at line ends.

    A line is joined with the next line if it is so full that the next word had no room. If the next line begins with a
    small letter, half a line is enough. All lines are compared with the width of the whole text. So verse, addresses
    and headings, which are narrower, are not joined, and neither are lists, tables and code. If the text is wider than
    ``most_width`` characters, nothing is joined.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    lengths = sorted(len(line) for line in lines if _LETTER.search(line))
    width = lengths[len(lengths) * 9 // 10] if lengths else 0
    if not 0 < width <= most_width:
        return text
    is_parted = any(line.endswith("-") for line in lines)
    words = {match[0].lower() for match in re.finditer(r"[^\W_]+(?:-[^\W_]+)*", text)} if is_parted else set()
    pieces: list[str] = []
    for has_letters, block in groupby(lines, key=lambda line: bool(_LETTER.search(line))):
        block_lines = list(block)
        pieces += [_join(block_lines, width, words)] if has_letters else block_lines
    return "\n".join(pieces)


def _join(block: list[str], width: int, words: set[str]) -> str:
    pieces = block[:1]
    hang, goes_on = _hang(block[0]), False
    for line, following in pairwise(block):
        begin = following[_indent(following) :]
        goes_on = _goes_on(line, following, width, hang, goes_on)
        if not goes_on:
            pieces += ["\n", following]
            hang = _hang(following)
            continue
        end = _PARTED.search(line[-_MOST_PARTED:])
        if end is None or (word := _BEGIN.match(begin)) is None:
            pieces.append(" ")
        # A word such as "well-known" may be broken after its own hyphen, which must stay.
        elif begin[0].islower() and not (
            f"{end[0]}{word[0]}".lower() in words and f"{end[0][:-1]}{word[0]}".lower() not in words
        ):
            pieces[-1] = pieces[-1][:-1]
        pieces.append(begin)
    return "".join(pieces)


def _goes_on(line: str, following: str, width: int, hang: int, within: bool) -> bool:
    begin = following[_indent(following) :]
    if line.endswith(("|", ";", "{", "}", "\\")) or (_ITEM.match(begin) and not line.endswith(",")):
        return False
    if line.lstrip().startswith(">") != following.lstrip().startswith(">"):
        return False
    if any(form(line.lstrip()) and form(begin) for form in (_COLUMNS.search, FIELD.match)):
        return False
    # The further lines of a list item, or of an option's description, are indented more than its first line.
    if hang and _indent(following) >= hang:
        return not line.endswith(":")
    if (begin[0].islower() and not line.endswith(":")) or line.endswith(","):
        return len(line) > width / 2 or (within and _indent(line) == _indent(following))
    if width < _LEAST_WIDTH:
        return False
    is_stopped = ends_with_stop(line)
    if within and not is_stopped and _indent(line) == _indent(following):
        return True
    return len(line) + 1 + len(begin.split(maxsplit=1)[0]) > (_FULL_STOPPED if is_stopped else _FULL) * width


def _hang(line: str) -> int:
    """Find how far a line must be indented to continue the list item that ``line`` begins. Returns 0 if none begins."""
    indent = _indent(line)
    return indent + 1 if _ITEM.match(line, indent) else 0


def _indent(line: str) -> int:
    """Count the blanks and quotation signs (>) at the beginning of a line."""
    match = _INDENT.match(line)
    return match.end() if match else 0
