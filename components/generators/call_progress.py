"""Report how far the call of a model is, and put a streamed reply together.

A model on a laptop may need minutes for a call. llama.cpp's server can send its reply in chunks. The first chunks say
how many tokens of the prompt the model has read, and later chunks contain the reply. :class:`CallProgress` reports how
many tokens were read and written while the chunks arrive. :func:`join_chunks` then turns all chunks into one reply.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from prefrag.components.generators.model_requests import RefusedByServer
from prefrag.components.state.events import EventData

# The parameters that make llama.cpp's server send its reply in chunks, and count the tokens of the prompt in them.
STREAMED = {"stream": True, "stream_options": {"include_usage": True}, "return_progress": True}
# The minimum number of seconds between two reports of how far a call is.
_LEAST_SECONDS = 1.0
# The bytes with which a chunk of a stream begins.
_START = b"data: {"
# The bytes behind a chunk.
_END = b"\n\n"


class CallProgress:
    """Report how far the calls of a run are, at most once a second."""

    def __init__(self, tell: Callable[[EventData], None]):
        """Set up the object.

        :param tell: Is called with numbers of tokens, as the details of an event. While the model reads the prompt, the
            numbers are ``read`` (the tokens of the prompt that the model has read) and ``total`` (all tokens of the
            prompt). Later there is only the number ``written`` (the tokens of the reply so far).
        """
        self._tell = tell
        # The earliest time of the next report, on the monotonic clock.
        self._next_report = 0.0

    def read(self, body: bytearray) -> None:
        """Read how far a call is, and report it unless the last report is less than a second ago.

        :param body: The part of the reply that has arrived.
        """
        if time.monotonic() < self._next_report:
            return
        counts = _count(body)
        if counts:
            self._next_report = time.monotonic() + _LEAST_SECONDS
            self._tell(counts)


# The object that reports the progress of the present run, which somebody follows. None if nobody follows the run.
followed: ContextVar[CallProgress | None] = ContextVar("followed", default=None)


def _count(body: bytearray) -> EventData:
    """Count tokens in the part of a reply that has arrived.

    :returns: ``read`` and ``total``, or ``written``, as in :class:`CallProgress`. Empty if the part tells nothing.
    """
    chunk: dict[str, object] = {}
    # The last chunk may not have arrived completely. So the last chunk with an end is read: from the last beginning
    # before the last end. If there is no beginning, reading starts at the first byte.
    end_of_chunk = body.rfind(_END)
    begin = max(0, body.rfind(_START, 0, end_of_chunk))
    # An error is ignored here. A chunk that cannot be read is reported once the reply is complete.
    with suppress(ValueError, RecursionError):
        chunk = next(_read_chunks(body[begin:]), {})
    progress = chunk.get("prompt_progress")
    if not isinstance(progress, Mapping):
        # Each chunk has one token, in the field `content` or `reasoning_content`. The bytes that are counted are the
        # end of both names. They do not occur inside a text, because quotation marks in texts are escaped.
        written = body.count(b'content":"')
        return {"written": written} if written else {}

    read = progress.get("processed")
    total = progress.get("total")
    # `isinstance` would accept True and False as well.
    if type(read) is not int or type(total) is not int:
        return {}
    if not 0 <= read <= total:
        return {}
    return {"read": read, "total": total}


def is_streamed(body: bytes) -> bool:
    """Check whether the body of a reply is a stream of chunks.

    For example, ``is_streamed(b'data: {}')`` returns ``True``. A stream may also begin with a comment, whose
    first character is a colon.

    :param body: The whole body of the reply.
    :returns: Whether the body is a stream.
    """
    return body.lstrip().startswith((b"data:", b":"))


def join_chunks(body: bytes) -> dict[str, Any]:
    """Put a chat completion together from the chunks in which it was streamed.

    :param body: The whole body of the reply, in the format of server-sent events. The completion has one choice.
    :returns: The completion, in the form that it would have without streaming.
    :raises RefusedByServer: When a chunk is an error.
    :raises ValueError: When the stream ended before the reply did.
    """
    joined: dict[str, object] = {"usage": None}
    texts: dict[str, list[str]] = {"content": [], "reasoning_content": []}
    logprobs: list[object] = []
    finish_reason = None
    for chunk in _read_chunks(body):
        error = chunk.get("error")
        if error:
            code = error.get("code") if isinstance(error, Mapping) else None
            # The status of a reply whose stream has begun is 200, also if an error follows.
            status = code if type(code) is int else 200
            raise RefusedByServer(status, headers={}, text=json.dumps(error))
        for name in ("model", "usage"):
            if chunk.get(name):
                joined[name] = chunk[name]
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            for name, parts in texts.items():
                parts.append(delta.get(name) or "")
            logprobs_of_choice = choice.get("logprobs") or {}
            logprobs += logprobs_of_choice.get("content") or ()
            finish_reason = choice.get("finish_reason") or finish_reason
    if finish_reason is None:
        raise ValueError("the stream ended before the reply did")
    message = {name: "".join(parts) for name, parts in texts.items()}
    choice = {"message": message, "finish_reason": finish_reason, "logprobs": {"content": logprobs}}
    return {**joined, "choices": [choice]}


def _read_chunks(body: bytes | bytearray) -> Iterator[dict[str, Any]]:
    """Read the JSON objects of the chunks of a stream. The last line, ``data: [DONE]``, is no object.

    For example, ``list(_read_chunks(b'data: {"a": 1}'))`` returns ``[{"a": 1}]``.
    """
    for line in bytes(body).split(b"\n"):
        data = line.removeprefix(b"data:").strip()
        # The blank behind the colon is optional. Comments and the names of events are no objects either.
        if line.startswith(b"data:") and data.startswith(b"{"):
            yield json.loads(data)
