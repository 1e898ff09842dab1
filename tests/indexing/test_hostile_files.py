"""Files made to exhaust their reader are refused or read within limits, and the next file is indexed."""

from __future__ import annotations

import gzip
import io
import zipfile
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prefrag.collections import files, indexing
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.indexing.converter_process import ConverterProcess
from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.report import CannotRead
from tests.for_each import for_each
from tests.indexing.readers.open_document import HEAD

# Each file takes a small part of this time. Without the limits, it would take hours or all memory.
MOST_SECONDS = 30.0
OPF = '<package xmlns="http://www.idpf.org/2007/opf"><manifest>{0}</manifest><spine>{1}</spine></package>'
ITEM = '<item id="{0}" href="{0}" media-type="application/xhtml+xml"/>'
CONTAINER = '<container xmlns="urn:x"><rootfiles><rootfile full-path="o.opf"/></rootfiles></container>'
DOCTYPE = "<!DOCTYPE x [<!ENTITY a0 'ha'>" + "".join(f"<!ENTITY a{n + 1} '&a{n};&a{n};'>" for n in range(30)) + "]>"
HEADED = "From: ada@example.org\nSubject: Ropes\nContent-Type: {}\n\n{}"
ATTACHED = "Content-Disposition: attachment; filename=a.txt.gz\nContent-Transfer-Encoding: base64\n\n"
PART = "Content-Type: multipart/mixed; boundary={0}\n\n--{0}\n"
CELL = '<tb:table-cell tb:number-columns-repeated="999999999"><t:p>{}</t:p></tb:table-cell>'
ROWS = f'<tb:table><tb:table-row tb:number-rows-repeated="999999999">{CELL}</tb:table-row></tb:table>'
MIXED = HEADED.format("multipart/mixed; boundary=X", "--X\n{}\n--X--\n")


def zipped(parts: dict[str, str]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in parts.items():
            package.writestr(name, text)
    return archive.getvalue()


def epub(pages: dict[str, str], before: str = "") -> bytes:
    listing = OPF.format("".join(map(ITEM.format, pages)), "".join(f'<itemref idref="{name}"/>' for name in pages))
    return zipped({"META-INF/container.xml": CONTAINER, "o.opf": before + listing, **pages})


def document(kind: str, body: str, before: str = "") -> bytes:
    content = f"<o:document-content{HEAD}><o:body><o:{kind}>{body}</o:{kind}></o:body></o:document-content>"
    return zipped({"content.xml": before + content})


HOSTILE: dict[str, Callable[[], bytes | str]] = {
    "a page larger than pages are.epub": lambda: epub({"a": "<p>Some words.</p>" * 1_000_000}),
    "many large pages.epub": lambda: epub({f"{n}": "<p>Some words.</p>" * 400_000 for n in range(20)}),
    "entities in the listing.epub": lambda: epub({"a": "x"}, DOCTYPE),
    "elements a million deep.epub": lambda: epub({"a": "x"}, "<a>" * 1_000_000),
    "a hundred megabytes.odt": lambda: document("text", "<t:p>x</t:p>" * 9_000_000),
    "entities.odt": lambda: document("text", "<t:p>&a30;</t:p>", DOCTYPE),
    "elements a million deep.odt": lambda: document("text", "<t:span>" * 1_000_000 + "</t:span>" * 1_000_000),
    "lists in lists.odt": lambda: document("text", "<t:list-item>" * 900 + "</t:list-item>" * 900),
    "rows and columns repeated.ods": lambda: document("spreadsheet", ROWS.format("word " * 100_000)),
    "frames in frames.odp": lambda: document("presentation", "<d:page>" * 99_999 + "</d:page>" * 99_999),
    "groups without end.rtf": lambda: "{\\rtf1 " + "{" * 10_000_000,
    "links without end.rtf": lambda: "{\\rtf1 " + '{\\field{\\*\\fldinst{HYPERLINK "' * 20_000,
    "mails in mails.eml": lambda: HEADED.format("message/rfc822", "Content-Type: message/rfc822\n\n" * 100_000),
    "parts in parts.eml": lambda: "".join(map(PART.format, range(9_999))),
    "a hundred thousand parts.eml": lambda: MIXED.format("\n--X\n".join(["Content-Type: text/plain\n\nA."] * 100_000)),
    "a head of megabytes.eml": lambda: f"X: {'a' * 50_000_000}\n{HEADED.format('text/plain', 'A.')}",
    "a folded field.eml": lambda: HEADED.format('text/plain; x="' + f"\n {';' * 900}" * 5_000, "A."),
    "a field of a part.eml": lambda: MIXED.format(f'Content-Type: text/plain; x="{";" * 2_000_000}\n\nA.'),
    "a page of scripts.eml": lambda: HEADED.format("text/html", "<script>" * 1_000_000),
    "a bomb attached.eml": lambda: MIXED.format(ATTACHED + b64encode(gzip.compress(bytes(200_000_000))).decode()),
    "a hundred thousand mails.mbox": lambda: "From x\n\n" * 100_000,
    "more than is read.txt.gz": lambda: gzip.compress(bytes(300_000_000)),
    "empty members.txt.gz": lambda: gzip.compress(b"") * 1_000_000,
    "lists in lists.json.gz": lambda: gzip.compress(b"[" * 15_000_000),
}


@for_each(
    "name, data, reason",
    *(
        ("a.html", f"<title>A</title>{'<div>' * deep}A heron stands.{'</div>' * deep}".encode(), "nested too deeply")
        for deep in (1_000, 5_000, 200_000)
    ),
    ("a.odt", document("text", "<t:span>" * 5_000 + "</t:span>" * 5_000), "it is nested too deeply"),
    (
        "a.eml",
        HEADED.format("message/rfc822", "Content-Type: message/rfc822\n\n" * 2_000).encode(),
        "nested too deeply",
    ),
)
def test_that_is_nested_too_deeply_is_not_called_damaged(name: str, data: bytes, reason: str):
    with pytest.raises(CannotRead, match=reason) as refused:
        FileConverter().passages(Path(f"/{name}"), data)

    assert "damaged" not in str(refused.value)
    assert "recursion" not in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_is_refused_or_bounded_and_the_next_one_is_read(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    pytest.importorskip("striprtf" if name.endswith("rtf") else "trafilatura")
    data = HOSTILE[name]()
    (tmp_path / name).write_bytes(data.encode() if isinstance(data, str) else data)
    (tmp_path / "next.txt").write_text("The next one.", encoding="utf-8")
    converter = ConverterProcess(seconds=MOST_SECONDS)
    monkeypatch.setattr(files, "converter_process", lambda pid: converter)
    report = indexing.index([tmp_path], LocalCollection("hostile"))
    converter.close()

    assert not [skip.reason for skip in report.skipped if "takes more than" in skip.reason]
    stored = list(TantivyDocumentStore(index="hostile").iterate_documents())
    assert "next.txt" in {passage.meta["file_name"] for passage in stored}
    assert sum(len(passage.content or "") for passage in stored) < 50_000_000
