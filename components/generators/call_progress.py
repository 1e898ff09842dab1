"""Say how far a model's call is, and put a streamed reply together."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from prefrag.components.generators.model_requests import RefusedByServer

# What is added to a call of llama.cpp's server, so that its reply comes in chunks that count the prompt's tokens.
STREAMED = {"stream": True, "stream_options": {"include_usage": True}, "return_progress": True}
# The time between two reports of how far a call is.
_LEAST_SECONDS = 1.0
# How a chunk of a stream begins, and what stands behind it.
_START, _END = b"data: {", b"\n\n"


class CallProgress:
    """Tells how far the calls of a run are, at most once a second."""

    def __init__(self, tell: Callable[[dict[str, int]], None]):
        """Set up the object.

        :param tell: Gets ``read`` and ``total``, the tokens of the prompt, or ``written``, those of the reply.
        """
        self._tell = tell
        self._next = 0.0

    def read(self, body: bytearray) -> None:
        """Read how far a call is from the part of its reply that has arrived."""
        if time.monotonic() < self._next:
            return
        counts = _count(body)
        if counts:
            self._next = time.monotonic() + _LEAST_SECONDS
            self._tell(counts)


# The progress of a run, if anybody wants to hear of it.
followed: ContextVar[CallProgress | None] = ContextVar("followed", default=None)


def _count(body: bytearray) -> dict[str, int]:
    """Count tokens from the part of a reply that has arrived; empty if it tells nothing."""
    chunk: dict[str, Any] = {}
    # The last chunk may have arrived in part, so take the last one that is complete.
    end = body.rfind(_END)
    begin = max(0, body.rfind(_START, 0, end))
    # A chunk that cannot be read is reported once the reply is complete.
    with suppress(ValueError, RecursionError):
        chunk = next(_read_chunks(body[begin:]), {})
    progress = chunk.get("prompt_progress")
    if not isinstance(progress, Mapping):
        # A chunk has one token, of the reply or of reasoning. In texts, quotation marks are escaped.
        written = body.count(b'content":"')
        return {"written": written} if written else {}
    read, total = progress.get("processed"), progress.get("total")
    if type(read) is not int or type(total) is not int:
        return {}
    return {"read": read, "total": total} if 0 <= read <= total else {}


def is_streamed(body: bytes) -> bool:
    """Check whether the body of a reply is a stream of chunks. It may begin with a comment."""
    return body.lstrip().startswith((b"data:", b":"))


def join_chunks(body: bytes) -> dict[str, Any]:
    """Put a chat completion with one choice together from the chunks in which it was streamed.

    :param body: The whole body of the reply, of server-sent events.
    :returns: The completion, as if it had not been streamed.
    :raises RefusedByServer: When a chunk is an error.
    :raises ValueError: When the stream ended before the reply did.
    """
    joined: dict[str, Any] = {"usage": None}
    texts: dict[str, list[str]] = {"content": [], "reasoning_content": []}
    logprobs: list[Any] = []
    finish_reason = None
    for chunk in _read_chunks(body):
        error = chunk.get("error")
        if error:
            code = error.get("code") if isinstance(error, Mapping) else None
            raise RefusedByServer(code if type(code) is int else 200, {}, json.dumps(error))
        joined |= {name: chunk[name] for name in ("model", "usage") if chunk.get(name)}
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
    for line in bytes(body).split(b"\n"):
        if line.startswith(_START):
            yield json.loads(line.removeprefix(b"data: "))
