"""Remove struck-out and hidden text from HTML pages and Markdown files before they are read.

An author who strikes a text through has taken it back, and a reader of the page does not see hidden text. So neither
may be the source of an answer. Only what the page itself says counts: its elements and their attributes. Style sheets
and scripts are not followed.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

# Matches a part of a page that holds no elements, or a tag. The parts are a comment, a script and a style sheet; each
# lasts until the end of the page if its end is missing. Of a tag such as `</p class="a">`, the group "slash" is "/",
# "name" is "p", and "attributes" is ` class="a"`.
_PART = re.compile(
    r"""
    <!--.*?(?:-->|\Z)
    | <(?P<raw>script|style|textarea|title)\b[^<>]*>.*?(?:</(?P=raw)\s*>|\Z)
    | <(?P<slash>/?)(?P<name>[a-z][a-z0-9]*)\b(?P<attributes>[^<>]{0,1000})>
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
# Matches what a page with a struck-out or hidden element has: such an element, or a word of its attributes.
_CANDIDATE = re.compile(
    r"<(?:s|del|strike)\b|\bhidden\b|\bdisplay\s*:|\bvisibility\s*:|\bline-through\b", re.IGNORECASE
)
# The elements whose text is struck through.
_STRUCK = frozenset(("s", "del", "strike"))
# The elements that hold a whole page. Some pages hide them until a script shows them.
_WHOLE = frozenset(("html", "body", "main", "article"))
# The elements without an end.
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
# Matches a value in quotation marks.
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
# Matches the attribute `hidden`, in attributes whose quoted values are removed.
_HIDDEN = re.compile(r"(?:^|\s)hidden(?=[\s=/]|$)", re.IGNORECASE)
# Matches the attribute `style`, such as `style="color: red"`. The group "rules" is its value with quotation marks.
_STYLE = re.compile(r"\sstyle\s*=\s*(?P<rules>\"[^\"]*\"|'[^']*')", re.IGNORECASE)
# Matches a rule that hides an element, such as "display: none".
_HIDING = re.compile(r"\b(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE)
# Matches a rule that strikes an element through, such as "text-decoration: line-through".
_STRIKING = re.compile(r"\btext-decoration(?:-line)?\s*:[^;]*\bline-through\b", re.IGNORECASE)
# Matches a struck-out text in Markdown, such as `~~12~~`. Does not match `~~ 12 ~~`, and not across an empty line.
_TILDES = re.compile(r"(?<![~\\])~~(?![~\s])(?:[^~\n]|\n(?!\s*\n)|~(?!~)){1,2000}(?<![\s~])~~(?!~)")


class _Removal(NamedTuple):
    """A part of a page to remove: its begin and end, in characters, and whether it is struck through."""

    begin: int
    end: int
    is_struck: bool


def strike_page(page: str) -> tuple[str, int]:
    """Remove the struck-out and hidden elements from a page.

    For example, ``<p>The fee is <s>12</s> 15 euros.</p>`` becomes ``<p>The fee is  15 euros.</p>``. An element without
    an end stays.

    :param page: The HTML of the page.
    :returns: The HTML without these elements, and the number of struck-out elements. The hidden elements are not
        counted, because nearly every page has some, such as menus.
    """
    removals = list(_elements(page))
    return _without(page, removals), sum(removal.is_struck for removal in removals)


def strike_markdown(text: str, code: re.Pattern[str]) -> tuple[str, int]:
    """Remove the struck-out texts and the struck-out and hidden HTML elements from a Markdown text.

    For example, ``The fee is ~~12~~ 15 euros.`` becomes ``The fee is  15 euros.``.

    :param text: The Markdown text.
    :param code: Matches a piece of code, in which nothing is struck out.
    :returns: The Markdown text without these texts, and the number of struck-out texts.
    """
    # The signs of code are replaced by as many other signs. So the places of all other texts stay the same.
    prose = code.sub(lambda piece: "x" * len(piece[0]), text)
    removals = [_Removal(*match.span(), True) for match in _TILDES.finditer(prose)]
    removals = sorted([*removals, *_elements(prose)])
    return _without(text, removals), sum(removal.is_struck for removal in removals)


def _elements(page: str) -> Iterator[_Removal]:
    """Yield the struck-out and hidden elements of a page. Elements inside such an element are not yielded."""
    if not _CANDIDATE.search(page):
        return
    # The name and the begin of the present element that may be removed, and whether it is struck through. The name is
    # empty if there is none.
    name, begin, is_struck = "", 0, False
    # How many elements of this name are open.
    depth = 0
    # Where the last element of each name ends.
    ends = {part["name"].lower(): part.end() for part in _PART.finditer(page) if part["slash"]}
    for part in _PART.finditer(page):
        tag = (part["name"] or "").lower()
        if name and tag == name:
            depth += -1 if part["slash"] else 1
            if depth == 0:
                yield _Removal(begin, part.end(), is_struck)
                name = ""
        elif not name and tag and not part["slash"] and not part["attributes"].endswith("/"):
            reason = _reason(tag, part["attributes"])
            if reason and ends.get(tag, 0) > part.end():
                name, begin, is_struck, depth = tag, part.start(), reason == "struck", 1


def _reason(tag: str, attributes: str) -> str:
    """Return "struck" or "hidden" for an element that is to be removed, and "" for any other element."""
    style = _STYLE.search(attributes)
    rules = style["rules"] if style else ""
    if tag in _STRUCK or _STRIKING.search(rules):
        return "struck"
    is_hidden = _HIDING.search(rules) or _HIDDEN.search(_QUOTED.sub('""', attributes))
    return "hidden" if is_hidden and tag not in _WHOLE and tag not in _VOID else ""


def _without(text: str, removals: list[_Removal]) -> str:
    """Remove parts of a text. A blank keeps two words apart that would otherwise become one word."""
    pieces: list[str] = []
    end = 0
    for removal in removals:
        if removal.begin < end:
            continue
        before = text[end : removal.begin]
        is_behind_word = text[removal.begin - 1 : removal.begin].isalnum()
        is_before_word = text[removal.end : removal.end + 1].isalnum()
        pieces += [before, " " if is_behind_word and is_before_word else ""]
        end = removal.end
    return "".join([*pieces, text[end:]])
