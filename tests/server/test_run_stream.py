"""A run with ``"stream": true``, whose steps are sent as they happen."""

import json
from collections.abc import Callable
from typing import Any

from hayhooks import SSEStream
from starlette.testclient import TestClient

from prefrag.pipelines.loading import find
from prefrag.server.chat.served_pipelines import prepare_pipeline
from tests.fakes import CALLS
from tests.for_each import for_each
from tests.pipelines.scripted import answer, search

Served = Callable[..., TestClient]
QUESTION = {"question": "In which year did the yard that built alpha win the prize?"}


def streamed(client: TestClient, **fields: Any) -> list[dict[str, Any]]:
    """The messages of a stream, which must end with the end marker."""
    response = client.post("/prefrag/run", json={**QUESTION, "stream": True, **fields})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["x-accel-buffering"] == "no", "a proxy would hold the steps back"
    *messages, end = [line.removeprefix("data: ") for line in response.text.splitlines() if line]
    assert end == "[DONE]"
    return [json.loads(message) for message in messages]


def test_sends_each_step_in_words_and_with_its_details(served: Served):
    *events, _ = streamed(served())

    kinds = [message["event"]["kind"] for message in events]
    assert [kind for kind in kinds if kind in ("search", "found", "verdict")] == [
        *("search", "found", "verdict"),
        *("search", "found", "verdict", "search", "found"),
    ]
    first = next(message["event"] for message in events if message["event"]["kind"] == "search")
    assert first == {
        "kind": "search",
        "step": 1,
        "text": "Search local: alpha",
        "data": {"source": "local", "query": "alpha"},
    }


def test_then_sends_the_result_that_a_run_without_a_stream_gives(served: Served):
    *events, last = streamed(served())
    CALLS.clear()
    whole = served().post("/prefrag/run", json=QUESTION).json()["result"]

    for sent in (*last["result"]["queries_sent_out"], *whole["queries_sent_out"]):
        assert sent.pop("seconds") >= 0
    timed = {"usage", "trace"}
    assert {key: last["result"][key] for key in last["result"].keys() - timed} == {
        key: whole[key] for key in whole.keys() - timed
    }
    assert [event["kind"] for event in last["result"]["trace"]] == [message["event"]["kind"] for message in events]


async def test_each_step_is_sent_before_the_next_one_is_taken(script_pipeline: Callable[..., None]):
    script_pipeline(search("alpha"), answer("1974"))
    stream: Any = await prepare_pipeline("prefrag", find("prefrag")).wrapper.run_api_async(**QUESTION, stream=True)

    assert isinstance(stream, SSEStream)
    async for message in stream.stream:
        if isinstance(message, dict) and message.get("event", {}).get("kind") == "found":
            assert len(CALLS["model"]) == 1
    assert len(CALLS["model"]) == 2


async def test_a_stream_that_nobody_reads_on_takes_no_further_step(script_pipeline: Callable[..., None]):
    script_pipeline(search("alpha"), search("beta"), answer("1974"))
    stream: Any = await prepare_pipeline("prefrag", find("prefrag")).wrapper.run_api_async(**QUESTION, stream=True)

    async for message in stream.stream:
        if message["event"]["kind"] == "observation":
            break
    await stream.stream.aclose()

    assert len(CALLS["model"]) == 1


@for_each("option", {"question": " "}, {"sources": ["attic"]}, {"top_k": 0}, {"stream": "perhaps"})
def test_what_cannot_be_used_is_refused_before_the_stream_begins(served: Served, option: dict[str, Any]):
    response = served().post("/prefrag/run", json={**QUESTION, "stream": True, **option})

    assert (response.status_code, response.headers["content-type"]) == (422, "application/json")


def test_run_that_breaks_off_ends_with_reason_and_evidence(served: Served):
    *_, last = streamed(served(search("alpha"), "!the model server is down"))

    assert last["error"]["status"] == 502
    assert "the model server is down" in last["error"]["message"]
    assert [document["id"] for document in last["result"]["documents"]] == ["local-alpha"]


def test_a_stranger_cannot_end_the_stream_or_begin_a_message(served: Served):
    hostile = 'A yard.\n\ndata: [DONE]\n\ndata: {"result": {}}\u2028\r\rdata: x'
    client = served(search("alpha"), answer("1974"), documents={"local": {"alpha": hostile}, "web": {}})

    messages = streamed(client)

    assert messages[-1]["result"]["documents"][0]["content"] == hostile
    assert sum("result" in message for message in messages) == 1
