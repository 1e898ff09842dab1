"""A change of uploaded documents may be cut off anywhere: then folder and index agree, and nothing else is left."""

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, takewhile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from benchmarks.killed_uploads import kill_series
from prefrag.collections.changes import journal
from prefrag.collections.changes.journal import make_incoming, settle_all_changes, settle_changes, uploads_folder
from prefrag.collections.changes.uploads import add_uploads
from prefrag.collections.indexing import prune
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import DiskFull
from prefrag.components.document_stores.tantivy.index_location import data_directory, index_path
from prefrag.indexing.file_conversion import fingerprint
from prefrag.indexing.report import IndexReport
from tests.full_disk import files_of_at_most, say_full

BEFORE = {"keep.txt": "The old board.", "rows.jsonl": '{"id": "1", "text": "One."}\n{"id": "2", "text": "Two."}\n'}
AFTER = {"keep.txt": "The new board.", "fresh.txt": "A tower.", "rows.jsonl": '{"id": "2", "text": "Second."}\n'}


class Killed(BaseException):
    """Raised to end a process between two steps."""


def upload(files: dict[str, str]) -> IndexReport:
    with make_incoming("maps") as incoming:
        for name, text in files.items():
            (incoming / name).write_text(text, encoding="utf-8")
        return add_uploads(LocalCollection("maps"), incoming)


def delete() -> None:
    [document] = [each.id for each in LocalCollection("maps").documents() if str(each.entry.path).endswith("keep.txt")]
    LocalCollection("maps").delete_document(document)


def held() -> dict[str, str]:
    """The files of the collection. The index must hold each under its name, and no others."""
    folder = uploads_folder("maps")
    assert not folder.parent.exists() or set(os.listdir(folder.parent)) <= {"maps"}
    indexes = index_path("maps").parent
    assert not indexes.exists() or set(os.listdir(indexes)) <= {"maps"}
    files = {each.name: each.read_text() for each in folder.iterdir()} if folder.exists() else {}
    assert files or not folder.exists()
    found = TantivyDocumentStore(path=str(index_path("maps"))).filter_documents()
    assert {Path(each.meta.get("file_path") or each.meta["corpus"]) for each in found} == {
        folder / name for name in files
    }
    for name, text in files.items():
        hashes = {each.meta["file_hash"] for each in found if each.meta.get("file_path") == str(folder / name)}
        lines = {each.id: each.content for each in found if each.meta.get("corpus") == str(folder / name)}
        wanted = {each["id"]: each["text"] for each in map(json.loads, text.splitlines())} if "rows" in name else {}
        assert (hashes, lines) == (set() if wanted else {fingerprint(text.encode())}, wanted)
    return files


def test_where_case_does_not_tell_files_apart_a_file_replaces_the_one_of_its_name(monkeypatch: pytest.MonkeyPatch):
    def name_on_disk(path: Path) -> str | None:
        names = os.listdir(path.parent) if os.path.isdir(path.parent) else []
        return next((name for name in names if name.casefold() == path.name.casefold()), None)

    upload({"Board.TXT": "The old board.", "m\u00fcll.txt": "Bins."})
    with monkeypatch.context() as folding:
        folding.setattr(Path, "exists", lambda path, **_: name_on_disk(path) is not None)
        folding.setattr(Path, "samefile", lambda path, other: name_on_disk(other) == path.name)
        upload({"board.txt": "The new board.", "M\u00dcLL.txt": "New bins.", "boards.txt": "More."})

    assert held() == {"Board.TXT": "The new board.", "m\u00fcll.txt": "New bins.", "boards.txt": "More."}


def test_where_case_tells_files_apart_both_are_kept():
    upload({"Board.TXT": "The old board."})
    upload({"board.txt": "The new board."})

    assert held() == {"Board.TXT": "The old board.", "board.txt": "The new board."}


@contextmanager
def dying(step: int) -> Iterator[list[str]]:
    """Cut the process off before one of its steps on the disk, so that it makes no further ones."""
    done: list[str] = []

    def step_of(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if len(done) >= step:
                raise Killed
            done.append(real.__name__)
            return real(*arguments, **options)

        return call

    with (
        mock.patch.multiple(
            os,
            **{name: step_of(getattr(os, name)) for name in ("replace", "rename", "unlink", "rmdir", "mkdir", "fsync")},
        ),
        mock.patch.object(TantivyDocumentStore, "replace_documents", step_of(TantivyDocumentStore.replace_documents)),
    ):
        yield done


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ({}, lambda: upload(AFTER), AFTER),
        (BEFORE, lambda: upload(AFTER), AFTER),
        (BEFORE, lambda: upload(BEFORE), BEFORE),
        (BEFORE, delete, {"rows.jsonl": BEFORE["rows.jsonl"]}),
        (BEFORE, lambda: LocalCollection("maps").drop(), {}),
    ],
    ids=["new", "replaced", "unchanged", "deleted", "dropped"],
)
def test_a_change_that_is_killed_at_any_step_is_finished_or_undone(
    before: dict[str, str], change: Callable[[], object], after: dict[str, str], tmp_path: Path
) -> None:
    seen = []
    data, saved = data_directory(), tmp_path / "saved"
    data.mkdir()
    if before:
        upload(before)
    shutil.copytree(data, saved)
    for step in count():
        # The process was not really killed, so a thread of its writer may still add a file.
        for _ in takewhile(lambda _: data.exists(), range(1_000)):
            shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(saved, data)
        with dying(step) as done:
            try:
                change()
            except Killed:
                pass
            else:
                break
        settle_all_changes()
        seen.append(held())
        assert seen[-1] in (before, after), done

    assert held() == after
    assert after in seen
    assert seen[0] == before
    # After the first step at which the change is done, it stays done.
    assert before == after or seen.index(after) + seen.count(after) == len(seen)


@pytest.mark.slow
@pytest.mark.skipif("not Path('/proc').exists()")
def test_a_server_that_is_killed_with_all_its_processes_starts_with_whole_changes(tmp_path: Path) -> None:
    assert kill_series(6, tmp_path) == []


def test_a_change_ends_with_the_next_change_of_its_collection_or_with_a_pruning() -> None:
    for end in (lambda: upload({"more.txt": "More."}), lambda: prune(LocalCollection("maps"))):
        upload(BEFORE)
        with dying(1_000), mock.patch.object(journal, "_finish", side_effect=Killed), pytest.raises(Killed):
            upload(AFTER)
        assert (uploads_folder("maps") / "keep.txt").read_text() == BEFORE["keep.txt"]

        end()

        assert held().items() >= AFTER.items()


def fill_disk(*arguments: Any, **options: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.skipif("sys.platform == 'win32'")
@pytest.mark.parametrize("before", [{}, BEFORE], ids=["new", "replaced"])
def test_a_full_disk_at_any_step_leaves_what_was_there_and_says_so(
    before: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if before:
        upload(before)
    say_full(monkeypatch)
    with files_of_at_most(0), pytest.raises(OSError, match="large"):
        upload(AFTER)
    with mock.patch.object(os, "mkdir", fill_disk), pytest.raises(DiskFull), make_incoming("maps"):
        pass
    for fault in (*map(files_of_at_most, (100, 600, 3_000)), mock.patch.object(os, "fsync", fill_disk)):
        with make_incoming("maps") as incoming:
            for name, text in AFTER.items():
                (incoming / name).write_text(text, encoding="utf-8")
            (incoming / "large.txt").write_text("".join(f"Tower {number}. " for number in range(5_000)))
            with fault, pytest.raises(DiskFull, match="disk is full") as failed:
                add_uploads(LocalCollection("maps"), incoming)
        assert failed.value.http_status == 507
        assert held() == before


def test_files_that_arrive_are_left_alone_while_their_server_lives() -> None:
    with make_incoming("maps") as incoming:
        for left in ("maps", "maps-old"):
            (incoming.parent / f".incoming-{left}-x").mkdir()

        settle_changes("maps")

        assert sorted(os.listdir(incoming.parent)) == sorted([incoming.name, ".incoming-maps-old-x"])


class TestUpload:
    def test_of_another_kind_under_the_same_name_replaces_it(self) -> None:
        upload({"a.json": '[{"id": "1", "text": "One."}]'})
        upload({"a.json": '{"title": "Two."}'})

        [passage] = TantivyDocumentStore(index="maps").filter_documents()
        assert "Two." in str(passage.content)
        assert "corpus" not in passage.meta

    def test_of_a_corpus_with_a_broken_line_holds_the_others(self) -> None:
        upload({"rows.jsonl": BEFORE["rows.jsonl"]})

        report = upload({"rows.jsonl": '{"id": "2", "text": "Two."}\n{broken\n'})

        assert [each.line for each in report.skipped] == [2]
        assert report.deleted == 1
        assert [each.id for each in TantivyDocumentStore(index="maps").filter_documents()] == ["2"]
        assert "{broken" in (uploads_folder("maps") / "rows.jsonl").read_text()

    def test_of_two_corpora_with_the_same_passages_gives_them_to_the_first(self) -> None:
        report = upload({"a.jsonl": BEFORE["rows.jsonl"], "b.jsonl": BEFORE["rows.jsonl"].replace("One", "Uno")})

        assert {Path(each.path).name for each in report.skipped} == {"b.jsonl"}
        assert os.listdir(uploads_folder("maps")) == ["a.jsonl"]
