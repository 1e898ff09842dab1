"""Turn CSV, JSON and reStructuredText into plain text, and group the rows of tables into passages.

The file converter uses these functions for files that are text but have a structure. Each row of a table and each
object in JSON becomes one line with the names of its values, such as ``Item: Tea; Price: 3``. So each line can be found
by a search without its context.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile, groupby, islice
from typing import Any

from prefrag.components.text.unicode_form import is_text
from prefrag.indexing.passage_splitting import ENOUGH_WORDS, MOST_CHARACTERS, MOST_WORDS, split_into_passages
from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.tables import Grid, PlacedCell, limit_text, place_cells, write_grid
from prefrag.indexing.report import CannotRead

# The characters that may separate the values of a CSV file.
_SEPARATORS = ",;\t|"
# Up to this many lines below the first line of a CSV file show which character separates the values.
_MOST_SHOWING_LINES = 100
# Matches a comma that cannot stand inside a number such as "3,50".
_SURE_COMMA = re.compile(r"(?<!\d),|,(?!\d)")
# Matches a value in quotation marks, which may have other separators.
_QUOTED = re.compile(r'"[^"]*"')
# A CSV file with at least so many lines may have a blank line behind each row.
_LEAST_SPACED_LINES = 5
# Matches the line above a table in which Excel names the separator, such as "sep=;". Group 1 is the separator.
_SEPARATOR_LINE = re.compile(rf"sep=([{_SEPARATORS}])\s*", re.IGNORECASE)
# Matches a rule, which is a line drawn between two rows of a table, such as "|---|:--:|" or "+====+====+". Matches a
# blank line, too.
_RULE = re.compile(r"[\s|+:=-]*")


def read_csv(text: str, outline: Outline) -> list[str]:
    """Read a table whose values are separated by commas, semicolons, tabs or bars.

    For example, the lines ``Item;Price`` and ``Tea;3`` become the single line ``Item: Tea; Price: 3``.

    :param text: The content of the file.
    :param outline: The outline of the file. The rows are added to it.
    :returns: A line for each row, with a mark at its beginning.
    :raises CannotRead: If the lines are too long in total.
    """
    # Only line breaks must end a line. `StringIO` does that, but `splitlines` ends lines at other separators, too.
    lines = io.StringIO(text.removeprefix("\ufeff"), newline=None)
    # Reading lines moves the position in `lines` behind them.
    lines_with_text = filter(str.strip, lines)
    first_line = next(lines_with_text, "")
    declared = _SEPARATOR_LINE.fullmatch(_QUOTED.sub("", first_line))
    if declared:
        separator = declared[1]
    else:
        beginning = first_line + "".join(islice(lines_with_text, _MOST_SHOWING_LINES))
        separator = _find_separator(_QUOTED.sub("", beginning).split("\n"))
        # These lines belong to the table.
        lines.seek(0)

    try:
        rows = list(csv.reader(lines, delimiter=separator, skipinitialspace=True))
    except csv.Error:
        # An example is a quotation mark that is never closed. The rest of the file is then one value, which may be too
        # long for the reader. So the lines are returned as they are.
        return list(filter(None, map(_one_line, text.splitlines())))
    return list(write_grid(Grid(_without_spacing(rows)), outline))


def _find_separator(lines: Sequence[str]) -> str:
    """Return the character that separates the values of a CSV file.

    It is the one in most lines, because a title above the table has none, or another one. A comma counts less than
    another character in as many lines if it may stand inside numbers, as in the line ``Tea;3,50``.

    :param lines: The first lines of the file, without the values in quotation marks.
    """

    def rank(separator: str) -> tuple[int, int, int]:
        """Return the numbers that are greatest for the separator of the file."""
        having = [line for line in lines if separator in line]
        sure = [line for line in having if separator != "," or _SURE_COMMA.search(line)]
        return len(having), len(sure), lines[0].count(separator)

    return max(_SEPARATORS, key=rank)


def _without_spacing(rows: list[list[str]]) -> list[list[str]]:
    """Remove the blank lines of a CSV file that has one behind each row.

    Such a file comes from a program that wrote each line end twice. Its blank lines divide no tables.
    """
    from_first = list(dropwhile(lambda row: not any(row), rows))
    is_spaced = len(from_first) >= _LEAST_SPACED_LINES and not any(map(any, from_first[1::2]))
    return from_first[::2] if is_spaced else rows


def write_bar_tables(text: str, outline: Outline) -> str:
    """Replace the tables in a text that are drawn with bars, as in Markdown, by lines with the names of the columns.

    For example, the lines ``| Item | Price |``, ``|---|---|`` and ``| Tea | 3 |`` become ``Item: Tea; Price: 3``. Rows
    of two cells without a rule become lines such as ``Item: Tea``. All other text stays unchanged.

    :param text: The text.
    :param outline: The outline of the file. The rows are added to it.
    :returns: The text without drawn tables. Rows of tables begin with a mark.
    :raises CannotRead: If the lines of a table are too long in total.
    """
    pieces: list[str] = []
    for columns, group in groupby(text.split("\n"), key=_count_columns):
        lines = list(group)
        stripped = [line.strip() for line in lines]
        rows = [line for line in stripped if not _RULE.fullmatch(line)]
        cells = (line.strip("|").split("|") for line in rows)
        is_framed = all(line.startswith("|") and line.endswith("|") for line in rows)

        # Bars also occur in code. So a table must have a rule, or at least three columns and a bar at both ends of each
        # row.
        has_rule = len(rows) < len(lines)
        is_drawn = has_rule or (columns > 2 and is_framed)
        if columns > 1 and rows and is_drawn:
            headers = frozenset({0}) if _has_marked_header(stripped) else frozenset[int]()
            pieces += write_grid(Grid(list(cells), headers=headers), outline)
        elif columns == 2 and is_framed:
            for row in cells:
                values = map(_one_line, row)
                pieces.append(": ".join(filter(None, values)))
        else:
            pieces += lines
    return "\n".join(pieces)


def _has_marked_header(lines: list[str]) -> bool:
    """Check whether the only rule inside a table stands below its first row. Rules at its ends are ignored.

    :param lines: The lines of the table, without white space at their ends.
    """
    # One sign for each line: "-" for a rule, "x" for a row.
    signs = ["-" if _RULE.fullmatch(line) else "x" for line in lines]
    return re.fullmatch("x-x+", "".join(signs).strip("-")) is not None


def _count_columns(line: str) -> int:
    """Count the cells of a row that is drawn with bars. For example, "| a | b |" and "a | b" have 2, and "a" has 0."""
    # In the rules that some programs draw, as in "|---+---|", the plus signs stand for bars.
    bars_only = re.sub(r"(?<=-)\+(?=-)", "|", line)
    if "|" not in bars_only:
        return 0
    bars_between_cells = bars_only.strip().strip("|+").count("|")
    return bars_between_cells + 1


def pack_rows(text: str) -> list[str]:
    """Group the rows of tables into passages. Only a row that is longer than a passage is split.

    :param text: The text, with one row on each line. A blank line begins a new passage.
    :returns: The passages. Together they are the whole text.
    """
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


# A name in JSON is cut to this many characters, because it is repeated before each of its values.
_MOST_NAME = 200


def read_json(text: str) -> list[str]:
    """Read the values of a JSON text as lines.

    Each object becomes a line of its simple values. For example, ``{"name": "Ada", "tags": ["a", "b"]}`` becomes
    ``name: Ada; tags: a, b``. Each object in a list becomes a line of its own.

    :param text: The JSON text.
    :returns: The lines.
    :raises CannotRead: If the text is not JSON, or nested too deeply, or if the lines are too long in total.
    """
    try:
        # Numbers stay text, because Python would drop some of their digits and refuses very long numbers.
        value = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
        return list(limit_text(_lines(value, "")))
    except RecursionError as error:
        raise CannotRead("its values are nested too deeply") from error
    except ValueError as error:
        raise CannotRead(f"it is not JSON ({error})") from error


def write_fields(fields: Mapping[str, object]) -> str:
    """Write each field of a front matter as a line. For example, ``{"author": "Ada"}`` gives ``author: Ada``.

    :param fields: The fields by their names. A front matter is the block of fields at the beginning of a Markdown file.
    :returns: The lines, each with a line break at its end.
    """
    lines = [line for key, value in fields.items() for line in _lines({key: value}, "")]
    return "".join(f"{line}\n" for line in lines if is_text(line))


def _lines(value: object, name: str) -> Iterator[str]:
    """Yield a line with the simple values of a JSON value, and then the lines of each item in its lists.

    For example, ``{"name": "Ada", "jobs": [{"city": "Rome"}]}`` gives ``name: Ada`` and ``jobs: city: Rome``.

    :param value: The JSON value, as Python reads it.
    :param name: The names of the lists around the value, such as "orders > items". "" at the top.
    """
    values: list[str] = []
    # The lists of objects in the value, each with its name.
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
    """Collect what is in a JSON value.

    For example, ``{"a": {"b": 1}, "c": [1, 2], "d": [{"e": 1}]}`` adds "a b: 1" and "c: 1, 2" to ``values``, and
    ``("d", [{"e": 1}])`` to ``lists``.

    :param value: The JSON value, as Python reads it.
    :param name: The names of the objects around the value, joined by blanks.
    :param values: The simple values with their names. Values of nested objects are added here, too.
    :param lists: The lists that hold lists or objects, with their names.
    """
    label = f"{name}: " if name else ""
    if isinstance(value, dict):
        for key, content in value.items():
            path = f"{name} {_one_line(key)}".strip()
            _collect(content, path[:_MOST_NAME], values, lists)
    elif isinstance(value, list):
        if any(isinstance(item, list | dict) for item in value):
            lists.append((name, value))
            return
        joined = ", ".join(filter(None, map(_simple, value)))
        if joined:
            values.append(label + joined)
    else:
        simple = _simple(value)
        if simple:
            values.append(label + simple)


def _simple(value: object) -> str:
    """Write a value that is no object and no list, such as "true" for True and "" for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return _one_line(str(value))


# The settings of docutils. A file cannot include other files and cannot change the settings. Docutils prints nothing.
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
# The kinds of docutils nodes that have no text for readers.
_LEFT_OUT = ("comment", "substitution_definition", "target", "image", "raw", "label")


def read_rst(text: str, outline: Outline) -> str:
    """Turn reStructuredText into plain text with a mark at each heading.

    Included files are left out. Directives that only Sphinx knows become text.

    :param text: The reStructuredText.
    :param outline: The outline of the file. The headings and the rows of tables are added to it.
    :returns: The plain text. If docutils cannot read the text, the text is returned unchanged.
    """
    from docutils.core import publish_doctree

    try:
        tree = publish_doctree(text, settings_overrides=_SETTINGS)
        blocks = list(_blocks(tree, 0, outline))
    except Exception:
        # Any exception is possible. Docutils has no limit of depth, and some of its directives do not handle errors.
        return text
    # docutils returns nothing if a line of the text has more than 10,000 characters.
    return "\n\n".join(blocks) if blocks else text


def _blocks(node: Any, depth: int, outline: Outline) -> Iterator[str]:
    """Yield the headings, paragraphs, lists and tables below a node of docutils, each as a text.

    :param node: The node.
    :param depth: How many sections are around the node. It is the level of a heading.
    :param outline: The outline of the file.
    """
    from docutils import nodes

    for child in node.children:
        if isinstance(child, nodes.section):
            yield from _blocks(child, depth + 1, outline)
        elif isinstance(child, nodes.title):
            words = _one_line(child.astext())
            yield outline.mark(max(depth, 1), words) + words
        elif isinstance(child, nodes.system_message):
            # An error message of docutils. It contains the text that docutils does not understand, such as a directive
            # of Sphinx.
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
        elif any(map(_is_block, child.children)):
            yield from _blocks(child, depth, outline)
        else:
            words = _one_line(child.astext())
            if words:
                yield words


def _is_block(node: object) -> bool:
    """Check whether a node of docutils is a block, such as a paragraph or a field, and no part of a text."""
    from docutils import nodes

    return isinstance(node, nodes.Body | nodes.definition_list_item | nodes.field)


def _rows(table: Any, outline: Outline) -> Iterator[str]:
    """Yield a table of docutils as one text, with a line for each row."""
    from docutils import nodes

    rows = [list(map(_cell, row.children)) for row in table.findall(nodes.row)]
    header_rows = sum(len(head.children) for head in table.findall(nodes.thead))
    yield "\n".join(write_grid(place_cells(rows, headers=range(header_rows)), outline))


def _cell(entry: Any) -> PlacedCell:
    """Return a cell of a table of docutils."""
    # The node has the numbers of further rows and columns.
    down = entry.get("morerows", 0) + 1
    across = entry.get("morecols", 0) + 1
    return PlacedCell(entry.astext(), down, across)


def _one_line(text: str) -> str:
    """Replace all white space in a text by single blanks."""
    return " ".join(text.split())
