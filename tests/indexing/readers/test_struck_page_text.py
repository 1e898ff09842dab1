"""Struck-out and hidden text of HTML pages, Markdown files and mails."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.readers.markdown_files import _CODE
from prefrag.indexing.readers.struck_page_text import strike_markdown, strike_page
from tests.for_each import for_each


@for_each(
    "page, shown, count",
    ("The fee is <s>12</s> 15 euros.", "The fee is  15 euros.", 1),
    ("It costs <DEL class='a'>350</DEL><ins>420</ins> euros.", "It costs <ins>420</ins> euros.", 1),
    ("Open until<strike>22</strike>23:30.", "Open until 23:30.", 1),
    ("The dues are <span style='color: red; text-decoration: line-through'>30</span> 36.", "The dues are  36.", 1),
    ("<p style='display: none'>Bo</p><p>Ann</p>", "<p>Ann</p>", 1),
    ("<div hidden><div>Bo</div>Cat</div><p>Ann</p>", "<p>Ann</p>", 1),
    ('Bus <b style="visibility:hidden">7</b> 8', "Bus  8", 1),
    ("<s>a <s>b</s> c</s> d", " d", 1),
)
def test_struck_out_elements_are_left_out(page: str, shown: str, count: int):
    assert strike_page(page) == (shown, count)


@for_each(
    "rows, shown",
    # Of a cell, only the content is removed.
    (
        "<tr><td>Mash<td style='text-decoration: line-through'>40</td><td>30</td></tr>",
        "<tr><td>Mash<td style='text-decoration: line-through'></td><td>30</td></tr>",
    ),
    (
        "<tr><th>Item</th><th>Price</th></tr><tr><td hidden>40</td><td>30</td></tr>",
        "<tr><th>Item</th><th>Price</th></tr><tr><td hidden></td><td>30</td></tr>",
    ),
    ("<tr><th>1</th></tr><tr><td hidden></td><td>30</td></tr>",) * 2,
    # A merged cell keeps its rows.
    (
        "<tr><td rowspan=2>1</td><td>2</td></tr><tr><td><s>3</s></td></tr>",
        "<tr><td rowspan=2>1</td><td>2</td></tr><tr><td></td></tr>",
    ),
    # A column that is hidden with its name is removed.
    (
        "<tr><th>Item</th><th hidden>Cost</th><th>Price</th></tr><tr><td>Mash<td hidden>40<td>30</tr>",
        "<tr><th>Item</th><th>Price</th></tr><tr><td>Mash<td>30</tr>",
    ),
    # So is a row of which nothing is left.
    ("<tr><td>1</td></tr><tr><td><s>2</s></td></tr><tr><td>3</td></tr>", "<tr><td>1</td></tr><tr><td>3</td></tr>"),
    ("<tr><td><s>2</s><table><tr><td>3</td></tr></table></tr>", "<tr><td><table><tr><td>3</td></tr></table></tr>"),
    ("<tr><td></td></tr><tr><td>3</td></tr>", "<tr><td></td></tr><tr><td>3</td></tr>"),
)
def test_the_cells_of_a_table_keep_their_columns(rows: str, shown: str):
    assert strike_page(f"<table>{rows}</table>")[0] == f"<table>{shown}</table>"


def test_cells_behind_a_struck_out_cell_keep_their_names():
    pytest.importorskip("trafilatura", reason="the extra 'files' is not installed")
    names = "<tr><th>Article</th><th>Old price</th><th>Price</th><th>Stock</th></tr>"
    cells = "<tr><td>Mash</td><td style='text-decoration: line-through'>40</td><td>30</td><td>7</td></tr>"
    page = f"<p>The shop by the harbour sells these.</p><table>{names}{cells}</table>"

    [passage] = FileConverter().passages(Path("/a.html"), page.encode())

    assert "Article: Mash; Price: 30; Stock: 7" in (passage.content or "")


@for_each(
    "page, text",
    ("<div role='tabpanel' hidden>The hall costs 30 euros a day.</div>", "The hall costs 30 euros"),
    ("<div hidden='until-found'>The hall costs 30 euros a day.</div>", "The hall costs 30 euros"),
    ("<h2>What is the fee?</h2> <div style='display:none'><p>It is 30 euros.</p></div>", "It is 30 euros"),
    ("<div><button>Fee</button><div hidden><p>It is 30 euros.</p></div></div>", "It is 30 euros"),
    (f"<p>{'The hall is big. ' * 50}</p>" + f"<div hidden><p>{'Rent it now. ' * 30}</p></div>", "Rent it now."),
)
def test_hidden_elements_that_a_click_shows_stay(page: str, text: str):
    pytest.importorskip("trafilatura", reason="the extra 'files' is not installed")
    converter = FileConverter()
    page = f"<html><body><p>The members meet in the old hall every week.</p>{page}</body></html>"

    content = " ".join(passage.content or "" for passage in converter.passages(Path("/a.html"), page.encode()))

    assert text in content
    assert converter.loss == ""


def test_a_page_that_a_script_shows_is_read():
    pytest.importorskip("trafilatura", reason="the extra 'files' is not installed")
    page = "<html><body><div style='display:none'><p>The fee is <s>9</s> 10 euros a year.</p></div></body></html>"

    [passage] = FileConverter().passages(Path("/a.html"), page.encode())

    assert passage.content == "The fee is 10 euros a year."


@for_each(
    "page",
    "<p class='hidden s'>The fee is 9 euros.</p>",
    "<p title='a hidden thing' style='display:inline'>The fee is 9 euros.</p>",
    "<p>The fee is <s>9 euros.</p><p>The gate is green.</p>",
    "<body style='visibility:hidden'><p>The fee is 9 euros.</p></body>",
    "<script>x = '<s>9</s>'</script><!-- <s>9</s> --><p>&lt;s>9&lt;/s></p>",
    "<input hidden><p>The fee is 9 euros.</p>",
    "<section><small>9</small></section>",
)
def test_what_is_shown_stays(page: str):
    assert strike_page(page) == (page, 0)


@for_each(
    "text, shown",
    ("The fee is ~~12~~ 15 euros.", "The fee is  15 euros."),
    ("- ~~Piet waters~~\n- Ann waters", "- \n- Ann waters"),
    ("It costs ~~90\neuros~~ 110 euros.", "It costs  110 euros."),
    ("It costs <del>90 `x`</del> 110 euros.", "It costs  110 euros."),
    ("`~~x~~` and ~5 to ~10 ~~ y ~~", "`~~x~~` and ~5 to ~10 ~~ y ~~"),
    ("~~~\ncode ~~x~~ <s>y</s>\n~~~\n", "~~~\ncode ~~x~~ <s>y</s>\n~~~\n"),
    ("~~a\n\nb~~", "~~a\n\nb~~"),
    ("Code:\n\n    ~~x~~\n\n    <s>9</s>\n\n~~y~~ z", "Code:\n\n    ~~x~~\n\n    <s>9</s>\n\n z"),
    ("\t~~x~~\nA line\n    ~~y~~ z", "\t~~x~~\nA line\n     z"),
    ("- Fee\n\n    ~~12~~ 15\n\nText\n\n    ~~x~~", "- Fee\n\n     15\n\nText\n\n    ~~x~~"),
    ("[^1]: Fee\n\n    ~~12~~ 15", "[^1]: Fee\n\n     15"),
)
def test_struck_out_markdown_is_left_out(text: str, shown: str):
    assert strike_markdown(text, _CODE)[0] == shown


def test_struck_out_texts_are_counted_in_the_loss():
    pytest.importorskip("trafilatura", reason="the extra 'files' is not installed")
    converter = FileConverter()
    mail = "Subject: Fee\nContent-Type: text/html\n\n<p>The fee is <s>12</s> 15 euros.</p>"
    files = {"a.md": "The fee is ~~12~~ 15 euros.", "a.html": mail.partition("\n\n")[2] + "<p>Text.</p>", "a.eml": mail}

    for name, content in files.items():
        text = "".join(passage.content or "" for passage in converter.passages(Path(f"/{name}"), content.encode()))

        assert "The fee is 15 euros." in text
        assert converter.loss == "1 struck-out or hidden text left out"


@for_each(
    "part", "<s>", "<p hidden>", "<!--", "~~a", "<tr><td hidden>", "<table><tr><td><s>2</s>", "<script>", "<a ", "</s>"
)
def test_a_hostile_page_is_read_at_once(part: str):
    before = time.process_time()
    strike_page(part * 20_000)
    strike_markdown(part * 20_000, _CODE)

    assert time.process_time() - before < 3
