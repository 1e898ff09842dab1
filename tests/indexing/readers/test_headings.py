"""The headings of a file survive its conversion."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from prefrag.indexing.readers.headings import (
    Heading,
    Outline,
    find_sections,
    mark_html,
    mark_large_lines,
    mark_markdown,
)
from tests.for_each import for_each

pytest.importorskip("markdown_it")

MANUAL = """# Manual

Read it.

Use
---

Use *it*.

```
# no heading
```

> ### Daily `pump` [care](https://a.example)

Oil it.
"""


def marked_headings(mark: Callable[[str, Outline], str], text: str) -> tuple[str, list[tuple[int, str, str]]]:
    """The text without the marks of headings, and for each heading the level, the words and the text that follows."""
    outline = Outline()
    plain, headings = outline.read(mark(text, outline))
    return plain, [(heading.level, heading.words, plain[heading.place : heading.place + 5]) for heading in headings]


def test_those_of_markdown_are_what_its_parser_takes_for_one():
    plain, headings = marked_headings(mark_markdown, MANUAL)

    assert plain == MANUAL
    assert headings == [(1, "Manual", "Manua"), (2, "Use", "Use\n-"), (3, "Daily pump care", "Daily")]


def test_paragraph_lines_of_markdown_are_joined_but_no_code():
    """Nor lines whose breaks the file keeps."""

    line = "A long line of a paragraph which was wrapped at a"
    text = f"{line}\nwidth.\n\n> - {line}\n>   width.\n\n{line}  \nwidth.\n\n```\n{line}\nwidth.\n```"

    assert mark_markdown(text, Outline()) == text.replace(f"{line}\nwidth", f"{line} width", 1).replace("\n>  ", "")


def test_marks_change_no_emphasis():
    outline = Outline()

    marked = mark_markdown('# _Pump_ "x"\n\n**"A"** b\n---\n', outline)

    assert outline.read(_rendered(marked))[0] == _rendered(outline.read(marked)[0])


def _rendered(text: str) -> str:
    from markdown_it import MarkdownIt

    return MarkdownIt().render(text)


def test_page_headings_lose_tags_and_begin_a_section_if_dropped():
    """The extraction of the text may drop them."""

    page = '<h1 class="a">Pumps &amp;<br/>care</h1><p>Read.</p><H2><a href="#u">Use</a> <a>\u00b6</a></H2><div><p>Daily.</p></div>'

    plain, headings = marked_headings(mark_html, page)

    assert plain == page
    assert [(level, words) for level, words, _ in headings] == [(1, "Pumps & care"), (2, "Use")]

    outline = Outline()
    marked = mark_html("<h2>Use</h2>\n<div><p>Daily.</p></div>", outline)
    extracted = marked.partition("<p>")[2].partition("</p>")[0]

    assert outline.read(extracted) == ("Daily.", [Heading(0, 2, "Use")])


@for_each("text", "<h2></h2><p>x</p>", "<h2><img></h2><p>x</p>", "<h2>a", "</h2>x", "<h7>a</h7>")
def test_a_page_without_words_in_its_headings_has_none(text: str):
    assert marked_headings(mark_html, text) == (text, [])


def test_sign_in_the_file_is_no_heading_and_long_ones_are_cut():
    """So are deep paths."""

    outline = Outline()

    assert outline.read(f"\u205c7\u205cText {outline.mark(1, 'A')}A") == ("Text A", [Heading(5, 1, "A")])

    outline = Outline()

    [heading] = outline.read(outline.mark(1, "word " * 1_000))[1]

    assert len(heading.words) <= 120

    outline = Outline()
    marked = "\n".join(f"{outline.mark(level, 'x' * 120)}heading" for level in range(1, 500))

    text, headings = outline.read(marked)

    assert max(len(sections.main or "") for sections in find_sections(text.splitlines(keepends=True), headings)) < 1_200


class TestSections:
    HEADINGS = (Heading(5, 1, "A"), Heading(20, 3, "B"), Heading(30, 2, "C"), Heading(31, 1, "D"))

    def test_are_named_by_the_headings_above_most_of_the_part(self):
        parts = ["." * length for length in (5, 15, 10, 1, 9)]

        assert find_sections(parts, self.HEADINGS) == [(name, ()) for name in (None, "A", "A > B", "A > C", "D")]

        assert find_sections(["a", "b"], []) == [(None, ())] * 2
        assert find_sections([], []) == []

    def test_of_a_part_in_several_are_listed_with_their_beginnings(self):
        assert find_sections(["." * 22, "." * 18], self.HEADINGS) == [
            ("A", [(0, ""), (5, "A"), (20, "A > B")]),
            ("D", [(0, "A > B"), (8, "A > C"), (9, "D")]),
        ]


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        (mark_html, "<h1>" * 200_000),
        (mark_html, "<h1>a</h1>" * 25_000),
        (mark_html, "<h1 " * 200_000),
        (mark_html, "<h1>a</h1>" + "<b> " * 200_000),
        (mark_markdown, "# a\n" * 5_000),
        (mark_markdown, "# " + "[" * 200_000),
    ],
    ids=["open", "many", "broken", "tags", "Markdown", "brackets"],
)
def test_a_hostile_file_is_marked_soon(mark: Callable[[str, Outline], str], text: str):
    before = time.process_time()

    outline = Outline()
    plain, headings = outline.read(mark(text, outline))
    find_sections([plain[start : start + 1_000] for start in range(0, len(plain), 1_000)], headings)

    assert time.process_time() - before < 5


def test_larger_lines_are_headings_and_stand_apart():
    outline, body = Outline(), ["The fee was raised by four per cent in May."] * 8
    pages = [
        ["Port of", "Sandmere", "9 October 2023", "Fees", *body],
        ["A sentence ends here.", *body, "Berths", *body],
    ]
    sizes = [[20.0, 20.2, 10.0, 14.0, *[10.0] * 8], [14.0, *[10.1] * 8, 13.9, *[10.1] * 8]]

    mark_large_lines(pages, sizes, outline)
    text, headings = outline.read("\n".join(line for page in pages for line in page))

    assert [(heading.level, heading.words) for heading in headings] == [
        (1, "Port of Sandmere"),
        (2, "Fees"),
        (2, "Berths"),
    ]
    assert "9 October 2023\n\nFees\n\nThe fee" in text


@for_each("sizes", [], [10.0, 10.0], [20.0, 10.0], [0.0, 0.0])
def test_no_line_is_a_heading_without_sizes_or_if_many_are_large(sizes: list[float]):
    lines, outline = ["Port of Sandmere", "The fee was raised."], Outline()

    mark_large_lines([lines], [sizes], outline)

    assert lines == ["Port of Sandmere", "The fee was raised."]
