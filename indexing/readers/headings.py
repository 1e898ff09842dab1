"""Find the headings of a file in its converted text, so that each passage can name its section.

Before the conversion, a mark is put in front of each heading. The mark is a number between two rare characters. The
converter copies it with the heading. Before the text is split into passages, :meth:`Outline.read` removes the marks.
The functions here put marks into Markdown and HTML. A converter for another format calls :meth:`Outline.mark`, and
writes the mark at the beginning of the heading's line.
"""

import html
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from prefrag.components.text.sentences import cut_text, ends_with_stop
from prefrag.components.text.table_rows import Table
from prefrag.indexing.readers.wrapped_lines import unwrap_lines

# A rare character that nobody types. It is printable, because the extraction from HTML drops unprintable characters. It
# is a punctuation mark, so that Markdown emphasis right after it still works.
_SIGN = "\u205c"
# If the converter dropped the words of a heading, only the mark is left in the line, so the line end is removed too.
_MARK = re.compile(rf"{_SIGN}([0-9]{{1,7}}){_SIGN}(?:[^\S\n]{{0,9}}\n)?")
# An opening or closing tag, such as <h2 class="title"> or </h2>. Group 1 is the stroke of a closing tag.
_HTML_HEADING = re.compile(r"<(/?)h([1-6])(?:\s[^<>]{0,1000})?>", re.IGNORECASE)
# The white space and up to 30 tags between a heading and the next text, such as `</header><p class="first">`. No other
# heading, script or comment may stand between the two. The possessive quantifiers keep the search fast.
_HTML_TAGS = re.compile(
    r"""
    (?: \s++ | <(?! /?h[1-6]\b | script\b | style\b | ! ) [^<>]{1,1000}> ){0,30}+
    (?= [^\s<] )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# The tags that separate words.
_HTML_BREAK = re.compile(r"<(?:br|p|div|li|td)\b[^<>]*>", re.IGNORECASE)
_MOST_READ = 2_000  # only the first characters of a heading are read
_MOST_CHARACTERS = 120  # longer headings are cut to this length
# The maximum level, as in Word. If a file claimed thousands of levels, each passage would get as many headings.
_MOST_LEVELS = 9
# The letters of a heading are at least this many times as high as those of the text.
_LARGER = 1.15
# If more than this share of a text has such letters, they do not make headings.
_MOST_LARGE = 0.2
# A line with more words is no heading.
_MOST_WORDS = 15
_HAS_WORD = re.compile(r"[^\W\d_]{2}")


class Heading(NamedTuple):
    """A heading in a text."""

    place: int  # the position of the heading in the text, in characters
    level: int
    words: str


class Outline:
    """The headings and the rows of tables of one file, in order.

    Makes a mark for each of them, and finds the marks in the converted text.
    """

    def __init__(self) -> None:
        # What is marked: the level and the words of a heading, or a table and the number of its row. The number in a
        # mark is a position in this list.
        self._marked: list[tuple[int, str] | tuple[Table, int]] = []
        self._tables = 0
        # After `read`: for each row its position in the text in characters, its table, and its number in the table.
        self.rows: list[tuple[int, Table, int]] = []
        self.loss = ""  # says which parts of the file could not be read; set by the reader of the file

    def mark(self, level: int, words: str) -> str:
        """Add the next heading of the file. Returns the mark to write before it, or "" if the heading has no words."""
        shown = " ".join(words[:_MOST_READ].split())
        if not shown:
            return ""
        return self._add((min(level, _MOST_LEVELS), cut_text(shown, _MOST_CHARACTERS, "...")))

    def count_table(self) -> int:
        """Count a table of the file. Returns its number, from 1."""
        self._tables += 1
        return self._tables

    def mark_row(self, table: Table, number: int) -> str:
        """Add the next row of a table, by its number. Returns the mark to write before it."""
        return self._add((table, number))

    def _add(self, entry: tuple[int, str] | tuple[Table, int]) -> str:
        self._marked.append(entry)
        return f"{_SIGN}{len(self._marked) - 1}{_SIGN}"

    def read(self, marked: str) -> tuple[str, list[Heading]]:
        """Remove the marks from a converted text. Returns the text and its headings with their positions.

        The rows of tables are then in :attr:`rows`.
        """
        pieces: list[str] = []
        headings: list[Heading] = []
        length = end = 0
        # A mark may stand in the text twice, because `mark_html` repeats it. The second is left out: the numbers of
        # headings must rise, and so must those of rows. Rows of tables in Markdown are marked after all headings of the
        # file, so the two kinds are not compared with each other.
        next_heading = next_row = 0
        for mark in _MARK.finditer(marked):
            pieces.append(marked[end : mark.start()])
            length += len(pieces[-1])
            end = mark.end()
            number = int(mark[1])
            if number >= len(self._marked):
                continue
            first, second = self._marked[number]
            if isinstance(first, Table):
                if number >= next_row:
                    next_row = number + 1
                    self.rows.append((length, first, int(second)))
            elif number >= next_heading:
                next_heading = number + 1
                headings.append(Heading(length, first, str(second)))
        return "".join([*pieces, marked[end:]]), headings


def mark_markdown(text: str, outline: Outline) -> str:
    """Mark the headings of a Markdown text, except in code blocks, and write each paragraph on one line."""
    from markdown_it import MarkdownIt

    # Without the rule "inline", the parser finds only blocks, which is faster. The words of a heading are parsed below.
    block_parser = MarkdownIt().disable("inline")
    parser = MarkdownIt()
    # Split where the parser does, because its line numbers are used below. None stands for a line that was joined.
    lines: list[str | None] = [*re.sub(r"\r\n?", "\n", text).split("\n")]
    # The token after that of an opening has the content.
    for opening, content in pairwise(block_parser.parse(text)):
        if opening.type not in ("heading_open", "paragraph_open") or opening.map is None:
            continue
        number, end = opening.map
        source = content.content.partition("\n")[0]
        line = lines[number] or ""
        if not source or source not in line:
            continue
        # Before the words may stand the signs of a quotation, a list or a heading.
        before, _, after = line.partition(source)
        if opening.type == "heading_open":
            words = _heading_words(content.content, parser)
            lines[number] = f"{before}{outline.mark(int(opening.tag[1:]), words)}{source}{after}"
        # Two spaces at the end of a line mean that its line break must stay.
        elif end - number > 1 and "  \n" not in content.content:
            # Further lines stand below the first, in the same quotation.
            indent = re.sub(r"[^>\s]", " ", before)
            lines[number] = before + unwrap_lines(content.content).replace("\n", f"\n{indent}")
            lines[number + 1 : end] = [None] * (end - number - 1)
    return "\n".join(line for line in lines if line is not None)


def _heading_words(content: str, parser: Any) -> str:
    """Return the words of a heading without their Markdown, such as links and emphasis."""
    words = []
    for inline in parser.parseInline(content[:_MOST_READ]):
        for child in inline.children or ():
            words.append(child.content if child.type in ("text", "code_inline") else " ")
    return "".join(words)


def mark_html(text: str, outline: Outline) -> str:
    """Mark each heading, and repeat the mark before the next text, because the extraction drops many headings."""
    pieces: list[str] = []
    end = 0
    for opening, closing in pairwise(_HTML_HEADING.finditer(text)):
        is_pair = not opening[1] and closing[1]
        if not is_pair:
            continue
        inner = text[opening.end() : min(closing.start(), opening.end() + _MOST_READ)]
        words = html.unescape(re.sub(r"<[^<>]*>", "", _HTML_BREAK.sub(" ", inner)))
        # A pilcrow at the end is only the label of a link to the heading.
        mark = outline.mark(int(opening[2]), words.strip().removesuffix("\u00b6"))
        pieces += [text[end : opening.end()], mark, text[opening.end() : closing.end()]]
        end = closing.end()
        tags = _HTML_TAGS.match(text, end)
        if tags:
            pieces += [tags[0], mark]
            end = tags.end()
    return "".join([*pieces, text[end:]])


def rows_of_parts(parts: Sequence[str], rows: Sequence[tuple[int, Table, int]]) -> list[list[tuple[Table, int]]]:
    """Find the rows of tables that begin in each passage. ``parts`` are all passages of a text, in order."""
    places = [place for place, _, _ in rows]
    rows_by_part: list[list[tuple[Table, int]]] = []
    begin = 0
    for part in parts:
        end = begin + len(part)
        inside = rows[bisect_left(places, begin) : bisect_left(places, end)]
        rows_by_part.append([(table, number) for _, table, number in inside])
        begin = end
    return rows_by_part


def mark_large_lines(pages: Sequence[list[str]], sizes: Sequence[Sequence[float]], outline: Outline) -> None:
    """Mark the lines whose letters are larger than those of the text, and set each apart as a paragraph.

    :param pages: The lines of each page. They are changed in place.
    :param sizes: The height of the letters of each line, in points; empty for a page without measures.
    """
    characters = Counter[float]()
    for lines, heights in zip(pages, sizes, strict=True):
        for line, height in zip(lines, heights, strict=False):
            characters[_half_points(height)] += len(line.strip())
    # The size of most letters; of two such sizes, the smaller.
    body = max(characters, key=lambda size: (characters[size], -size), default=0.0)
    larger = sorted((size for size in characters if size >= _LARGER * body), reverse=True)
    levels = {size: level for level, size in enumerate(larger, start=1)}
    # In slides, and in texts that change their size, large letters are no sign of a heading.
    if not body or sum(characters[size] for size in larger) > _MOST_LARGE * characters.total():
        return
    for lines, heights in zip(pages, sizes, strict=True):
        line_sizes = [_half_points(height) for height in heights[: len(lines)]]
        for place, line in enumerate(lines[: len(line_sizes)]):
            # No heading goes across a blank line.
            if not line.strip():
                line_sizes[place] = 0.0
        for size, group in groupby(range(len(line_sizes)), key=line_sizes.__getitem__):
            places = list(group)
            words = " ".join(lines[place].strip() for place in places)
            if size in levels and _may_be_heading(words):
                lines[places[0]] = f"\n{outline.mark(levels[size], words)}{words}\n"
                for place in places[1:]:
                    lines[place] = ""


def _half_points(height: float) -> float:
    """Round the height of letters, because the measures of one size differ a little."""
    return round(height * 2) / 2


def _may_be_heading(words: str) -> bool:
    if len(words) > _MOST_CHARACTERS or len(words.split(maxsplit=_MOST_WORDS)) > _MOST_WORDS:
        return False
    return _HAS_WORD.search(words) is not None and not ends_with_stop(words)


class Sections(NamedTuple):
    """The sections that a passage lies in."""

    # The headings of the section that holds most of the passage, such as "Setup > Linux"; None without a heading.
    main: str | None
    # If the passage lies in several sections: where each begins in the passage, and its headings.
    begins: Sequence[tuple[int, str]] = ()


def find_sections(parts: Sequence[str], headings: Sequence[Heading]) -> list[Sections]:
    """Find the sections of each passage. ``parts`` are all passages of a text, in order."""
    # Before the first heading is a section without a name.
    begins, names = [0], [""]
    above: list[Heading] = []
    for heading in headings:
        above = [*(parent for parent in above if parent.level < heading.level), heading]
        begins.append(heading.place)
        names.append(" > ".join(parent.words for parent in above))
    sections: list[Sections] = []
    begin = 0
    for part in parts:
        end = begin + len(part)
        # The sections from `first` to before `after` have characters of the passage.
        first = bisect_right(begins, begin) - 1
        after = bisect_left(begins, end)
        borders = [begin, *begins[first + 1 : after], end]
        starts = [start - begin for start in borders[:-1]]
        lengths = [stop - start for start, stop in pairwise(borders)]
        longest = first + lengths.index(max(lengths))
        main = names[longest] or None
        inside = list(zip(starts, names[first:after], strict=False))
        sections.append(Sections(main, inside if len(inside) > 1 else ()))
        begin = end
    return sections
