"""`prefrag FOLDER`: which folder is served as which collection, and what is refused."""

import os
import socket
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from prefrag.cli import folder as command
from prefrag.cli import web_consent
from prefrag.collections.local_collection import LocalCollection
from prefrag.server.library.followed_folder import FOLDER_VARIABLE
from tests.cli.running import prefrag
from tests.for_each import for_each


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREFRAG_WEB")
    (tmp_path / "docs").mkdir()
    return tmp_path / "docs"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> mock.Mock:
    """A person at a terminal, who says yes."""
    asked = mock.Mock(return_value=True)
    for module in (command, web_consent):
        monkeypatch.setattr(module, "can_ask_user", lambda: True)
    monkeypatch.setattr(web_consent.typer, "confirm", asked)
    return asked


def test_folder_is_served_locally_and_told_from_a_command(docs: Path, started: dict[str, Any]):
    """A folder is told from a command by its path."""

    result = prefrag("docs", "--port", 1500)
    assert result.exit_code == 0, result.stderr
    assert (started["host"], started["port"], started["workers"]) == ("127.0.0.1", 1500, 1)
    assert (os.environ["PREFRAG_INDEX"], os.environ[FOLDER_VARIABLE]) == ("docs", str(docs))
    assert os.environ["HAYHOOKS_LOG_LEVEL"] == "SUCCESS"
    prefrag("serve", "--demo")
    assert FOLDER_VARIABLE not in os.environ
    docs.with_name("serve").mkdir()
    assert prefrag("./serve").exit_code == 0
    assert os.environ["PREFRAG_INDEX"] == "serve"


@for_each(
    "word, code, said",
    ("nowhere/at/all", 3, "There is no folder nowhere/at/all."),
    ("note.txt", 2, "note.txt is a file"),
    (".", 2, "contains prefrag's own data"),
    ("servee", 2, "No such command 'servee'"),
    ("", 2, "No such command ''"),
)
def test_what_is_no_folder_to_ask_is_refused(docs: Path, started: dict[str, Any], word: str, code: int, said: str):
    docs.with_name("note.txt").touch()
    with mock.patch.dict(os.environ, {"PREFRAG_DATA_DIR": str(docs.with_name("data"))}):
        result = prefrag(word)

    assert (result.exit_code, said in " ".join(result.stderr.split())) == (code, True), result.stderr
    assert not started


def test_one_that_may_not_be_read_is_refused(docs: Path, started: dict[str, Any]):
    with mock.patch.object(command.os, "scandir", side_effect=PermissionError(13, "Permission denied")):
        result = prefrag("docs")

    assert (result.exit_code, result.stderr) == (3, "Error: The folder docs cannot be read (Permission denied).\n")
    assert not started


@for_each("words", ("docs",), ("serve", "--demo"))
def test_a_port_that_is_taken_is_refused(docs: Path, words: tuple[str, ...]):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = prefrag(*words, "--port", port)

    assert result.exit_code == 2
    assert f"Error: --port: nothing can listen on port {port} of 127.0.0.1 (Address already in use)" in result.stderr


class TestTheWeb:
    def test_stays_closed_without_terminal_and_is_asked_about_later(
        self, docs: Path, started: dict[str, Any], request: pytest.FixtureRequest
    ):
        assert "The web is closed" in prefrag("docs").stderr
        assert LocalCollection("docs").read_consent() is None
        asked = request.getfixturevalue("terminal")
        for _ in range(2):
            assert prefrag("docs").exit_code == 0
            assert (asked.call_count, LocalCollection("docs").read_consent()) == (1, True)

    def test_stays_closed_when_the_question_is_not_answered(
        self, docs: Path, started: dict[str, Any], terminal: mock.Mock
    ):
        terminal.side_effect = web_consent.typer.Abort

        assert prefrag("docs").exit_code == 130
        assert (LocalCollection("docs").read_consent(), started) == (None, {})

    @for_each("option, answer", ("--web", True), ("--no-web", False))
    def test_is_decided_by_an_option(self, docs: Path, started: dict[str, Any], option: str, answer: bool):
        prefrag("docs", option)

        assert LocalCollection.of_folder(docs).read_consent() is answer
