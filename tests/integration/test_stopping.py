"""A real server process gets a signal: to stop while a run's model is thinking, or one that kills it."""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.components.generators.fake_model_server import HANG, FakeModelServer
from tests.server_process import CHECKOUT, server_process

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHECKOUT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]
CHAT = {"model": "prefrag", "messages": [{"role": "user", "content": "Who designed the Shearwater Current Meter?"}]}


@pytest.fixture
def model() -> Iterator[FakeModelServer]:
    model = FakeModelServer()
    model.answers = [(200, HANG)]
    yield model
    model.close()


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("stream", [False, True])
def test_answers_its_clients_and_leaves_the_model_alone(
    model: FakeModelServer, tmp_path: Path, workers: str, stream: bool
):
    settings: dict[str, Any] = {
        "PREFRAG_LLM_BASE_URL": model.url,
        "PREFRAG_LLM_MODEL": "served",
        "PREFRAG_DRAIN_SECONDS": "1",
        # Otherwise the server would try the model when it starts.
        "PREFRAG_LLM_FORMAT": "text",
    }
    command = ("-m", "prefrag.cli.main", "serve", "--demo", "--workers", workers)
    with ThreadPoolExecutor() as threads:
        # When the context ends, the process gets SIGTERM.
        with server_process(*command, folder=tmp_path, **settings) as client:
            url = client.base_url.join("/v1/chat/completions")
            answer = threads.submit(httpx.post, url, json={**CHAT, "stream": stream}, timeout=60)
            assert model.called.wait(60), (tmp_path / "server.log").read_text()
        response = answer.result(30)

    assert "The server is stopping" in response.text
    assert response.status_code == (200 if stream else 503)
    assert not stream or response.text.endswith("data: [DONE]\n\n")
    assert model.left.wait(20)
    assert len(model.requests) == 1
    log = (tmp_path / "server.log").read_text()
    assert "Traceback" not in log, log


def test_requests_are_answered_for_a_while_after_the_stop_signal(tmp_path: Path):
    """In every process."""

    if os.name == "nt":
        pytest.skip("One process serves there, without such a while.")
    command = ("-m", "prefrag.cli.main", "serve", "--demo", "--workers", "2")
    with server_process(*command, folder=tmp_path, PREFRAG_LAME_DUCK_SECONDS="3") as client:
        wait_until(lambda: client.get("/ready").is_success)
        os.kill(parent_of(worker_in(tmp_path, 2)), signal.SIGTERM)

        def ask(path: str) -> int:
            # Each request uses a new connection, so that both processes answer.
            return httpx.get(client.base_url.join(path), timeout=10).status_code

        wait_until(lambda: ask("/ready") == 503)
        assert [ask(path) for path in ("/ready", "/live") * 4] == [503, 200] * 4
        with pytest.raises(httpx.TransportError):
            wait_until(lambda: ask("/live") == 503)


class TestKilled:
    """The serving process is killed; its parent holds the port and starts another."""

    @pytest.fixture
    def served(self, tmp_path: Path) -> Iterator[httpx.Client]:
        if os.name == "nt":
            pytest.skip("One process serves there.")
        with server_process("-m", "prefrag.cli.main", "serve", "--demo", folder=tmp_path) as client:
            client.get("/live")
            yield client

    def says(self, folder: Path, words: str) -> bool:
        return words in log_in(folder)

    def test_names_the_signal_and_serves_on_unless_it_keeps_dying(self, served: httpx.Client, tmp_path: Path):
        for number, killer in enumerate(("SIGBUS", "SIGSEGV", "SIGKILL", "SIGABRT", "SIGBUS"), start=1):
            os.kill(worker_in(tmp_path, number), signal.Signals[killer])
            wait_until(partial(self.says, tmp_path, f"was killed by {killer}"))
            if number < 5:
                # The connection waits until the next process serves.
                assert httpx.post(
                    served.base_url.join("/prefrag/run"), json={"question": "Who?"}, timeout=60
                ).is_success

        wait_until(partial(self.says, tmp_path, "were killed 5 times in 60 seconds"))
        with pytest.raises(httpx.ConnectError):
            httpx.get(served.base_url.join("/live"))

    def test_goes_when_its_parent_has_gone(self, served: httpx.Client, tmp_path: Path):
        os.kill(parent_of(worker_in(tmp_path)), signal.SIGKILL)

        with pytest.raises(httpx.TransportError):
            wait_until(lambda: httpx.get(served.base_url.join("/live")) is None)


def log_in(folder: Path) -> str:
    return (folder / "server.log").read_text()


def worker_in(folder: Path, number: int = 1) -> int:
    wait_until(lambda: log_in(folder).count("Started server process") == number)
    return int(re.findall(r"Started server process \[(\d+)", log_in(folder))[-1])


def parent_of(process: int) -> int:
    parent = re.search(r"PPid:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert parent is not None
    return int(parent[1])


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "It did not happen within 60 seconds."
        time.sleep(0.01)
