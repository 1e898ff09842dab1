"""What looks like a setting and is none: it may have been meant to close a door."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
import uvicorn

from prefrag.cli.env_file import find_unknown_settings
from tests.cli.running import prefrag

SENTENCE = "PREFRAG_REMOTE_MODELS is no setting: did you mean PREFRAG_REMOTE_MODEL?"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PREFRAG_REMOTE_MODELS", "off")
    with mock.patch.dict(os.environ):
        yield


@pytest.mark.parametrize(
    ("command", "code"), [(("ask", "Who?", "--index", "absent"), 3), (("index",), 2)], ids=["ask", "index"]
)
def test_a_command_reports_it_and_goes_on(command: tuple[str, ...], code: int):
    result = prefrag(*command)

    assert (result.exit_code, SENTENCE in " ".join(result.stderr.split())) == (code, True)


def test_the_doctor_reports_it(monkeypatch: pytest.MonkeyPatch):
    assert SENTENCE in prefrag("doctor", "--json", "--index", "absent", "--port", 1).stdout
    monkeypatch.setenv("PREFRAG_MAX_RUNS", "many")
    assert "PREFRAG_MAX_RUNS is 'many'" in prefrag("doctor", "--json", "--index", "absent", "--port", 1).stdout


def test_serve_does_not_start(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uvicorn, "run", lambda *_, **__: pytest.fail("started"))

    result = prefrag("serve", "--demo")

    assert (result.exit_code, SENTENCE in " ".join(result.stderr.split())) == (2, True)


def test_what_a_pipeline_of_ones_own_reads_is_not_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.yaml").write_text("index: ${PREFRAG_MY_INDEX:-mine}\n")
    (tmp_path / "named.yaml").write_text("api_key: {env_vars: [PREFRAG_MY_KEY]}\n")
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("PREFRAG_MY_INDEX", "x")
    monkeypatch.setenv("PREFRAG_MY_KEY", "x")

    assert find_unknown_settings(tmp_path / "named.yaml") == [SENTENCE]
