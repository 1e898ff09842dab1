"""Read the whole body of each request, and refuse bodies that no route can use.

This happens before FastAPI parses a body, so that a hostile body cannot do harm there.
"""

import asyncio
import json
import math
import re
from collections.abc import Iterable

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prefrag.components.text.unicode_form import is_text
from prefrag.errors import BadInput
from prefrag.server.http.security import path_of, refuse

# The maximum size of a body, in bytes. A larger body is refused with 413.
MAX_BODY_BYTES = 1_000_000
# A body must arrive within this many seconds. A slower one is refused with 408.
BODY_SECONDS = 30.0
# The path of the upload route, such as "/collections/tax/documents". It reads its body as it arrives, and has its own
# limits.
_UPLOAD_PATH = re.compile(r"/collections/[\w.-]+/documents")
# How deep a JSON body may be nested. A deeper one is refused with 422.
MAX_DEPTH = 64
# How many values a JSON body may have, in all of its lists and objects. A body with more is refused with 422.
MAX_VALUES = 20_000
# How many turns of a conversation are passed on: the newest. Pipelines read far fewer, but some clients send all turns.
MAX_TURNS = 200
# The fields of a body that may contain a conversation.
_CONVERSATIONS = ("messages", "history")
# The roles of messages that are instructions and not part of the conversation.
SYSTEM_ROLES = ("system", "developer")
# The messages for two kinds of refused bodies.
_TOO_DEEP = f"The body is nested more than {MAX_DEPTH} deep."
_NO_TEXT = "The body holds half of a surrogate pair, which is not a character: send valid UTF-8."
# The integers that fit into 64 bits, with or without a sign. A body with any other integer is refused.
_INTEGERS = range(-(2**63), 2**64)
# A reply lists at most this many problems of a body. If everything is wrong, the first problems are enough.
_NAMED_PROBLEMS = 20
# Names of fields in such a reply are cut to this many characters.
_NAME_CHARACTERS = 100


class BodyLimit:
    """Read the whole body of a request before anything else happens. Refuse it if it is too large or too slow.

    A JSON body is refused with 422 if it is not valid JSON, is nested too deeply, or has too many values. It is also
    refused if it has NaN, infinity, huge numbers or half of a surrogate pair. Python's parser accepts these, but
    answering would fail later. A long conversation is cut to its newest turns. A system message at its beginning stays.

    :param app: The next application.
    :param limit: The maximum size of a body, in bytes.
    :param seconds: How long a body may take to arrive.
    """

    def __init__(self, app: ASGIApp, limit: int = MAX_BODY_BYTES, seconds: float = BODY_SECONDS):
        self.app = app
        self.limit = limit
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 408, 413 or 422."""
        if scope["type"] != "http" or _is_upload(scope):
            await self.app(scope, receive, send)
            return

        too_large = f"The request is larger than {self.limit:,} bytes."
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and int(length) > self.limit:
            await refuse(scope, receive, send, 413, too_large)
            return

        try:
            async with asyncio.timeout(self.seconds):
                body = await self._read(receive)
            if body is None:
                return
            if len(body) > self.limit:
                await refuse(scope, receive, send, 413, too_large)
                return
            if scope["method"] == "POST" and _is_json(scope):
                body = _bound(body)
        except TimeoutError:
            await refuse(scope, receive, send, 408, f"The request did not arrive within {self.seconds:g} seconds.")
            return
        except BadInput as error:
            await refuse(scope, receive, send, error.http_status, str(error))
            return

        # The message with the body. The application gets it once, and then the messages that follow.
        unread: list[Message] = [{"type": "http.request", "body": body}]

        async def receive_whole() -> Message:
            return unread.pop() if unread else await receive()

        await self.app(scope, receive_whole, send)

    async def _read(self, receive: Receive) -> bytes | None:
        """Return the body, or only its beginning if it is longer than the limit. None if the client disconnects."""
        body = bytearray()
        is_complete = False
        while not is_complete and len(body) <= self.limit:
            part = await receive()
            if part["type"] == "http.disconnect":
                return None
            body += part.get("body", b"")
            is_complete = not part.get("more_body")
        return bytes(body)


def _is_upload(scope: Scope) -> bool:
    """Check whether a request uploads files."""
    kind = Headers(scope=scope).get("content-type", "").lower()
    is_form = kind.startswith("multipart/form-data")
    return is_form and scope["method"] == "POST" and bool(_UPLOAD_PATH.fullmatch(path_of(scope)))


def _is_json(scope: Scope) -> bool:
    """Check whether a request's body is JSON. If there is no content type, FastAPI assumes JSON."""
    content_type, _, _ = Headers(scope=scope).get("content-type", "").partition(";")
    kind = content_type.strip().lower()
    return not kind or kind.endswith("json")


async def refuse_wrong_shape(request: Request, error: Exception) -> JSONResponse:
    """Answer 422 to a body of the wrong shape.

    The reply says where each problem is. It does not repeat values from the body.

    :param request: The request.
    :param error: The `RequestValidationError` of FastAPI.
    """
    assert isinstance(error, RequestValidationError)
    problems = []
    for problem in error.errors()[:_NAMED_PROBLEMS]:
        # The names of fields come from the body, and may be long. A place may also have the numbers of list entries.
        place = []
        for part in problem["loc"]:
            place.append(part[:_NAME_CHARACTERS] if isinstance(part, str) else part)
        message = "There is no such field here" if problem["type"] == "extra_forbidden" else problem["msg"]
        problems.append({"type": problem["type"], "loc": place, "msg": message})
    return JSONResponse({"detail": problems}, 422)


def _bound(body: bytes) -> bytes:
    """Check a JSON body, and cut a long conversation in it to its newest turns. Return the body to pass on."""
    if not body:
        return body
    try:
        content = json.loads(body)
    except RecursionError as error:
        raise BadInput(_TOO_DEEP) from error
    except ValueError as error:
        raise BadInput(f"The body is not JSON: {error}") from error

    is_cut = False
    for name in _CONVERSATIONS:
        turns = content.get(name) if isinstance(content, dict) else None
        if isinstance(turns, list) and len(turns) > MAX_TURNS:
            content[name] = _newest_turns(turns)
            is_cut = True
    # Turns that are cut off are not passed on, so they are not checked.
    _check(content)
    return json.dumps(content).encode() if is_cut else body


def _newest_turns(turns: list[object]) -> list[object]:
    """Return the newest turns of a long conversation. A system message at its beginning stays."""
    first = turns[0]
    newest = turns[-MAX_TURNS:]
    if isinstance(first, dict) and first.get("role") in SYSTEM_ROLES:
        newest[0] = first
    return newest


def _check(content: object) -> None:
    """Raise BadInput for a value that Python reads from JSON, but that cannot be used or answered."""
    # The values that are still to be checked, each with its depth.
    waiting: list[tuple[object, int]] = [(content, 1)]
    number_of_values = 1
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, dict | list):
            number_of_values += len(value)
            if depth > MAX_DEPTH:
                raise BadInput(_TOO_DEEP)
            if number_of_values > MAX_VALUES:
                raise BadInput(f"The body holds more than {MAX_VALUES} values: send less.")
            inner_values: Iterable[object] = value
            if isinstance(value, dict):
                if not all(is_text(name) for name in value):
                    raise BadInput(_NO_TEXT)
                inner_values = value.values()
            waiting += [(inner_value, depth + 1) for inner_value in inner_values]
        else:
            _check_simple(value)


def _check_simple(value: object) -> None:
    """Raise BadInput for a text or a number that Python reads from JSON, but that cannot be used or answered."""
    if isinstance(value, str) and not is_text(value):
        raise BadInput(_NO_TEXT)
    if isinstance(value, float) and not math.isfinite(value):
        raise BadInput(f"The body holds {value}, which is not a JSON number.")
    if isinstance(value, int) and value not in _INTEGERS:
        raise BadInput("The body holds a number of more than 64 bits.")
