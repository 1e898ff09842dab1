"""What OpenAI clients expect and Hayhooks does not send: the end of a stream, and errors in the protocol's form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prefrag.service.server.security import path_of

DONE = b"data: [DONE]"
_COMPLETIONS = ("/v1/chat/completions", "/chat/completions")


class StreamEnd:
    """Ends each stream of a chat completion with ``data: [DONE]``, for which strict clients wait.

    A stream that breaks while it is sent ends with an error event before that, so that nobody takes it for whole.

    :param app: The application behind.
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and end its stream."""
        if scope["type"] != "http" or path_of(scope) not in _COMPLETIONS:
            await self.app(scope, receive, send)
            return
        streams = False
        tail = b""

        async def ended(message: Message) -> None:
            nonlocal streams, tail
            if message["type"] == "http.response.start":
                streams = Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
            elif streams and message["type"] == "http.response.body":
                body = message.get("body", b"")
                # A piece may be cut anywhere.
                tail = (tail + body)[-2 * len(DONE) :]
                if not message.get("more_body"):
                    streams = False
                    if not tail.rstrip().endswith(DONE):
                        message = {**message, "body": body + DONE + b"\n\n"}
            await send(message)

        try:
            await self.app(scope, receive, ended)
        except Exception:
            if streams:
                event = json.dumps(_error("The stream broke off. Ask again.", 500, None))
                await ended({"type": "http.response.body", "body": f"data: {event}\n\n".encode()})
            raise


class ErrorForm:
    """Writes errors under ``/v1`` as ``{"error": {"message", "type", "param", "code"}}``, beside what they hold.

    :param app: The application behind.
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and write its error anew, if it comes to one."""
        if scope["type"] != "http" or not path_of(scope).startswith("/v1/"):
            await self.app(scope, receive, send)
            return
        start: Message | None = None
        begun = False
        body = b""

        async def written(message: Message) -> None:
            nonlocal start, begun, body
            if message["type"] == "http.response.start":
                begun = True
                if message["status"] >= 400:
                    # Its length is known only when the whole body is.
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
            await self.app(scope, receive, written)
        except Exception:
            if not begun:
                await _send_error({"type": "http.response.start", "status": 500, "headers": []}, b"", scope, send)
            raise


async def _send_error(start: Message, body: bytes, scope: Scope, send: Send) -> None:
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    if not isinstance(told, Mapping):
        told = {"detail": body.decode(errors="replace") or "Internal Server Error"}
    if not isinstance(told.get("error"), Mapping):
        # A later version of the library may write the form itself.
        told = {**_error(told.get("detail"), start["status"], path_of(scope)), **told}
    text = json.dumps(told, ensure_ascii=False).encode()
    headers = MutableHeaders(raw=list(start["headers"]))
    headers["content-type"] = "application/json"
    headers["content-length"] = str(len(text))
    await send({**start, "headers": headers.raw})
    await send({"type": "http.response.body", "body": text})


def _error(detail: Any, status: int, path: str | None) -> dict[str, Any]:
    message, param, code = str(detail), None, None
    if isinstance(detail, list):
        # A body of the wrong shape: for each thing that is wrong, where and what.
        fields = [".".join(str(part) for part in each["loc"] if part != "body") for each in detail]
        message = "; ".join(f"{field}: {each['msg']}" for field, each in zip(fields, detail, strict=True))
        param = fields[0] or None
    elif status == 401:
        code = "invalid_api_key"
    elif status == 404 and path in _COMPLETIONS:
        param, code = "model", "model_not_found"
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}
