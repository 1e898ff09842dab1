"""Run a server in another process."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

CHECKOUT = Path(__file__).resolve().parents[1]


@contextmanager
def server_process(
    *arguments: str,
    folder: Path,
    seconds: float = 120.0,
    python: Path | str = sys.executable,
    cwd: Path = CHECKOUT,
    stdout: int | None = None,
    **variables: str,
) -> Iterator[httpx.Client]:
    """Run a Python server, with a free port as its option ``--port``, until the context ends.

    :param arguments: The arguments for Python.
    :param folder: The folder for its log and its data.
    :param seconds: How long the server may take to start, and for each answer.
    :param python: The interpreter.
    :param cwd: The folder in which it starts.
    :param stdout: Where it prints; by default its log.
    :param variables: The settings in its environment; those of this process are left out.
    :yields: A client of the server, as soon as the server accepts connections.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFRAG_", "HAYHOOKS_"))}
    environment |= {"PREFRAG_DATA_DIR": str(folder / "data"), "PYTHONPATH": str(CHECKOUT), **variables}
    command = [str(python), *arguments, "--port", str(port)]
    log = folder / "server.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(command, cwd=cwd, env=environment, stdout=stdout or output, stderr=output) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=seconds) as client,
    ):
        try:
            deadline = time.monotonic() + seconds
            while not _accepts(port):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, f"No server within {seconds:g} s.\n{log.read_text()}"
                time.sleep(0.05)
            yield client
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def _accepts(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0
