"""A served pipeline that replies from a script."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from prefrag.service.server.app import create_app
from tests.pipelines.scripted import answer, scripted_yaml, search, verdict


@pytest.fixture
def script_pipeline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Puts a scripted pipeline in the place of the shipped one; by default one that switches to the web."""

    def write(*replies: str, name: str = "prefrag", **settings: Any) -> None:
        if not replies:
            replies = (search("alpha"), search("beta delta"), answer("1974"))
            settings = {"verdicts": (verdict(False),), **settings}
        folder = tmp_path / "yaml"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(scripted_yaml(*replies, **settings), encoding="utf-8")
        monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(folder))

    return write


@pytest.fixture
def serve(script_pipeline: Callable[..., None]) -> Iterator[Callable[..., TestClient]]:
    """Starts the application around a scripted pipeline; the environment must be set before."""
    with ExitStack() as clients:

        def start(*replies: str, **settings: Any) -> TestClient:
            script_pipeline(*replies, **settings)
            return clients.enter_context(TestClient(create_app()))

        yield start


@contextmanager
def listening() -> Iterator[str]:
    """The address of the application, served by uvicorn on a port of its own."""
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        # From here on a client waits for the application rather than being refused.
        port.listen()
        server = uvicorn.Server(uvicorn.Config(create_app(), log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [port]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{port.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)
