"""Shadows of an index: the index stays as it is, and no shadow is left, also after a kill."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prefrag.components.document_stores.proof import READER, find_stated_from, keep_proof
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.evaluation.prove.shadow import make_shadow, shadow_folder, shadows_folder, sweep_shadows
from tests.evaluation.prove.folder import passages
from tests.indexes import index_of


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "data"))


def test_a_change_in_a_shadow_leaves_the_index_as_it_is(tmp_path: Path):
    store = index_of(passages(First="The hall.", Second="The mill."), tmp_path / "index")
    [changed] = passages(First="The tower.")
    with shadow_folder() as folder:
        make_shadow(tmp_path / "index", folder / "without", [changed], ["Second"])
        shadow = TantivyDocumentStore(path=str(folder / "without"))

        assert [document.content for document in shadow.filter_documents()] == ["The tower."]
    assert sorted(document.content or "" for document in store.filter_documents()) == ["The hall.", "The mill."]


def test_a_shadow_has_no_limit_of_an_earlier_proof(tmp_path: Path):
    index_of(passages(First="The hall."), tmp_path / "index")
    keep_proof(tmp_path / "index", READER, "prefrag", {"stated_from": 0.93})
    with shadow_folder() as folder:
        make_shadow(tmp_path / "index", folder / "as it is")

        assert find_stated_from([TantivyDocumentStore(path=str(folder / "as it is"))]) == {}


def test_shadows_are_deleted_at_the_end_also_after_an_error():
    with pytest.raises(FileNotFoundError), shadow_folder() as folder:
        make_shadow(folder / "missing", folder / "without")

    assert not list(shadows_folder().glob("prove-*"))


def test_shadows_that_are_in_use_are_not_swept():
    with shadow_folder() as folder:
        sweep_shadows()

        assert folder.exists()


def test_shadows_that_cannot_be_deleted_are_named(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    with monkeypatch.context() as patch, shadow_folder() as folder:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        sweep_shadows()
        left = folder.with_name("prove-left")
        left.mkdir()
        sweep_shadows()

    assert f"{left} holds copies of passages and could not be deleted" in caplog.text


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_shadows_of_a_killed_process_are_swept_at_the_next_start():
    code = (
        "from prefrag.evaluation.prove.shadow import shadow_folder\n"
        "with shadow_folder() as folder:\n    (folder / 'without').mkdir()\n    print(folder, flush=True)\n    input()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().decode().strip())
        process.send_signal(signal.SIGKILL)
    assert (left / "without").is_dir()

    with shadow_folder():
        assert not left.exists()
