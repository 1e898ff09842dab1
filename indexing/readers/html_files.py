"""Read the encoding, the title, the tables or all words of an HTML page. Haystack's converter returns the main text."""

import html
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import NamedTuple

from prefrag.indexing.readers.headings import Outline, mark_html
from prefrag.indexing.readers.tables import MOST_COLUMNS, Grid, place_cells, write_grid

# The closing tag of a title must be at most this many characters after its opening tag.
_TITLE_CHARACTERS = 50_000
# libxml2, which reads the pages, keeps no more levels than this.
_MOST_LEVELS = 255
_TAG = re.compile(r"</?(?!(?:br|hr|img|input|link|meta|wbr|col|area|base|source|track)\b)[a-zA-Z]")
_DECLARED_CHARSET = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)

_TABLE_TAG = re.compile(r"<(/?)table\b[^<>]{0,1000}>", re.IGNORECASE)
# Tags that a table of data has not in its cells: such a table only lays out a page.
_LAYOUT = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "pre", "form", "textarea", "article", "nav"))
_LONGEST_CELL = 500
_MOST_ROWS = 100_000


def declared_charset(data: bytes) -> str | None:
    """Find the encoding that a page declares near its beginning."""
    declared = _DECLARED_CHARSET.search(data[:2048])
    return declared[1].decode() if declared else None


def html_title(text: str) -> str:
    """Find the title of a page, or else its first heading."""
    for tag in ("title", "h1"):
        # Only the first opening tag is tried. Otherwise a page with very many opening tags would take hours.
        start = re.search(rf"<{tag}\b[^>]{{0,1000}}>", text, re.IGNORECASE)
        if start is None:
            continue
        closing = re.compile(rf"</{tag}\s*>", re.IGNORECASE)
        end = closing.search(text, start.end(), start.end() + _TITLE_CHARACTERS)
        if end is None:
            continue
        title = html.unescape(re.sub(r"<[^<>]*>", "", text[start.end() : end.start()])).strip()
        if title:
            return title
    return ""


def is_nested_deeply(page: str) -> bool:
    """Check whether so many elements of a page are open at once that the reader gives up."""
    depth = 0
    for tag in _TAG.finditer(page):
        depth += -1 if tag[0].startswith("</") else 1
        if depth > _MOST_LEVELS:
            return True
    return False


def without_tags(page: str) -> str:
    """Remove the tags of a page, and begin a new line at each paragraph, list item, heading and the like."""
    # A match contains no second opening tag. Otherwise a page with very many unclosed tags would take hours.
    body = re.sub(r"<(script|style|head)\b(?:(?!<\1\b).)*?</\1\s*>", " ", page, flags=re.IGNORECASE | re.DOTALL)
    broken = re.sub(r"<(?:br|p|div|li|tr|h[1-6])\b[^<>]{0,1000}>", "\n", body, flags=re.IGNORECASE)
    text = html.unescape(re.sub(r"<[^<>]{0,5000}>", " ", broken))
    return re.sub(r"\n\s*", "\n", text).strip()


def mark_page(page: str, outline: Outline) -> str:
    """Mark the headings of a page, and write the tables of data as paragraphs, one for each row, with their marks."""
    pieces: list[str] = []
    end = 0
    for opening, closing in pairwise(_TABLE_TAG.finditer(page)):
        # Only a table that holds no other table is read, because others lay out the page.
        is_innermost = not opening[1] and closing[1]
        if not is_innermost:
            continue
        reader = _TableReader()
        reader.feed(page[opening.end() : closing.start()])
        reader.close()
        grid = reader.grid()
        if grid is not None:
            rows = "".join(f"<p>{html.escape(line)}</p>\n" for line in write_grid(grid, outline))
            pieces += [page[end : opening.start()], rows]
            end = closing.end()
    return mark_html("".join([*pieces, page[end:]]), outline)


class _Cell(NamedTuple):
    pieces: list[str]  # of its text
    down: int  # how many rows and columns it covers
    across: int
    is_name: bool


class _TableReader(HTMLParser):
    """Read the cells of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.caption = ""
        self._rows: list[list[_Cell]] = []
        self._pieces: list[str] | None = None  # of the cell or caption that is open; None if none is
        self._is_layout = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_layout |= tag in _LAYOUT
        if tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows = self._rows or [[]]
            attributes = dict(attrs)
            down, across = _whole_number(attributes.get("rowspan")), _whole_number(attributes.get("colspan"))
            self._pieces = []
            self._rows[-1].append(_Cell(self._pieces, down, across, is_name=tag == "th"))
        elif tag == "caption":
            self._pieces = []
        elif self._pieces is not None:
            # An inline tag does not separate words.
            self._pieces.append(" " if tag in ("br", "p", "div", "li") else "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "caption" and self._pieces is not None:
            self.caption = " ".join("".join(self._pieces).split())
        if tag in ("td", "th", "tr", "caption"):
            self._pieces = None

    def handle_data(self, data: str) -> None:
        if self._pieces is not None:
            self._pieces.append(data)

    def grid(self) -> Grid | None:
        """Return the cells; None if the table has a single row or column, or only lays out a page."""
        rows = [row for row in self._rows if row]
        if self._is_layout or not 1 < len(rows) <= _MOST_ROWS or max(map(len, rows)) == 1:
            return None
        texts = []
        headers = []
        for number, row in enumerate(rows):
            texts.append([("".join(cell.pieces).strip(), cell.down, cell.across) for cell in row])
            if all(cell.is_name for cell in row):
                headers.append(number)
        if any(len(text) > _LONGEST_CELL for row in texts for text, _, _ in row):
            return None
        if self.caption:
            texts.insert(0, [(self.caption, 1, MOST_COLUMNS)])
            headers = [number + 1 for number in headers]
            self.caption = ""
        return place_cells(texts, headers)


def _whole_number(text: str | None) -> int:
    """Read a number of rows or columns; 1 if it is none."""
    return int(text[:7]) if text and text[:7].isdecimal() else 1
