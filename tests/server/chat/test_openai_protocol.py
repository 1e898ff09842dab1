"""What clients of the OpenAI protocol rely on, over real connections."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import openai
import pytest
from starlette.testclient import TestClient

from prefrag.pipelines.loading import YAML_PIPELINES
from prefrag.server.chat import openai_protocol
from prefrag.server.chat.openai_protocol import DONE, OpenAIErrors, StreamEnd
from tests.for_each import for_each
from tests.pipelines.scripted import search
from tests.server.serving import listening

Script = Callable[..., None]
Served = Callable[..., TestClient]
QUESTION = "In which year did the yard that built alpha win the prize?"
MESSAGES: list[Any] = [{"role": "user", "content": QUESTION}]
SHIPPED = sorted(file.stem for file in YAML_PIPELINES.glob("*.yaml"))
END = "data: [DONE]\n\n"
KEEP_ALIVE = openai_protocol._KEEP_ALIVE


def stream(address: str, path: str = "/v1/chat/completions", model: str = "prefrag", **fields: Any) -> str:
    body = {"model": model, "messages": MESSAGES, "stream": True, **fields}
    response = httpx.post(f"{address}{path}", json=body, timeout=30)
    assert response.status_code == 200, response.text
    return response.text


class TestStreamEnd:
    @pytest.mark.parametrize("path", ["/v1/chat/completions", "/chat/completions"])
    @pytest.mark.parametrize("options", [{}, {"stream_options": {"include_usage": True}}])
    def test_is_sent_once_after_all_the_rest(self, address: str, path: str, options: dict[str, Any]):
        text = stream(address, path, **options)

        assert text.endswith(END)
        assert text.count("[DONE]") == 1

    @pytest.mark.slow
    def test_is_sent_for_every_pipeline(self, script_pipeline: Script):
        for name in SHIPPED:
            script_pipeline("Final Answer: 1974", name=name, pipeline=name)

        with listening(PREFRAG_SERVE="all", PREFRAG_INDEX="demo") as (_, address):
            streams = {name: stream(address, model=name) for name in SHIPPED}

        assert [name for name, text in streams.items() if not text.endswith(END)] == []

    def test_is_sent_after_a_run_that_broke_off(self, served: Served, address: str):
        served(search("alpha"), "!the model server is down")

        text = stream(address)

        assert "the model server is down" in text
        assert text.endswith(END)
        assert text.count("[DONE]") == 1

    def test_is_not_sent_for_an_answer_that_is_no_stream(self, address: str):
        body = {"model": "prefrag", "messages": MESSAGES}

        assert "[DONE]" not in httpx.post(f"{address}/v1/chat/completions", json=body).text

    @pytest.mark.parametrize(
        "pieces", [[b"data: {}\n\n", DONE + b"\n\n"], [b"data: {}\n\ndata: [DO", b"NE]\n", b"\n"], [b"", DONE, b""]]
    )
    async def test_is_not_doubled_when_a_library_sends_it(self, pieces: list[bytes]):
        sent = await answered(StreamEnd(replying(*pieces)))

        assert b"".join(sent).count(DONE) == 1

    @pytest.mark.parametrize("pieces", [[], [b"data: {}\n\n"], [b'data: {"content": "data: [DONE]"}\n\n']])
    async def test_is_sent_whatever_went_before(self, pieces: list[bytes]):
        sent = await answered(StreamEnd(replying(*pieces)))

        assert b"".join(sent) == b"".join(pieces) + END.encode()

    async def test_comes_with_an_error_when_the_stream_itself_breaks(self):
        async def breaking(scope: Any, receive: Any, send: Any) -> None:
            await send(start("text/event-stream"))
            await send({"type": "http.response.body", "body": b"data: {}\n\n", "more_body": True})
            raise LookupError("a secret path")

        sent: list[bytes] = []
        with pytest.raises(LookupError):
            await answered(StreamEnd(breaking), sent)

        broken, end, _ = b"".join(sent).decode().removeprefix("data: {}\n\n").split("\n\n")
        assert json.loads(broken.removeprefix("data: "))["error"]["type"] == "server_error"
        assert "secret" not in broken
        assert end == DONE.decode()

    async def test_of_other_routes_and_other_types_is_left_alone(self):
        assert await answered(StreamEnd(replying(b"x")), path="/mcp") == [b"x", b""]
        assert await answered(StreamEnd(replying(b"{}", type="application/json"))) == [b"{}", b""]


async def test_a_silent_stream_speaks_between_its_events_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(openai_protocol, "_SILENT_SECONDS", 0.001)
    spoken: list[bytes] = []
    pieces = [b"data: {}\n\n", b'data: {"a":', b'"b"}\n\n', DONE]

    async def thinking(scope: Any, receive: Any, send: Any) -> None:
        await send(start("text/event-stream"))
        for piece in pieces:
            # Nothing may be inserted into an incomplete event, however long the rest takes.
            whole, before = not spoken or spoken[-1].endswith(b"\n\n"), spoken.count(KEEP_ALIVE)
            async with asyncio.timeout(5 if whole else None):
                for _ in range(20):
                    await asyncio.sleep(0.001)
                while whole and spoken.count(KEEP_ALIVE) == before:
                    await asyncio.sleep(0.001)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    await answered(StreamEnd(thinking), spoken)

    assert b"".join(part for part in spoken if part != KEEP_ALIVE) == b"".join(pieces)
    cut = spoken.index(pieces[1])
    assert spoken[cut + 1] == pieces[2]
    assert spoken[0] == spoken[cut - 1] == spoken[-3] == KEEP_ALIVE


class TestErrors:
    @for_each(
        "request_, status, expected",
        (
            {"model": "other", "messages": MESSAGES},
            404,
            {"type": "invalid_request_error", "param": "model", "code": "model_not_found"},
        ),
        (
            {"model": "prefrag", "messages": MESSAGES, "top_k": 0},
            422,
            {"type": "invalid_request_error", "param": None, "code": None},
        ),
        (
            {"model": "prefrag", "messages": "hello"},
            422,
            {"type": "invalid_request_error", "param": "messages", "code": None},
        ),
    )
    def test_have_the_form_of_the_protocol(
        self, address: str, request_: dict[str, Any], status: int, expected: dict[str, Any]
    ):
        response = httpx.post(f"{address}/v1/chat/completions", json=request_)

        assert response.status_code == status
        error = response.json()["error"]
        assert {key: error[key] for key in expected} == expected
        assert error["message"]
        assert "detail" in response.json()

    def test_of_closed_routes_large_bodies_and_foreign_hosts(self, address: str):
        response = httpx.post(f"{address}/v1/files")

        assert (response.status_code, response.json()["error"]["message"]) == (404, "Not Found")
        assert response.json()["error"]["code"] is None

        response = httpx.post(f"{address}/v1/chat/completions", content=b" " * 1_000_001)

        assert response.status_code == 413
        assert "1,000,000" in response.json()["error"]["message"]

        response = httpx.get(f"{address}/v1/models", headers={"Host": "rebound.example"})

        assert response.status_code == 403
        assert "PREFRAG_API_KEYS" in response.json()["error"]["message"]

    def test_of_a_run_that_broke_off_beside_its_result(self, served: Served, address: str):
        served(search("alpha"), "!the model server is down")

        response = httpx.post(f"{address}/v1/chat/completions", json={"model": "prefrag", "messages": MESSAGES})

        assert (response.status_code, response.json()["error"]["type"]) == (502, "server_error")
        assert "the model server is down" in response.json()["error"]["message"]
        assert "the model server is down" in response.json()["detail"]
        assert response.json()["result"]["steps"]

    def test_of_other_routes_stay_as_they_are(self, address: str):
        response = httpx.post(f"{address}/prefrag/run", json={"question": ""})

        assert (response.status_code, response.json().keys()) == (422, {"detail"})

    async def test_of_an_application_that_raises_reveal_nothing_of_it(self):
        async def broken(scope: Any, receive: Any, send: Any) -> None:
            raise LookupError("a secret path")

        sent: list[bytes] = []
        with pytest.raises(LookupError):
            await answered(OpenAIErrors(broken), sent)

        error = json.loads(b"".join(sent))["error"]
        assert error == {"message": "Internal Server Error", "type": "server_error", "param": None, "code": None}

    async def test_a_collection_that_is_missing_is_not_taken_for_a_model(self):
        body = b'{"detail": "There is no such collection that you may use."}'

        (written,) = await answered(OpenAIErrors(replying(body, type="application/json", status=404)))

        error = json.loads(written)["error"]
        assert (error["message"], error["param"], error["code"]) == (json.loads(body)["detail"], "collection", None)

    async def test_that_have_the_form_already_keep_it(self):
        body = b'{"error": {"message": "Full."}}'

        assert await answered(OpenAIErrors(replying(body, type="application/json", status=503))) == [body]


class TestClient:
    """OpenAI's own client, as people use it."""

    @pytest.fixture
    def client(self, address: str) -> Iterator[openai.OpenAI]:
        with openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as client:
            yield client

    def test_lists_the_models_and_raises_what_the_service_reports(self, client: openai.OpenAI):
        assert [model.id for model in client.models.list()] == ["prefrag", "prefrag-tasks"]

        with pytest.raises(openai.NotFoundError, match="'other' not found: GET /v1/models lists the served") as missing:
            client.chat.completions.create(model="other", messages=MESSAGES)

        assert missing.value.code == "model_not_found"

    def test_raises_without_a_valid_key(self, script_pipeline: Script):
        script_pipeline()
        with (
            listening(PREFRAG_API_KEYS="secret") as (_, address),
            openai.OpenAI(base_url=f"{address}/v1", api_key="secret", max_retries=0) as client,
        ):
            client.models.list()
            with pytest.raises(openai.AuthenticationError, match="Send a valid API key") as refused:
                client.with_options(api_key="wrong").models.list()

        assert refused.value.code == "invalid_api_key"


def start(type: str, status: int = 200) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": [(b"content-type", type.encode())]}


def replying(*pieces: bytes, type: str = "text/event-stream; charset=utf-8", status: int = 200) -> Any:
    """Serve an application that sends these pieces."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start(type, status))
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return app


async def answered(app: Any, sent: list[bytes] | None = None, path: str = "/v1/chat/completions") -> list[bytes]:
    """The pieces that a client gets from an application."""
    pieces = [] if sent is None else sent

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            pieces.append(message["body"])

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    await app({"type": "http", "method": "POST", "path": path, "headers": []}, receive, send)
    return pieces
