"""Refuse bodies that no route can work on, before the frameworks behind parse and copy them."""

from __future__ import annotations

import json
import math
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prefrag.components.text.unicode_form import is_text

MAX_DEPTH = 64
# A conversation of 6,000 turns.
MAX_VALUES = 20_000
_INTEGERS = range(-(2**63), 2**64)
# Of a body in which everything is wrong, the first problems are enough.
_NAMED_PROBLEMS = 20
_NAME_CHARACTERS = 100


class JsonBodies:
    """Refuse a JSON body with 422 that is not JSON, too deep or too large, or holds what JSON cannot hold.

    Python's parser accepts NaN and infinite numbers, numbers of any size, and halves of surrogate pairs, on which a run
    fails late or its response cannot be written.

    :param app: The application behind.
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 422."""
        if scope["type"] != "http" or scope["method"] != "POST" or not _is_json(scope):
            await self.app(scope, receive, send)
            return
        parts: list[Message] = []
        try:
            while not parts or parts[-1].get("more_body"):
                parts.append(await receive())
        except HTTPException as error:
            await JSONResponse({"detail": error.detail}, error.status_code)(scope, receive, send)
            return
        if problem := _find_problem(b"".join(part.get("body", b"") for part in parts)):
            await JSONResponse({"detail": problem}, 422)(scope, receive, send)
            return
        parts.reverse()

        async def receive_again() -> Message:
            return parts.pop() if parts else await receive()

        await self.app(scope, receive_again, send)


def _is_json(scope: Scope) -> bool:
    """Check whether a request declares a body of JSON; without a type the framework takes it for that."""
    kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    return not kind or kind.endswith("json")


async def refuse_wrong_shape(request: Request, error: Exception) -> JSONResponse:
    """Answer 422 to a body of the wrong shape with the place of each problem, but not with what the client sent.

    :param request: The request.
    :param error: The problems.
    :returns: The response.
    """
    assert isinstance(error, RequestValidationError)
    problems = [
        {
            "type": each["type"],
            "loc": [part[:_NAME_CHARACTERS] if isinstance(part, str) else part for part in each["loc"]],
            "msg": each["msg"],
        }
        for each in error.errors()[:_NAMED_PROBLEMS]
    ]
    return JSONResponse({"detail": problems}, 422)


def _find_problem(body: bytes) -> str:
    """Find out why a body cannot be used.

    :param body: The whole body.
    :returns: The reason; empty when it can be used.
    """
    if not body:
        return ""
    try:
        content = json.loads(body)
    except RecursionError:
        return f"The body is nested more than {MAX_DEPTH} deep."
    except ValueError as error:
        return f"The body is not JSON: {error}"
    waiting: list[tuple[Any, int]] = [(content, 1)]
    values = 1
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, dict | list):
            values += len(value)
            if depth > MAX_DEPTH:
                return f"The body is nested more than {MAX_DEPTH} deep."
            if values > MAX_VALUES:
                return f"The body holds more than {MAX_VALUES} values: send fewer, for example only the newest turns."
            if isinstance(value, dict):
                if not all(map(is_text, value)):
                    return "The body holds half of a surrogate pair, which is no character: send it as UTF-8."
                value = value.values()
            waiting += [(part, depth + 1) for part in value]
        elif isinstance(value, str):
            if not is_text(value):
                return "The body holds half of a surrogate pair, which is no character: send it as UTF-8."
        elif isinstance(value, float):
            if not math.isfinite(value):
                return f"The body holds {value}, which is no number that JSON has."
        elif isinstance(value, int) and value not in _INTEGERS:
            return "The body holds a number of more than 64 bits."
    return ""
