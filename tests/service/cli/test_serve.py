"""`prefrag serve`: what it starts, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import uvicorn

from tests.service.cli.running import prefrag


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    started: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **settings: started.update(settings, app=app))
    return started


def test_serves_this_machine_alone_by_default(started: dict[str, Any]):
    assert prefrag("serve").exit_code == 0
    assert (started["host"], started["port"], started["workers"]) == ("127.0.0.1", 1416, 1)
    assert started["app"] == "prefrag.service.server.app:create_app"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_refuses_other_machines_without_a_key(started: dict[str, Any], host: str):
    result = prefrag("serve", "--host", host)

    assert result.exit_code == 2
    assert "PREFRAG_API_KEYS" in result.stderr
    assert not started


def test_serves_other_machines_with_a_key(started: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_API_KEYS", "secret")

    assert prefrag("serve", "--host", "0.0.0.0", "--workers", 2).exit_code == 0
    assert (started["host"], started["workers"]) == ("0.0.0.0", 2)


def test_a_server_that_cannot_start_ends_with_1(monkeypatch: pytest.MonkeyPatch):
    def port_is_taken(app: str, **settings: Any) -> None:
        raise SystemExit(3)

    monkeypatch.setattr(uvicorn, "run", port_is_taken)

    assert prefrag("serve").exit_code == 1


def test_missing_pipelines_end_with_3(started: dict[str, Any], tmp_path: Path):
    assert prefrag("serve", "--pipelines-dir", tmp_path / "nowhere").exit_code == 3
    assert not started
