"""Prepare an HTML page for Haystack's converter, which extracts the main text of the page.

The file converter calls :func:`mark_page` before that converter. It marks the headings, and replaces each table of data
by one paragraph for each row. The other functions read the encoding, the title or all words of a page. They search the
page with regular expressions, which stay fast for broken pages with very many tags.
"""

import html
import re
from bisect import bisect_right
from html.parser import HTMLParser
from itertools import pairwise
from typing import NamedTuple

from prefrag.indexing.readers.headings import Outline, mark_html
from prefrag.indexing.readers.raised_page_text import write_raised
from prefrag.indexing.readers.struck_office_text import STRUCK, note_left_out
from prefrag.indexing.readers.struck_page_text import strike_page
from prefrag.indexing.readers.tables import MOST_COLUMNS, Grid, PlacedCell, place_cells, write_grid

# A title may have at most this many characters between its opening and its closing tag. A longer title is not read.
_TITLE_CHARACTERS = 50_000
# The library libxml2 reads the pages. It keeps no more than this many levels of elements.
_MOST_LEVELS = 255
# Matches the beginning of an opening or closing tag, such as "<div" or "</p". Does not match the tags that never have a
# closing tag, such as "<br" and "<img".
_TAG = re.compile(r"</?(?!(?:br|hr|img|input|link|meta|wbr|col|area|base|source|track)\b)[a-zA-Z]")
# Matches the declaration of an encoding, such as `<meta charset="utf-8">` or `<?xml version="1.0" encoding="utf-8"?>`.
# Group 1 is "utf-8".
_DECLARED_CHARSET = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)

# Matches the opening or closing tag of an element that the extraction drops with its text, such as `<figure class="a">`
# or `</figure>`. Group 1 is the slash of a closing tag, and group 2 is the attributes.
_DROPPED_TAG = re.compile(r"<(/?)(?:figure|figcaption|center)\b([^<>]{0,1000})>", re.IGNORECASE)
# Matches a word in the attributes of an element that may hide it, such as "hidden" and "display: none".
_HIDES = re.compile(r"hidden|none|sr-only|screen-reader", re.IGNORECASE)
# Matches the beginning of a heading with a button, as in `<h2><button>Fees</button></h2>`. Group 1 is what stands
# before the button, and group 2 is the words of the button.
_HEADING_BUTTON = re.compile(
    r"(<h[1-6]\b[^<>]{0,1000}>\s*)<button\b[^<>]{0,1000}>((?:(?!</?(?:button|h[1-6])\b).){0,2000})</button\s*>",
    re.IGNORECASE | re.DOTALL,
)
# Matches the opening or closing tag of a date or time, such as `<time datetime="2026-11-05">`. The extraction drops the
# element with its words.
_TIME_TAG = re.compile(r"</?time\b[^<>]{0,1000}>", re.IGNORECASE)
# Matches the opening or closing tag of a table, such as `<table class="wide">`. Group 1 is the slash of a closing tag.
_TABLE_TAG = re.compile(r"<(/?)table\b[^<>]{0,1000}>", re.IGNORECASE)
# A table with one of these elements in its cells has no data. It only places the parts of a page side by side.
_LAYOUT = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "pre", "form", "textarea", "article", "nav"))
# A table with a cell of more characters than this has no data, either.
_LONGEST_CELL = 500
# The two ways in which a cell is marked as a name: it is an element ``<th>``, or begins with bold letters.
_IS_NAME, _IS_BOLD = 0, 1
# The bold letters of a label begin before this many pieces of its cell.
_FIRST_PIECES = 5
# The elements that hold a group of the rows of a table.
_ROW_GROUPS = ("thead", "tbody", "tfoot")
# A table with more rows than this is not read as a table.
_MOST_ROWS = 100_000


def declared_charset(data: bytes) -> str | None:
    """Find the encoding that a page declares in its first 2,048 bytes.

    :param data: The bytes of the page.
    :returns: The encoding as the page writes it, such as "iso-8859-2"; None if the page declares none.
    """
    declared = _DECLARED_CHARSET.search(data[:2048])
    return declared[1].decode() if declared else None


def html_title(text: str) -> str:
    """Find the title of a page, or its first heading if the page has no title.

    For example, a page with ``<title>A &amp; <b>B</b></title>`` has the title "A & B".

    :param text: The HTML of the page.
    :returns: The title without tags; "" if the page has neither a title nor a heading ``<h1>``.
    """
    for tag in ("title", "h1"):
        # Only the first opening tag is tried. Otherwise a page with very many opening tags would take hours.
        start = re.search(rf"<{tag}\b[^>]{{0,1000}}>", text, re.IGNORECASE)
        if start is None:
            continue

        closing = re.compile(rf"</{tag}\s*>", re.IGNORECASE)
        end = closing.search(text, start.end(), start.end() + _TITLE_CHARACTERS)
        if end is None:
            continue

        without_inner_tags = re.sub(r"<[^<>]*>", "", write_raised(text[start.end() : end.start()]))
        title = html.unescape(without_inner_tags).strip()
        if title:
            return title
    return ""


def is_nested_deeply(page: str) -> bool:
    """Check whether the elements of a page are nested so deeply that libxml2 gives up.

    :param page: The HTML of the page.
    :returns: Whether more than 255 elements are open at the same place.
    """
    depth = 0
    for tag in _TAG.finditer(page):
        depth += -1 if tag[0].startswith("</") else 1
        if depth > _MOST_LEVELS:
            return True
    return False


def without_tags(page: str) -> str:
    r"""Return all words of a page, without its tags.

    Each paragraph, list item, heading, table row and the like begins a new line. For example,
    ``<p>Tea</p><p>Milk</p>`` becomes "Tea \nMilk".

    :param page: The HTML of the page.
    :returns: The words.
    """
    # A match contains no second opening tag. Otherwise a page with very many unclosed tags would take hours.
    body = re.sub(
        r"<(script|style|head)\b(?:(?!<\1\b).)*?</\1\s*>", " ", write_raised(page), flags=re.IGNORECASE | re.DOTALL
    )
    with_line_breaks = re.sub(r"<(?:br|p|div|li|tr|h[1-6])\b[^<>]{0,1000}>", "\n", body, flags=re.IGNORECASE)
    words = re.sub(r"<[^<>]{0,5000}>", " ", with_line_breaks)
    return re.sub(r"\n\s*", "\n", html.unescape(words)).strip()


def mark_page(page: str, outline: Outline) -> str:
    """Mark the headings of a page, and replace each table of data by a paragraph for each row.

    Struck-out and hidden elements are removed first. The struck-out elements are counted in ``outline.loss``. Elements
    that the extraction would drop with their text are written so that the text stays.

    For example, a table with the columns "Item" and "Price" gives paragraphs such as ``<p>Item: Tea; Price: 3</p>``,
    with a mark before each row.

    :param page: The HTML of the page.
    :param outline: The outline of the page. The headings and the rows are added to it.
    :returns: The HTML with marks.
    :raises CannotRead: If the rows of a table are too long in total.
    """
    page, struck = strike_page(page)
    note_left_out(outline, struck, STRUCK)
    page = _keep_texts(write_raised(page))
    pieces: list[str] = []
    end = 0
    for opening, closing in pairwise(_TABLE_TAG.finditer(page)):
        # A table that contains another table only places the parts of a page. So only the innermost tables are read.
        is_innermost = not opening[1] and closing[1]
        if not is_innermost:
            continue

        reader = _TableReader()
        reader.feed(page[opening.end() : closing.start()])
        reader.close()
        grid = reader.grid()
        if grid is None:
            continue
        rows = "".join(f"<p>{html.escape(line)}</p>\n" for line in write_grid(grid, outline))
        pieces += [page[end : opening.start()], rows]
        end = closing.end()
    pieces.append(page[end:])
    return mark_html("".join(pieces), outline)


def _keep_texts(page: str) -> str:
    """Write the elements of a page that the extraction would drop with their text as other elements.

    For example, ``<figcaption class="wide">The quay</figcaption>`` becomes ``<div>The quay</div>``. The class goes too,
    because the extraction drops elements of some classes. ``<time>5 May</time>`` becomes ``5 May``.
    Of a heading that is a button, the words stay.
    """
    with_buttons = _HEADING_BUTTON.sub(r"\1\2", page)
    without_times = _TIME_TAG.sub("", with_buttons)
    # The extraction leaves out an element that its attributes hide. So these attributes stay.
    return _DROPPED_TAG.sub(
        lambda tag: f"<{tag[1]}div{tag[2] if _HIDES.search(tag[2]) else ''}>",
        without_times,
    )


class _Cell(NamedTuple):
    """A cell of a table.

    :param pieces: The pieces of its text.
    :param down: How many rows the cell covers. 0 if it covers all rows to the end of its group.
    :param across: How many columns the cell covers.
    :param marks: The ways in which the cell is marked as a name of a row or a column, `_IS_NAME` or `_IS_BOLD`.
    """

    pieces: list[str]
    down: int
    across: int
    marks: set[int]

    def placed(self, n_rows: int) -> PlacedCell:
        """Return the cell with its whole text.

        :param n_rows: The number of rows that it covers if its own number is 0.
        """
        return PlacedCell("".join(self.pieces).strip(), self.down or n_rows, self.across, self.marks)


class _TableReader(HTMLParser):
    """Reads the cells of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.caption = ""
        self._rows: list[list[_Cell]] = []
        # The number of the group of each row, and of the group that is open now.
        self._groups: list[int] = []
        self._group = 0
        # The pieces of text of the cell or caption that is open now. None if none is open.
        self._pieces: list[str] | None = None
        self._is_layout = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a row, a cell or a caption, or note another tag."""
        self._is_layout |= tag in _LAYOUT
        self._group += tag in _ROW_GROUPS
        is_cell = tag in ("td", "th")
        if tag == "tr" or (is_cell and not self._rows):
            self._rows.append([])
            self._groups.append(self._group)
        if is_cell:
            attributes = dict(attrs)
            down = _whole_number(attributes.get("rowspan"))
            across = max(1, _whole_number(attributes.get("colspan")))
            self._pieces = []
            self._rows[-1].append(_Cell(self._pieces, down, across, {_IS_NAME} if tag == "th" else set()))
        elif tag == "caption":
            self._pieces = []
        elif self._pieces is not None:
            # Only the first pieces are looked at, because a cell may have very many tags.
            may_be_label = tag in ("b", "strong") and len(self._pieces) < _FIRST_PIECES
            is_in_cell = bool(self._rows) and bool(self._rows[-1])
            if may_be_label and is_in_cell and not any(map(str.strip, self._pieces)):
                self._rows[-1][-1].marks.add(_IS_BOLD)
            # The tags listed here separate words. Other tags, such as `<b>`, do not.
            self._pieces.append(" " if tag in ("br", "p", "div", "li") else "")

    def handle_endtag(self, tag: str) -> None:
        """End a row, a group of rows, a cell or a caption."""
        self._group += tag in _ROW_GROUPS
        if tag == "caption" and self._pieces is not None:
            self.caption = " ".join("".join(self._pieces).split())
        if tag in ("td", "th", "tr", "caption"):
            self._pieces = None

    def handle_data(self, data: str) -> None:
        """Add text to the open cell or caption."""
        if self._pieces is not None:
            self._pieces.append(data)

    def grid(self) -> Grid | None:
        """Return the cells of the table, with its caption as the first row.

        Return None if the table has a single row or a single column, is too large, or only places parts of a page.
        """
        groups = [group for group, row in zip(self._groups, self._rows, strict=True) if row]
        rows = [row for row in self._rows if row]
        has_several_rows = 1 < len(rows) <= _MOST_ROWS
        if self._is_layout or not has_several_rows:
            return None
        widest_row = max(rows, key=len)
        if len(widest_row) == 1:
            return None

        placed_rows: list[list[PlacedCell]] = []
        headers = []
        # How many columns the widest row so far has.
        width = 0
        for number, row in enumerate(rows):
            end_of_group = bisect_right(groups, groups[number])
            # A number of 0 reaches to the end of the group. If all cells of a row did that, no other row could follow,
            # so the 0 stands for no number.
            n_rows = end_of_group - number if any(cell.down for cell in row) else 1
            placed_rows.append([cell.placed(n_rows) for cell in row])
            # A single cell over the whole width, below other cells, is the name of a group and not of a column.
            is_group = len(row) == 1 and row[0].across >= width > 1
            if all(_IS_NAME in cell.marks for cell in row) and not is_group:
                headers.append(number)
            if len(row) > 1:
                width = max(width, sum(cell.across for cell in row))
        if any(len(cell.text) > _LONGEST_CELL for row in placed_rows for cell in row):
            return None

        if self.caption:
            placed_rows.insert(0, [PlacedCell(self.caption, 1, MOST_COLUMNS)])
            headers = [number + 1 for number in headers]
            self.caption = ""
        return place_cells(placed_rows, headers)


def _whole_number(text: str | None) -> int:
    """Read a number of rows or columns. The result is 1 if the text is no number."""
    return int(text[:7]) if text and text[:7].isdecimal() else 1
