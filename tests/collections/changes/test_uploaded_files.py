"""A change of uploaded documents may be cut off anywhere: then folder and index agree, and nothing else is left."""

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, takewhile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from benchmarks.killed_uploads import kill_series
from prefrag.collections.changes import uploaded_files
from prefrag.collections.changes.uploaded_files import (
    list_arrived,
    make_incoming,
    settle_all_changes,
    settle_changes,
    uploads_folder,
)
from prefrag.collections.changes.uploads import add_uploads
from prefrag.collections.indexing import prune
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import DiskFull
from prefrag.components.document_stores.tantivy.index_location import data_directory, index_path
from tests.collections.changes.uploading import held, upload
from tests.full_disk import files_of_at_most, say_full

BEFORE = {"keep.txt": "The old board.", "rows.jsonl": '{"id": "1", "text": "One."}\n{"id": "2", "text": "Two."}\n'}
AFTER = {"keep.txt": "The new board.", "fresh.txt": "A tower.", "rows.jsonl": '{"id": "2", "text": "Second."}\n'}


class Killed(BaseException):
    """Raised to end a process between two steps."""


def delete() -> None:
    [document] = [each.id for each in LocalCollection("maps").documents() if str(each.entry.path).endswith("keep.txt")]
    LocalCollection("maps").delete_document(document)


def test_file_replaces_its_namesake_where_case_does_not_count(monkeypatch: pytest.MonkeyPatch):
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
def test_change_that_is_killed_at_any_step_is_finished_or_undone(
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
def test_killed_server_and_processes_start_with_whole_changes(tmp_path: Path) -> None:
    assert kill_series(6, tmp_path) == []


def test_change_is_ended_by_the_next_change_or_by_a_pruning() -> None:
    for end in (lambda: upload({"more.txt": "More."}), lambda: prune(LocalCollection("maps"))):
        upload(BEFORE)
        with mock.patch.object(uploaded_files, "_sweep", side_effect=Killed), pytest.raises(Killed):
            upload(AFTER)
        assert len(list(uploads_folder("maps").glob("*/keep.txt"))) == 2

        end()

        assert held().items() >= AFTER.items()


def fill_disk(*arguments: Any, **options: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.skipif("sys.platform == 'win32'")
@pytest.mark.parametrize("before", [{}, BEFORE], ids=["new", "replaced"])
def test_full_disk_at_any_step_leaves_what_was_there_and_says_so(
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


def test_arriving_files_are_left_alone_while_their_server_lives() -> None:
    with make_incoming("maps") as incoming:
        (incoming / "board.txt").write_text("The board.")
        left = incoming.with_name("upload-left")
        left.mkdir()
        (left / ".alive").touch()

        settle_changes("maps")

        assert os.listdir(incoming.parent) == [incoming.name]
        assert list_arrived(incoming) == [incoming / "board.txt"]


@pytest.mark.parametrize("days", [-1, 1, 400])
def test_clock_that_jumps_takes_no_arriving_file_without_locks(days: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded_files, "take_lock", lambda *_: True)
    with make_incoming("maps") as incoming:
        (incoming / "arriving.txt").write_text("A tower.")
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + days * 86_400 + 60)

        upload({"keep.txt": "The old board."})

        assert list_arrived(incoming) == [incoming / "arriving.txt"]
    assert not incoming.exists(), "what was not committed is swept away in the end"


def test_a_data_directory_that_was_moved_keeps_its_uploads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upload(BEFORE)
    shutil.copytree(data_directory(), tmp_path / "moved")
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "moved"))

    settle_all_changes()

    assert sorted(path.name for path in uploads_folder("maps").glob("*/*")) == sorted(BEFORE)


@pytest.mark.skipif("sys.platform == 'win32'")
def test_linked_folders_keep_their_uploads_and_lead_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "disk" / "charts").mkdir(parents=True)
    (tmp_path / "own.txt").write_text("The user's own.")
    data_directory().mkdir()
    (data_directory() / "uploads").symlink_to(tmp_path / "disk")
    (tmp_path / "disk" / "maps").symlink_to(tmp_path / "disk" / "charts")
    upload(BEFORE)
    (tmp_path / "disk" / "charts" / "link").symlink_to(tmp_path)

    settle_all_changes()

    assert sorted(path.name for path in uploads_folder("maps").glob("upload-*/*")) == sorted(BEFORE)
    assert (uploads_folder("maps") / "link" / "own.txt").exists()
    assert all(document.uploaded for document in LocalCollection("maps").documents())


def test_uploads_stay_while_their_index_is_missing() -> None:
    upload(BEFORE)
    shutil.move(index_path("maps"), aside := index_path("maps").with_name("aside"))

    settle_all_changes()

    aside.rename(index_path("maps"))
    assert held() == BEFORE


def test_uploads_stay_beside_a_rebuilt_or_restored_index(tmp_path: Path) -> None:
    upload({"keep.txt": "The old board."})
    shutil.copytree(index_path("maps"), tmp_path / "backup")
    upload({"fresh.txt": "A tower."})

    shutil.rmtree(index_path("maps"))
    shutil.copytree(tmp_path / "backup", index_path("maps"))
    settle_all_changes()
    assert sorted(path.name for path in uploads_folder("maps").glob("*/*")) == ["fresh.txt", "keep.txt"]

    shutil.rmtree(index_path("maps"))
    upload({"new.txt": "A mole."})
    assert sorted(path.name for path in uploads_folder("maps").glob("*/*")) == ["fresh.txt", "keep.txt", "new.txt"]


@pytest.mark.skipif("sys.platform == 'win32'")
def test_a_sweep_leaves_other_files_of_a_linked_folder(tmp_path: Path) -> None:
    (tmp_path / "disk" / "own").mkdir(parents=True)
    (tmp_path / "disk" / "own" / "plan.txt").write_text("The administrator's.")
    (tmp_path / "disk" / "note.txt").write_text("The administrator's.")
    uploads_folder("maps").parent.mkdir(parents=True)
    uploads_folder("maps").symlink_to(tmp_path / "disk")

    upload(BEFORE)
    settle_all_changes()

    assert (tmp_path / "disk" / "own" / "plan.txt").exists()
    assert (tmp_path / "disk" / "note.txt").exists()


def test_room_counts_the_files_of_the_index_and_none_that_arrive() -> None:
    upload({"keep.txt": "The old board.", "more.txt": "More."})
    upload({"keep.txt": "Board."})

    with make_incoming("maps") as incoming:
        (incoming / "large.txt").write_text("Tower. " * 1_000)

        assert LocalCollection("maps").room()[:2] == (2, len("Board.More."))


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
        [file] = uploads_folder("maps").glob("*/rows.jsonl")
        assert "{broken" in file.read_text()

    def test_of_two_corpora_gives_equal_passages_to_the_first(self) -> None:
        report = upload({"a.jsonl": BEFORE["rows.jsonl"], "b.jsonl": BEFORE["rows.jsonl"].replace("One", "Uno")})

        assert {Path(each.path).name for each in report.skipped} == {"b.jsonl"}
        assert [path.name for path in uploads_folder("maps").glob("*/*")] == ["a.jsonl"]

    def test_of_the_same_file_converts_nothing_and_keeps_the_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        upload(BEFORE)
        files = sorted(uploads_folder("maps").glob("*/*"))
        monkeypatch.setattr(TantivyDocumentStore, "replace_documents", mock.Mock(side_effect=AssertionError))

        report = upload(BEFORE)

        assert (report.unchanged, report.unchanged_files, report.written, report.deleted) == (3, 2, 0, 0)
        assert sorted(uploads_folder("maps").glob("*/*")) == files

    def test_of_a_file_that_was_lost_on_the_disk_brings_it_back(self) -> None:
        upload(BEFORE)
        [file] = uploads_folder("maps").glob("*/keep.txt")
        file.unlink()

        upload({"keep.txt": BEFORE["keep.txt"]})

        assert held() == BEFORE

    def test_of_a_new_version_keeps_the_id_of_the_document(self) -> None:
        upload({"keep.txt": "The old board."})
        [before] = LocalCollection("maps").documents()

        report = upload({"keep.txt": "The new board."})

        [after] = LocalCollection("maps").documents()
        assert (after.id, after.uploaded) == (before.id, True)
        assert (report.written, report.replaced, report.deleted) == (1, 1, 0)

    def test_of_a_corpus_with_one_changed_line_leaves_the_others(self) -> None:
        upload({"rows.jsonl": BEFORE["rows.jsonl"]})

        report = upload({"rows.jsonl": BEFORE["rows.jsonl"].replace("Two", "Second")})

        assert (report.written, report.replaced, report.unchanged, report.deleted) == (1, 1, 1, 0)
        assert held() == {"rows.jsonl": BEFORE["rows.jsonl"].replace("Two", "Second")}
