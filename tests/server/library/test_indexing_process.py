"""Indexing in separate processes: their reports, failures and ends."""

import json
import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from prefrag.collections import indexing
from prefrag.collections.changes import uploaded_files
from prefrag.collections.changes.uploaded_files import change_collection, make_incoming, uploads_folder
from prefrag.collections.changes.uploads import add_uploads
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.indexing.report import IndexReport, Skipped
from prefrag.server.library import indexing_process
from prefrag.server.library.indexing_process import IndexingFailed, IndexingProcesses, index_files


@pytest.fixture
def process() -> Iterator[IndexingProcesses]:
    made = IndexingProcesses()
    yield made
    made.stop()


def upload(collection: str, index: Callable[..., Any], **files: str) -> Any:
    with make_incoming("fresh" if " " in collection else collection) as incoming:
        for name, text in files.items():
            (incoming / name.replace("_", ".")).write_text(text, encoding="utf-8")
        return index(LocalCollection(collection), incoming)


def test_writes_its_report_or_why_it_failed_with_the_status():
    reply = upload("fresh", index_files, tower_md="# Towers\n\nAda built it.", photo_raw="x")
    assert (reply["written"], reply["files"]) == (1, 1)
    assert [Path(each["path"]).name for each in reply["skipped"]] == ["photo.raw"]

    reply = upload("not a name", index_files, tower_md="Ada.")
    assert "cannot name a collection" in reply["error"]
    assert reply["status"] == 422


def test_files_of_other_kinds_are_part_of_its_report():
    report = IndexReport(other_kinds=Counter({".png": 2}))

    assert json.loads(json.dumps(indexing_process._describe(lambda: report)))["other_kinds"] == {".png": 2}


@pytest.mark.parametrize(
    ("reply", "expected", "is_kept"),
    [
        ('{"error": "It is full.", "status": 507}', ("It is full.", 507), True),
        ('{"error": "No memory.", "status": 500}', ("No memory.", 500), False),
        ("Segmentation fault", ("The indexing broke off.", 500), False),
        ("", ("The indexing broke off.", 500), False),
    ],
)
def test_reads_what_a_process_wrote_and_keeps_one_that_can_go_on(
    process: IndexingProcesses, monkeypatch: pytest.MonkeyPatch, reply: str, expected: tuple[str, int], is_kept: bool
):
    started = mock.Mock(stdout=mock.Mock(readline=mock.Mock(return_value=reply)), poll=mock.Mock(return_value=None))
    monkeypatch.setattr(indexing_process.subprocess, "Popen", mock.Mock(return_value=started))

    with pytest.raises(IndexingFailed) as failed:
        upload("fresh", process.index, a_txt="A.")

    assert (str(failed.value), failed.value.http_status) == expected
    assert (started in process._waiting, started.kill.called) == (is_kept, not is_kept)


def test_what_a_process_had_committed_when_it_died_is_finished(
    process: IndexingProcesses, monkeypatch: pytest.MonkeyPatch
):
    popen = subprocess.Popen

    def die() -> str:
        [incoming] = uploads_folder("fresh").iterdir()
        with mock.patch.object(uploaded_files, "_sweep"), mock.patch.object(subprocess, "Popen", popen):
            add_uploads(LocalCollection("fresh"), incoming)
        return ""

    monkeypatch.setattr(
        indexing_process.subprocess, "Popen", mock.Mock(return_value=mock.Mock(stdout=mock.Mock(readline=die)))
    )
    with pytest.raises(IndexingFailed, match="broke off"):
        upload("fresh", process.index, a_txt="A.")

    assert [path.name for path in uploads_folder("fresh").rglob("*") if path.is_file()] == ["a.txt"]
    assert os.listdir(uploads_folder("fresh").parent) == ["fresh"]


def test_without_a_file_starts_no_process(process: IndexingProcesses, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(indexing_process.subprocess, "Popen", mock.Mock(side_effect=AssertionError))

    assert upload("fresh", process.index) == IndexReport()


def seconds_of(pid: int) -> float:
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_one_process_indexes_one_upload_after_another(process: IndexingProcesses, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(indexing_process, "IDLE_SECONDS", 2.0)
    report = upload("fresh", process.index, tower_md="# Towers\n\nAda built it.", photo_raw="x")
    assert (report.written, report.files) == (1, 1)
    assert [(type(each), Path(each.path).name) for each in report.skipped] == [(Skipped, "photo.raw")]

    [running] = process._running
    if Path("/proc").exists():
        before = seconds_of(running.pid)
        upload("fresh", process.index, more_txt="One line.")
        assert seconds_of(running.pid) - before < 0.5
    with pytest.raises(IndexingFailed, match="cannot name a collection") as failed:
        upload("not a name", process.index, tower_md="Ada.")
    assert failed.value.http_status == 422
    assert process._running == {running}

    # The process is killed while it waits for work.
    running.kill()
    running.wait()
    upload("fresh", process.index, last_txt="Another one takes over.")
    assert TantivyDocumentStore(index="fresh").count_documents() == len(list(uploads_folder("fresh").glob("*/*"))) == 3
    deadline = time.monotonic() + 30
    while process._running and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not process._running


@pytest.mark.slow
@pytest.mark.skipif("sys.platform == 'win32'")
def test_ends_when_its_orders_end_whatever_it_does(process: IndexingProcesses):
    upload("fresh", process.index, tower_md="Ada.")
    [running] = process._running
    assert running.stdin is not None

    # The input is closed while the process waits for the collection, as when the server ends.
    with change_collection("fresh"):
        running.stdin.write(json.dumps({"collection": "fresh", "store": "tantivy", "incoming": "nowhere"}) + "\n")
        running.stdin.close()

        assert running.wait(10) == 0


def test_a_process_that_takes_too_long_is_stopped(process: IndexingProcesses, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(indexing_process, "INDEX_SECONDS", 0.01)

    with pytest.raises(IndexingFailed, match="stopped after") as failed:
        upload("fresh", process.index, tower_md="Ada.")

    assert failed.value.http_status == 504


def test_a_process_ends_with_the_server(process: IndexingProcesses):
    failed: list[Exception] = []

    def index() -> None:
        try:
            upload("fresh", process.index, tower_md="Ada.")
        except IndexingFailed as error:
            failed.append(error)

    thread = threading.Thread(target=index)
    thread.start()
    deadline = time.monotonic() + 30
    while not process._running and time.monotonic() < deadline:
        time.sleep(0.01)
    process.stop()
    thread.join(30)

    assert "broke off" in str(failed[0])
    assert not process._running
    with pytest.raises(IndexingFailed, match="broke off"):
        upload("fresh", process.index, tower_md="Ada.")


def test_a_process_that_reads_files_of_others_has_no_keys(process: IndexingProcesses, monkeypatch: pytest.MonkeyPatch):
    started: list[dict[str, str]] = []

    def start(command: list[str], env: dict[str, str], **options: Any) -> Any:
        started.append(env)
        raise OSError("Enough was seen.")

    monkeypatch.setattr(indexing_process.subprocess, "Popen", start)
    names = ("PREFRAG_API_KEYS", "PREFRAG_LLM_API_KEY", "AWS_SECRET_ACCESS_KEY", "PREFRAG_ELASTICSEARCH_API_KEY")
    for name in names:
        monkeypatch.setenv(name, "secret")
    for state, file in (("files", ""), ("elasticsearch", ""), ("elasticsearch", "/run/secrets/key")):
        monkeypatch.setenv("PREFRAG_STATE", state)
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_API_KEY_FILE", file)
        with pytest.raises(OSError, match="Enough"):
            upload("fresh", process.index, tower_md="Ada.")

    assert "secret" not in started[0].values()
    assert started[0]["PREFRAG_DATA_DIR"] == os.environ["PREFRAG_DATA_DIR"]
    # A process that writes to Elasticsearch needs its API key, which is given only once.
    assert [name for name in names if name in started[1]] == ["PREFRAG_ELASTICSEARCH_API_KEY"]
    assert [name for name in names if name in started[2]] == []
    assert started[2]["PREFRAG_ELASTICSEARCH_API_KEY_FILE"] == "/run/secrets/key"


def test_an_upload_beside_the_demo_makes_a_collection(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_INDEX", "demo")

    assert upload("mine", index_files, tower_md="Ada built the tower.")["written"] == 1


def test_a_new_index_has_the_language_of_the_one_that_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "tower.md").write_text("Die T\u00fcrme.", encoding="utf-8")
    monkeypatch.setenv("PREFRAG_INDEX", "deutsch")
    upload("before", index_files, tower_md="Die T\u00fcrme.")
    indexing.index([tmp_path / "tower.md"], LocalCollection("deutsch"), language="german")
    upload("after", index_files, tower_md="Die T\u00fcrme.")

    assert TantivyDocumentStore(index="before", language="english").count_documents() == 1
    assert TantivyDocumentStore(index="after", language="german").count_documents() == 1
