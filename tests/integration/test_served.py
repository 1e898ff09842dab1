"""A real server process on the demo, with a GGUF file as its model."""

import json
from collections.abc import Iterator

import httpx
import pytest

from tests.gguf import GGUF, needs_gguf
from tests.server_process import CHECKOUT, server_process

QUESTION = "Where was the engineer born who chose the depth of the tank under the Pellhaven Calibration Hall?"
pytestmark = [
    pytest.mark.slow,
    needs_gguf,
    pytest.mark.skipif(not (CHECKOUT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("server")
    command = ("-m", "prefrag.cli.main", "serve", "--demo")
    with server_process(*command, folder=folder, PREFRAG_API_KEYS="secret", PREFRAG_LLM_GGUF=GGUF) as client:
        client.headers["Authorization"] = "Bearer secret"
        assert client.get("/ready").status_code == 200, (folder / "server.log").read_text()
        yield client


def test_answers_over_rest_with_a_complete_result(server: httpx.Client):
    response = server.post("/prefrag/run", json={"question": QUESTION, "max_steps": 1, "top_k": 1})

    assert response.status_code == 200, response.text
    result = response.json()["result"]
    assert result["answer"] or result["not_found"], "so small a model may find nothing"
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

    assert (response.status_code, response.json()["error"]["code"]) == (404, "model_not_found")
