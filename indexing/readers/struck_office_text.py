"""Remove struck-out and hidden text from Office, OpenDocument and RTF files before they are read.

An author who strikes a text through has taken it back, and a reader of the file does not see hidden text. So neither
may be the source of an answer. The functions here change the XML of a file in place and count what they remove. The
readers write the count into :attr:`Outline.loss` by :func:`note_left_out`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from prefrag.components.text.counted import counted
from prefrag.indexing.readers.headings import Outline

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from lxml.etree import _Element as LxmlElement

# The namespaces of Word, of the drawings in PowerPoint, and of OpenDocument.
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
# What a struck-out or hidden part of a file is called in the report on the file.
STRUCK = "struck-out or hidden text"
# The properties of a Word text that strike it through (once or twice) or hide it.
_WORD_PROPERTIES = ("strike", "dstrike", "vanish")
# The values with which a Word file turns a property off.
_OFF = ("0", "false", "off")
# The values with which a PowerPoint file strikes a text through once or twice.
_SLIDE_STRIKES = ("sngStrike", "dblStrike")
# Matches the opening tag of a row in the XML of a sheet, such as `<row r="3" hidden="1">`. The tag may have a prefix.
_ROW = re.compile(rb"<(?:\w+:)?row\s[^<>]{1,500}>")
# Matches the tag of one or several columns, such as `<col min="2" max="3" hidden="1"/>`.
_COLUMN = re.compile(rb"<(?:\w+:)?col\s[^<>]{1,500}>")
# Matches the attribute of a hidden row or column: hidden="1".
_HIDDEN = re.compile(rb'\shidden="(?:1|true)"')
# Matches the attribute of a row or column in a group that can be folded: outlineLevel="1".
_GROUPED = re.compile(rb'\soutlineLevel="[1-9]')
# Matches the condition of a filter in a sheet or in a table of a sheet: `<filterColumn colId="0">`.
FILTER = re.compile(rb"<(?:\w+:)?filterColumn\b")
# Matches an attribute with a number, such as `min="2"`.
_NUMBER = re.compile(rb'\s(r|min|max)="(\d{1,7})"')
# The parts of RTF: a control word with its number, such as `\strike0`; a character by its code, such as `\'e4`; another
# sign behind a backslash; a brace; plain text.
_RTF_PART = re.compile(
    r"(?P<word>\\(?P<name>[a-z]+)(?P<number>-?\d{1,10})?\x20?)|(?P<text>\\'[0-9a-f]{2}|[^\\{}]+)|\\.|[{}]",
    re.IGNORECASE | re.DOTALL,
)
# The control words of RTF that strike text through or hide it.
_RTF_WORDS = frozenset(("strike", "striked", "v", "deleted"))
# The control words of RTF that begin a list of names, such as those of the styles and fonts. Its names are no text.
_RTF_LISTS = frozenset(("stylesheet", "fonttbl", "colortbl", "info", "listtable", "listoverridetable", "generator"))
# Matches one of these control words, such as `\strike` or `\v`. Does not match `\viewkind` or `\v0`.
_RTF_STRIKE = re.compile(r"\\(?:strike|striked1|v|deleted)(?![a-z0])")
# The family of the style that an element of an OpenDocument file names.
_FAMILIES = {
    f"{_TEXT}p": "paragraph",
    f"{_TEXT}h": "paragraph",
    f"{_TEXT}span": "text",
    f"{_TEXT}a": "text",
    f"{_TABLE}table-cell": "table-cell",
    f"{_TABLE}covered-table-cell": "table-cell",
}
# The family and the name of a style in an OpenDocument file.
_StyleKey = tuple[str | None, str | None]


class HiddenLines(NamedTuple):
    """The hidden rows and columns of a sheet, by their numbers from 0."""

    rows: frozenset[int]
    columns: frozenset[int]


def note_left_out(outline: Outline, number: int, noun: str) -> None:
    """Add to ``outline.loss`` that parts of the file are left out. Nothing is added if there are none.

    For example, ``note_left_out(outline, 2, "struck-out or hidden text")`` adds "2 struck-out or hidden texts left
    out".

    :param outline: The outline of the file.
    :param number: The number of parts.
    :param noun: What a part is, in the singular.
    """
    if number:
        loss = f"{counted(number, noun)} left out"
        outline.loss = f"{outline.loss}; {loss}" if outline.loss else loss


def strike_word_text(root: LxmlElement, styles: dict[str | None, frozenset[str]]) -> int:
    """Remove the struck-out and hidden texts and the hidden rows from a part of a Word file.

    A row of a table of which nothing is left is removed, because an empty row would look like the end of the table. The
    source of a tracked move is removed, too, because its text stands where it was moved to.

    :param root: The element of the part, such as its body.
    :param styles: The properties of each style, from :func:`word_styles`.
    :returns: The number of paragraphs and rows from which something was removed.
    """
    _remove_moved_text(root)
    count = 0
    for row in list(root.iter(f"{_WORD}tr")):
        if is_on(row.find(f"{_WORD}trPr/{_WORD}hidden")):
            row.getparent().remove(row)
            count += 1
    # The rows of tables from which a text is removed.
    changed: set[LxmlElement] = set()
    for paragraph in root.iter(f"{_WORD}p"):
        style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
        inherited = _properties_of(style, styles)
        struck_runs = [run for run in paragraph.iter(f"{_WORD}r") if _is_struck_run(run, inherited, styles)]
        if any(run.find(f"{_WORD}t") is not None for run in struck_runs):
            count += 1
        for run in struck_runs:
            # Outside a table, there is no row.
            changed.update(_rows_around(run, f"{_WORD}tr")[:1])
        for run in struck_runs:
            del run[:]
    for row in changed:
        if not _has_text(row, f"{_WORD}t"):
            row.getparent().remove(row)
    return count


def _remove_moved_text(root: LxmlElement) -> None:
    """Remove the text at the source of each tracked move."""
    for moved in list(root.iter(f"{_WORD}moveFrom")):
        for run in list(moved.iter(f"{_WORD}r")):
            del run[:]


def _rows_around(element: LxmlElement, row_tag: str) -> list[LxmlElement]:
    """Return the rows of tables in which an element stands, from the innermost. Empty outside a table."""
    return list(element.iterancestors(row_tag))


def _has_text(row: LxmlElement, text_tag: str) -> bool:
    """Check whether a row has an element of text that is not blank."""
    return any(text.text and text.text.strip() for text in row.iter(text_tag))


def word_styles(styles: LxmlElement) -> dict[str | None, frozenset[str]]:
    """Return the properties of each style of a Word file that strike text through or hide it.

    :param styles: The root element of the styles.
    :returns: The names of the properties, such as "strike", by the ID of the style. A style has those of the style that
        it is based on.
    """
    own: dict[str | None, dict[str, bool]] = {}
    bases: dict[str | None, str | None] = {}
    for style in styles.iter(f"{_WORD}style"):
        key = style.get(f"{_WORD}styleId")
        base = style.find(f"{_WORD}basedOn")
        bases[key] = None if base is None else base.get(f"{_WORD}val")
        own[key] = _own_properties(style.find(f"{_WORD}rPr"))

    if not any(True in properties.values() for properties in own.values()):
        return {}
    styles_with_bases: dict[str | None, frozenset[str]] = {}
    for key, properties in own.items():
        base_key = bases[key]
        # A style that is based on itself, or on more than nine other styles, is not followed further.
        for _ in range(9):
            if base_key not in own:
                break
            # What a style says itself is preferred to what its base says.
            properties = own[base_key] | properties
            base_key = bases[base_key]
        styles_with_bases[key] = frozenset(name for name, is_on in properties.items() if is_on)
    return styles_with_bases


def _own_properties(properties: LxmlElement | None) -> dict[str, bool]:
    """Return which properties of :data:`_WORD_PROPERTIES` an element `rPr` turns on or off."""
    if properties is None:
        return {}
    elements = {name: properties.find(f"{_WORD}{name}") for name in _WORD_PROPERTIES}
    return {name: is_on(element) for name, element in elements.items() if element is not None}


def is_on(element: LxmlElement | None) -> bool:
    """Check whether a property of a Word file exists and is not turned off."""
    return element is not None and element.get(f"{_WORD}val", "1") not in _OFF


def _properties_of(style: LxmlElement | None, styles: dict[str | None, frozenset[str]]) -> frozenset[str]:
    """Return the properties of the style that an element `pStyle` or `rStyle` names."""
    return frozenset() if style is None else styles.get(style.get(f"{_WORD}val"), frozenset())


def _is_struck_run(run: LxmlElement, inherited: frozenset[str], styles: dict[str | None, frozenset[str]]) -> bool:
    """Check whether a run of a Word file is struck through or hidden, by itself, by its style or by its paragraph."""
    properties = run.find(f"{_WORD}rPr")
    if properties is None:
        return bool(inherited)
    named = inherited | _properties_of(properties.find(f"{_WORD}rStyle"), styles)
    # What a run says itself is preferred to what its styles say.
    is_on = dict.fromkeys(named, True) | _own_properties(properties)
    return any(is_on.values())


def strike_slide_text(root: LxmlElement) -> int:
    """Remove the struck-out texts from a slide or its notes, and the rows of tables of which nothing is left.

    :param root: The element of the slide.
    :returns: The number of removed texts.
    """
    count = 0
    # The rows of tables from which a text is removed.
    changed: set[LxmlElement] = set()
    # A field, such as a date, is a text of its own kind.
    for tag in ("r", "fld"):
        for run in root.iter(f"{_DRAWING}{tag}"):
            properties = run.find(f"{_DRAWING}rPr")
            text = run.find(f"{_DRAWING}t")
            if properties is None or text is None:
                continue
            if properties.get("strike") in _SLIDE_STRIKES:
                if text.text:
                    count += 1
                text.text = ""
                changed.update(_rows_around(run, f"{_DRAWING}tr")[:1])
    for row in changed:
        is_merged = any(cell.get("rowSpan") or cell.get("vMerge") for cell in row.iter(f"{_DRAWING}tc"))
        stays = is_merged or _has_text(row, f"{_DRAWING}t")
        if not stays:
            row.getparent().remove(row)
    return count


def strike_open_document(body: Element, roots: Iterable[Element]) -> int:
    """Remove the struck-out and hidden texts from an OpenDocument file.

    A row of a table of which nothing is left is removed, because an empty row would look like the end of the table.

    :param body: The element with the content of the file.
    :param roots: The roots of the parts that define styles. The styles of an earlier part win.
    :returns: The number of removed texts.
    """
    hidden_styles = _hidden_styles(roots)
    # The rows that have text before anything is removed. A row with a covered cell belongs to a merged cell, so it is
    # never removed.
    unmerged_rows = (row for row in body.iter(f"{_TABLE}table-row") if row.find(f"{_TABLE}covered-table-cell") is None)
    full_rows = [row for row in unmerged_rows if _has_open_text(row)]
    count = 0
    for element in body.iter():
        has_content = bool(element.text) or len(element) > 0
        if has_content and _is_hidden_element(element, hidden_styles):
            count += 1
            element.attrib.pop(f"{_OFFICE}date-value", None)
            element.text = None
            del element[:]
    if not count:
        return 0

    emptied = {row for row in full_rows if not _has_open_text(row)}
    if emptied:
        for parent in list(body.iter()):
            for row in [child for child in parent if child in emptied]:
                parent.remove(row)
    return count


def _is_hidden_element(element: Element, hidden_styles: set[_StyleKey]) -> bool:
    """Check whether an element of an OpenDocument file is struck through or hidden, by its style or by itself."""
    if _style_of(element) in hidden_styles or element.get(f"{_TEXT}is-hidden") == "true":
        return True
    is_section = element.tag == f"{_TEXT}section"
    return is_section and bool(element.get(f"{_TEXT}display") == "none")


def _style_of(element: Element) -> _StyleKey:
    """Return the style of an element of an OpenDocument file."""
    family = _FAMILIES.get(element.tag)
    if not family:
        return None, None
    space = _TABLE if family == "table-cell" else _TEXT
    return family, element.get(f"{space}style-name")


def _has_open_text(row: Element) -> bool:
    """Check whether a row of an OpenDocument file has text."""
    return any(text.strip() for text in row.itertext())


def _hidden_styles(roots: Iterable[Element]) -> set[_StyleKey]:
    """Return the styles of texts, paragraphs and cells that strike text through or hide it.

    Several styles may have the same name, if they are of different families or stand in different parts of a file.

    :param roots: The roots of the parts that define styles. The styles of an earlier part win.
    """
    own: dict[_StyleKey, bool | None] = {}
    parents: dict[_StyleKey, _StyleKey] = {}
    for root in roots:
        for style in root.iter(f"{_STYLE}style"):
            family = style.get(f"{_STYLE}family")
            key = family, style.get(f"{_STYLE}name")
            if key not in own:
                parents[key] = family, style.get(f"{_STYLE}parent-style-name")
                own[key] = _strikes(style.find(f"{_STYLE}text-properties"))

    hidden = set()
    for key, strikes in own.items():
        parent = parents[key]
        # A style that is based on itself, or on more than nine other styles, is not followed further.
        for _ in range(9):
            if strikes is not None or parent not in own:
                break
            strikes = own[parent]
            parent = parents[parent]
        if strikes:
            hidden.add(key)
    return hidden


def _strikes(properties: Element | None) -> bool | None:
    """Check whether the properties of a text strike it through or hide it. None if they do not say it."""
    if properties is None:
        return None
    line_style = properties.get(f"{_STYLE}text-line-through-style")
    line_type = properties.get(f"{_STYLE}text-line-through-type")
    display = properties.get(f"{_TEXT}display")
    if not (line_style or line_type or display):
        return None
    is_struck = any(line and line != "none" for line in (line_style, line_type))
    return is_struck or display == "none"


def hidden_lines(xml: bytes, has_filter: bool = False) -> HiddenLines:
    """Find the hidden rows and columns in the XML of a sheet.

    Rows that a filter hides are not among them, and neither are folded rows and columns, because both are only hidden
    for the moment.

    :param xml: The XML.
    :param has_filter: Whether a table of the file has a filter.
    :returns: The hidden rows and columns.
    """
    if not _HIDDEN.search(xml):
        return HiddenLines(frozenset(), frozenset())
    rows: set[int] = set()
    if not has_filter and not FILTER.search(xml):
        rows = {numbers[b"r"] - 1 for numbers in _hidden_tags(_ROW, xml) if b"r" in numbers}
    columns: set[int] = set()
    for numbers in _hidden_tags(_COLUMN, xml):
        # The columns are numbered from 1 in the file. Excel has 16,384 columns.
        begin = numbers.get(b"min", 1) - 1
        end = min(numbers.get(b"max", 0), 16_384)
        columns.update(range(begin, end))
    return HiddenLines(frozenset(rows), frozenset(columns))


def _hidden_tags(pattern: re.Pattern[bytes], xml: bytes) -> Iterator[dict[bytes, int]]:
    """Yield the numbers in each tag of a hidden row or column that is in no group."""
    for tag in pattern.finditer(xml):
        if _HIDDEN.search(tag[0]) and not _GROUPED.search(tag[0]):
            yield {name: int(number) for name, number in _NUMBER.findall(tag[0])}


def strike_rtf(text: str) -> tuple[str, int]:
    r"""Remove the struck-out and hidden texts from RTF.

    For example, ``{\rtf1 The fee is {\strike 12} 15 euros.}`` becomes ``{\rtf1 The fee is {\strike } 15 euros.}``.

    :param text: The RTF.
    :returns: The RTF without these texts, and their number.
    """
    if not _RTF_STRIKE.search(text):
        return text, 0
    state = _RtfState()
    pieces: list[str] = []
    count = 0
    was_hidden = False
    for part in _RTF_PART.finditer(text):
        # A character by its Unicode number, such as `\u228`, is text, too.
        has_text = bool(part["text"]) or part["name"] == "u"
        if not has_text or state.is_in_list:
            state.follow(part)
            pieces.append(part[0])
            continue
        # A text in several pieces counts once.
        if state.is_hidden and not was_hidden:
            count += 1
        if not state.is_hidden:
            pieces.append(part[0])
        was_hidden = state.is_hidden
    return "".join(pieces), count


class _RtfState:
    """What the control words and braces of RTF say about the text that follows."""

    def __init__(self) -> None:
        # The control words that hide the present text.
        self._hiding: frozenset[str] = frozenset()
        # The control words that hide the text of each group around it.
        self._groups: list[frozenset[str]] = []
        # How many groups were open when a list of names began. 0 outside such a list.
        self._list_depth = 0

    @property
    def is_hidden(self) -> bool:
        """Whether the present text is struck through or hidden."""
        return bool(self._hiding)

    @property
    def is_in_list(self) -> bool:
        """Whether the present place is in a list of names, such as those of the styles."""
        return self._list_depth > 0

    def follow(self, part: re.Match[str]) -> None:
        """Take account of the next control word or brace."""
        name = part["name"]
        if part[0] == "{":
            self._groups.append(self._hiding)
        elif part[0] == "}":
            self._hiding = self._groups.pop() if self._groups else frozenset()
            if len(self._groups) < self._list_depth:
                self._list_depth = 0
        elif self.is_in_list:
            return
        elif name in _RTF_LISTS:
            self._list_depth = len(self._groups)
        elif name in _RTF_WORDS:
            is_off = part["number"] == "0"
            self._hiding = self._hiding - {name} if is_off else self._hiding | {name}
        elif name == "plain":
            self._hiding = frozenset()
