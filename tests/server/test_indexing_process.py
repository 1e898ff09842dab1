"""Indexing in a process of its own, with its report, its failures and its end."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from prefrag import indexing
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.indexing.report import Skipped
from prefrag.server import indexing_process
from prefrag.server.indexing_process import IndexingFailed, IndexingProcess, index_files, main


def write(folder: Path, **files: str) -> list[str]:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return [str(folder / name.replace("_", ".")) for name in files]


def reply_of(capsys: pytest.CaptureFixture[str], collection: str, files: list[str]) -> dict[str, Any]:
    """What the process writes, which here is this one."""
    with mock.patch.object(indexing_process, "_spare_the_server"):
        main(collection, *files)
    reply: dict[str, Any] = json.loads(capsys.readouterr().out)
    return reply


def test_writes_its_report_or_why_it_failed_with_the_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    files = write(tmp_path, tower_md="# Towers\n\nAda built it.", photo_raw="x")

    reply = reply_of(capsys, "fresh", files)
    assert (reply["written"], reply["files"]) == (1, 1)
    assert [each["path"] for each in reply["skipped"]] == [files[1]]

    reply = reply_of(capsys, "not a name", files)
    assert "cannot name an index" in reply["error"]
    assert reply["status"] == 422


def test_reads_what_the_process_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for reply, expected in (
        ('{"error": "It is full.", "status": 507}', ("It is full.", 507)),
        ("Segmentation fault", ("The indexing broke off.", 500)),
    ):
        process = mock.Mock(communicate=mock.Mock(return_value=(reply, "")))
        monkeypatch.setattr(indexing_process.subprocess, "Popen", mock.Mock(return_value=process))
        with pytest.raises(IndexingFailed) as failed:
            IndexingProcess().index("fresh", [])
        assert (str(failed.value), failed.value.http_status) == expected


@pytest.mark.slow
def test_reports_as_it_does_in_this_process(tmp_path: Path):
    files = write(tmp_path, tower_md="# Towers\n\nAda built it.", photo_raw="x")

    report = IndexingProcess().index("fresh", files)

    assert (report.written, report.files) == (1, 1)
    assert [(type(each), each.path) for each in report.skipped] == [(Skipped, files[1])]
    assert TantivyDocumentStore(index="fresh").count_documents() == 1


@pytest.mark.slow
def test_a_failure_of_indexing_is_told_with_its_status(tmp_path: Path):
    with pytest.raises(IndexingFailed, match="cannot name an index") as failed:
        IndexingProcess().index("not a name", write(tmp_path, tower_md="Ada."))

    assert failed.value.http_status == 422


def test_a_process_that_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(indexing_process, "INDEX_SECONDS", 0.01)

    with pytest.raises(IndexingFailed, match="given up after") as failed:
        IndexingProcess().index("fresh", write(tmp_path, tower_md="Ada."))

    assert failed.value.http_status == 504


def test_a_process_ends_with_the_server(tmp_path: Path):
    process = IndexingProcess()
    failed: list[Exception] = []

    def index() -> None:
        try:
            process.index("fresh", write(tmp_path, tower_md="Ada."))
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
        process.index("fresh", write(tmp_path, tower_md="Ada."))


def test_a_process_that_reads_files_of_others_has_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    started: list[dict[str, str]] = []

    def start(command: list[str], env: dict[str, str], **options: Any) -> Any:
        started.append(env)
        raise OSError("Enough was seen.")

    monkeypatch.setattr(indexing_process.subprocess, "Popen", start)
    for name in ("PREFRAG_API_KEYS", "PREFRAG_LLM_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "secret")
    with pytest.raises(OSError, match="Enough"):
        IndexingProcess().index("fresh", write(tmp_path, tower_md="Ada."))

    assert "secret" not in started[0].values()
    assert started[0]["PREFRAG_DATA_DIR"] == os.environ["PREFRAG_DATA_DIR"]


def test_a_new_index_has_the_language_of_the_one_that_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files = write(tmp_path, tower_md="Die T\u00fcrme.")
    monkeypatch.setenv("PREFRAG_INDEX", "deutsch")
    index_files("before", files)
    indexing.index(files, index="deutsch", language="german")
    index_files("after", files)

    assert TantivyDocumentStore(index="before", language="english").count_documents() == 1
    assert TantivyDocumentStore(index="after", language="german").count_documents() == 1
