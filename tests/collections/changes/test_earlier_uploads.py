"""What an earlier version of the program has left of its uploads: flat files, and changes with a journal."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from haystack import Document

from prefrag.collections.changes.uploaded_files import settle_all_changes, uploads_folder
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.file_lock import take_lock
from prefrag.indexing.file_conversion import FileConverter
from tests.collections.changes.uploading import held, upload

OLD, NEW = "The old board.", "The new board."


def passages_of(text: str) -> list[Document]:
    return FileConverter().passages(uploads_folder("maps") / "keep.txt", text.encode())


def digest(passage: Document) -> str:
    state = json.dumps([passage.content, passage.meta], sort_keys=True, default=str)
    return hashlib.blake2b(state.encode(), digest_size=16).hexdigest()


@pytest.fixture
def flat() -> Path:
    """A file as the earlier version kept it, with its passages in the index."""
    file = uploads_folder("maps") / "keep.txt"
    file.parent.mkdir(parents=True)
    file.write_text(OLD)
    TantivyDocumentStore(index="maps").write_documents(passages_of(OLD))
    return file


@pytest.fixture
def incoming(flat: Path) -> Path:
    """The folder of a change that replaces the file."""
    [old] = passages_of(OLD)
    folder = flat.parents[1] / ".incoming-maps-x1y2"
    folder.mkdir()
    (folder / "keep.txt").write_text(NEW)
    journal = {"added": {"keep.txt": ""}, "removed": [], "passage": old.id, "before": digest(old), "drops": False}
    (folder / ".journal.json").write_text(json.dumps(journal))
    return folder


def commit() -> None:
    [old], [new] = passages_of(OLD), passages_of(NEW)
    TantivyDocumentStore(index="maps").replace_documents([new], [old.id])


def test_flat_files_stay_until_a_new_version_replaces_them(flat: Path) -> None:
    [before] = LocalCollection("maps").documents()
    settle_all_changes()
    assert held() == {"keep.txt": OLD}
    assert before.uploaded

    upload({"keep.txt": NEW})

    assert held() == {"keep.txt": NEW}
    [after] = LocalCollection("maps").documents()
    assert after.id == before.id


def test_a_flat_file_is_deleted_with_its_document(flat: Path) -> None:
    [document] = LocalCollection("maps").documents()

    LocalCollection("maps").delete_document(document.id)

    assert held() == {}


def test_a_change_with_a_journal_is_finished_if_committed(incoming: Path) -> None:
    commit()

    settle_all_changes()

    assert held() == {"keep.txt": NEW}


def test_a_change_with_a_journal_is_undone_if_not_committed(incoming: Path) -> None:
    settle_all_changes()

    assert held() == {"keep.txt": OLD}


def test_a_drop_with_a_journal_is_finished_if_committed(incoming: Path) -> None:
    journal = json.loads((incoming / ".journal.json").read_text())
    (incoming / ".journal.json").write_text(json.dumps({**journal, "added": {}, "drops": True}))
    index_path("maps").rename(incoming / ".index")

    settle_all_changes()

    assert held() == {}


def test_a_change_with_a_journal_waits_for_a_damaged_index(incoming: Path) -> None:
    commit()
    settings = index_path("maps") / "prefrag-index.json"
    whole = settings.read_text()
    settings.write_text("{broken")
    settle_all_changes()
    assert (incoming / "keep.txt").read_text() == NEW
    assert os.listdir(uploads_folder("maps")) == ["keep.txt"]
    settings.write_text(whole)

    settle_all_changes()

    assert held() == {"keep.txt": NEW}


def test_files_that_arrived_without_a_journal_are_deleted(incoming: Path) -> None:
    (incoming / ".journal.json").unlink()
    shutil.copytree(incoming, incoming.with_name(".incoming-maps-old-x1y2"))

    settle_all_changes()

    assert held() == {"keep.txt": OLD}


def test_an_upload_that_an_earlier_server_still_receives_stays(incoming: Path) -> None:
    (incoming / ".journal.json").unlink()
    with (incoming / ".alive").open("wb") as alive:
        take_lock(alive.fileno())
        settle_all_changes()
        assert (incoming / "keep.txt").exists()

    settle_all_changes()
    assert not incoming.exists()
