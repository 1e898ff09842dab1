"""Indexing books in EPUB."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.report import CannotRead
from tests.for_each import for_each

pytest.importorskip("trafilatura", reason="the extra 'files' is not installed")

CONTAINER = '<container xmlns="urn:x"><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
LISTING = """<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>The yard</dc:title></metadata><manifest><item id="b" href="two.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/one%20a.xhtml" media-type="application/xhtml+xml"/><item id="p" href="p.png" media-type="image/png"/>
</manifest><spine><itemref idref="a"/><itemref idref="b"/><itemref idref="p"/><itemref idref="a"/></spine></package>"""
PAGE = """<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "x"><html><body><h1>{0}</h1>
<p>{1} It was a long and quiet summer on the river, and everybody worked on the ship from morning to evening.</p>
</body></html>"""


def make_epub(**parts: str) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as book:
        for name, text in {
            "META-INF/container.xml": CONTAINER,
            "OEBPS/book.opf": LISTING,
            "OEBPS/text/one a.xhtml": PAGE.format("The keel", "The keel was laid first."),
            "OEBPS/two.xhtml": PAGE.format("The launch", "The launch came in May."),
            **parts,
        }.items():
            book.writestr(name, text)
    return archive.getvalue()


def test_the_chapters_come_once_and_in_the_order_of_the_book() -> None:
    passages = FileConverter().passages(Path("/a.epub"), make_epub())

    text = " ".join(passage.content or "" for passage in passages)
    assert text.index("The keel was laid first.") < text.index("The launch came in May.")
    assert text.count("The keel was laid first.") == 1
    assert passages[0].meta["title"] == "The yard"
    assert passages[0].meta["heading"] == "The keel"


@for_each(
    "parts, reason",
    ({"META-INF/container.xml": "<container/>"}, "no list of its pages"),
    ({"META-INF/container.xml": f'<!DOCTYPE a [<!ENTITY b "c">]>{CONTAINER}'}, "DOCTYPE"),
    ({"OEBPS/book.opf": "<package"}, "may be damaged"),
    ({"OEBPS/two.xhtml": " " * 10_000_001, "META-INF/encryption.xml": "<a/>"}, "one of its pages is too large"),
    ({"OEBPS/two.xhtml": "\0\1\2", "META-INF/encryption.xml": "<a/>"}, "protected against copying"),
)
def test_a_book_that_cannot_be_read_is_refused(parts: dict[str, str], reason: str) -> None:
    with pytest.raises(CannotRead, match=reason):
        FileConverter().passages(Path("/a.epub"), make_epub(**parts))
