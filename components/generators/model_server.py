"""The connection to an OpenAI-compatible model server, and the explanation of its failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from haystack.utils import Secret

from prefrag.components.errors import PrefragError
from prefrag.components.text.addresses import without_userinfo

if TYPE_CHECKING:
    from haystack.components.generators.chat import OpenAIChatGenerator


class ModelServerError(PrefragError, RuntimeError):
    """Report that a model cannot be reached or gave no usable reply; the message states what to do.

    :param message: What happened, where, and what to do.
    :param status: The HTTP status, if a server answered with one.
    """

    def __init__(self, message: str, status: int | None = None):
        super().__init__(message)
        self.status = status


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
        _generator(self)

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
        generator = _generator(self)
        with self._explain_errors():
            return self._read(generator.run(messages=messages, generation_kwargs=generation_kwargs, tools=tools))

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
        generator = await _async_generator(self)
        with self._explain_errors():
            # Also where the server keeps the call alive and never ends it.
            async with asyncio.timeout(self.timeout):
                output = await generator.run_async(messages=messages, generation_kwargs=generation_kwargs, tools=tools)
                return self._read(output)

    def _read(self, output: dict[str, Any]) -> list[ChatMessage]:
        replies = [
            ChatMessage.from_assistant(reply.text or "", tool_calls=reply.tool_calls, meta=reply.meta)
            for reply in output["replies"]
        ]
        if not replies:
            raise self._error("answered without any choice: look at its log.")
        return replies

    def _error(self, reason: str, status: int | None = None) -> ModelServerError:
        """Make the error to raise, without the key even if the server repeats it.

        :param reason: What happened and what to do.
        :param status: The HTTP status, if there was one.
        :returns: The error.
        """
        message = f"The model server at {self.address} (model '{self.model}') {reason}"
        return ModelServerError(self._mask(message), status)

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

        attempts = f"after {self.max_retries + 1} attempts" if self.max_retries else "at the only attempt"
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
            return self._error(
                self._explain_status(error.status_code, self._mask(str(error))[:500], attempts), error.status_code
            )
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


def _new_generator(server: ModelServer) -> OpenAIChatGenerator:
    # Imported here, because the import takes half a second and the embedded model does not need it.
    from haystack.components.generators.chat import OpenAIChatGenerator

    return OpenAIChatGenerator(
        # Without a key the client would send OPENAI_API_KEY to this server, whatever it is.
        api_key=Secret.from_token(server.api_key or "none"),
        model=server.model,
        api_base_url=server.base_url,
        timeout=server.timeout,
        max_retries=server.max_retries,
    )


@lru_cache(maxsize=16)
def _generator(server: ModelServer) -> OpenAIChatGenerator:
    """Create the synchronous client of a server, one a process.

    :param server: The server.
    :returns: Its client.
    """
    return _new_generator(server)


_Connection = AsyncGenerator["OpenAIChatGenerator", None]
_connections: dict[tuple[asyncio.AbstractEventLoop, ModelServer], tuple[OpenAIChatGenerator, _Connection]] = {}


async def _async_generator(server: ModelServer) -> OpenAIChatGenerator:
    """Create the asynchronous client of a server, one an event loop, because connections cannot outlive their loop.

    :param server: The server.
    :returns: Its client.
    """
    key = (asyncio.get_running_loop(), server)
    if key not in _connections:
        for other in [other for other in list(_connections) if other[0].is_closed()]:
            _connections.pop(other, None)
        connection = _connect(key)
        _connections[key] = (await anext(connection), connection)
    return _connections[key][0]


async def _connect(key: tuple[asyncio.AbstractEventLoop, ModelServer]) -> _Connection:
    # An event loop that ends closes its asynchronous generators, which is the only moment to close connections.
    generator = _new_generator(key[1])
    try:
        yield generator
    finally:
        _connections.pop(key, None)
        if generator.async_client is not None:
            await generator.async_client.close()
