"""Start the application for tests."""

import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import httpx
import uvicorn
from fastapi import FastAPI
from hayhooks.server.pipelines.registry import registry

from prefrag.server.app import create_app
from tests.pipelines.scripted import scripted_yaml


class Served(NamedTuple):
    """An application that has started.

    :param app: The application, to be called in this process.
    :param address: Where uvicorn serves it.
    """

    app: FastAPI
    address: str


class Shared:
    """An application with the default settings, for all tests that only put another pipeline in it. It is put aside
    while a test runs an application with other settings.
    """

    def __init__(self) -> None:
        self._running = ExitStack()
        self._served: Served | None = None

    def start(self) -> Served:
        if self._served is None:
            folder = self._running.enter_context(tempfile.TemporaryDirectory())
            Path(folder, "prefrag.yaml").write_text(scripted_yaml("never read"), encoding="utf-8")
            self._served = self._running.enter_context(_listening(PREFRAG_PIPELINES_DIR=folder))
        return self._served

    def stop(self) -> None:
        self._running.close()
        self._served = None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Put the application aside, because the registry of Hayhooks is global to the process."""
        kept = [(name, registry.get(name), registry.get_metadata(name)) for name in registry.get_names()]
        registry.clear()
        try:
            yield
        finally:
            registry.clear()
            for name, wrapper, metadata in kept:
                assert wrapper is not None
                registry.add(name, wrapper, metadata)


SHARED = Shared()


@contextmanager
def listening(drain: int = 10, **variables: str) -> Iterator[Served]:
    """An application with its own environment; ``stop`` tells its server to stop."""
    with SHARED.aside(), _listening(drain, **variables) as served:
        yield served


def stop(served: Served) -> None:
    """Tell the server of an application to stop, as SIGTERM does, without waiting."""
    served.app.state.server.should_exit = True


@contextmanager
def _listening(drain: int = 10, **variables: str) -> Iterator[Served]:
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        # From now on, a client waits for the application and is not refused.
        port.listen()
        address = f"http://127.0.0.1:{port.getsockname()[1]}"
        with mock.patch.dict(os.environ, variables):
            app = create_app()
            server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=drain))
            app.state.server = server
            thread = threading.Thread(target=server.run, kwargs={"sockets": [port]}, daemon=True)
            thread.start()
            httpx.get(f"{address}/live", timeout=60)
        try:
            yield Served(app, address)
        finally:
            server.should_exit = True
            thread.join(30)
