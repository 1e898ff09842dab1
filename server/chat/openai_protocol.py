"""End streams and write errors as the OpenAI protocol requires.

Hayhooks, Haystack's server, does neither. The module has two middlewares: :class:`StreamEnd` for streams, and
:class:`OpenAIErrors` for errors.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

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

        # Whether the reply is a stream that has begun and not ended yet.
        streams = False
        # The last bytes that were sent.
        tail = b""
        something_sent = asyncio.Event()
        # Allows only one message to be sent at a time.
        sending = asyncio.Lock()
        keep_alive: asyncio.Task[None] | None = None

        async def break_silence() -> None:
            """Send a comment whenever nothing has been sent for a while, until this task is cancelled."""
            while True:
                something_sent.clear()
                try:
                    async with asyncio.timeout(_SILENT_SECONDS):
                        await something_sent.wait()
                except TimeoutError:
                    async with sending:
                        # Send the comment only between two events, because a chunk can end in the middle of an event.
                        is_between_events = not tail or tail.endswith(b"\n\n")
                        if streams and is_between_events:
                            await send({"type": "http.response.body", "body": _KEEP_ALIVE, "more_body": True})

        async def send_end(message: Message) -> None:
            """Send a message of the application. If it is the last message of a stream, append ``[DONE]``."""
            nonlocal streams, tail, keep_alive
            if message["type"] == "http.response.start":
                streams = Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
                if streams:
                    # Forbid proxies to buffer. A proxy that buffers would send the steps only together with the answer.
                    message["headers"] = [*message["headers"], (b"x-accel-buffering", b"no")]
            elif streams and message["type"] == "http.response.body":
                body = message.get("body", b"")
                # Keep the end of the stream, because ``[DONE]`` or a blank line may be spread over several chunks.
                tail = (tail + body)[-2 * len(DONE) :]
                if not message.get("more_body"):
                    streams = False
                    if not tail.rstrip().endswith(DONE):
                        message = {**message, "body": body + DONE + b"\n\n"}

            something_sent.set()
            async with sending:
                await send(message)
            if streams and keep_alive is None:
                keep_alive = asyncio.create_task(break_silence())

        try:
            await self.app(scope, receive, send_end)
        except BaseException as error:
            if streams:
                if isinstance(error, asyncio.CancelledError):
                    # A run is cancelled if the server stops or the client is gone. In the second case nobody reads the
                    # event.
                    reason = STOPPING
                    status = 503
                else:
                    reason = "The stream broke off. Ask again."
                    status = 500
                content: dict[str, Any] = {"error": {"message": reason, "status": status}, "result": None}
                if path in _COMPLETIONS:
                    content = _describe_error(reason, status, None)
                event = json.dumps(content)
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LAST_SECONDS):
                        await send_end({"type": "http.response.body", "body": f"data: {event}\n\n".encode()})
            raise
        finally:
            if keep_alive is not None:
                keep_alive.cancel()
                # Do not wait for the task. The client has its answer, and another run may be waiting. The callback
                # reads the task's exception only to keep asyncio from logging it.
                keep_alive.add_done_callback(lambda ended: ended.cancelled() or ended.exception())


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


def _describe_error(detail: Any, status: int, path: str | None) -> dict[str, Any]:
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
