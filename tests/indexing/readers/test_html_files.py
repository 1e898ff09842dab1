"""Tables in the HTML of pages and mails."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.html_files import mark_page
from tests.for_each import for_each

CELLS = "<tr><th>Boat</th><th>Seats</th></tr><tr><td>Tern</td><td>48</td></tr><tr><td>Skua</td><td>7<b>2</b></td></tr>"
LONG = "The harbour office publishes the fees of each season in March, after the committee has decided about them."


def read(page: str) -> str:
    """Return a page with its tables as paragraphs, without marks."""
    outline = Outline()
    return outline.read(mark_page(page, outline))[0].strip()


def lines_of(part: str) -> list[str]:
    """Return the lines that a page with a part between two paragraphs gives for this part."""
    pytest.importorskip("trafilatura", reason="the extra 'files' is not installed")
    page = f"<html><body><article><p>{LONG}</p>{part}<p>{LONG} Visitors pay.</p></article></body></html>"
    passages = FileConverter().passages(Path("/a.html"), page.encode())
    return "\n".join(passage.content or "" for passage in passages).split("\n")[1:-1]


def test_row_of_a_table_is_a_paragraph_with_column_names() -> None:
    assert read(f"<table border=1>{CELLS}</table>") == "<p>Boat: Tern; Seats: 48</p>\n<p>Boat: Skua; Seats: 72</p>"


def test_a_caption_is_the_title_of_the_table() -> None:
    assert read(f"<table><caption>The <i>fleet</i></caption>{CELLS}</table>").startswith("<p>The fleet; Boat: Tern;")


def test_cells_over_several_rows_and_columns_repeat_their_text() -> None:
    rows = (
        "<tr><th rowspan=2>Boat<th colspan=2>Summer</tr><tr><th>First<th>Last</tr>"
        "<tr><td rowspan=2>Tern<td>6:10<td>22:40</tr><tr><td>6:50<td>23:15</tr>"
    )

    assert read(f"<TABLE>{rows}</TABLE>").split("\n") == [
        "<p>Boat: Tern; Summer First: 6:10; Summer Last: 22:40</p>",
        "<p>Boat: Tern; Summer First: 6:50; Summer Last: 23:15</p>",
    ]


@for_each(
    "rows, lines",
    (
        "<tr><td rowspan=0>Tern<td>6:10<td>22:40<tr><td>6:50<td>23:15<tr><td>7:30<td>23:50",
        ["Tern; From: 6:10; To: 22:40", "Tern; From: 6:50; To: 23:15", "Tern; From: 7:30; To: 23:50"],
    ),
    (
        "<tbody><tr><td rowspan=0>Tern<td>6:10<td>22:40<tr><td>6:50<td>23:15</tbody>"
        "<tbody><tr><td>Skua<td>8:00<td>9:00</tbody>",
        ["Tern; From: 6:10; To: 22:40", "Tern; From: 6:50; To: 23:15", "Skua; From: 8:00; To: 9:00"],
    ),
    # If all cells of a row cover no number of rows, each covers its row.
    (
        "<tr><td rowspan=0>Tern<td rowspan=0>6:10<td rowspan=0>22:40<tr><td>Skua<td>8:00<td>9:00",
        ["Tern; From: 6:10; To: 22:40", "Skua; From: 8:00; To: 9:00"],
    ),
    # No columns are one.
    ("<tr><td colspan=0>Tern<td>6:10<td>22:40", ["Tern; From: 6:10; To: 22:40"]),
)
def test_a_cell_over_no_number_of_rows_ends_with_its_group(rows: str, lines: list[str]) -> None:
    table = f"<table><thead><tr><th>Boat<th>From<th>To</thead>{rows}</table>"

    assert read(table).split("\n") == [f"<p>Boat: {line}</p>" for line in lines]


def test_a_group_below_the_column_names_is_no_part_of_them() -> None:
    rows = (
        "<tr><th>Day<th>Event</tr><tr><th colspan=2>Spring</tr><tr><td>3 May<td>Regatta</tr>"
        "<tr><th colspan=2>Summer</tr><tr><td>5 June<td>Dance</tr>"
    )

    assert read(f"<table>{rows}</table>").split("\n") == [
        "<p>Spring; Day: 3 May; Event: Regatta</p>",
        "<p>Summer; Day: 5 June; Event: Dance</p>",
    ]


@for_each(
    "rows, line",
    ("<tr><th colspan=2>Fees</tr><tr><th>Plot<th>Fee</tr><tr><td>A<td>3</tr>", "Fees; Plot: A; Fee: 3"),
    (
        "<tr><th rowspan=2>Plot<th colspan=2>Rent</tr><tr><th colspan=2>Net</tr><tr><td>A<td>3<td>2</tr>",
        "Plot: A; Rent Net: 3; Rent Net: 2",
    ),
)
def test_a_wide_name_at_another_place_is_read_as_before(rows: str, line: str) -> None:
    assert read(f"<table>{rows}</table>") == f"<p>{line}</p>"


def test_signs_of_html_in_cells_stay_text() -> None:
    table = "<table><tr><th>Sign<th>Use</tr><tr><td>&lt;b&gt;<td>bold &amp; more</tr></table>"

    assert read(table) == "<p>Sign: &lt;b&gt;; Use: bold &amp; more</p>"


@for_each(
    "table",
    "<table><tr><td><h2>News</h2></td><td>Text</td></tr><tr><td>a</td><td>b</td></tr></table>",
    "<table><tr><td><ul><li>Home</ul></td><td>Text</td></tr><tr><td>a</td><td>b</td></tr></table>",
    f"<table><tr><td>{'A long text. ' * 50}</td><td>Text</td></tr><tr><td>a</td><td>b</td></tr></table>",
    "<table><tr><td>only</td></tr><tr><td>one column</td></tr></table>",
)
def test_a_table_that_lays_out_a_page_is_left_as_it_is(table: str) -> None:
    assert "<table" in read(table)


def test_only_the_inner_of_two_tables_is_read() -> None:
    page = read(f"<table><tr><td>Menu</td><td><table>{CELLS}</table></td></tr><tr><td>a</td><td>b</td></tr></table>")

    assert page.startswith("<table><tr><td>Menu</td><td><p>Boat: Tern")


def test_headings_and_rows_keep_their_places() -> None:
    outline = Outline()

    text, headings = outline.read(mark_page(f"<h1>Fleet</h1><table>{CELLS}</table><h2>Crew</h2>", outline))

    assert [heading.words for heading in headings if text[heading.place :].startswith(heading.words)] == [
        "Fleet",
        "Crew",
    ]
    assert [text[place : place + 10] for place, _, _ in outline.rows] == ["Boat: Tern", "Boat: Skua"]


@for_each(
    "table",
    "<table>" * 20_000,
    "<table>" + "<tr><td colspan=1000000 rowspan=1000000>x<td>y" * 5_000 + "</table>",
    "<table>" + "<tr>" * 50_000 + "</table>",
    "<table><tr>" + "<td>x" * 50_000 + "<tr><td>a<td>b</table>",
    "<table><tr><td colspan=-5 rowspan=x>a<td>b</tr><tr><td>c<td>d</tr></table>",
)
def test_hostile_tables_are_read_in_seconds(table: str) -> None:
    before = time.process_time()

    assert isinstance(read(table), str)
    assert time.process_time() - before < 3


@given(
    st.lists(
        st.sampled_from(["<table>", "</table>", "<tr>", "<td>", "<th colspan=2>", "<h1>", "</h1>", "a", "&lt;", "<"])
    )
)
def test_any_order_of_tags_is_read(tags: list[str]) -> None:
    assert read("".join(tags)).count("a") >= 0


@for_each(
    "figure, lines",
    (
        f'<figure class="wp-block-table"><table>{CELLS}</table></figure>',
        ["Boat: Tern; Seats: 48", "Boat: Skua; Seats: 72"],
    ),
    ("<figure><img src=a.png><figcaption>The old quay.</figcaption></figure>", ["The old quay."]),
    ('<FIGURE class="code"><pre>pump --rate 7\npump --stop</pre></FIGURE>', ["pump --rate 7", "pump --stop"]),
    ('<figure><img src=a.png alt="A quay"></figure>', []),
    ('<figure class="x" style="display:none">A secret.</figure>', []),
    ('<figure aria-hidden="true">A secret.</figure>', []),
)
def test_the_text_of_a_figure_stays(figure: str, lines: list[str]) -> None:
    assert lines_of(figure) == lines


def test_the_words_of_a_date_or_time_stay() -> None:
    part = '<h2>Dance on <time>3 May</time></h2><p>Tea at <time datetime="16:15">a quarter past four</time>.</p>'

    assert lines_of(part) == ["Dance on 3 May", "Tea at a quarter past four."]


@for_each(
    "part, lines",
    (
        "<h2> <button class=fold><span>Fees</span></button></h2><div><p>A berth costs 9.</p></div>",
        ["Fees", "A berth costs 9."],
    ),
    ("<center><b>The key hangs behind the door.</b></center>", ["The key hangs behind the door."]),
    ("<button>Share</button><nav><a href=/>Home</a></nav>", []),
)
def test_a_heading_in_a_button_and_centred_words_stay(part: str, lines: list[str]) -> None:
    assert lines_of(part) == lines


@for_each("page", "<p>The dam is safe.</p>", "<body><p>The dam is safe.</p></body>", "<h1>The dam is safe.</h1>")
def test_a_page_of_a_single_element_is_read(page: str) -> None:
    pytest.importorskip("trafilatura", reason="the extra 'files' is not installed")

    [passage] = FileConverter().passages(Path("/a.html"), page.encode())

    assert passage.content == "The dam is safe."
