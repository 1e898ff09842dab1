"""Find the headings of a file in its converted text, so that each passage can name its section.

A converter turns a file into plain text, and the headings then look like other lines. Marks keep track of them:

1. Before the conversion, a mark is written in front of each heading. A mark is a number between two rare characters.
2. The converter copies the mark together with the heading.
3. Before the text is split into passages, :meth:`Outline.read` removes the marks and notes the place of each heading.
4. :func:`find_sections` finds the headings above each passage.

The functions in this module write marks into Markdown, HTML and the lines of PDF files. The reader of another format
calls :meth:`Outline.mark`, and writes the mark at the beginning of the line. Rows of tables are marked in the same way.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from prefrag.components.text.sentences import cut_text, ends_with_stop
from prefrag.components.text.table_rows import Table
from prefrag.indexing.readers.wrapped_lines import unwrap_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# The rare character on both sides of the number in a mark. Nobody types this character. It is printable, because the
# extraction from HTML drops unprintable characters. It is a punctuation mark, so that Markdown emphasis right after it
# still works.
_SIGN = "\u205c"
# Matches a mark, such as "\u205c12\u205c". Group 1 is the number. A converter may drop the words of a heading, and then
# the mark is alone in its line. So the match includes a line end right behind the mark.
_MARK = re.compile(rf"{_SIGN}([0-9]{{1,7}}){_SIGN}(?:[^\S\n]{{0,9}}\n)?")
# Matches the opening or closing tag of a heading, such as `<h2 class="title">` or `</h2>`, but not `<hr>`. Group 1 is
# the slash of a closing tag. Group 2 is the level.
_HTML_HEADING = re.compile(r"<(/?)h([1-6])(?:\s[^<>]{0,1000})?>", re.IGNORECASE)
# Matches the white space and up to 30 tags between a heading and the next text, such as `</header><p class="first">`.
# Does not match if another heading, a script, a style or a comment stands there. The possessive quantifiers (with `+`
# at the end) keep the search fast.
_HTML_TAGS = re.compile(
    r"""
    (?: \s++ | <(?! /?h[1-6]\b | script\b | style\b | ! ) [^<>]{1,1000}> ){0,30}+
    (?= [^\s<] )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Matches an opening tag that separates words, such as `<br>` or `<p class="first">`.
_HTML_BREAK = re.compile(r"<(?:br|p|div|li|td)\b[^<>]*>", re.IGNORECASE)
# Only this many characters of a heading in the file are read.
_MOST_READ = 2_000
# The words of a heading are cut to this many characters. A line of a PDF with more characters is no heading.
_MOST_CHARACTERS = 120
# The maximum level of a heading, as in Word. Deeper levels count as this level. Without a limit, a file could claim
# thousands of levels, and each passage would get as many headings.
_MOST_LEVELS = 9
# A line of a PDF may be a heading if its letters are at least this many times as high as most letters.
_LARGER = 1.15
# If more than this share of the characters of a PDF has such high letters, they are no sign of headings.
_MOST_LARGE = 0.2
# A line of a PDF with more words than this is no heading.
_MOST_WORDS = 15
# Matches two letters in a row. "3.1 Setup" has them, "3.1 a" does not.
_HAS_WORD = re.compile(r"[^\W\d_]{2}")


class Heading(NamedTuple):
    """A heading in a text.

    :param place: The position of the heading in the text, in characters.
    :param level: The level, from 1 for the highest.
    :param words: The words, at most 120 characters.
    """

    place: int
    level: int
    words: str


class MarkedRow(NamedTuple):
    """A row of a table in a text.

    :param place: The position of the row in the text, in characters.
    :param table: The table.
    :param number: The number of the row in the table, from 0.
    """

    place: int
    table: Table
    number: int


class _HeadingEntry(NamedTuple):
    """The level and the words of a heading whose position is not known yet."""

    level: int
    words: str


class _RowEntry(NamedTuple):
    """The table and the number of a row whose position is not known yet."""

    table: Table
    number: int


class Outline:
    """Holds the headings and the rows of tables of one file, in order.

    The reader of the file adds them and gets a mark for each. :meth:`read` finds the marks in the converted text. For
    example, ``mark(1, "Setup")`` returns a mark such as "\u205c0\u205c". The text with this mark before "Setup" gives
    ``[Heading(0, 1, "Setup")]``.

    :param rows: The marked rows of tables in the order of the text. Set by :meth:`read`.
    :param loss: A sentence about the parts of the file that could not be read, or "". Set by the reader of the file.
    """

    def __init__(self) -> None:
        # All that is marked. The number in a mark is a position in this list.
        self._marked: list[_HeadingEntry | _RowEntry] = []
        self._tables = 0
        self.rows: list[MarkedRow] = []
        self.loss = ""

    def mark(self, level: int, words: str) -> str:
        """Add the next heading of the file.

        :param level: The level, from 1 for the highest. A level above 9 counts as 9.
        :param words: The words of the heading.
        :returns: The mark to write before the heading; "" if the heading has no words.
        """
        shown = " ".join(words[:_MOST_READ].split())
        if not shown:
            return ""
        return self._add(_HeadingEntry(min(level, _MOST_LEVELS), cut_text(shown, _MOST_CHARACTERS, "...")))

    def count_table(self) -> int:
        """Count one more table of the file.

        :returns: The number of this table in the file, from 1.
        """
        self._tables += 1
        return self._tables

    def mark_row(self, table: Table, number: int) -> str:
        """Add the next row of a table.

        :param table: The table.
        :param number: The number of the row in the table, from 0.
        :returns: The mark to write before the row.
        """
        return self._add(_RowEntry(table, number))

    def _add(self, entry: _HeadingEntry | _RowEntry) -> str:
        """Add an entry to `_marked`, and return its mark."""
        position = len(self._marked)
        self._marked.append(entry)
        return f"{_SIGN}{position}{_SIGN}"

    def read(self, marked: str) -> tuple[str, list[Heading]]:
        """Remove the marks from a converted text.

        :param marked: The text with marks.
        :returns: The text without marks, and its headings. The rows of tables are added to :attr:`rows`.
        """
        pieces: list[str] = []
        headings: list[Heading] = []
        # The number of characters of `pieces`.
        length = 0
        # The end of the last mark in `marked`.
        end = 0

        # `mark_html` writes some marks twice, so the second of two equal marks must be ignored. That is why the numbers
        # of the headings must rise, and the numbers of the rows, too. Headings and rows are not compared with each
        # other, because the rows of tables in Markdown are marked after all headings of the file.
        next_heading = 0
        next_row = 0
        for mark in _MARK.finditer(marked):
            before = marked[end : mark.start()]
            pieces.append(before)
            length += len(before)
            end = mark.end()
            number = int(mark[1])
            if number >= len(self._marked):
                continue

            entry = self._marked[number]
            if isinstance(entry, _HeadingEntry):
                if number >= next_heading:
                    next_heading = number + 1
                    headings.append(Heading(length, entry.level, entry.words))
            elif number >= next_row:
                next_row = number + 1
                self.rows.append(MarkedRow(length, entry.table, entry.number))
        pieces.append(marked[end:])
        return "".join(pieces), headings


def mark_markdown(text: str, outline: Outline) -> str:
    """Mark the headings of a Markdown text, and write each paragraph on one line.

    Code blocks stay unchanged. A paragraph with a line break that Markdown keeps stays unchanged, too.

    :param text: The Markdown text.
    :param outline: The outline of the file. The headings are added to it.
    :returns: The text with marks, still in Markdown.
    """
    from markdown_it import MarkdownIt

    # Without the rule "inline", the parser finds only blocks and is faster. The words of a heading are parsed later, by
    # the second parser.
    block_parser = MarkdownIt().disable("inline")
    parser = MarkdownIt()
    # Split the text at the same line breaks as the parser, because the line numbers of the parser are used below. A
    # line becomes None when it is joined to a line above.
    lines: list[str | None] = [*re.sub(r"\r\n?", "\n", text).split("\n")]

    # In the list of tokens, the token behind an opening token has the content.
    for opening, content in pairwise(block_parser.parse(text)):
        if opening.type not in ("heading_open", "paragraph_open") or opening.map is None:
            continue

        # The lines of the block are those from `begin` up to, but not including, `end`.
        begin, end = opening.map
        first_words, _, _ = content.content.partition("\n")
        first_line = lines[begin] or ""
        if not first_words or first_words not in first_line:
            continue

        # The part before the words holds the signs of a quotation, a list or a heading, such as "> ", "- " or "## ".
        before, _, after = first_line.partition(first_words)
        has_several_lines = end - begin > 1
        if opening.type == "heading_open":
            # The tag is "h1", "h2" and so on.
            level = int(opening.tag[1:])
            mark = outline.mark(level, _heading_words(content.content, parser))
            lines[begin] = f"{before}{mark}{first_words}{after}"
        # Two spaces at the end of a line tell Markdown to keep the line break there.
        elif has_several_lines and "  \n" not in content.content:
            # If several lines remain, the further lines must stand below the first. In a quotation, they keep its ">".
            indent = re.sub(r"[^>\s]", " ", before)
            lines[begin] = before + unwrap_lines(content.content).replace("\n", f"\n{indent}")
            for further in range(begin + 1, end):
                lines[further] = None
    return "\n".join(line for line in lines if line is not None)


def _heading_words(content: str, parser: MarkdownIt) -> str:
    """Return the words of a heading without Markdown signs. For example, "[Set up](x.md)" gives "Set up" and spaces."""
    words = []
    for inline in parser.parseInline(content[:_MOST_READ]):
        for child in inline.children or ():
            words.append(child.content if child.type in ("text", "code_inline") else " ")
    return "".join(words)


def mark_html(text: str, outline: Outline) -> str:
    """Mark the headings of an HTML page.

    Each mark is written in the heading, and once more before the next text. The later extraction of the main text drops
    many headings, and then the second mark still shows where the section begins.

    :param text: The HTML.
    :param outline: The outline of the file. The headings are added to it.
    :returns: The HTML with marks.
    """
    pieces: list[str] = []
    end = 0
    for opening, closing in pairwise(_HTML_HEADING.finditer(text)):
        is_pair = not opening[1] and closing[1]
        if not is_pair:
            continue

        inner_end = min(closing.start(), opening.end() + _MOST_READ)
        inner = text[opening.end() : inner_end]
        without_tags = re.sub(r"<[^<>]*>", "", _HTML_BREAK.sub(" ", inner))
        # On many pages, a heading ends in a link to itself, whose label is a pilcrow. It is no word of the heading.
        words = html.unescape(without_tags).strip().removesuffix("\u00b6")
        mark = outline.mark(int(opening[2]), words)
        pieces += [text[end : opening.end()], mark, text[opening.end() : closing.end()]]
        end = closing.end()

        tags = _HTML_TAGS.match(text, end)
        if tags:
            pieces += [tags[0], mark]
            end = tags.end()
    pieces.append(text[end:])
    return "".join(pieces)


def rows_of_parts(parts: Sequence[str], rows: Sequence[MarkedRow]) -> list[list[tuple[Table, int]]]:
    """Find the rows of tables that begin in each passage of a text.

    :param parts: All passages of the text, in order. Together they are the whole text.
    :param rows: The rows, as in :attr:`Outline.rows`.
    :returns: For each passage, its rows. Each row is its table and its number in the table.
    """
    places = [row.place for row in rows]
    rows_by_part: list[list[tuple[Table, int]]] = []
    begin = 0
    for part in parts:
        end = begin + len(part)
        first = bisect_left(places, begin)
        after = bisect_left(places, end)
        rows_by_part.append([(row.table, row.number) for row in rows[first:after]])
        begin = end
    return rows_by_part


def mark_large_lines(pages: Sequence[list[str]], sizes: Sequence[Sequence[float]], outline: Outline) -> None:
    """Mark the lines of a PDF whose letters are larger than most letters, because such lines are headings.

    Each heading becomes a paragraph of its own. The largest letters are level 1, the next size is level 2, and so on.
    If too many letters are large, as in slides, nothing is marked.

    :param pages: The lines of each page. They are changed in place.
    :param sizes: The height of the letters of each line, in points. Empty for a page whose heights are not known.
    :param outline: The outline of the file. The headings are added to it.
    """
    levels = _levels_of_sizes(pages, sizes)
    if not levels:
        return
    for lines, heights in zip(pages, sizes, strict=True):
        line_sizes = []
        for line, height in zip(lines, heights, strict=False):
            # A blank line ends a heading. The size 0 keeps it out of every group of large lines.
            line_sizes.append(_half_points(height) if line.strip() else 0.0)

        # A heading may have several lines of the same size.
        for size, group in groupby(range(len(line_sizes)), key=line_sizes.__getitem__):
            first, *further = group
            words = " ".join(lines[place].strip() for place in (first, *further))
            if size in levels and _may_be_heading(words):
                lines[first] = f"\n{outline.mark(levels[size], words)}{words}\n"
                for place in further:
                    lines[place] = ""


def _levels_of_sizes(pages: Sequence[list[str]], sizes: Sequence[Sequence[float]]) -> dict[float, int]:
    """Return the level of the headings in letters of each large size. Empty if large letters are no sign of headings.

    :param pages: The lines of each page.
    :param sizes: The height of the letters of each line, in points.
    """
    # How many characters have each height.
    characters = Counter[float]()
    for lines, heights in zip(pages, sizes, strict=True):
        for line, height in zip(lines, heights, strict=False):
            characters[_half_points(height)] += len(line.strip())

    # The height of most letters. If two heights are equally frequent, the smaller is taken.
    body = max(characters, key=lambda size: (characters[size], -size), default=0.0)
    if not body:
        return {}
    larger = sorted((size for size in characters if size >= _LARGER * body), reverse=True)
    large_characters = sum(characters[size] for size in larger)
    # In slides, and in texts that often change the size of their letters, large letters are no sign of a heading.
    if large_characters > _MOST_LARGE * characters.total():
        return {}
    return {size: level for level, size in enumerate(larger, start=1)}


def _half_points(height: float) -> float:
    """Round a height to half points, because the measured heights of one size differ a little; 12.1 gives 12.0."""
    return round(height * 2) / 2


def _may_be_heading(words: str) -> bool:
    """Check whether a line is short, has a word, and does not end like a sentence."""
    is_short = len(words) <= _MOST_CHARACTERS and len(words.split(maxsplit=_MOST_WORDS)) <= _MOST_WORDS
    if not is_short:
        return False
    return _HAS_WORD.search(words) is not None and not ends_with_stop(words)


class Sections(NamedTuple):
    """The sections in which a passage stands. A section is named by all headings above it, such as "Setup > Linux".

    :param main: The name of the section that holds most of the passage. None if that section has no heading.
    :param begins: For each section of the passage, the position in the passage where the section begins, in characters,
        and its name. Empty if the whole passage stands in one section.
    """

    main: str | None
    begins: Sequence[tuple[int, str]] = ()


def find_sections(parts: Sequence[str], headings: Sequence[Heading]) -> list[Sections]:
    """Find the sections of each passage of a text.

    For example, a passage of 20 characters stands below the heading "Setup" of level 1. At its position 8 begins the
    heading "Linux" of level 2. Its sections are ``[(0, "Setup"), (8, "Setup > Linux")]``, and its main section is
    "Setup > Linux".

    :param parts: All passages of the text, in order. Together they are the whole text.
    :param headings: The headings of the text, in order.
    :returns: The sections of each passage.
    """
    # Where each section begins in the text, and its name. The text before the first heading has no name.
    begins = [0]
    names = [""]
    # The last heading, and the headings of higher levels above it.
    above: list[Heading] = []
    for heading in headings:
        above = [*(parent for parent in above if parent.level < heading.level), heading]
        begins.append(heading.place)
        names.append(" > ".join(parent.words for parent in above))

    sections: list[Sections] = []
    begin = 0
    for part in parts:
        end = begin + len(part)
        # The passage stands in the sections from `first` up to, but not including, `after`.
        first = bisect_right(begins, begin) - 1
        after = bisect_left(begins, end)
        # The places in the text where a section begins or the passage ends.
        borders = [begin, *begins[first + 1 : after], end]
        lengths = [stop - start for start, stop in pairwise(borders)]
        longest = first + lengths.index(max(lengths))
        main = names[longest] or None
        # The last border is the end of the passage, where no section begins.
        begins_in_part = [(start - begin, name) for start, name in zip(borders, names[first:after], strict=False)]
        has_several_sections = len(begins_in_part) > 1
        sections.append(Sections(main, begins_in_part if has_several_sections else ()))
        begin = end
    return sections
