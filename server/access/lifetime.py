"""Limit how many questions are answered at the same time, and stop answering when the client disconnects.

The module has two middlewares. :class:`RunLimit` lets a limited number of questions run at the same time.
:class:`CancelWhenGone` stops the work on a request that nobody waits for any more.
"""

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

# The message to a client whose request was stopped because the server stops.
STOPPING = "The server is stopping. Ask again."
# The paths that run a pipeline and whose streams end with `[DONE]`. "/prefrag/run" and "/v1/chat/completions" match.
RUN_PATHS = re.compile(r"/([\w.-]+/run|(v1/)?chat/completions)")

# The paths for which the number of simultaneous requests is limited: RUN_PATHS and "/mcp". Calls over MCP are not in
# RUN_PATHS, because their streams do not end with `[DONE]`.
_LIMITED_PATHS = re.compile(rf"{RUN_PATHS.pattern}|/mcp")
# The paths of GET requests whose work can be stopped: drawing a page of a PDF file. An example is
# "/collections/tax/documents/3f2a/pages/1". Other GET requests are quick.
_STOPPABLE_READS = re.compile(r"/collections/.+/pages/\d+")
# A client that reads nothing for this many seconds counts as gone, even if its connection is open.
_SEND_SECONDS = 60.0


class CancelWhenGone:
    """Stop the work on a request when its client disconnects. Nobody would read the results of its model calls.

    When the server stops, uvicorn gives requests some time to end. Requests that need longer are cancelled. Such a
    request gets 503 if its answer has not begun yet.

    :param app: The next application.
    :param in_flight: A set to which the tasks of running requests are added. None means a new set.
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

        exchange = _Exchange(receive, send)
        if is_read:
            # No route reads the body of such a request.
            exchange.body_read.set()

        task = asyncio.current_task()
        assert task is not None
        self.in_flight.add(task)
        task.add_done_callback(self.in_flight.discard)

        work = asyncio.ensure_future(self.app(scope, exchange.receive_body, exchange.send_and_note_start))
        watcher = asyncio.ensure_future(exchange.watch_connection())
        # Whether the server stops. If so, this task is cancelled while it waits below.
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

        if stopping and not exchange.begun:
            await refuse(scope, receive, send, 503, STOPPING, {"Retry-After": str(RETRY_SECONDS)})
        elif not work.cancelled():
            # Raise the exception of the application, if there was one.
            work.result()


class _Exchange:
    """What a client and the application send each other during one request.

    :param receive: Receives a message of the client.
    :param send: Sends a message to the client.
    """

    def __init__(self, receive: Receive, send: Send):
        self._receive = receive
        self._send = send
        self.body_read = asyncio.Event()
        # Set when the client has disconnected.
        self._gone = asyncio.Event()
        # Whether the application has begun its answer.
        self.begun = False

    async def receive_body(self) -> Message:
        """Receive the body for the application. After the body, wait until the client has disconnected."""
        if self.body_read.is_set():
            await self._gone.wait()
            return {"type": "http.disconnect"}
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._gone.set()
        if self._gone.is_set() or not message.get("more_body"):
            self.body_read.set()
        return message

    async def watch_connection(self) -> None:
        """Return when the client has disconnected. Until the body has been read, do not receive anything."""
        await self.body_read.wait()
        while not self._gone.is_set():
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self._gone.set()

    async def send_and_note_start(self, message: Message) -> None:
        """Send a message of the application, and note that it has begun its answer."""
        self.begun = True
        await self._send(message)


class RunLimit:
    """Limit how many questions are answered at the same time.

    Further questions wait in a queue. If the queue is full, they are refused.

    :param app: The next application.
    :param keyring: The keys of the server. If more than one works, each key may use only its share.
    """

    def __init__(self, app: ASGIApp, keyring: Keyring):
        self.app = app
        self.places = Places("questions", settings.max_runs, settings.max_waiting, lambda: keyring.is_shared)
        # How many seconds a question may take. A question waits in the queue no longer than this.
        self.seconds = limit_deadline(None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on when its turn comes, or answer 429 or 503."""
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        if not is_post or not _LIMITED_PATHS.fullmatch(path_of(scope)):
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
