"""The beginning and the end of a run: how many run at once, and what stops one before it has answered."""

from __future__ import annotations

import asyncio
import contextlib
import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prefrag.components.settings import settings
from prefrag.pipelines.asking import arrived, limit_deadline
from prefrag.server.security import path_of, refuse

STOPPING = "The server is stopping. Ask again."
RUN_PATHS = re.compile(r"/([\w.-]+/run|(v1/)?chat/completions)")

# A call over MCP is a run as well, though its reply has no end of that kind.
_LIMITED_PATHS = re.compile(rf"{RUN_PATHS.pattern}|/mcp")
# What clients are asked to wait when the queue is full.
_RETRY_SECONDS = 5
# A client that takes nothing for so long is gone, though its connection is not.
_SEND_SECONDS = 60.0


class CancelWhenGone:
    """Stop the work on a request whose client has gone: a run costs model calls that nobody would read.

    The server cancels what has not ended when its time to drain is over; such a request is answered with 503.
    """

    def __init__(self, app: ASGIApp, in_flight: set[asyncio.Task[None]] | None = None):
        self.app = app
        self.in_flight = set() if in_flight is None else in_flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and give it up when the client disconnects, or the server stops."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        body_read, gone = asyncio.Event(), asyncio.Event()
        begun = False

        async def receive_body() -> Message:
            if body_read.is_set():
                await gone.wait()
                return {"type": "http.disconnect"}
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            if gone.is_set() or not message.get("more_body"):
                body_read.set()
            return message

        async def watch_connection() -> None:
            await body_read.wait()
            while not gone.is_set() and (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        async def send_noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        task = asyncio.current_task()
        assert task is not None
        self.in_flight.add(task)
        task.add_done_callback(self.in_flight.discard)
        work = asyncio.ensure_future(self.app(scope, receive_body, send_noting))
        watcher = asyncio.ensure_future(watch_connection())
        stopping = False
        try:
            await asyncio.wait((work, watcher), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            stopping = True
        watcher.cancel()
        if not work.done():
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work
        if stopping and not begun:
            await refuse(scope, receive, send, 503, STOPPING, {"Retry-After": str(_RETRY_SECONDS)})
        elif not work.cancelled():
            work.result()


class RunLimit:
    """Let so many questions be answered at once, let some wait for their turn, and refuse the rest."""

    def __init__(self, app: ASGIApp):
        self.app = app
        self.most_waiting = settings.max_waiting
        self.most_runs = settings.max_runs
        self.seconds = limit_deadline(None)
        self._places = asyncio.Semaphore(self.most_runs)
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on when it is its turn, or answer 503."""
        if scope["type"] != "http" or scope["method"] != "POST" or not _LIMITED_PATHS.fullmatch(path_of(scope)):
            await self.app(scope, receive, send)
            return
        arrived.set(asyncio.get_running_loop().time())
        if not await self._take_place():
            message = f"Too many questions ({self.most_runs} in work, {self._waiting} waiting): ask again later."
            await refuse(scope, receive, send, 503, message, {"Retry-After": str(_RETRY_SECONDS)})
            return

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(_SEND_SECONDS):
                await send(message)

        try:
            await self.app(scope, receive, send_in_time)
        finally:
            self._places.release()

    async def _take_place(self) -> bool:
        """Wait for a place among the runs."""
        if self._places.locked() and self._waiting >= self.most_waiting:
            return False
        self._waiting += 1
        try:
            async with asyncio.timeout(self.seconds):
                return await self._places.acquire()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
