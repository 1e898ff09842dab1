"""Uploaded files reach the disk under safe names, whatever a client calls them; and what a collection then holds."""

import asyncio
import contextlib
import errno
import os
import tempfile
import tracemalloc
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from fastapi import HTTPException, Request
from haystack import Document
from haystack.document_stores.errors import DocumentStoreError
from hypothesis import given
from hypothesis import strategies as st

from prefrag.collections import indexing
from prefrag.collections.changes.uploaded_files import change_collection, uploads_folder
from prefrag.collections.collection import Collection
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.server.library import uploads
from prefrag.server.library.uploads import read_name, receive_files
from tests.for_each import for_each
from tests.indexes import index_of

BOUNDARY = b"x"
PART = b'--x\r\nContent-Disposition: form-data; name="files"; filename="%s"\r\n\r\n'
END = b"\r\n--x--\r\n"


def upload(parts: Iterable[bytes], ends: bool = True) -> Request:
    """A request whose body arrives in parts; if it has no end, it hangs."""
    waiting = iter([*parts])

    async def receive() -> dict[str, Any]:
        for part in waiting:
            return {"type": "http.request", "body": part, "more_body": True}
        if not ends:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": b"", "more_body": False}

    headers = [(b"content-type", b"multipart/form-data; boundary=" + BOUNDARY)]
    return Request({"type": "http", "method": "POST", "headers": headers}, receive)


class TestName:
    @for_each(
        "sent, name",
        ("board.md", "board.md"),
        ("my notes (2).txt", "my notes (2).txt"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ada\\board.md", "board.md"),
        ("/absolute.txt", "absolute.txt"),
        ("Bu\u0308cher.md", "B\u00fccher.md"),
        ("\u6587\u4ef6.txt", "\u6587\u4ef6.txt"),
        ("trailing.txt. ", "trailing.txt"),
        ("two\u2028lines\u00a0here.txt", "two lines here.txt"),
    )
    def test_is_kept_without_its_folder(self, sent: str, name: str):
        assert read_name(sent.encode()) == name

    @for_each(
        "sent",
        *(b"", b"..", b".", b"a/", b".hidden", b" .hidden", b"a\0b.txt", b"a\nb.txt", b"a\x1b[2J.txt", b"\xff.txt"),
        *(b"CON", b"nul.txt", b"x" * 201, "a\u202etxt.md".encode(), "a\u200bb.md".encode()),
    )
    def test_that_cannot_be_kept_is_refused_with_the_reason(self, sent: bytes):
        with pytest.raises(ValueError, match="rename it"):
            read_name(sent)

    @given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
    def test_is_always_one_part_of_a_path_that_can_be_written(self, sent: bytes):
        try:
            name = read_name(sent)
        except ValueError:
            return
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_text("x", encoding="utf-8")
            assert os.listdir(folder) == [name]
            assert name.isprintable()


class TestForm:
    @given(st.binary(max_size=300), st.integers(1, 50))
    def test_of_any_bytes_writes_only_plain_files(self, body: bytes, size: int):
        for sent in (body, PART[:-10] + body, PART % b"a.txt" + body, PART % b"a.txt" + body + END):
            parts = [sent[start : start + size] for start in range(0, len(sent), size)]
            with tempfile.TemporaryDirectory() as folder:
                with contextlib.suppress(HTTPException):
                    asyncio.run(receive_files(upload(parts), Path(folder)))
                for name in os.listdir(folder):
                    assert read_name(name.encode()) == name

    @given(st.binary(max_size=3000).filter(lambda content: b"\r\n--x" not in content), st.integers(1, 700))
    def test_keeps_the_bytes_of_a_file_however_they_are_cut(self, content: bytes, size: int):
        sent = PART % b"a.txt" + content + END
        parts = [sent[start : start + size] for start in range(0, len(sent), size)]
        with tempfile.TemporaryDirectory() as folder:
            assert asyncio.run(receive_files(upload(parts), Path(folder))) == ({"a.txt": 0}, [])
            assert (Path(folder) / "a.txt").read_bytes() == content

    async def test_keeps_no_byte_of_a_file_whose_ending_is_not_read(self, tmp_path: Path):
        sent = PART % b"setup.exe" + b"MZ" * 500 + b"\r\n" + PART % b"a.txt" + b"Text." + END

        positions, refused = await receive_files(upload([sent]), tmp_path)

        assert refused == [{"name": "setup.exe", "reason": "of a kind that is not read", "position": 0}]
        assert positions == {"a.txt": 1}
        assert os.listdir(tmp_path) == ["a.txt"]

    @pytest.mark.parametrize(
        ("sent", "name"),
        [
            ('filename="a %22b%22.md"', 'a "b".md'),
            ('filename="100%25 of %41.md"', "100%25 of %41.md"),
            ("filename*=UTF-8''%C3%9Cber%20uns.md", "Über uns.md"),
            ("filename=\"?.md\"; filename*=utf-8''%C3%9C.md", "Ü.md"),
            ("filename*=iso-8859-1'de'%DC.md", "Ü.md"),
            ("filename*=UTF-8''..%2F..%2Fetc%2Fcron.md", "cron.md"),
            ("filename=\"a; filename*=UTF-8''b.md\"", "a; filename*=UTF-8''b.md"),
            ('filename="a%0Ab.md"', None),
            ("filename*=UTF-8''a%00b.md", None),
            ("filename*=no-such-code''%C3.md", None),
        ],
    )
    async def test_gives_a_file_the_name_that_it_has(self, tmp_path: Path, sent: str, name: str | None):
        head = b'--x\r\nContent-Disposition: form-data; name="files"; ' + sent.encode("latin-1") + b"\r\n\r\n"

        _, refused = await receive_files(upload([head + b"Text." + END]), tmp_path)

        assert os.listdir(tmp_path) == ([] if name is None else [name])
        assert bool(refused) == (name is None)

    async def test_is_never_held_in_memory(self, tmp_path: Path):
        chunk = b"y" * 64_000

        async def stream() -> AsyncIterator[bytes]:
            yield PART % b"a.txt"
            for _ in range(300):
                yield chunk
            yield END

        request = upload([])
        request.stream = stream  # type: ignore[method-assign]
        tracemalloc.start()
        await receive_files(request, tmp_path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert (tmp_path / "a.txt").stat().st_size == 300 * len(chunk)
        assert peak < 2_000_000

    async def test_that_is_late_or_finds_a_full_disk_is_given_up(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(uploads, "RECEIVE_SECONDS", 0.05)
        late, whole = upload([PART % b"a.txt"], ends=False), upload([PART % b"a.txt" + b"x" + END])

        for request, folder, status in ((late, tmp_path, 408), (whole, tmp_path / "gone", 507)):
            with pytest.raises(HTTPException) as refused:
                await receive_files(request, folder)
            assert refused.value.status_code == status


LONG = f"/srv/{'a-long-folder/' * 15}board.md"


def make_index(*paths: tuple[str, str] | None) -> None:
    metas = [{} if path is None else {path[0]: path[1], "title": "T"} for path in paths]
    index_of([Document(id=str(n), content="x", meta=meta) for n, meta in enumerate(metas)], index_path("maps"))


def names() -> dict[str, int]:
    return {str(each.entry.path): each.entry.passages for each in LocalCollection("maps").documents()}


@pytest.mark.parametrize("more", [[], [None], [("file_path", LONG)]])
def test_names_every_file_and_corpus_with_its_passages(more: list[tuple[str, str] | None]):
    make_index(("file_path", "/srv/a.md"), ("file_path", "/srv/a.md"), ("corpus", "/srv/b.jsonl"), *more)

    expected = {"/srv/a.md": 2, "/srv/b.jsonl": 1} | {path[1]: 1 for path in more if path}
    assert names() == expected
    assert expected == {
        entry.path: entry.passages for entry in indexing.list_documents(LocalCollection("maps")) if entry.path
    }


def test_terms_that_suffice_spare_passages_and_deletions_count(monkeypatch: pytest.MonkeyPatch):
    make_index(("file_path", "/srv/a.md"), ("file_path", "/srv/a.md"), ("corpus", "/srv/b.jsonl"))
    monkeypatch.setattr(TantivyDocumentStore, "iterate_documents", lambda self: pytest.fail("All passages were read."))
    assert names() == {"/srv/a.md": 2, "/srv/b.jsonl": 1}

    TantivyDocumentStore(index="maps").delete_documents(["0", "2"])
    assert names() == {"/srv/a.md": 1}


def test_lists_the_documents_once_for_each_state_of_the_index(monkeypatch: pytest.MonkeyPatch):
    lists = []
    monkeypatch.setattr(Collection, "entries", lambda self: lists.append(self.name) or [])
    monkeypatch.delattr(LocalCollection, "entries")
    make_index(("file_path", "/srv/a.md"))

    assert [LocalCollection("maps").documents() for _ in range(3)] == [[], [], []]
    assert lists == ["maps"]
    TantivyDocumentStore(index="maps").delete_documents(["0"])
    LocalCollection("maps").documents()
    assert lists == ["maps", "maps"]


def test_reads_of_a_page_only_the_first_passages_of_its_files():
    files = ["/srv/a.md", "/srv/b.md", LONG]
    metas = [{"file_path": file, "split_id": place, "kind": f"kind {place}"} for file in files for place in (0, 1)]
    index_of([Document(id=str(n), content="x", meta=meta) for n, meta in enumerate(metas)], index_path("maps"))

    page = LocalCollection("maps").metadata(["/srv/b.md", LONG])

    assert page == {"/srv/b.md": {"kind": "kind 0"}, LONG: {"kind": "kind 0"}}
    assert LocalCollection("maps").metadata() == {**page, "/srv/a.md": {"kind": "kind 0"}}


@pytest.mark.parametrize("kind", ["store", "term"])
def test_reports_an_index_that_was_cut_after_it_was_listed(kind: str):
    make_index(("file_path", "/srv/a.md"))
    assert names() == {"/srv/a.md": 1}
    (file,) = index_path("maps").glob(f"*.{kind}")
    os.truncate(file, file.stat().st_size // 2)

    with pytest.raises(DocumentStoreError, match=rf"damaged.*\.{kind}\b"):
        names()


def test_gives_ids_that_stay_and_tell_no_path():
    make_index(("file_path", "/srv/a.md"), ("corpus", "/srv/a.md"))
    before = [each.id for each in LocalCollection("maps").documents()]
    TantivyDocumentStore(index="maps").write_documents([Document(id="new", content="y")])

    assert [each.id for each in LocalCollection("maps").documents()] == before
    assert len(set(before)) == 2
    assert all("srv" not in each for each in before)


def test_passage_whose_id_is_a_path_is_not_deleted_for_the_file(tmp_path: Path):
    (tmp_path / "a.md").write_text("The tower.", encoding="utf-8")
    indexing.index([tmp_path / "a.md"], LocalCollection("maps"))
    path = str((tmp_path / "a.md").resolve())
    TantivyDocumentStore(index="maps").write_documents([Document(id=path, content="y")])

    [document] = LocalCollection("maps").documents()

    assert LocalCollection("maps").delete_document(document.id) == (1, document)
    assert not document.uploaded
    assert TantivyDocumentStore(index="maps").count_documents() == 1


def keep_upload() -> Path:
    """Upload `board.md` to the collection `maps`."""
    file = uploads_folder("maps") / "board.md"
    file.parent.mkdir(parents=True)
    file.write_text("The board met in May.", encoding="utf-8")
    make_index(("file_path", str(file)))
    return file


def test_an_index_that_cannot_be_removed_keeps_what_was_uploaded(monkeypatch: pytest.MonkeyPatch):
    file, replace = keep_upload(), Path.replace

    def refuse_index(self: Path, target: Path) -> Path:
        if self == index_path("maps"):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refuse_index)
    with pytest.raises(OSError, match="cross-device"), change_collection("maps") as changes:
        changes.make(drops=True)

    assert file.exists()
    assert os.listdir(file.parents[1]) == ["maps"]
    assert list(names()) == [str(file)]
