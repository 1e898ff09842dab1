"""Turn tables, JSON and reStructuredText into plain text, and group the rows of tables into passages."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from prefrag.components.text.unicode_form import is_text
from prefrag.indexing.passage_splitting import ENOUGH_WORDS, MOST_CHARACTERS, MOST_WORDS, split_into_passages
from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.tables import Grid, limit_text, place_cells, write_grid
from prefrag.indexing.report import CannotRead

_SEPARATORS = ",;\t|"
# Excel writes and reads such a line above a table, as in "sep=;".
_SEPARATOR_LINE = re.compile(rf"sep=([{_SEPARATORS}])\s*", re.IGNORECASE)
# A line that is drawn between two rows of a table, as in "|---|:--:|" or "+====+====+", or a blank line.
_RULE = re.compile(r"[\s|+:=-]*")


def read_csv(text: str, outline: Outline) -> list[str]:
    """Read a table of values that are separated by commas, semicolons, tabs or bars. Returns a line for each row."""
    # Unlike `splitlines`, `StringIO` ends lines only at line breaks, and not at Unicode's other separators.
    lines = io.StringIO(text.removeprefix("\ufeff"), newline=None)
    first = re.sub(r'"[^"]*"', "", next(filter(str.strip, lines), ""))
    declared = _SEPARATOR_LINE.fullmatch(first)
    if declared:
        separator = declared[1]
    else:
        separator = max(_SEPARATORS, key=first.count)
        lines.seek(0)
    try:
        rows = list(csv.reader(lines, delimiter=separator, skipinitialspace=True))
    except csv.Error:
        # If a quotation mark is not closed, for example, the rest of the file is a single value and may be too long.
        return [line for line in map(_one_line, text.splitlines()) if line]
    return list(write_grid(Grid(rows), outline))


def write_bar_tables(text: str, outline: Outline) -> str:
    """Replace tables that are drawn with bars, as in Markdown, by rows with the names of their columns."""
    pieces: list[str] = []
    for columns, group in groupby(text.split("\n"), key=_count_columns):
        lines = list(group)
        stripped = [line.strip() for line in lines]
        rows = [line for line in stripped if not _RULE.fullmatch(line)]
        cells = (line.strip("|").split("|") for line in rows)
        is_framed = all(line.startswith("|") and line.endswith("|") for line in rows)
        # Bars also occur in code. So a table must have a rule below its header, or a bar at both ends of each row.
        has_rule = len(rows) < len(lines)
        has_frame = columns > 2 and is_framed
        is_drawn = has_rule or has_frame
        if columns > 1 and rows and is_drawn:
            headers = frozenset({0} if _has_marked_header(stripped) else ())
            pieces += write_grid(Grid(list(cells), headers=headers), outline)
        elif columns == 2 and is_framed:
            pieces += (": ".join(filter(None, map(_one_line, row))) for row in cells)
        else:
            pieces += lines
    return "\n".join(pieces)


def _has_marked_header(lines: list[str]) -> bool:
    """Check whether the only rule between the rows of a table, if any, stands below its first row."""
    signs = ["-" if _RULE.fullmatch(line) else "x" for line in lines]
    return re.fullmatch("x-x+", "".join(signs).strip("-")) is not None


def _count_columns(line: str) -> int:
    # Some programs draw a rule as in "|---+---|".
    bars_only = re.sub(r"(?<=-)\+(?=-)", "|", line)
    return bars_only.strip().strip("|+").count("|") + ("|" in bars_only)


def pack_rows(text: str) -> list[str]:
    """Group rows into passages. Only a row that is longer than a passage is split."""
    passages: list[str] = []
    current, words = "", 0
    for line in text.splitlines(keepends=True):
        line_words = len(line.split())
        has_room = words + line_words <= MOST_WORDS and len(current) + len(line) <= MOST_CHARACTERS
        goes_on = has_room and words < ENOUGH_WORDS and line_words > 0
        if current and not goes_on:
            passages.append(current)
            current, words = "", 0
        if line_words > MOST_WORDS or len(line) > MOST_CHARACTERS:
            passages += split_into_passages(line)
            continue
        current += line
        words += line_words
    return [*passages, current] if current else passages


# Names are cut to this many characters, because a name is repeated before each of its values.
_MOST_NAME = 200


def read_json(text: str) -> list[str]:
    """Read a JSON text. Returns its values as lines."""
    try:
        # Keep numbers as text. Python numbers would lose digits, and Python refuses very long numbers.
        return list(limit_text(_lines(json.loads(text, parse_int=str, parse_float=str, parse_constant=str), "")))
    except RecursionError as error:
        raise CannotRead("its values are nested too deeply") from error
    except ValueError as error:
        raise CannotRead(f"it is not JSON ({error})") from error


def write_fields(fields: Mapping[str, object]) -> str:
    """Write each field of a front matter as a line."""
    return "".join(f"{line}\n" for key, value in fields.items() for line in _lines({key: value}, "") if is_text(line))


def _lines(value: object, name: str) -> Iterator[str]:
    """Write an object as a line of its simple values, and a line for each object in its lists; the same below these."""
    values: list[str] = []
    lists: list[tuple[str, list[object]]] = []
    _collect(value, "", values, lists)
    if values:
        label = f"{name}: " if name else ""
        yield label + "; ".join(values)
    for below, items in lists:
        path = " > ".join(filter(None, (name, below)))[:_MOST_NAME]
        for item in items:
            yield from _lines(item, path)


def _collect(value: object, name: str, values: list[str], lists: list[tuple[str, list[object]]]) -> None:
    """Add simple values, also of nested objects, to ``values``. Add lists that hold lists or objects to ``lists``."""
    label = f"{name}: " if name else ""
    if isinstance(value, dict):
        for key, content in value.items():
            _collect(content, f"{name} {_one_line(key)}".strip()[:_MOST_NAME], values, lists)
    elif isinstance(value, list):
        if any(isinstance(item, list | dict) for item in value):
            lists.append((name, value))
            return
        joined = ", ".join(filter(None, map(_simple, value)))
        if joined:
            values.append(label + joined)
    elif simple := _simple(value):
        values.append(label + simple)


def _simple(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else _one_line(str(value))


# With these settings of docutils, a file cannot include other files or change the settings, and nothing is printed.
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": False,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "doctitle_xform": False,
    "output_encoding": "unicode",
}
_LEFT_OUT = ("comment", "substitution_definition", "target", "image", "raw", "label")


def read_rst(text: str, outline: Outline) -> str:
    """Turn reStructuredText into plain text with a mark at each heading.

    Included files are left out. Directives that only Sphinx knows become text.
    """
    from docutils.core import publish_doctree

    try:
        blocks = list(_blocks(publish_doctree(text, settings_overrides=_SETTINGS), 0, outline))
    except Exception:
        # Any exception is possible, because docutils has no limit of depth, and some directives do not handle errors.
        return text
    # docutils returns nothing if a line of the text has more than 10,000 characters.
    return "\n\n".join(blocks) if blocks else text


def _blocks(node: Any, depth: int, outline: Outline) -> Iterator[str]:
    from docutils import nodes

    for child in node.children:
        if isinstance(child, nodes.section):
            yield from _blocks(child, depth + 1, outline)
        elif isinstance(child, nodes.title):
            words = _one_line(child.astext())
            yield outline.mark(max(depth, 1), words) + words
        elif isinstance(child, nodes.system_message):
            # Such a message contains the text that docutils does not understand, such as a directive of Sphinx.
            yield from (block.astext().strip() for block in child.children if isinstance(block, nodes.literal_block))
        elif child.tagname in _LEFT_OUT:
            continue
        elif isinstance(child, nodes.table):
            yield from _rows(child, outline)
        elif isinstance(child, nodes.bullet_list | nodes.enumerated_list):
            yield "\n".join(f"- {_one_line(item.astext())}" for item in child.children)
        elif isinstance(child, nodes.literal_block | nodes.line_block | nodes.doctest_block):
            yield child.astext()
        elif isinstance(child, nodes.definition_list_item | nodes.field):
            yield ": ".join(_one_line(part.astext()) for part in child.children if part.astext().strip())
        elif any(isinstance(below, nodes.Body | nodes.definition_list_item | nodes.field) for below in child.children):
            yield from _blocks(child, depth, outline)
        elif words := _one_line(child.astext()):
            yield words


def _rows(table: Any, outline: Outline) -> Iterator[str]:
    from docutils import nodes

    rows = [list(map(_cell, row.children)) for row in table.findall(nodes.row)]
    header_rows = sum(len(head.children) for head in table.findall(nodes.thead))
    yield "\n".join(write_grid(place_cells(rows, headers=range(header_rows)), outline))


def _cell(entry: Any) -> tuple[str, int, int]:
    """Return the text of a cell, and the numbers of rows and of columns that the cell covers."""
    return entry.astext(), entry.get("morerows", 0) + 1, entry.get("morecols", 0) + 1


def _one_line(text: str) -> str:
    return " ".join(text.split())
