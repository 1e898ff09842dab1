"""How an index follows the changes of a folder."""

import os
import shutil
from pathlib import Path

import pytest

from prefrag.collections.changes.following import Drives, find_drives, follow_changes, is_mounted
from prefrag.collections.indexing import index, list_documents
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.indexing.report import IndexReport
from tests.indexing.samples import Make, line


@pytest.fixture
def docs(make: Make) -> Path:
    """A folder with three files, all of them indexed."""
    make("a.txt", "A heron stands.")
    make("sub/b.md", "A buoy floats.")
    folder = make("sub/c.txt", "A tower burns.").parent.parent
    follow(folder)
    return folder


def follow(folder: Path, *changed: str, drives: Drives | None = None) -> IndexReport:
    paths = [str(folder / each) for each in changed or [""]]
    return follow_changes(LocalCollection.of_folder(folder), folder, paths, drives or find_drives(folder))


def held(folder: Path, collection: str = "docs") -> list[str]:
    return sorted(os.path.relpath(str(each.path), folder) for each in list_documents(LocalCollection(collection)))


def test_whole_folder_is_read_first_and_lost_files_deleted(docs: Path):
    assert held(docs) == ["a.txt", "sub/b.md", "sub/c.txt"]
    (docs / "a.txt").unlink()

    assert follow(docs).deleted == 1
    assert held(docs) == ["sub/b.md", "sub/c.txt"]


def test_only_what_has_changed_is_read(docs: Path):
    (docs / "a.txt").write_text("A heron sleeps.")
    (docs / "sub/b.md").write_text("A buoy sinks.")
    (docs / "new").mkdir()
    (docs / "new/d.txt").write_text("A bell rings.")
    (docs / "photo.raw").write_bytes(b"\0")

    report = follow(docs, "a.txt", "new", "photo.raw", "never.tmp")

    assert (report.written, report.replaced, report.skipped) == (2, 1, [])
    assert held(docs) == ["a.txt", "new/d.txt", "sub/b.md", "sub/c.txt"]


def test_what_is_moved_has_its_new_place_alone(docs: Path):
    (docs / "sub").rename(docs / "archive")
    (docs / "a.txt").rename(docs / "z.txt")

    follow(docs, "sub", "archive/b.md", "archive/c.txt", "a.txt", "z.txt")

    assert held(docs) == ["archive/b.md", "archive/c.txt", "z.txt"]
    marks = TantivyDocumentStore(index="docs").count_values("standing")
    assert marks == {"old": 2}, "also where a file below the folder is what has changed"


def test_last_file_of_a_folder_goes_too_and_lines_of_a_corpus(docs: Path):
    (docs / "c.jsonl").write_text(line("x") + line("y"))
    follow(docs, "c.jsonl")
    (docs / "c.jsonl").write_text(line("y"))
    assert follow(docs, "c.jsonl").deleted == 1
    shutil.rmtree(docs / "sub")
    (docs / "a.txt").unlink()
    assert follow(docs, "sub/b.md", "sub/c.txt", "sub", "a.txt").deleted == 3
    assert held(docs) == ["c.jsonl"]


@pytest.mark.parametrize("drive", ["", "sub"], ids=["the folder itself", "a drive below it"])
def test_a_drive_that_is_gone_deletes_nothing(docs: Path, drive: str):
    # The mounted drive is gone, so there is another folder in its place.
    mounted = {**find_drives(docs), str(docs / drive): (0, 0)}
    (docs / "sub/b.md").unlink()
    assert not is_mounted(str(docs / drive), mounted)
    assert follow(docs, "sub/b.md", drives=mounted).deleted == 0
    assert follow(docs, drives=mounted).deleted == 0, "also when the whole folder is looked through"
    shutil.rmtree(docs / "sub")
    assert follow(docs, "sub", "sub/b.md", drives=mounted).deleted == 0
    assert held(docs) == ["a.txt", "sub/b.md", "sub/c.txt"]


def test_folder_with_other_files_alone_may_be_another_drive(docs: Path):
    """A folder that is not there has none."""

    shutil.rmtree(docs)
    with pytest.raises(FileNotFoundError):
        find_drives(docs)
    docs.mkdir()
    (docs / "other.txt").write_text("A stone lies.")
    follow(docs)
    assert held(docs) == ["a.txt", "other.txt", "sub/b.md", "sub/c.txt"]


@pytest.fixture
def outside(docs: Path, tmp_path: Path) -> Path:
    """A folder elsewhere, to which a link in the followed folder leads."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "far.txt").write_text("A ship sails.")
    (docs / "link").symlink_to(folder)
    return folder


@pytest.mark.parametrize("changed", ["", "link", "link/far.txt"])
def test_what_a_link_leads_to_outside_is_left(docs: Path, outside: Path, changed: str):
    assert follow(docs, changed).links_left == 1
    assert held(docs) == ["a.txt", "sub/b.md", "sub/c.txt"]


def test_what_a_link_leads_to_is_read_on_request_and_stays(
    docs: Path, outside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PREFRAG_FOLLOW_LINKS", "on")
    (tmp_path / "elsewhere.txt").write_text("A gull cries.")
    (outside / "on.txt").symlink_to(tmp_path / "elsewhere.txt")
    assert follow(docs, "link").links_left == 1
    assert follow(docs, "link/on.txt").links_left == 1, "also where the file alone has changed"
    (outside / "far.txt").unlink()

    assert follow(docs, "link/far.txt").deleted == 0
    assert held(docs) == ["../outside/far.txt", "a.txt", "sub/b.md", "sub/c.txt"]


def test_file_once_read_through_a_link_is_deleted_alone(
    docs: Path, outside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "own.txt").write_text("A bell rings.")
    index([tmp_path / "own.txt"], LocalCollection("docs"))
    (tmp_path / "near.txt").write_text("A gull cries.")
    (docs / "near.txt").symlink_to(tmp_path / "near.txt")
    monkeypatch.setenv("PREFRAG_FOLLOW_LINKS", "on")
    follow(docs)
    assert {"../outside/far.txt", "../near.txt", "../own.txt"} < set(held(docs))
    monkeypatch.setenv("PREFRAG_FOLLOW_LINKS", "off")

    report = follow(docs)

    assert held(docs) == ["../own.txt", "a.txt", "sub/b.md", "sub/c.txt"]
    assert "Passages deleted that were read through them earlier: 2." in report.describe_links()
    assert (follow(docs).unlinked, report.deleted) == (0, 2)
