"""A real server process that gets the signal to stop while the model of its runs still thinks."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
    }
    command = ("-m", "prefrag.cli.main", "serve", "--demo", "--workers", workers)
    with ThreadPoolExecutor() as threads:
        # At the end of the context the process gets SIGTERM.
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
