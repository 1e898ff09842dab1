"""How runs that were asked for over HTTP begin, wait and end."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import httpx
import pytest
from hayhooks.server.pipelines.registry import registry
from starlette.testclient import TestClient

from prefrag import pipelines
from prefrag.server.access.lifetime import CancelWhenGone
from prefrag.server.http.json_bodies import BodyLimit
from tests.components.generators.fake_model_server import DRIP, HANG, FakeModelServer, completion
from tests.pipelines.scripted import search
from tests.server.access.asgi_client import POST, Client
from tests.server.front_ends import TASKS
from tests.server.serving import SHARED, Served, listening, stop

QUESTION = "In which year did the yard that built alpha win the prize?"
TASK = {"role": "user", "content": TASKS["title"][0]}
CHAT = {"model": "prefrag", "messages": [{"role": "user", "content": QUESTION}]}
RUN = ("/prefrag/run", {"question": QUESTION})
PLAIN = ("/v1/chat/completions", CHAT)
STREAM = ("/v1/chat/completions", {**CHAT, "stream": True})
OPEN_WEBUI = ("/open-webui/v1/chat/completions", CHAT)
GREEDY = {"Authorization": "Bearer greedy"}
RUN_STREAM = ("/prefrag/run", {"question": QUESTION, "stream": True})
each_way = pytest.mark.parametrize(
    ("path", "body"), [RUN, PLAIN, STREAM, RUN_STREAM], ids=["run", "chat", "stream", "run-stream"]
)


async def read_body(receive: Any) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message["body"]
        if not message.get("more_body"):
            return body


class TestCancelWhenGone:
    @pytest.mark.parametrize(
        ("path", "stops"), [("/collections/a/documents/b/pages/7", True), ("/collections/a/documents", False)]
    )
    async def test_of_what_is_read_only_the_drawing_of_a_page_is_stopped(self, path: str, stops: bool):
        client, may_end = Client(), asyncio.Event()
        ends: list[str] = []

        async def work(scope: Any, receive: Any, send: Any) -> None:
            client.gone.set()
            try:
                await asyncio.wait_for(may_end.wait(), 30 if stops else 0.01)
            except asyncio.CancelledError:
                ends.append("stopped")
                raise
            except TimeoutError:
                ends.append("went on")

        get = {"type": "http", "method": "GET", "path": path, "headers": []}
        await asyncio.wait_for(CancelWhenGone(work)(get, client.receive, client.send), 5)

        assert ends == ["stopped" if stops else "went on"]

    async def test_client_that_goes_stops_the_work_which_learns_of_it(self):
        client, received, stopped = Client(), [], asyncio.Event()

        async def work(scope: Any, receive: Any, send: Any) -> None:
            assert await read_body(receive) == b"ab"
            client.gone.set()
            received.append(await receive())
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

        await asyncio.wait_for(CancelWhenGone(work)(POST, client.receive, client.send), 5)

        assert stopped.is_set()
        assert received == [{"type": "http.disconnect"}]

    async def test_client_that_waits_gets_its_answer_or_the_works_error(self):
        client = Client()

        async def work(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.body", "body": await read_body(receive)})
            raise LookupError("lost")

        with pytest.raises(LookupError, match="lost"):
            await CancelWhenGone(work)(POST, client.receive, client.send)
        assert client.sent == [{"type": "http.response.body", "body": b"ab"}]

    async def test_a_server_that_stops_takes_the_work_along_and_says_so(self):
        client, stopped = Client(), asyncio.Event()

        async def work(scope: Any, receive: Any, send: Any) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

        request = asyncio.ensure_future(CancelWhenGone(work)(POST, client.receive, client.send))
        await asyncio.sleep(0)
        request.cancel()
        await request

        assert stopped.is_set()
        assert client.sent[0]["status"] == 503


@pytest.fixture
def ask() -> Iterator[Callable[..., Future[httpx.Response]]]:
    """Ask in another thread, and return the future."""
    with ThreadPoolExecutor(8) as threads, httpx.Client(timeout=30) as client:
        yield lambda served, path, body: threads.submit(client.post, served.address + path, json=body)


class Leaver:
    """A client that sends a request and hangs up."""

    def __init__(self, served: Served, path: str, body: dict[str, Any]):
        request = httpx.Request("POST", served.address + path, json=body, headers=GREEDY)
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        url = httpx.URL(served.address)
        self._connection = socket.create_connection((url.host, url.port or 80))
        self._connection.sendall(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + request.read())

    def leave(self) -> None:
        self._connection.close()


@contextmanager
def in_shared() -> Iterator[Served]:
    """The shared application, with the pipeline that calls the model server."""
    served, pipeline = SHARED.start(), pipelines.load()
    pipeline.warm_up()
    with mock.patch.object(registry.get("prefrag"), "pipeline", pipeline):
        yield served


class TestModelCall:
    @each_way
    def test_ends_when_the_client_leaves(self, model: FakeModelServer, path: str, body: dict[str, Any]):
        with in_shared() as served:
            client = Leaver(served, path, body)
            assert model.called.wait(20)
            client.leave()

            assert model.left.wait(20)

        assert len(model.requests) == 1

    @pytest.mark.parametrize(
        ("path", "body"),
        [RUN, PLAIN, STREAM, RUN_STREAM, (PLAIN[0], {**CHAT, "messages": [TASK]})],
        ids=["run", "chat", "stream", "run-stream", "task of a front end"],
    )
    @pytest.mark.parametrize("silence", [HANG, DRIP], ids=["hangs", "drips"])
    def test_ends_at_the_deadline_of_the_run(
        self, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any], silence: object
    ):
        model.answers = [(200, silence)]
        monkeypatch.setenv("PREFRAG_RUN_SECONDS", "0.3")
        with in_shared() as served:
            response = httpx.post(served.address + path, json=body, timeout=20)

            assert "given up after 0.3 s" in response.text
            assert not model.called.is_set() or model.left.wait(20)

        assert response.status_code == (200 if "stream" in body else 504)
        assert len(model.requests) <= 1

    @each_way
    def test_ends_earlier_when_the_request_says_so_and_never_later(
        self, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any]
    ):
        for seconds, deadline in (("600", 0.1), ("0.1", 500)):
            monkeypatch.setenv("PREFRAG_RUN_SECONDS", seconds)
            with in_shared() as served:
                response = httpx.post(served.address + path, json={**body, "deadline": deadline}, timeout=20)

            assert "given up after 0.1 s" in response.text

    @pytest.mark.parametrize(("path", "body"), [STREAM, RUN_STREAM], ids=["chat", "run"])
    def test_is_not_waited_for_by_the_steps_before_it(self, model: FakeModelServer, path: str, body: dict[str, Any]):
        model.answers = [(200, completion(search("alpha"))), (200, HANG)]
        with in_shared() as served, httpx.stream("POST", served.address + path, json=body, timeout=20) as response:
            # The run cannot end by itself, because the next call never returns.
            assert any("Found in local" in line for line in response.iter_lines())

    def test_is_not_repeated_once_the_client_has_left(self, model: FakeModelServer):
        model.answers, model.headers = [(429, {})], {"retry-after": "4"}
        with listening() as served:
            client = Leaver(served, *PLAIN)
            assert model.called.wait(20)
            client.leave()
            # The server ends only after the work on its requests.
            stop(served)

        assert len(model.requests) == 1


@each_way
def test_a_deadline_that_is_none_is_refused(served: Callable[..., TestClient], path: str, body: dict[str, Any]):
    response = served().post(path, json={**body, "deadline": 0})

    assert response.status_code == 422
    assert "deadline" in response.json()["detail"]


class TestBusyModel:
    @pytest.mark.parametrize(("path", "body"), [RUN, PLAIN])
    def test_is_too_many_requests_with_its_own_retry_after(
        self, model: FakeModelServer, path: str, body: dict[str, Any]
    ):
        # The wait is so long that the client library does not make it.
        model.answers, model.headers = [(429, {})], {"retry-after": "3600"}
        with in_shared() as served:
            response = httpx.post(served.address + path, json=body, timeout=20)

        assert (response.status_code, response.headers["retry-after"]) == (429, "3600")


class TestStopping:
    @pytest.mark.parametrize(("path", "body"), [RUN, PLAIN])
    def test_a_run_that_does_not_end_in_time_is_unavailable(
        self, model: FakeModelServer, ask: Callable[..., Future[httpx.Response]], path: str, body: dict[str, Any]
    ):
        with listening(drain=0) as served:
            answer = ask(served, path, body)
            assert model.called.wait(20)
            stop(served)
            response = answer.result(20)

        assert response.status_code == 503
        assert response.json()["detail"] == "The server is stopping. Ask again."
        assert response.headers["retry-after"]
        assert model.left.wait(20)

    @pytest.mark.parametrize(
        ("stream", "kind"), [(STREAM, '"type": "server_error"'), (RUN_STREAM, '"status": 503')], ids=["chat", "run"]
    )
    def test_its_stream_ends_with_an_error_and_done(
        self, model: FakeModelServer, ask: Callable[..., Future[httpx.Response]], stream: tuple[str, Any], kind: str
    ):
        with listening(drain=0) as served:
            answer = ask(served, *stream)
            assert model.called.wait(20)
            stop(served)
            response = answer.result(20)

        *_, error, done = [line for line in response.text.splitlines() if line]
        assert "The server is stopping" in error
        assert kind in error
        assert done == "data: [DONE]"

    def test_a_run_that_ends_in_time_is_answered(
        self, model: FakeModelServer, ask: Callable[..., Future[httpx.Response]]
    ):
        with listening() as served:
            answer = ask(served, RUN[0], {**RUN[1], "deadline": 1})
            assert model.called.wait(20)
            stop(served)
            response = answer.result(20)

        assert response.status_code == 504


class TestRunLimit:
    @pytest.fixture
    def one_at_a_time(self, model: FakeModelServer) -> Iterator[Served]:
        with listening(PREFRAG_MAX_RUNS="1", PREFRAG_MAX_WAITING="1") as served:
            yield served

    @pytest.mark.parametrize(("keys", "runs", "status"), [("", "1", 503), ("greedy,other", "2", 429)])
    def test_refuses_what_cannot_even_wait_and_never_another_key(
        self, model: FakeModelServer, keys: str, runs: str, status: int
    ):
        with (
            listening(PREFRAG_MAX_RUNS=runs, PREFRAG_MAX_WAITING="0", PREFRAG_API_KEYS=keys) as served,
            Leavers(served) as clients,
        ):
            clients.begin(model)
            for path, body in (RUN, PLAIN, STREAM, RUN_STREAM, OPEN_WEBUI, ("/mcp", {})):
                response = httpx.post(served.address + path, json=body, headers=GREEDY, timeout=20)

                assert response.status_code == status
                assert "ask again later" in response.json()["detail"]
                assert int(response.headers["retry-after"]) > 0
                assert "/v1/" not in path or response.json()["error"]["message"] == response.json()["detail"]
                if keys:
                    other = {"Authorization": "Bearer other"}
                    answer = httpx.post(served.address + path, json={**body, "deadline": 0.1}, headers=other)
                    assert answer.status_code not in (401, 429, 503)

    def test_holds_up_no_other_request_and_begins_when_another_ends(
        self, one_at_a_time: Served, model: FakeModelServer
    ):
        with Leavers(one_at_a_time) as clients:
            first = clients.begin(model)
            clients.queue()
            paths = ("/live", "/ready", "/v1/models")
            assert [httpx.get(one_at_a_time.address + path).status_code for path in paths] == [200, 200, 200]
            model.called.clear()
            first.leave()

            assert model.called.wait(20)


class Leavers:
    """Clients that occupy places of a server until the context ends."""

    def __init__(self, served: Served):
        self._served = served
        self._clients = ExitStack()

    def __enter__(self) -> Leavers:
        return self

    def __exit__(self, *_: Any) -> None:
        self._clients.close()

    def begin(self, model: FakeModelServer) -> Leaver:
        client = self.queue()
        assert model.called.wait(20)
        return client

    def queue(self) -> Leaver:
        client = Leaver(self._served, *RUN)
        self._clients.callback(client.leave)
        return client


class TestBodyLimit:
    async def test_a_body_that_stops_coming_is_given_up(self):
        client, reached = Client(), threading.Event()
        client._body.pop()

        async def work(scope: Any, receive: Any, send: Any) -> None:
            reached.set()

        await BodyLimit(work, seconds=0.02)(POST, client.receive, client.send)

        assert client.sent[0]["status"] == 408
        assert not reached.is_set()

    async def test_a_body_arrives_as_a_whole(self):
        client, received = Client(), []

        async def work(scope: Any, receive: Any, send: Any) -> None:
            received.append(await receive())
            client.gone.set()
            received.append(await receive())

        await BodyLimit(work)({**POST, "headers": [(b"content-type", b"text/plain")]}, client.receive, client.send)

        assert received == [{"type": "http.request", "body": b"ab"}, {"type": "http.disconnect"}]
