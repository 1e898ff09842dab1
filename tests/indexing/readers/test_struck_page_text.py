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
    ("<p style='display: none'>Bo</p><p>Ann</p>", "<p>Ann</p>", 0),
    ("<div hidden><div>Bo</div>Cat</div><p>Ann</p>", "<p>Ann</p>", 0),
    ('Bus <b style="visibility:hidden">7</b> 8', "Bus  8", 0),
    ("<s>a <s>b</s> c</s> d", " d", 1),
)
def test_struck_out_elements_are_left_out(page: str, shown: str, count: int):
    assert strike_page(page) == (shown, count)


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


@for_each("part", "<s>", "<p hidden>", "<!--", "~~a", "<script>", "<a ", "</s>")
def test_a_hostile_page_is_read_at_once(part: str):
    begin = time.monotonic()
    strike_page(part * 50_000)
    strike_markdown(part * 50_000, _CODE)

    assert time.monotonic() - begin < 10
