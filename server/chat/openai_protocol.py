"""End streams and write errors as the OpenAI protocol requires.

Hayhooks, Haystack's server, does neither. The module has two middlewares: :class:`StreamEnd` for streams, and
:class:`OpenAIErrors` for errors.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prefrag.server.access.lifetime import RUN_PATHS, STOPPING
from prefrag.server.http.security import path_of

# The last event of each stream.
DONE = b"data: [DONE]"
# A comment of the protocol for server-sent events. It is sent while a model thinks, because proxies close connections
# that are silent for a minute. Clients skip comments.
_KEEP_ALIVE = b": the run goes on\n\n"
# The comment is sent if nothing else has been sent for this many seconds.
_SILENT_SECONDS = 10.0
# How many seconds to wait for a client that does not read the last event.
_LAST_SECONDS = 1.0
# Hayhooks answers 404 with this text for an unknown model, such as "Pipeline 'x' not found." Any other 404 in a chat
# means an unknown collection.
_NO_MODEL = re.compile(r"Pipeline '(?P<name>.*)' not found.*", re.DOTALL)
# The paths of the chat protocol.
_COMPLETIONS = ("/v1/chat/completions", "/chat/completions")


class StreamEnd:
    """Keep the stream of an answer from going silent, and end it with ``data: [DONE]``.

    Strict clients of the chat protocol wait for ``[DONE]``. Proxies close a connection that is silent for a minute. If
    a run breaks off, an error event is sent before ``[DONE]``, so that no client takes the stream for complete.

    :param app: The next application.
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, keep its stream alive and end it."""
        path = path_of(scope) if scope["type"] == "http" else ""
        if not RUN_PATHS.fullmatch(path):
            await self.app(scope, receive, send)
            return

        reply = _Reply(send)
        try:
            await self.app(scope, receive, reply.send)
        except BaseException as error:
            if reply.streams:
                await reply.send_broken_off(error, path)
            raise
        finally:
            reply.stop_comments()


class _Reply:
    """The reply to one request, which may be a stream.

    :param send: Sends a message to the client.
    """

    def __init__(self, send: Send):
        self._send = send
        # Whether the reply is a stream that has begun and not ended yet.
        self.streams = False
        # The last bytes that were sent.
        self._tail = b""
        self._something_sent = asyncio.Event()
        # Allows only one message to be sent at a time.
        self._sending = asyncio.Lock()
        self._keep_alive: asyncio.Task[None] | None = None

    async def send(self, message: Message) -> None:
        """Send a message of the application. If it is the last message of a stream, append ``[DONE]``.

        :param message: The message.
        """
        if message["type"] == "http.response.start":
            self._begin(message)
        elif self.streams and message["type"] == "http.response.body":
            message = self._end_with_done(message)

        self._something_sent.set()
        async with self._sending:
            await self._send(message)
        if self.streams and self._keep_alive is None:
            self._keep_alive = asyncio.create_task(self._break_silence())

    def _begin(self, message: Message) -> None:
        """Note whether a stream begins. Forbid proxies to buffer a stream."""
        self.streams = Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
        if self.streams:
            # A proxy that buffers would send the steps only together with the answer.
            message["headers"] = [*message["headers"], (b"x-accel-buffering", b"no")]

    def _end_with_done(self, message: Message) -> Message:
        """Return a message of a stream. If it is the last one and the stream lacks ``[DONE]``, it is appended."""
        body = message.get("body", b"")
        # Keep the end of the stream, because ``[DONE]`` or a blank line may be spread over several chunks.
        self._tail = (self._tail + body)[-2 * len(DONE) :]
        if message.get("more_body"):
            return message
        self.streams = False
        is_complete = self._tail.rstrip().endswith(DONE)
        return message if is_complete else {**message, "body": body + DONE + b"\n\n"}

    async def _break_silence(self) -> None:
        """Send a comment whenever nothing has been sent for a while, until this task is cancelled."""
        while True:
            self._something_sent.clear()
            try:
                async with asyncio.timeout(_SILENT_SECONDS):
                    await self._something_sent.wait()
            except TimeoutError:
                async with self._sending:
                    # Send the comment only between two events, because a chunk can end in the middle of an event.
                    is_between_events = not self._tail or self._tail.endswith(b"\n\n")
                    if self.streams and is_between_events:
                        await self._send({"type": "http.response.body", "body": _KEEP_ALIVE, "more_body": True})

    async def send_broken_off(self, error: BaseException, path: str) -> None:
        """Send an event that says that the run has broken off, and end the stream.

        :param error: Why it has broken off.
        :param path: The path of the request.
        """
        reason = "The stream broke off. Ask again."
        status = 500
        if isinstance(error, asyncio.CancelledError):
            # A run is cancelled if the server stops or the client is gone. In the second case nobody reads the event.
            reason = STOPPING
            status = 503
        content: dict[str, object] = {"error": {"message": reason, "status": status}, "result": None}
        if path in _COMPLETIONS:
            content = _describe_error(reason, status, None)
        event = json.dumps(content)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                await self.send({"type": "http.response.body", "body": f"data: {event}\n\n".encode()})

    def stop_comments(self) -> None:
        """Send no further comments."""
        if self._keep_alive is not None:
            self._keep_alive.cancel()
            # Do not wait for the task. The client has its answer, and another run may be waiting. The callback reads
            # the task's exception only to keep asyncio from logging it.
            self._keep_alive.add_done_callback(lambda ended: ended.cancelled() or ended.exception())


class OpenAIErrors:
    """Add ``{"error": {"message", "type", "param", "code"}}`` to the JSON of errors under ``/v1``.

    :param app: The next application.
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and rewrite the reply if it is an error."""
        if scope["type"] != "http" or not path_of(scope).startswith("/v1/"):
            await self.app(scope, receive, send)
            return

        # The first message of an error reply, with its status and headers. None if the reply is no error.
        start: Message | None = None
        # Whether the application has begun its reply.
        begun = False
        # The body of an error reply, as far as it has arrived.
        body = b""

        async def send_rewritten(message: Message) -> None:
            """Send a message of the application. Hold back an error reply until it is complete, and rewrite it."""
            nonlocal start, begun, body
            if message["type"] == "http.response.start":
                begun = True
                if message["status"] >= 400:
                    # Do not send the headers yet. They contain the length of the body, and rewriting changes the body.
                    start = message
                    return
            elif start is not None and message["type"] == "http.response.body":
                body += message.get("body", b"")
                if message.get("more_body"):
                    return
                await _send_error(start, body, scope, send)
                return
            await send(message)

        try:
            await self.app(scope, receive, send_rewritten)
        except Exception:
            if not begun:
                failure = {"type": "http.response.start", "status": 500, "headers": []}
                await _send_error(failure, b"", scope, send)
            raise


async def _send_error(start: Message, body: bytes, scope: Scope, send: Send) -> None:
    """Send an error reply with the OpenAI form of the error added to its JSON."""
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    if not isinstance(content, Mapping):
        content = {"detail": body.decode(errors="replace") or "Internal Server Error"}

    # Errors that already have the OpenAI form stay as they are. A later version of Hayhooks may write this form.
    if not isinstance(content.get("error"), Mapping):
        description = _describe_error(content.get("detail"), start["status"], path_of(scope))
        content = {**description, **content}
    new_body = json.dumps(content, ensure_ascii=False).encode()
    headers = MutableHeaders(raw=list(start["headers"]))
    headers["content-type"] = "application/json"
    headers["content-length"] = str(len(new_body))
    await send({**start, "headers": headers.raw})
    await send({"type": "http.response.body", "body": new_body})


def _describe_error(detail: object, status: int, path: str | None) -> dict[str, object]:
    """Describe an error in the OpenAI form.

    ``detail`` is a text, or FastAPI's list of problems in a request. ``path`` is None if the reply is a stream.
    """
    message = str(detail)
    param = None
    code = None
    if isinstance(detail, list):
        # A body of the wrong shape has a list of problems. Each problem has a message and the place of its field.
        fields = []
        problems = []
        for problem in detail:
            field = ".".join(str(part) for part in problem["loc"] if part != "body")
            fields.append(field)
            problems.append(f"{field}: {problem['msg']}")
        message = "; ".join(problems)
        param = fields[0] or None
    elif status == 401:
        code = "invalid_api_key"
    elif status == 404 and path in _COMPLETIONS:
        unknown_model = _NO_MODEL.fullmatch(message)
        if unknown_model:
            message = f"Model '{unknown_model['name']}' not found: GET /v1/models lists the served models."
            param = "model"
            code = "model_not_found"
        else:
            param = "collection"
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}
