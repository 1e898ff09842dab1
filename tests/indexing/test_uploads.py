"""The list of what a collection holds, from the terms of the index or from its passages."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from unittest.mock import Mock

import pytest
from haystack import Document

from prefrag import indexing
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.indexing import uploads
from prefrag.indexing.stores import PassageStore
from prefrag.indexing.uploads import delete_upload, list_uploads, make_incoming, remove_index, uploads_folder
from tests.indexes import index_of

LONG = f"/srv/{'a-long-folder/' * 15}board.md"


def make_index(*paths: tuple[str, str] | None) -> None:
    metas = [{} if path is None else {path[0]: path[1], "title": "T"} for path in paths]
    index_of([Document(id=str(n), content="x", meta=meta) for n, meta in enumerate(metas)], index_path("maps"))


def names() -> dict[str, int]:
    return {str(each.entry.path): each.entry.passages for each in list_uploads("maps")}


@pytest.mark.parametrize("more", [[], [None], [("file_path", LONG)]])
def test_names_every_file_and_corpus_with_its_passages(more: list[tuple[str, str] | None]):
    make_index(("file_path", "/srv/a.md"), ("file_path", "/srv/a.md"), ("corpus", "/srv/b.jsonl"), *more)

    expected = {"/srv/a.md": 2, "/srv/b.jsonl": 1} | {path[1]: 1 for path in more if path}
    assert names() == expected
    assert expected == {entry.path: entry.passages for entry in indexing.list_documents("maps") if entry.path}


def test_reads_no_passage_where_the_terms_suffice(monkeypatch: pytest.MonkeyPatch):
    make_index(("file_path", "/srv/a.md"), ("corpus", "/srv/b.jsonl"))
    monkeypatch.setattr(uploads, "list_documents", lambda name: pytest.fail("All passages were read."))

    assert names() == {"/srv/a.md": 1, "/srv/b.jsonl": 1}


def test_forgets_what_was_deleted():
    make_index(("file_path", "/srv/a.md"), ("file_path", "/srv/a.md"), ("file_path", "/srv/b.md"))

    TantivyDocumentStore(index="maps").delete_documents(["0", "2"])

    assert names() == {"/srv/a.md": 1}


def test_gives_ids_that_stay_and_tell_no_path():
    make_index(("file_path", "/srv/a.md"), ("corpus", "/srv/a.md"))
    before = [each.id for each in list_uploads("maps")]
    TantivyDocumentStore(index="maps").write_documents([Document(id="new", content="y")])

    assert [each.id for each in list_uploads("maps")] == before
    assert len(set(before)) == 2
    assert all("srv" not in each for each in before)


def test_what_a_killed_server_left_is_deleted_a_day_later():
    with make_incoming() as incoming:
        old, new = incoming.parent / ".incoming-old", incoming.parent / ".incoming-new"
        old.mkdir()
        new.mkdir()
        os.utime(old, (0, 0))

        with make_incoming():
            assert not old.exists()
            assert new.exists()
            assert incoming.exists()


def test_a_passage_whose_id_is_a_path_is_not_deleted_for_the_file(tmp_path: Path):
    (tmp_path / "a.md").write_text("The tower.", encoding="utf-8")
    indexing.index([tmp_path / "a.md"], index="maps")
    path = str((tmp_path / "a.md").resolve())
    TantivyDocumentStore(index="maps").write_documents([Document(id=path, content="y")])

    [document] = list_uploads("maps")

    assert delete_upload("maps", document.id) == (1, False)
    assert TantivyDocumentStore(index="maps").count_documents() == 1


class Killed(BaseException):
    """What ends a process between two steps."""


def keep_upload() -> Path:
    """Upload `board.md` to the collection `maps`."""
    file = uploads_folder("maps") / "board.md"
    file.parent.mkdir(parents=True)
    file.write_text("The board met in May.", encoding="utf-8")
    make_index(("file_path", str(file)))
    return file


def test_a_deletion_that_is_killed_leaves_no_file_that_is_not_listed(monkeypatch: pytest.MonkeyPatch):
    file = keep_upload()
    [document] = list_uploads("maps")
    monkeypatch.setattr(PassageStore, "finish", Mock(side_effect=Killed))

    with pytest.raises(Killed):
        delete_upload("maps", document.id)

    assert not file.exists()


def test_the_removal_of_an_index_that_is_killed_in_between_can_be_repeated(monkeypatch: pytest.MonkeyPatch):
    keep_upload()
    replace, moved = Path.replace, []

    def move_once(self: Path, target: Path) -> Path:
        if moved:
            raise Killed
        moved.append(self)
        return replace(self, target)

    with monkeypatch.context() as killed:
        killed.setattr(Path, "replace", move_once)
        with pytest.raises(Killed):
            remove_index("maps")

    remove_index("maps")
    assert not index_path("maps").exists()
    assert not uploads_folder("maps").exists()


def test_an_index_that_cannot_be_removed_keeps_what_was_uploaded(monkeypatch: pytest.MonkeyPatch):
    file, replace = keep_upload(), Path.replace

    def refuse_index(self: Path, target: Path) -> Path:
        if self == index_path("maps"):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refuse_index)
    with pytest.raises(OSError, match="cross-device"):
        remove_index("maps")

    assert file.exists()
    assert list(names()) == [str(file)]
