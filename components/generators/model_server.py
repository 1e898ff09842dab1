"""The connection to an OpenAI-compatible model server, and the explanation of its failures."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import Tool

from prefrag.components.errors import PrefragError
from prefrag.components.generators.json_reply import MAX_REPLY_CHARACTERS, read_object, repair
from prefrag.components.generators.token_probabilities import read_logprobs
from prefrag.components.text.addresses import without_userinfo
from prefrag.components.tracing import outgoing_trace

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

# The longest reply that is received: a server may send without end, whatever `max_tokens` is.
_MAX_BODY_BYTES = 8_000_000
_TOO_LONG = "prefrag_too_long"
# A longer number of seconds is no time at all.
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class ModelServerError(PrefragError, RuntimeError):
    """Report that a model cannot be reached or gave no usable reply; the message states what to do.

    :param message: What happened, where, and what to do.
    :param status: The HTTP status, if a server answered with one.
    :param retry_after: Seconds after which the server wants to be called again, if it gave them.
    """

    def __init__(self, message: str, status: int | None = None, retry_after: float | None = None):
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


@dataclass(frozen=True)
class ModelServer:
    """A model on a server; equal ones share a connection.

    :param base_url: The root of its OpenAI protocol.
    :param model: The name of the model there.
    :param api_key: The key, empty for none.
    :param prefix: The prefix of the environment variables that hold these settings.
    :param timeout: Seconds that a call may take, its retries included; made synchronously, each attempt.
    :param max_retries: Further attempts.
    """

    base_url: str
    model: str
    api_key: str = field(repr=False)
    prefix: str
    timeout: float
    max_retries: int

    @property
    def address(self) -> str:
        """The URL without its secret parts."""
        return without_userinfo(self.base_url).partition("?")[0].partition("#")[0].rstrip("/")

    def connect(self) -> None:
        """Create the synchronous client, without a call."""
        _client(self)

    def call(
        self, messages: list[ChatMessage], generation_kwargs: dict[str, Any], tools: list[Tool] | None
    ) -> list[ChatMessage]:
        """Call the model.

        :param messages: The conversation.
        :param generation_kwargs: Parameters of the call by their OpenAI names.
        :param tools: The tools that the model may call.
        :returns: The replies, their text as the model wrote it and the calls of tools, without a separate reasoning.
        :raises ModelServerError: When the server cannot be reached or gives no usable reply.
        :raises ValueError: For a parameter that the OpenAI protocol does not have.
        """
        client = _client(self)
        with self._explain_errors():
            completions = client.chat.completions.with_raw_response
            return self._read(completions.create(**self._arguments(messages, generation_kwargs, tools)))

    async def call_async(
        self, messages: list[ChatMessage], generation_kwargs: dict[str, Any], tools: list[Tool] | None
    ) -> list[ChatMessage]:
        """Do as :meth:`call` does, without blocking the event loop.

        :param messages: The conversation.
        :param generation_kwargs: Parameters of the call by their OpenAI names.
        :param tools: The tools that the model may call.
        :returns: The replies, their text as the model wrote it and the calls of tools, without a separate reasoning.
        :raises ModelServerError: When the server cannot be reached or gives no usable reply.
        :raises ValueError: For a parameter that the OpenAI protocol does not have.
        """
        client = await _async_client(self)
        with self._explain_errors():
            # Also where the server keeps the call alive and never ends it.
            async with asyncio.timeout(self.timeout):
                completions = client.chat.completions.with_raw_response
                return self._read(await completions.create(**self._arguments(messages, generation_kwargs, tools)))

    def _arguments(
        self, messages: list[ChatMessage], generation_kwargs: dict[str, Any], tools: list[Tool] | None
    ) -> dict[str, Any]:
        arguments = {
            "model": self.model,
            "messages": [message.to_openai_dict_format() for message in messages],
            **generation_kwargs,
        }
        if headers := outgoing_trace():
            arguments["extra_headers"] = headers
        offered = [{"type": "function", "function": tool.tool_spec} for tool in tools or ()]
        return {**arguments, "tools": offered} if offered else arguments

    def _read(self, response: Any) -> list[ChatMessage]:
        if response.http_response.extensions.get(_TOO_LONG):
            raise self._error(
                f"sent a reply of more than {_MAX_BODY_BYTES // 1_000_000} MB: see whether it obeys `max_tokens`."
            )
        replies = read_completion(response.content)
        if not replies:
            raise self._error("answered without any choice: look at its log.")
        return replies

    def _error(self, reason: str, status: int | None = None, retry_after: float | None = None) -> ModelServerError:
        """Make the error to raise, without the key even if the server repeats it."""
        message = f"The model server at {self.address} (model '{self.model}') {reason}"
        return ModelServerError(self._mask(message), status, retry_after)

    def _mask(self, text: str) -> str:
        """Remove the key from a text; before the text is cut, because a part of a key is one too."""
        return without_userinfo(text.replace(self.api_key, "***") if self.api_key else text)

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except ModelServerError:
            raise
        except Exception as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> Exception:
        import openai

        attempts = _count_attempts(error)
        # The first is the deadline of the call as a whole, the second that of one attempt, which is as long.
        if isinstance(error, TimeoutError | openai.APITimeoutError):
            return self._error(
                f"did not reply within {self.timeout:g} seconds: see whether it is overloaded, or raise "
                f"{self.prefix}SECONDS."
            )
        if isinstance(error, openai.APIConnectionError):
            return self._error(
                f"cannot be reached, {attempts}: see whether it runs, and whether {self.prefix}BASE_URL is right "
                f"({error.__cause__ or error})."
            )
        if isinstance(error, openai.APIStatusError):
            reason = self._explain_status(error.status_code, self._mask(str(error))[:500], attempts)
            return self._error(reason, error.status_code, _read_retry_after(error.response.headers))
        if isinstance(error, TypeError) and "unexpected keyword argument" in str(error):
            return ValueError(
                f"A generation parameter is not one of the OpenAI protocol ({error}): put what only this server knows "
                "under `extra_body`."
            )
        return self._error(
            f"sent something that is not a chat completion ({type(error).__name__}: {self._mask(str(error))[:200]}): "
            f"see whether {self.prefix}BASE_URL is the root of an OpenAI-compatible interface; it mostly ends in /v1."
        )

    def _explain_status(self, status: int, text: str, attempts: str) -> str:
        if status in (401, 403):
            return f"refused the key with status {status}: set {self.prefix}API_KEY to one that it accepts."
        if status == 404:
            return (
                f"does not know the model or the address: set {self.prefix}MODEL to a name that {self.address}/models "
                f"lists; {self.prefix}BASE_URL mostly ends in /v1 ({text})."
            )
        if status == 429:
            return f"has no room for further calls, {attempts}: send fewer at once, or see to your quota ({text})."
        if status >= 500:
            return f"failed with status {status}, {attempts}: look at its log ({text})."
        return f"refused the call with status {status}: {text}"


def _count_attempts(error: Exception) -> str:
    """Name the attempts that were really made; a server may forbid to repeat a call, or ask for too long a pause."""
    request = getattr(error, "request", None)
    made = int(request.headers.get("x-stainless-retry-count", 0)) + 1 if request is not None else 1
    return f"after {made} attempts" if made > 1 else "at the only attempt"


def _read_retry_after(headers: Any) -> float | None:
    """Read after how many seconds a server wants to be called again."""
    value = str(headers.get("retry-after") or "").strip()
    try:
        if _SECONDS.fullmatch(value):
            return float(value)
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _settings(server: ModelServer) -> dict[str, Any]:
    return {
        # Without a key the client would send OPENAI_API_KEY to this server, whatever it is.
        "api_key": server.api_key or "none",
        "base_url": server.base_url,
        "timeout": server.timeout,
        "max_retries": server.max_retries,
    }


def _bound(response: Any) -> None:
    """Stop to receive a reply that is too long, and mark it."""
    receive = response.iter_bytes

    def receive_bounded() -> Iterator[bytes]:
        received = 0
        for part in receive():
            received += len(part)
            if received > _MAX_BODY_BYTES:
                response.extensions[_TOO_LONG] = True
                response.close()
                return
            yield part

    response.iter_bytes = receive_bounded


async def _bound_async(response: Any) -> None:
    """Do as :func:`_bound` does, for the asynchronous client."""
    receive = response.aiter_bytes

    async def receive_bounded() -> AsyncIterator[bytes]:
        received = 0
        async for part in receive():
            received += len(part)
            if received > _MAX_BODY_BYTES:
                response.extensions[_TOO_LONG] = True
                await response.aclose()
                return
            yield part

    response.aiter_bytes = receive_bounded


@lru_cache(maxsize=16)
def _client(server: ModelServer) -> OpenAI:
    """Create the synchronous client of a server, one a process."""
    # Imported here, because the import takes half a second and only a server needs it.
    import openai

    http_client = openai.DefaultHttpxClient(event_hooks={"response": [_bound]})
    return openai.OpenAI(http_client=http_client, **_settings(server))


_Connection = AsyncGenerator["AsyncOpenAI", None]
_connections: dict[tuple[asyncio.AbstractEventLoop, ModelServer], tuple[AsyncOpenAI, _Connection]] = {}


async def _async_client(server: ModelServer) -> AsyncOpenAI:
    """Create the asynchronous client of a server, one an event loop, because connections cannot outlive their loop."""
    key = (asyncio.get_running_loop(), server)
    if key not in _connections:
        for other in [other for other in list(_connections) if other[0].is_closed()]:
            _connections.pop(other, None)
        connection = _connect(key)
        _connections[key] = (await anext(connection), connection)
    return _connections[key][0]


async def _connect(key: tuple[asyncio.AbstractEventLoop, ModelServer]) -> _Connection:
    # An event loop that ends closes its asynchronous generators, which is the only moment to close connections.
    import openai

    http_client = openai.DefaultAsyncHttpxClient(event_hooks={"response": [_bound_async]})
    client = openai.AsyncOpenAI(http_client=http_client, **_settings(key[1]))
    try:
        yield client
    finally:
        _connections.pop(key, None)
        await client.close()


_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens")


def read_completion(body: bytes) -> list[ChatMessage]:
    """Read the replies of a completion, without a separate reasoning."""
    completion = json.loads(body.decode("utf-8", "replace"))
    usage = completion.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    usage = {**usage, **(details if isinstance(details := usage.get("prompt_tokens_details"), dict) else {})}
    counts = {name: count for name in _COUNTS if isinstance(count := usage.get(name), int)}
    return [
        _read_choice(choice, {"model": completion.get("model"), "index": index, "usage": counts})
        for index, choice in enumerate(completion["choices"])
    ]


def _read_choice(choice: Mapping[str, Any], meta: dict[str, Any]) -> ChatMessage:
    message = choice["message"]
    requested = message.get("tool_calls") or []
    calls = [call for one in requested if (call := _read_call(one)) is not None]
    finish_reason = choice.get("finish_reason")
    if len(calls) < len(requested) and finish_reason != "length":
        finish_reason = "tool_calls"
    text = _read_content(message.get("content"))[:MAX_REPLY_CHARACTERS]
    if logprobs := read_logprobs(choice.get("logprobs")):
        # Under the name that Haystack's own generators give it.
        meta["logprobs"] = {"content": logprobs}
    thought = message.get("reasoning") or message.get("reasoning_content")
    if thought and not text.strip() and not requested and finish_reason != "length":
        meta["filed_as_reasoning"] = True
    return ChatMessage.from_assistant(
        repair(text), tool_calls=calls, meta=repair({**meta, "finish_reason": finish_reason})
    )


def _read_content(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        # A list of parts, of which only those with a text belong to the reply.
        texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _read_call(requested: Any) -> ToolCall | None:
    function = requested.get("function") if isinstance(requested, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return None
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, strict=False)
        except (ValueError, RecursionError):
            arguments = read_object(arguments)
    if arguments is None:
        return None
    identifier = requested.get("id")
    return ToolCall(repair(function["name"]), repair(arguments), id=identifier if isinstance(identifier, str) else None)
