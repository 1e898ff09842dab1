"""Limit how many questions are answered at the same time, and stop answering when the client disconnects."""

import asyncio
import contextlib
import re

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prefrag.pipelines.asking import arrived, limit_deadline
from prefrag.server.access.keys import Keyring
from prefrag.server.access.shares import RETRY_SECONDS, Busy, Places, holder_of
from prefrag.server.http.metrics import REFUSED, RUNNING, WAITING
from prefrag.server.http.security import path_of, refuse
from prefrag.settings import settings
from prefrag.tracing import continue_trace

STOPPING = "The server is stopping. Ask again."
RUN_PATHS = re.compile(r"/([\w.-]+/run|(v1/)?chat/completions)")

# Calls over MCP are limited too, but are not in RUN_PATHS, which names the paths whose streams end with `[DONE]`.
_LIMITED_PATHS = re.compile(rf"{RUN_PATHS.pattern}|/mcp")
# Of the requests that read, only these do work that can be stopped.
_STOPPABLE_READS = re.compile(r"/collections/.+/pages/\d+")
_SEND_SECONDS = 60.0  # a client that reads nothing for this long counts as gone, even if its connection is open


class CancelWhenGone:
    """Stop the work on a request when its client disconnects, because nobody would read the results of model calls.

    When the server stops, requests have some time to end. Requests that need longer are stopped and answered with 503.
    """

    def __init__(self, app: ASGIApp, in_flight: set[asyncio.Task[None]] | None = None):
        self.app = app
        self.in_flight = set() if in_flight is None else in_flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and stop its work when the client disconnects or the server stops."""
        method = scope["method"] if scope["type"] == "http" else ""
        is_read = method == "GET" and _STOPPABLE_READS.fullmatch(path_of(scope)) is not None
        if method != "POST" and not is_read:
            await self.app(scope, receive, send)
            return
        body_read, gone = asyncio.Event(), asyncio.Event()
        if is_read:
            # No route reads the body of such a request.
            body_read.set()
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

        async def send_and_note_start(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        task = asyncio.current_task()
        assert task is not None
        self.in_flight.add(task)
        task.add_done_callback(self.in_flight.discard)
        work = asyncio.ensure_future(self.app(scope, receive_body, send_and_note_start))
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
            await refuse(scope, receive, send, 503, STOPPING, {"Retry-After": str(RETRY_SECONDS)})
        elif not work.cancelled():
            work.result()


class RunLimit:
    """Limit how many questions are answered at the same time. Others wait in a queue, or are refused if it is full."""

    def __init__(self, app: ASGIApp, keyring: Keyring):
        self.app = app
        self.places = Places("questions", settings.max_runs, settings.max_waiting, lambda: keyring.is_shared)
        self.seconds = limit_deadline(None)  # the longest time that a question may take

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on when its turn comes, or answer 429 or 503."""
        if scope["type"] != "http" or scope["method"] != "POST" or not _LIMITED_PATHS.fullmatch(path_of(scope)):
            await self.app(scope, receive, send)
            return
        arrived.set(asyncio.get_running_loop().time())
        continue_trace(Headers(scope=scope).get("traceparent"))
        holder = holder_of(scope)
        try:
            with WAITING.track_inprogress():
                await self.places.take(holder, self.seconds)
        except Busy as busy:
            REFUSED.labels(busy.status).inc()
            await refuse(scope, receive, send, busy.status, str(busy), busy.headers)
            return

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(_SEND_SECONDS):
                await send(message)

        try:
            with RUNNING.track_inprogress():
                await self.app(scope, receive, send_in_time)
        finally:
            self.places.leave(holder)
