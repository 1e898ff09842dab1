"""What the tests of commands share: a corpus of three passages, and an unchanged environment."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from prefrag.server.http import supervisor


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """Restore the environment, because the commands set variables of this process."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The settings with which a server would be started; none is started."""
    started: dict[str, Any] = {}
    monkeypatch.setattr(supervisor, "run", lambda app, **settings: started.update(settings, app=app))
    return started


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    passages = [{"id": f"p{n}", "title": f"Buoy {n}", "text": f"Buoy {n} floats off Pellhaven."} for n in range(3)]
    file = tmp_path / "corpus.jsonl"
    file.write_text("\n".join(map(json.dumps, passages)), encoding="utf-8")
    return file
