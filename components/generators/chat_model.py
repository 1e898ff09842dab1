"""The language model that the environment names: a model server, or the embedded model without one."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast, get_args
from urllib.parse import urlsplit

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, ChatRole
from haystack.tools import Tool
from haystack.utils import Secret

from prefrag.components.errors import PrefragError
from prefrag.components.generators import embedded_chat_generator
from prefrag.components.generators.embedded_chat_generator import EmbeddedChatGenerator
from prefrag.components.generators.model_call import with_parameters

if TYPE_CHECKING:
    from haystack.components.generators.chat import OpenAIChatGenerator

logger = logging.getLogger(__name__)

Role = Literal["llm", "judge"]
StructuredOutput = Literal["json_schema", "json_object", "off"]

_SERVER_CONTEXT_WINDOW = 8_192
# What a parameter that a server does not know is answered with.
_BAD_REQUEST = (400, 422)
# The longest that a server may make a retry wait, so that a call as a whole has an end.
_RETRY_WAIT_SECONDS = 60.0


class ModelServerError(PrefragError, RuntimeError):
    """A model could not be reached or gave no usable reply; the message says what to do.

    :param message: What happened, where, and the way out.
    :param status: The HTTP status, if a server answered with one.
    """

    def __init__(self, message: str, status: int | None = None):
        super().__init__(message)
        self.status = status


@component
class ChatModel:
    """A chat generator that is chosen by the environment when it warms up.

    ``PREFRAG_LLM_BASE_URL``, ``PREFRAG_LLM_MODEL`` and ``PREFRAG_LLM_API_KEY`` name any OpenAI-compatible server (vLLM,
    Ollama, OpenAI and others); without the first, the small embedded model is used. The judge has a server of its own
    once ``PREFRAG_JUDGE_BASE_URL`` is set, and then takes all its settings from the ``PREFRAG_JUDGE_`` variables.

    ```python
    from haystack.dataclasses import ChatMessage
    from prefrag.components.generators.chat_model import ChatModel

    model = ChatModel(generation_kwargs={"max_tokens": 20})
    model.warm_up()
    print(model.run([ChatMessage.from_user("What is the capital of France?")])["replies"][0].text)
    ```
    """

    def __init__(
        self,
        role: Role = "llm",
        generation_kwargs: dict[str, Any] | None = None,
        timeout: float = 120.0,
        max_retries: int = 2,
        context_window: int | None = None,
        structured_output: StructuredOutput | None = None,
    ):
        """
        :param role: Whose variables are read: ``llm`` or ``judge``.
        :param generation_kwargs: Parameters of every call by their OpenAI names. What only one server knows goes under
            ``extra_body``.
        :param timeout: Seconds that one attempt may take.
        :param max_retries: Further attempts after a failed connection, a time-out, or status 429 or 5xx.
        :param context_window: Tokens of prompt and reply together; None for ``PREFRAG_LLM_CONTEXT`` (or
            ``PREFRAG_JUDGE_CONTEXT``), and without it 8,192 for a server and 4,096 for the embedded model.
        :param structured_output: How a server is asked for a reply in JSON: ``json_schema`` sends the schema,
            ``json_object`` only asks for JSON, ``off`` leaves it to the prompt; None for ``PREFRAG_LLM_STRUCTURED`` (or
            ``PREFRAG_JUDGE_STRUCTURED``), and without it ``json_schema``. The embedded model always gets the schema.
        :raises ValueError: For a value out of its range.
        """
        if role not in get_args(Role):
            raise ValueError(f"role is '{role}': set it to llm or judge.")
        if timeout <= 0 or max_retries < 0:
            raise ValueError("timeout must be above zero and max_retries at least zero.")
        if context_window is not None and context_window <= 0:
            raise ValueError(f"context_window is {context_window}: set it to the tokens that the model can hold.")
        if structured_output is not None:
            _structured_output(structured_output, "structured_output")
        self.role = role
        self.generation_kwargs = generation_kwargs or {}
        self.timeout = timeout
        self.max_retries = max_retries
        self._context_window = context_window
        self._structured_output = structured_output
        self._chosen: _ModelServer | EmbeddedChatGenerator | None = None

    def to_dict(self) -> dict[str, Any]:
        """:returns: The component as plain values; the server and its key stay in the environment."""
        return default_to_dict(
            self,
            role=self.role,
            generation_kwargs=self.generation_kwargs,
            timeout=self.timeout,
            max_retries=self.max_retries,
            context_window=self._context_window,
            structured_output=self._structured_output,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ChatModel:
        """:param data: See :meth:`to_dict`. :returns: The component."""
        return default_from_dict(cls, data)

    @property
    def is_embedded(self) -> bool:
        """:returns: Whether the model is the small one that runs in this process."""
        if self._chosen is not None:
            return isinstance(self._chosen, EmbeddedChatGenerator)
        return not self._variable("BASE_URL")

    @property
    def context_window(self) -> int:
        """:returns: Tokens of prompt and reply together."""
        if self._context_window is not None:
            return self._context_window
        value = self._variable("CONTEXT")
        if not value:
            return embedded_chat_generator.CONTEXT_WINDOW if self.is_embedded else _SERVER_CONTEXT_WINDOW
        if not value.isdecimal() or int(value) == 0:
            raise ValueError(f"{self._prefix}CONTEXT is '{value}': set it to the tokens that the model can hold.")
        return int(value)

    @property
    def structured_output(self) -> StructuredOutput:
        """:returns: How a server is asked for a reply in JSON."""
        if self._structured_output is not None:
            return self._structured_output
        return _structured_output(self._variable("STRUCTURED") or "json_schema", f"{self._prefix}STRUCTURED")

    def warm_up(self) -> None:
        """Choose the model, and load or connect it.

        :raises ValueError: For settings in the environment that cannot be used.
        :raises ImportError: When a package of the embedded model is missing.
        """
        if isinstance(chosen := self._choose(), EmbeddedChatGenerator):
            chosen.warm_up()
        else:
            _generator(chosen)

    @component.output_types(replies=list[ChatMessage])
    def run(
        self,
        messages: list[ChatMessage],
        generation_kwargs: dict[str, Any] | None = None,
        tools: list[Tool] | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """
        :param messages: The conversation.
        :param generation_kwargs: Parameters of this call; they win over those of the component.
        :param tools: What a model of a server may call.
        :returns: ``replies``, their text as the model wrote it and the calls of tools, without reasoning beside them.
        :raises ModelServerError: When the model cannot be reached or gives no usable reply.
        :raises ValueError: For settings in the environment, or parameters, that cannot be used.
        """
        kwargs = with_parameters(self.generation_kwargs, generation_kwargs or {})
        chosen = self._choose()
        if isinstance(chosen, EmbeddedChatGenerator):
            _refuse_tools(tools)
            with _explained(None):
                return _said(chosen.run(messages, kwargs))
        generator = _generator(chosen)
        request = self._request(kwargs)
        try:
            with _explained(chosen):
                return _said(generator.run(messages=messages, generation_kwargs=request, tools=tools), chosen)
        except ModelServerError as error:
            if (simpler := self._simpler(error, messages, request)) is None:
                raise
        messages, request = simpler
        with _explained(chosen):
            return _said(generator.run(messages=messages, generation_kwargs=request, tools=tools), chosen)

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self,
        messages: list[ChatMessage],
        generation_kwargs: dict[str, Any] | None = None,
        tools: list[Tool] | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """As :meth:`run`, without blocking the event loop."""
        kwargs = with_parameters(self.generation_kwargs, generation_kwargs or {})
        chosen = self._choose()
        if isinstance(chosen, EmbeddedChatGenerator):
            _refuse_tools(tools)
            with _explained(None):
                return _said(await chosen.run_async(messages, kwargs))
        generator = await _async_generator(chosen)
        request = self._request(kwargs)
        try:
            with _explained(chosen):
                async with asyncio.timeout(chosen.deadline):
                    output = await generator.run_async(messages=messages, generation_kwargs=request, tools=tools)
                    return _said(output, chosen)
        except ModelServerError as error:
            if (simpler := self._simpler(error, messages, request)) is None:
                raise
        messages, request = simpler
        with _explained(chosen):
            async with asyncio.timeout(chosen.deadline):
                output = await generator.run_async(messages=messages, generation_kwargs=request, tools=tools)
                return _said(output, chosen)

    @property
    def _prefix(self) -> str:
        # The judge's variables stand or fall together: half of another server's settings fit neither.
        if self.role == "judge" and os.environ.get("PREFRAG_JUDGE_BASE_URL", "").strip():
            return "PREFRAG_JUDGE_"
        return "PREFRAG_LLM_"

    def _variable(self, name: str) -> str:
        return os.environ.get(self._prefix + name, "").strip()

    def _choose(self) -> _ModelServer | EmbeddedChatGenerator:
        if self._chosen is None:
            base_url = self._variable("BASE_URL")
            if base_url:
                self._chosen = self._server(base_url)
            else:
                self._chosen = EmbeddedChatGenerator(context_window=self.context_window, timeout=self.timeout)
        return self._chosen

    def _server(self, base_url: str) -> _ModelServer:
        if urlsplit(base_url).scheme not in ("http", "https") or not urlsplit(base_url).hostname:
            raise ValueError(
                f"{self._prefix}BASE_URL is not the address of a server: it looks like http://localhost:8000/v1."
            )
        key = Secret.from_env_var(self._prefix + "API_KEY", strict=False).resolve_value()
        server = _ModelServer(
            base_url, self._variable("MODEL"), (key or "").strip(), self._prefix, self.timeout, self.max_retries
        )
        if not server.model:
            raise ValueError(
                f"{self._prefix}MODEL is not set: give it the name of a model that {server.address}/models lists."
            )
        return server

    def _request(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """:returns: The parameters as the server is to get them."""
        response_format = kwargs.get("response_format")
        if response_format is None or self.structured_output == "off":
            return _without_format(kwargs)
        if self.structured_output == "json_object":
            response_format = {"type": "json_object"}
        # Under its own name, Haystack sends it through a call of the OpenAI client that costs a third more and turns
        # a reply cut off by max_tokens into an exception.
        extra_body = {**(kwargs.get("extra_body") or {}), "response_format": response_format}
        return {**_without_format(kwargs), "extra_body": extra_body}

    def _simpler(
        self, error: ModelServerError, messages: list[ChatMessage], request: dict[str, Any]
    ) -> tuple[list[ChatMessage], dict[str, Any]] | None:
        """:returns: The call without the parameters that a server may not know; None if it was not refused for them."""
        extra_body = dict(request.get("extra_body") or {})
        ways = {
            "response_format": f"set {self._prefix}STRUCTURED to json_object or off",
            "continue_final_message": "set `continue_turn: false` in the Reasoner",
        }
        refused = [name for name in ways if extra_body.pop(name, None) is not None]
        if error.status not in _BAD_REQUEST or not refused:
            return None
        logger.warning(
            "%s The call is made again without %s. If that works, %s to spare the first call.",
            error,
            " and ".join(refused),
            ", and ".join(ways[name] for name in refused),
        )
        if "continue_final_message" in refused:
            extra_body.pop("add_generation_prompt", None)
            messages = _in_users_words(messages)
        simpler = {name: value for name, value in request.items() if name != "extra_body"}
        return messages, {**simpler, "extra_body": extra_body} if extra_body else simpler


@dataclass(frozen=True)
class _ModelServer:
    """What a connection to a model server depends on.

    :param base_url: Where its OpenAI protocol begins.
    :param model: The name of the model there.
    :param api_key: The key, empty for none.
    :param prefix: Of the variables that all this came from.
    :param timeout: Seconds an attempt may take.
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
        """:returns: The URL without what may be secret in it."""
        url = urlsplit(self.base_url)
        return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path.rstrip('/')}"

    @property
    def deadline(self) -> float:
        """:returns: Seconds after which a call has failed, whatever the server sends to keep it alive."""
        return (self.timeout + _RETRY_WAIT_SECONDS) * (self.max_retries + 1)

    def failed(self, reason: str, status: int | None = None) -> ModelServerError:
        """:returns: The error to raise, without the key even if the server repeats it."""
        message = f"The model server at {self.address} (model '{self.model}') {reason}"
        return ModelServerError(message.replace(self.api_key, "***") if self.api_key else message, status)


def _structured_output(value: str, name: str) -> StructuredOutput:
    if value not in get_args(StructuredOutput):
        raise ValueError(f"{name} is '{value}': set it to {', '.join(get_args(StructuredOutput))}.")
    return cast(StructuredOutput, value)


def _without_format(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kwargs.items() if name != "response_format"}


def _in_users_words(messages: list[ChatMessage]) -> list[ChatMessage]:
    """:returns: The messages with the turn that the model was to continue at the end of the one before it."""
    *others, asked, begun = messages
    if not (asked.is_from(ChatRole.USER) and begun.is_from(ChatRole.ASSISTANT)):
        return messages
    return [*others, ChatMessage.from_user(f"{asked.text}\n\n{begun.text}")]


def _refuse_tools(tools: list[Tool] | None) -> None:
    if tools:
        raise ValueError(
            "The embedded model cannot call tools: set reply_format to auto, or PREFRAG_LLM_BASE_URL and "
            "PREFRAG_LLM_MODEL to a model server."
        )


def _said(output: dict[str, Any], server: _ModelServer | None = None) -> dict[str, list[ChatMessage]]:
    replies = [
        ChatMessage.from_assistant(reply.text or "", tool_calls=reply.tool_calls, meta=reply.meta)
        for reply in output["replies"]
    ]
    if not replies and server is not None:
        raise server.failed("answered without any choice: look at its log.")
    return {"replies": replies}


@contextmanager
def _explained(server: _ModelServer | None) -> Iterator[None]:
    """Turn what a call may raise into a :class:`ModelServerError`; ``server`` is None for the embedded model."""
    try:
        yield
    except ModelServerError:
        raise
    except Exception as error:
        if server is None:
            raise ModelServerError(str(error)) from error
        raise _explanation(error, server) from error


def _explanation(error: Exception, server: _ModelServer) -> Exception:
    import openai

    attempts = f"after {server.max_retries + 1} attempts" if server.max_retries else "at the only attempt"
    # The first is the deadline of the call as a whole, the second that of one attempt.
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return server.failed(
            f"did not reply within {server.timeout:g} seconds, {attempts}: see whether it is overloaded, or raise "
            "`timeout`."
        )
    if isinstance(error, openai.APIConnectionError):
        return server.failed(
            f"cannot be reached, {attempts}: see whether it runs, and whether {server.prefix}BASE_URL is right "
            f"({error.__cause__ or error})."
        )
    if isinstance(error, openai.APIStatusError):
        return server.failed(_status_reason(error.status_code, str(error), attempts, server), error.status_code)
    if isinstance(error, TypeError) and "unexpected keyword argument" in str(error):
        return ValueError(
            f"A generation parameter is not one of the OpenAI protocol ({error}): put what only this server knows "
            "under `extra_body`."
        )
    return server.failed(
        f"sent something that is not a chat completion ({type(error).__name__}: {str(error)[:200]}): see whether "
        f"{server.prefix}BASE_URL is the root of an OpenAI-compatible interface; it mostly ends in /v1."
    )


def _status_reason(status: int, text: str, attempts: str, server: _ModelServer) -> str:
    said = text[:500]
    if status in (401, 403):
        return f"refused the key with status {status}: set {server.prefix}API_KEY to one that it accepts."
    if status == 404:
        return (
            f"does not know the model or the address: set {server.prefix}MODEL to a name that {server.address}/models "
            f"lists; {server.prefix}BASE_URL mostly ends in /v1 ({said})."
        )
    if status == 429:
        return f"has no room for further calls, {attempts}: send fewer at once, or see to your quota ({said})."
    if status >= 500:
        return f"failed with status {status}, {attempts}: look at its log ({said})."
    return f"refused the call with status {status}: {said}"


def _new_generator(server: _ModelServer) -> OpenAIChatGenerator:
    # Imported here because the client of OpenAI takes half a second to import, which the embedded model does not need.
    from haystack.components.generators.chat import OpenAIChatGenerator

    return OpenAIChatGenerator(
        # Without a key of its own the client would send OPENAI_API_KEY to whatever server this is.
        api_key=Secret.from_token(server.api_key or "none"),
        model=server.model,
        api_base_url=server.base_url,
        timeout=server.timeout,
        max_retries=server.max_retries,
    )


@lru_cache(maxsize=16)
def _generator(server: _ModelServer) -> OpenAIChatGenerator:
    """:returns: The synchronous client of a server, one a process."""
    return _new_generator(server)


_Connection = AsyncGenerator["OpenAIChatGenerator", None]
_connections: dict[tuple[asyncio.AbstractEventLoop, _ModelServer], tuple[OpenAIChatGenerator, _Connection]] = {}


async def _async_generator(server: _ModelServer) -> OpenAIChatGenerator:
    """:returns: The asynchronous client of a server, one an event loop: kept-alive connections die with their loop."""
    key = (asyncio.get_running_loop(), server)
    if key not in _connections:
        for other in [other for other in list(_connections) if other[0].is_closed()]:
            _connections.pop(other, None)
        connection = _connection(key)
        _connections[key] = (await anext(connection), connection)
    return _connections[key][0]


async def _connection(key: tuple[asyncio.AbstractEventLoop, _ModelServer]) -> _Connection:
    # An event loop that ends closes the asynchronous generators begun on it: the one moment to close connections.
    generator = _new_generator(key[1])
    try:
        yield generator
    finally:
        _connections.pop(key, None)
        if generator.async_client is not None:
            await generator.async_client.close()
