"""Remove struck-out and hidden text from HTML pages and Markdown files before they are read.

An author who strikes a text through has taken it back, and a reader of the page does not see hidden text. So neither
may be the source of an answer. Only what the page itself says counts: its elements and their attributes. Style sheets
and scripts are not followed.

A script may show a hidden element when a reader clicks, such as the text of a tab. So hidden elements stay if they are
tabs, if they stand directly behind a heading or a button, or if they hold much of the text of the page.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
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


# Matches the begin of a list item in Markdown, such as "- ", "2. " or ": ", or of a footnote, such as "[^1]:".
_LIST_ITEM = re.compile(r" {0,3}(?:[-*+:]|\d{1,9}[.)]|\[\^[^\]]{1,50}\]:)(?:\s|$)")
# Matches the attribute of a hidden element that a click or a search shows: role="tabpanel" or hidden="until-found".
_SHOWN_LATER = re.compile(r"""\s(?:role\s*=\s*["']?tabpanel|hidden\s*=\s*["']?until-found)\b""", re.IGNORECASE)
# Matches the end of a heading or a button at the end of a text, such as `</h2>`. A click on it may show the element
# behind it.
_OPENER = re.compile(r"</(?:h[1-6]|button|summary|dt)\s*>\s*\Z", re.IGNORECASE)
# The end of a heading or a button is looked for in this many characters before an element.
_BEFORE = 40
# Matches the attribute `class`, such as `class="tab"`.
_CLASS = re.compile(r"\sclass\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'>]+)", re.IGNORECASE)
# Matches a tag, a comment or a space. The rest of a page is its text.
_NO_TEXT = re.compile(r"<!--.*?-->|<[^<>]*>|\s+", re.DOTALL)
# Hidden elements of one kind stay if they hold more than this share of the text of the page, and more than this many
# letters.
_MUCH = 0.1
_MANY_LETTERS = 200
# Elements inside a hidden element that stays are judged again, at most this many times.
_MOST_LEVELS = 5
# The elements that are cells of a table.
_CELLS = frozenset(("td", "th"))
# The elements whose opening or closing tag ends a cell.
_CELL_ENDS = frozenset(("td", "th", "tr", "thead", "tbody", "tfoot"))
# Matches a row of a table, until its end or the next row.
_ROW = re.compile(r"<tr\b[^<>]{0,1000}>.*?(?:</tr\s*>|(?=<tr\b|</?table\b|</?t(?:head|body|foot)\b)|\Z)", re.I | re.S)
# Matches the beginning of a table.
_TABLE = re.compile(r"<table\b", re.IGNORECASE)


class _Removal(NamedTuple):
    """A part of a page to remove.

    :param begin: The position of its first character.
    :param end: The position behind its last character.
    :param is_struck: Whether it is struck through. Otherwise it is hidden.
    :param kind: The tag and the class of a hidden element, such as `div class="tab"`. "" for a struck-out part and for
        a cell, which are always removed.
    """

    begin: int
    end: int
    is_struck: bool
    kind: str = ""


class _Row:
    """Counts the cells of a table in the order of the page, to tell in which column a cell stands."""

    def __init__(self) -> None:
        self.number = 0
        self.column = 0
        # The columns whose cell in the first row is hidden.
        self.hidden = set[int]()


def strike_page(page: str) -> tuple[str, int]:
    """Remove the struck-out and hidden elements from a page.

    For example, ``<p>The fee is <s>12</s> 15 euros.</p>`` becomes ``<p>The fee is  15 euros.</p>``. An element without
    an end stays. Of a cell of a table, only the content is removed, so that the cells to its right keep their columns.
    The cell itself is removed if it is hidden together with the name of its column. A row is removed if nothing of it
    is left.

    :param page: The HTML of the page.
    :returns: The HTML without these elements, and the number of removed elements with text.
    """
    removals = _removals(page)
    count = sum(_has_text(page, removal) for removal in removals)
    return _without(page, _with_rows(page, removals)), count


def strike_markdown(text: str, code: re.Pattern[str]) -> tuple[str, int]:
    """Remove the struck-out texts and the struck-out and hidden HTML elements from a Markdown text.

    For example, ``The fee is ~~12~~ 15 euros.`` becomes ``The fee is  15 euros.``.

    :param text: The Markdown text.
    :param code: Matches a piece of code, in which nothing is struck out. Neither is anything in indented code.
    :returns: The Markdown text without these texts, and the number of struck-out texts.
    """
    # The signs of code are replaced by as many other signs. So the places of all other texts stay the same.
    prose = _without_indented_code(code.sub(_as_many_signs, text))
    struck_texts = [_Removal(match.start(), match.end(), True) for match in _TILDES.finditer(prose)]
    removals = sorted([*struck_texts, *_removals(prose)])
    count = sum(_has_text(text, removal) for removal in removals)
    return _without(text, removals), count


def _as_many_signs(piece: re.Match[str]) -> str:
    """Return as many signs as a piece of code has: "xxx" for "a()"."""
    return "x" * len(piece[0])


def _without_indented_code(text: str) -> str:
    """Replace each sign of indented code in a Markdown text by an "x".

    Such code stands behind an empty line, and its lines begin with four blanks or a tab. Indented lines below an item
    of a list belong to the item, so they are no code.
    """
    lines = []
    is_behind_empty_line = True
    is_in_list = False
    is_in_code = False
    for line in text.split("\n"):
        if not line.strip():
            lines.append(line)
            is_behind_empty_line = True
            continue

        is_indented = line.startswith(("    ", "\t"))
        may_be_code = is_indented and not is_in_list
        is_in_code = may_be_code and (is_in_code or is_behind_empty_line)
        # A line without any indentation behind an empty line ends a list, unless it is the next item.
        ends_list = is_behind_empty_line and not line.startswith(" ")
        if not is_indented:
            is_item = _LIST_ITEM.match(line) is not None
            is_in_list = is_item or (is_in_list and not ends_list)
        is_behind_empty_line = False
        lines.append("x" * len(line) if is_in_code else line)
    return "\n".join(lines)


def _removals(page: str) -> list[_Removal]:
    """Find the elements of a page that are to be removed."""
    if not _CANDIDATE.search(page):
        return []
    # Where the hidden elements begin that stay.
    staying: set[int] = set()
    for _ in range(_MOST_LEVELS):
        removals = list(_elements(page, staying))
        large = _begins_of_large(page, removals)
        if not large:
            break
        # The elements inside those that stay are judged in the next round.
        staying |= large
    return removals


def _begins_of_large(page: str, removals: Sequence[_Removal]) -> set[int]:
    """Return where the hidden elements begin that hold much of the text of the page.

    Elements with the same tag and class are judged together, because each may be the text of one tab.
    """
    letters = Counter[str]()
    for removal in removals:
        if removal.kind:
            letters[removal.kind] += _count_letters(page[removal.begin : removal.end])
    if not letters:
        return set()
    total = _count_letters(page)
    large = set[str]()
    for kind, number in letters.items():
        is_much = number > _MUCH * total and number > _MANY_LETTERS
        # A page that hides more than nine tenths of its text shows it by a script.
        is_nearly_all = 10 * number > 9 * total
        if is_much or is_nearly_all:
            large.add(kind)
    return {removal.begin for removal in removals if removal.kind in large}


def _count_letters(page: str) -> int:
    """Count the characters that are shown of a part of a page, without spaces."""
    shown = _PART.sub(lambda part: "" if part["raw"] else part[0], page)
    return len(_NO_TEXT.sub("", shown))


def _has_text(page: str, removal: _Removal) -> bool:
    """Check whether a removed part of a page had text."""
    return bool(_NO_TEXT.sub("", page[removal.begin : removal.end]))


def _with_rows(page: str, removals: Sequence[_Removal]) -> list[_Removal]:
    """Add the rows of tables of which nothing is left. An empty row would look like the end of the table."""
    # A merged cell of several rows would move to a wrong row, so the rows of such pages stay.
    if not removals or "rowspan" in page.lower():
        return [*removals]
    added = []
    # The position of the first removal that does not end before the present row.
    number = 0
    for row in _ROW.finditer(page):
        while number < len(removals) and removals[number].end <= row.start():
            number += 1
        # A row that holds another table is no row of data.
        if _TABLE.match(page, row.end()):
            continue
        # The removals in the row, with positions in the text of the row.
        inside = []
        while number < len(removals) and removals[number].begin < row.end():
            begin = removals[number].begin - row.start()
            end = removals[number].end - row.start()
            inside.append(_Removal(max(0, begin), end, True))
            # A removal that goes on behind the row is also looked at for the next row.
            if end > len(row[0]):
                break
            number += 1
        if not inside:
            continue
        rest_of_row = _without(row[0], inside)
        if not _NO_TEXT.sub("", rest_of_row):
            added.append(_Removal(row.start(), row.end(), True))
    # Of two parts that begin at the same place, the longer one comes first.
    return sorted([*added, *removals], key=lambda removal: (removal.begin, -removal.end))


def _elements(page: str, staying: Set[int]) -> Iterator[_Removal]:
    """Yield the struck-out and hidden elements of a page. Elements inside such an element are not yielded.

    :param page: The HTML of the page.
    :param staying: Where the hidden elements begin that stay.
    """
    # The element to remove whose end comes next. None if there is none.
    present: _OpenElement | None = None
    # The rows of the open tables.
    rows: list[_Row] = []
    # Where the last element of each name ends.
    ends = {part["name"].lower(): part.end() for part in _PART.finditer(page) if part["slash"]}
    for part in _PART.finditer(page):
        tag = (part["name"] or "").lower()
        if not tag:
            continue
        is_end = bool(part["slash"])
        if present is not None:
            if not present.ends_at(tag, is_end):
                continue
            yield present.removal._replace(end=_end_of(page, present, part))
            is_cell = present.tag in _CELLS
            present = None
            # The tag that ends a cell may begin the next cell or row. Other elements end at their own closing tag.
            if not is_cell:
                continue

        _count_cells(rows, tag, is_end)
        if is_end or part["attributes"].endswith("/"):
            continue
        has_end = tag in _CELLS or ends.get(tag, 0) > part.end()
        if has_end:
            present = _opened(page, part, rows, staying)


@dataclass
class _OpenElement:
    """An element to remove whose end is not reached yet.

    :param tag: The name of the element.
    :param removal: The part of the page to remove, as far as it is known.
    :param depth: How many elements of this name are open. Of a cell, how many tables inside it.
    """

    tag: str
    removal: _Removal
    depth: int

    def ends_at(self, tag: str, is_end: bool) -> bool:
        """Take account of the next tag of the page, and check whether the element ends there."""
        counted_tag = "table" if self.tag in _CELLS else self.tag
        if tag == counted_tag:
            self.depth += -1 if is_end else 1
        if self.tag in _CELLS:
            return self.depth < 0 or (self.depth == 0 and tag in _CELL_ENDS)
        return self.depth == 0


def _end_of(page: str, element: _OpenElement, part: re.Match[str]) -> int:
    """Return where the part to remove ends, if the element ends at this tag."""
    if element.tag not in _CELLS:
        return part.end()
    begin = element.removal.begin
    beginning = page[begin : begin + 3].lower()
    is_removed_with_tags = beginning in ("<td", "<th")
    is_closing_tag = bool(part["slash"]) and part["name"].lower() in _CELLS
    return part.end() if is_removed_with_tags and is_closing_tag else part.start()


def _opened(page: str, part: re.Match[str], rows: Sequence[_Row], staying: Set[int]) -> _OpenElement | None:
    """Return the element that begins at a tag; None if it is not to be removed.

    :param page: The HTML of the page.
    :param part: The opening tag.
    :param rows: The present row of each open table.
    :param staying: Where the hidden elements begin that stay.
    """
    tag = part["name"].lower()
    reason = _reason(tag, part["attributes"])
    if not reason:
        return None
    if tag in _CELLS:
        is_hidden_column = reason == "hidden" and bool(rows) and _is_hidden_column(rows[-1])
        begin = part.start() if is_hidden_column else part.end()
        return _OpenElement(tag, _Removal(begin, part.end(), reason == "struck"), depth=0)
    if reason == "struck":
        return _OpenElement(tag, _Removal(part.start(), part.end(), True), depth=1)
    if part.start() in staying or _is_shown_later(page, part):
        return None
    class_attribute = _CLASS.search(part["attributes"])
    kind = f"{tag}{class_attribute[0]}" if class_attribute else tag
    return _OpenElement(tag, _Removal(part.start(), part.end(), False, kind), depth=1)


def _count_cells(rows: list[_Row], tag: str, is_end: bool) -> None:
    """Count the tables, rows and cells of a page.

    :param rows: The present row of each open table. It is changed.
    :param tag: The name of the next tag of the page.
    :param is_end: Whether the tag ends an element.
    """
    if tag == "table" and not is_end:
        rows.append(_Row())
        return
    if not rows:
        return
    if tag == "table":
        rows.pop()
    elif is_end:
        return
    elif tag == "tr":
        rows[-1].number += 1
        rows[-1].column = 0
    elif tag in _CELLS:
        rows[-1].column += 1


def _is_hidden_column(row: _Row) -> bool:
    """Check whether the present cell, which is hidden, stands below a hidden cell of the first row, or is that cell.

    A cell of the first row is noted for the rows below.
    """
    if row.number == 1:
        row.hidden.add(row.column)
    return row.column in row.hidden


def _is_shown_later(page: str, part: re.Match[str]) -> bool:
    """Check whether a hidden element is a tab, or stands directly behind a heading or a button that shows it."""
    if _SHOWN_LATER.search(part["attributes"]):
        return True
    begin = max(0, part.start() - _BEFORE)
    return _OPENER.search(page[begin : part.start()]) is not None


def _reason(tag: str, attributes: str) -> str:
    """Return "struck" or "hidden" for an element that is to be removed, and "" for any other element."""
    style = _STYLE.search(attributes)
    rules = style["rules"] if style else ""
    if tag in _STRUCK or _STRIKING.search(rules):
        return "struck"
    if tag in _WHOLE or tag in _VOID:
        return ""
    is_hidden = _HIDING.search(rules) or _HIDDEN.search(_QUOTED.sub('""', attributes))
    return "hidden" if is_hidden else ""


def _without(text: str, removals: list[_Removal]) -> str:
    """Remove parts of a text. A blank keeps two words apart that would otherwise become one word."""
    pieces: list[str] = []
    end = 0
    for removal in removals:
        if removal.begin < end:
            continue
        pieces.append(text[end : removal.begin])
        character_before = text[removal.begin - 1 : removal.begin]
        character_behind = text[removal.end : removal.end + 1]
        if character_before.isalnum() and character_behind.isalnum():
            pieces.append(" ")
        end = removal.end
    pieces.append(text[end:])
    return "".join(pieces)
