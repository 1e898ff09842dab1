"""The audit log of the service: who asked, and which tasks front ends had the model do."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from starlette.testclient import TestClient

from prefrag.audit_log import AuditLogFailed
from prefrag.server.access.keys import add_key
from prefrag.server.app import create_app
from tests.cli.running import prefrag
from tests.fakes import CALLS

QUESTION = {"question": "In which year did the yard that built alpha win the prize?"}
TITLE: dict[str, Any] = {
    "model": "prefrag",
    "messages": [{"role": "user", "content": "### Task:\nGenerate a title.\n<chat_history>\nalpha\n</chat_history>"}],
}


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(tmp_path / "audit.jsonl"))
    return tmp_path / "audit.jsonl"


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_a_line_names_the_key(serve: Callable[..., TestClient], log: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_API_KEYS", "first")
    client, secret = serve(), add_key("ada")

    for key in (secret, "first"):
        CALLS.clear()
        client.post("/prefrag/run", json=QUESTION, headers={"Authorization": f"Bearer {key}"})

    assert [(line["key"], line["event"]) for line in lines(log)] == [("ada", "query"), ("environment:1", "query")]
    assert secret not in log.read_text()


def test_a_line_names_no_key_where_there_is_none(served: Callable[..., TestClient], log: Path):
    served().post("/prefrag/run", json=QUESTION)

    assert [(line["key"], line["pipeline"]) for line in lines(log)] == [(None, "prefrag")]


@pytest.mark.skipif(os.name != "posix", reason="files on this system have no modes")
def test_a_server_says_at_its_start_that_others_may_read_the_log(log: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("prefrag.server.app.log", logged := Mock())
    log.touch()
    log.chmod(0o644)

    create_app()

    assert f"Other users can read or change the audit log {log}" in logged.warning.call_args.args[0]


def test_what_a_front_end_has_a_remote_model_do_is_written_too(serve: Callable[..., TestClient], log: Path):
    client = serve("A title", model_settings={"model_host": "api.example.org"})

    assert client.post("/v1/chat/completions", json=TITLE).status_code == 200

    (line,) = lines(log)
    assert (line["event"], line["caller"], line["host"]) == ("model_call", "front_end", "api.example.org")
    assert line["pipeline"] == "prefrag"


def test_client_learns_that_nothing_was_sent_but_no_log_path(
    served: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    client = served()
    monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(tmp_path / "unmounted" / "audit.jsonl"))

    response = client.post("/prefrag/run", json=QUESTION)

    assert response.status_code == 502
    assert "so nothing is sent" in response.json()["detail"]
    assert str(tmp_path) not in response.text
    assert "web" not in CALLS


def test_a_server_whose_log_cannot_be_written_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(tmp_path / "unmounted" / "audit.jsonl"))

    with pytest.raises(AuditLogFailed, match="cannot be written"):
        create_app()
    assert prefrag("serve", "--demo").exit_code == 1


def test_questions_at_the_command_line_are_written_too(script_pipeline: Callable[..., None], log: Path):
    script_pipeline()

    assert prefrag("ask", QUESTION["question"]).exit_code == 0

    (line,) = lines(log)
    assert (line["event"], line["query"]) == ("query", "beta delta")
    assert "key" not in line
