"""Files made to exhaust whoever reads them: each is refused or bounded, and indexing goes on with the next."""

from __future__ import annotations

import base64
import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from prefrag import indexing
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.indexing import files
from prefrag.indexing.converter_process import ConverterProcess
from tests.indexing.test_open_document_files import HEAD, make_file

# Each takes a small part of it; without its limit, hours or all memory.
MOST_SECONDS = 30.0
OPF = '<package xmlns="http://www.idpf.org/2007/opf"><manifest>{0}</manifest><spine>{1}</spine></package>'
ITEM = '<item id="{0}" href="{0}" media-type="application/xhtml+xml"/>'
CONTAINER = '<container xmlns="urn:x"><rootfiles><rootfile full-path="o.opf"/></rootfiles></container>'
LAUGHS = [f"<!ENTITY a{n + 1} '{f'&a{n};' * 10}'>" for n in range(9)]
DOCTYPE = f"<!DOCTYPE x [<!ENTITY a0 'ha'>{''.join(LAUGHS)}]>"
HEADED = "From: ada@example.org\nSubject: Ropes\nContent-Type: {}\n\n{}"
MIXED = HEADED.format("multipart/mixed; boundary=X", "--X\n{}\n--X--\n")


def epub(pages: dict[str, str], before: str = "") -> bytes:
    listing = OPF.format("".join(map(ITEM.format, pages)), "".join(f'<itemref idref="{name}"/>' for name in pages))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in {"META-INF/container.xml": CONTAINER, "o.opf": before + listing, **pages}.items():
            book.writestr(name, text)
    return archive.getvalue()


def deflated(kind: str, body: str) -> bytes:
    """An OpenDocument file in few bytes."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("content.xml", zipfile.ZipFile(io.BytesIO(make_file(kind, body))).read("content.xml"))
    return archive.getvalue()


def attached(name: str, data: bytes) -> str:
    head = f'Content-Disposition: attachment; filename="{name}"\nContent-Transfer-Encoding: base64\n\n'
    return f"{head}{base64.encodebytes(data).decode()}"


HOSTILE: dict[str, Callable[[], bytes | str]] = {
    "a page of a gigabyte.epub": lambda: epub({"a": "<p>x</p>" * 125_000_000}),
    "a page larger than pages are.epub": lambda: epub({"a": "<p>Some words.</p>" * 1_000_000}),
    "many large pages.epub": lambda: epub({f"{n}": "<p>Some words.</p>" * 400_000 for n in range(20)}),
    "entities in the listing.epub": lambda: epub({"a": "x"}, DOCTYPE),
    "elements a million deep.epub": lambda: epub({"a": "x"}, "<a>" * 1_000_000),
    "half a gigabyte.odt": lambda: deflated("text", "<t:p>x</t:p>" * 45_000_000),
    "entities.odt": lambda: make_file("text", "", **{"meta.xml": f"{DOCTYPE}<a{HEAD}><title>&a9;</title></a>"}),
    "a million deep.odt": lambda: deflated(
        "text", "<t:p>" + "<t:span>" * 1_000_000 + "</t:span>" * 1_000_000 + "</t:p>"
    ),
    "lists in lists.odt": lambda: deflated("text", "<t:list-item>" * 900 + "<t:p>x</t:p>" + "</t:list-item>" * 900),
    "rows and columns repeated.ods": lambda: deflated(
        "spreadsheet",
        '<tb:table><tb:table-row tb:number-rows-repeated="999999999"><tb:table-cell tb:number-columns-repeated='
        f'"999999999"><t:p>{"word " * 100_000}</t:p></tb:table-cell></tb:table-row></tb:table>',
    ),
    "frames in frames.odp": lambda: deflated(
        "presentation", "<d:page>" + "<d:frame>" * 9_999 + "</d:frame>" * 9_999 + "</d:page>"
    ),
    "groups without end.rtf": lambda: "{\\rtf1 " + "{" * 10_000_000,
    "links without end.rtf": lambda: "{\\rtf1 " + '{\\field{\\*\\fldinst{HYPERLINK "' * 20_000,
    "mails in mails.eml": lambda: HEADED.format("message/rfc822", "Content-Type: message/rfc822\n\n" * 100_000),
    "parts in parts.eml": lambda: "".join(
        f"Content-Type: multipart/mixed; boundary={n}\n\n--{n}\n" for n in range(9_999)
    ),
    "a hundred thousand parts.eml": lambda: MIXED.format("\n--X\n".join(["Content-Type: text/plain\n\nA."] * 100_000)),
    "a head of megabytes.eml": lambda: f"X: {'a' * 50_000_000}\n{HEADED.format('text/plain', 'A.')}",
    "a folded field.eml": lambda: HEADED.format('text/plain; x="' + f"\n {';' * 900}" * 5_000, "A."),
    "a field of a part.eml": lambda: MIXED.format(f'Content-Type: text/plain; x="{";" * 2_000_000}\n\nA.'),
    "a page of scripts.eml": lambda: HEADED.format("text/html", "<script>" * 1_000_000),
    "a bomb attached.eml": lambda: MIXED.format(attached("a.txt.gz", gzip.compress(bytes(200_000_000)))),
    "a hundred thousand mails.mbox": lambda: "From x\n\n" * 100_000,
    "a gigabyte.txt.gz": lambda: gzip.compress(bytes(1_000_000_000)),
    "empty members.txt.gz": lambda: gzip.compress(b"") * 1_000_000,
    "lists in lists.json.gz": lambda: gzip.compress(b"[" * 15_000_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_is_refused_or_bounded_and_the_next_file_is_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("striprtf" if name.endswith("rtf") else "trafilatura")
    data = HOSTILE[name]()
    (tmp_path / name).write_bytes(data.encode() if isinstance(data, str) else data)
    (tmp_path / "next.txt").write_text("The next one.", encoding="utf-8")
    converter = ConverterProcess(seconds=MOST_SECONDS)
    monkeypatch.setattr(files, "converter_process", lambda pid: converter)
    try:
        report = indexing.index([tmp_path], index="hostile")
    finally:
        converter.close()

    assert not [each.reason for each in report.skipped if "takes more than" in each.reason]
    held = list(TantivyDocumentStore(index="hostile").iterate_documents())
    assert "next.txt" in {each.meta["file_name"] for each in held}
    assert sum(len(each.content or "") for each in held) < 50_000_000
