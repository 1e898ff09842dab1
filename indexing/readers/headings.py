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
from typing import NamedTuple

from prefrag.components.text.sentences import cut_text, ends_with_stop
from prefrag.components.text.table_rows import Table
from prefrag.indexing.readers.wrapped_lines import unwrap_lines

# A rare character that nobody types. It is printable, because the extraction from HTML drops unprintable characters. It
# is a punctuation mark, so that Markdown emphasis right after it still works.
_SIGN = "\u205c"
# If the converter dropped the words of a heading, only the mark is left in the line, so the line end is removed too.
_MARK = re.compile(rf"{_SIGN}([0-9]{{1,7}}){_SIGN}(?:[^\S\n]{{0,9}}\n)?")
_HTML_HEADING = re.compile(r"<(/?)h([1-6])(?:\s[^<>]{0,1000})?>", re.IGNORECASE)
# Matches the tags between a heading and the next text.
_HTML_TAGS = re.compile(r"(?:\s++|<(?!/?h[1-6]\b|script\b|style\b|!)[^<>]{1,1000}>){0,30}+(?=[^\s<])", re.IGNORECASE)
_HTML_BREAK = re.compile(r"<(?:br|p|div|li|td)\b[^<>]*>", re.IGNORECASE)
_MOST_READ = 2_000  # only so many characters of a heading are read
_MOST_CHARACTERS = 120  # longer headings are cut to this length
# The maximum level, as in Word. If a file claimed thousands of levels, each passage would get as many headings.
_MOST_LEVELS = 9
# Letters are large if they are this many times as high as those of the text. At most this share of the text is large.
_LARGER, _MOST_LARGE = 1.15, 0.2
_MOST_WORDS = 15
_HAS_WORD = re.compile(r"[^\W\d_]{2}")


class Heading(NamedTuple):
    """A heading in a text."""

    place: int  # the position of the heading in the text, in characters
    level: int
    words: str


class Outline:
    """The headings of one file, in order. It makes a mark for each, and finds the marks in the converted text."""

    def __init__(self) -> None:
        self._marked: list[tuple[int, str] | tuple[Table, int]] = []
        self._tables = 0
        self.rows: list[
            tuple[int, Table, int]
        ] = []  # after `read`: where a row stands, its table, and its number there
        self.loss = ""  # says which parts of the file could not be read

    def mark(self, level: int, words: str) -> str:
        """Add the next heading of the file. Returns the mark to write before it, or "" if the heading has no words."""
        words = " ".join(words[:_MOST_READ].split())
        if not words:
            return ""
        return self._add((min(level, _MOST_LEVELS), cut_text(words, _MOST_CHARACTERS, "...")))

    def count_table(self) -> int:
        """Return the number of the next table of the file, from 1."""
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
        # Headings and rows are marked one after the other, so each of the two kinds has its own order.
        following = {Heading: 0, Table: 0}
        for mark in _MARK.finditer(marked):
            pieces.append(marked[end : mark.start()])
            length += len(pieces[-1])
            end = mark.end()
            number = int(mark[1])
            if number >= len(self._marked):
                continue
            first, second = self._marked[number]
            kind = Table if isinstance(first, Table) else Heading
            if number < following[kind]:
                continue
            following[kind] = number + 1
            if isinstance(first, Table):
                self.rows.append((length, first, int(second)))
            else:
                headings.append(Heading(length, first, str(second)))
        return "".join([*pieces, marked[end:]]), headings


def mark_markdown(text: str, outline: Outline) -> str:
    """Mark the headings of a Markdown text, except in code blocks, and write each paragraph on one line."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt()
    # Split where the parser does, because its line numbers are used below.
    lines: list[str | None] = [*re.sub(r"\r\n?", "\n", text).split("\n")]
    for opening, content in pairwise(MarkdownIt().disable("inline").parse(text)):
        if opening.type not in ("heading_open", "paragraph_open") or opening.map is None:
            continue
        source, (number, end) = content.content.partition("\n")[0], opening.map
        before, source_words, after = (lines[number] or "").partition(source) if source else ("", "", "")
        if source_words and opening.type == "paragraph_open":
            # Two spaces at the end of a line mean that its line break must stay.
            if end - number > 1 and "  \n" not in content.content:
                hang = re.sub(r"[^>\s]", " ", before)
                lines[number] = before + unwrap_lines(content.content).replace("\n", f"\n{hang}")
                lines[number + 1 : end] = [None] * (end - number - 1)
        elif source_words:
            shown = [
                child for inline in parser.parseInline(content.content[:_MOST_READ]) for child in inline.children or ()
            ]
            words = "".join(child.content if child.type in ("text", "code_inline") else " " for child in shown)
            lines[number] = f"{before}{outline.mark(int(opening.tag[1:]), words)}{source_words}{after}"
    return "\n".join(line for line in lines if line is not None)


def mark_html(text: str, outline: Outline) -> str:
    """Mark each heading, and repeat the mark before the next text, because the extraction drops many headings."""
    pieces: list[str] = []
    end = 0
    for opening, closing in pairwise(_HTML_HEADING.finditer(text)):
        if opening[1] or not closing[1]:
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
            characters[round(height * 2) / 2] += len(line.strip())
    body = max(characters, key=lambda size: (characters[size], -size), default=0.0)
    larger = sorted((size for size in characters if size >= _LARGER * body), reverse=True)
    levels = {size: level for level, size in enumerate(larger, start=1)}
    # Slides, and texts that change their size, have no headings that the size could tell.
    if not body or sum(characters[size] for size in larger) > _MOST_LARGE * characters.total():
        return
    for lines, heights in zip(pages, sizes, strict=True):
        grades = [round(height * 2) / 2 for height in heights[: len(lines)]]
        for size, group in groupby(range(len(grades)), key=lambda place: lines[place].strip() and grades[place]):
            places = list(group)
            words = " ".join(lines[place].strip() for place in places)
            is_short = len(words.split(maxsplit=_MOST_WORDS)) <= _MOST_WORDS and len(words) <= _MOST_CHARACTERS
            if size in levels and is_short and _HAS_WORD.search(words) and not ends_with_stop(words):
                lines[places[0]] = f"\n{outline.mark(levels[size], words)}{words}\n"
                for place in places[1:]:
                    lines[place] = ""


class Sections(NamedTuple):
    """The sections that a passage lies in."""

    main: str | None  # the headings of the section that holds most of the passage, such as "Setup > Linux"
    begins: Sequence[tuple[int, str]] = ()  # for each of several sections: its start in the passage, and its headings


def find_sections(parts: Sequence[str], headings: Sequence[Heading]) -> list[Sections]:
    """Find the sections of each passage. ``parts`` are all passages of a text, in order."""
    begins, names, above = [0], [""], list[Heading]()
    for heading in headings:
        above = [*(parent for parent in above if parent.level < heading.level), heading]
        begins.append(heading.place)
        names.append(" > ".join(parent.words for parent in above))
    sections: list[Sections] = []
    begin = 0
    for part in parts:
        end = begin + len(part)
        first, after = bisect_right(begins, begin) - 1, bisect_left(begins, end)
        borders = [begin, *begins[first + 1 : after], end]
        lengths = [stop - start for start, stop in pairwise(borders)]
        inside = [(start - begin, name) for start, name in zip(borders, names[first:after], strict=False)]
        sections.append(Sections(names[first + lengths.index(max(lengths))] or None, inside if inside[1:] else ()))
        begin = end
    return sections
