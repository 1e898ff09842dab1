"""The head of a request must arrive within a time; the limit does not apply to what follows."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, suppress
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from prefrag.server.http.head_limit import HEAD_SECONDS, HeadLimit

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"


async def read_body_and_answer(scope: Any, receive: Callable, send: Callable) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
async def connect(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable]:
    """Open a connection to a server whose heads have little time, and send some bytes."""
    monkeypatch.setattr(HeadLimit, "seconds", 0.05)
    config = uvicorn.Config(read_body_and_answer, log_config=None, lifespan="off", http=HeadLimit)
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(lambda: HeadLimit(config, state, {}), "127.0.0.1", 0)

    async def open_and_send(text: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        clients.callback(writer.close)
        writer.write(text)
        return reader, writer

    with ExitStack() as clients:
        yield open_and_send
    server.close()


async def test_half_heads_and_connections_that_say_nothing_are_closed(connect: Callable):
    opened = [await connect(text) for text in (HEAD[:-2], HEAD[:7], b"") for _ in range(50)]

    async with asyncio.timeout(20):
        for reader, _ in opened:
            # A connection that is closed before all that was sent has been read is reset.
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
    assert HEAD_SECONDS == 30


async def test_body_and_pause_between_requests_have_times_of_their_own(connect: Callable):
    reader, writer = await connect(HEAD)
    async with asyncio.timeout(20):
        for more in (b"{}", HEAD + b"{}"):
            # An empty connection is closed after the time for a head, so this waits that long.
            await (await connect(b""))[0].read()
            writer.write(more)
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        writer.write(HEAD[:-2])

        assert await reader.read() == b""
