"""The chat generator for the model that environment variables select.

The model is on an OpenAI-compatible server, or it is a GGUF file that runs in this process. Pipelines contain only
:class:`ChatModel`, so that the same YAML works with any model. A :class:`ModelServer` or an
:class:`EmbeddedChatGenerator` then makes the calls.
"""

import logging
from inspect import isawaitable
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from haystack import component, default_to_dict
from haystack.dataclasses import ChatMessage, StreamingCallbackT, StreamingChunk
from haystack.tools import Tool, ToolsType, flatten_tools_or_toolsets

from prefrag.components.block import check_above_zero, check_choice
from prefrag.components.both_ways import as_blocking, call_component, call_matching
from prefrag.components.generators import embedded_chat_generator
from prefrag.components.generators.call_progress import STREAMED, followed
from prefrag.components.generators.context_window import learn_window, read_facts, read_facts_async
from prefrag.components.generators.embedded_chat_generator import EmbeddedChatGenerator
from prefrag.components.generators.model_call import limit_reply, with_parameters
from prefrag.components.generators.model_host import THIS_MACHINE, is_local, read_host
from prefrag.components.generators.model_record import SMALL, ModelRecord, find_record_of_file
from prefrag.components.generators.model_server import ModelServer, ModelServerError
from prefrag.components.generators.refused_parameters import advise, find_refused, leave_out
from prefrag.errors import Missing
from prefrag.setting_types import StructuredOutput
from prefrag.settings import ModelSettings, models

logger = logging.getLogger(__name__)


class ModelMissing(Missing):
    """The error when no model is configured in the environment. The message says what to do."""


# The use of a model, which decides the environment variables that select it.
Role = Literal["llm", "judge"]

# The context window in tokens that is assumed for a model on a server, if neither a setting nor the server states it.
_SERVER_CONTEXT_WINDOW = 8_192
# The same for Ollama, which uses a window of this size on ordinary machines. Ollama cuts off the beginning of a longer
# prompt, and does not report this.
_OLLAMA_CONTEXT_WINDOW = 4_096
# The default for the seconds that a call of a model on this machine may take. A model on a laptop may need minutes to
# read a long prompt.
_LOCAL_SECONDS = 600.0
# The same for a model on another machine. A distant server that is silent for so long is down.
_REMOTE_SECONDS = 120.0


@component
class ChatModel:
    """Call the language model that environment variables select.

    The model is chosen at its first use, at the latest when the component warms up.

    - ``PREFRAG_LLM_BASE_URL``, ``PREFRAG_LLM_MODEL`` and ``PREFRAG_LLM_API_KEY`` name any OpenAI-compatible server
      (vLLM, Ollama, OpenAI and others).
    - Instead, ``PREFRAG_LLM_GGUF`` can name a GGUF file. The model then runs in this process.
    - If no variable names a server or a file, only components without a model can run.

    The judge decides whether passages are worth keeping. It has its own model if ``PREFRAG_JUDGE_BASE_URL`` or
    ``PREFRAG_JUDGE_GGUF`` is set. All settings of this model are then read from variables that begin with
    ``PREFRAG_JUDGE_``.

    Usage example:
    ```python
    from haystack.dataclasses import ChatMessage
    from prefrag.components.generators.chat_model import ChatModel

    model = ChatModel(generation_kwargs={"max_tokens": 20})
    model.warm_up()
    print(model.run([ChatMessage.from_user("What is the capital of France?")])["replies"][0].text)
    ```
    """

    # The number of further attempts after a failed connection or after HTTP status 408, 409, 429 or 5xx.
    retries = 2

    def __init__(
        self, role: Role = "llm", generation_kwargs: dict[str, Any] | None = None, timeout: float | None = None
    ):
        """Check the settings. The model is chosen at its first use.

        :param role: The variables that are read: ``llm`` for ``PREFRAG_LLM_...``, ``judge`` for ``PREFRAG_JUDGE_...``.
        :param generation_kwargs: Parameters of every call, under their OpenAI names. Parameters that OpenAI does not
            define go under ``extra_body``.
        :param timeout: The seconds that a call may take, including its retries. If None, the variable
            ``PREFRAG_LLM_SECONDS`` or ``PREFRAG_JUDGE_SECONDS`` sets them. Without such a variable, they are 600 for a
            model on this machine and 120 for others.
        :raises ValueError: When a value is out of its range.
        """
        check_choice(get_args(Role), role=role)
        check_above_zero(timeout=timeout)
        self.role = role
        self.generation_kwargs = generation_kwargs or {}
        self._timeout = timeout
        self._chosen: ModelServer | EmbeddedChatGenerator | None = None

    def to_dict(self) -> dict[str, object]:
        """Serialise the component. The address of the server and its key stay in the environment.

        :returns: The component as a dictionary, in Haystack's form.
        """
        return default_to_dict(self, role=self.role, generation_kwargs=self.generation_kwargs, timeout=self._timeout)

    @property
    def is_absent(self) -> bool:
        """True if no model is configured in the environment."""
        if self._chosen is not None:
            return False
        return not (self._settings.base_url or self._settings.gguf)

    @property
    def is_embedded(self) -> bool:
        """Whether the model runs in this process."""
        if self._chosen is not None:
            return isinstance(self._chosen, EmbeddedChatGenerator)
        return bool(self._settings.gguf) and not self._settings.base_url

    @property
    def is_named_for_judging(self) -> bool:
        """Whether the variables of the judge set the model. A model in this process judges only if this is true."""
        return self._settings_role == "judge"

    @property
    def model_host(self) -> str:
        """The host on which the model runs, without port and path. A model in this process runs on ``localhost``."""
        if isinstance(self._chosen, ModelServer):
            return read_host(self._chosen.base_url)
        base_url = self._settings.base_url
        if self._chosen is not None or not base_url:
            return THIS_MACHINE
        return read_host(base_url)

    @property
    def model_name(self) -> str:
        """The name of the model on its server, or the name of its file without the suffix. Empty without a model."""
        if self._settings.base_url:
            return self._settings.model or ""
        return Path(self._settings.gguf).stem if self._settings.gguf else ""

    @property
    def context_window(self) -> int:
        """The maximum number of tokens of prompt and reply together.

        This is the smaller of the setting and the window that the server states. If both are unknown, it is a default.
        """
        if self.is_embedded:
            return self._settings.context or embedded_chat_generator.CONTEXT_WINDOW
        record = self._chosen.record if isinstance(self._chosen, ModelServer) else ModelRecord("")
        usual = _OLLAMA_CONTEXT_WINDOW if record.is_ollama else _SERVER_CONTEXT_WINDOW
        known_windows = [window for window in (self._settings.context, record.window) if window]
        return min(known_windows, default=usual)

    @property
    def knows_window(self) -> bool:
        """Whether the context window is known from a setting or from the server, so that it is no guess."""
        return self.is_embedded or self.has_context_setting or self.record.window is not None

    @property
    def has_context_setting(self) -> bool:
        """Whether an environment variable sets the context window."""
        return self._settings.context is not None

    @property
    def reply_limit(self) -> int | None:
        """The maximum number of tokens of a reply, including thinking. None if the environment sets no limit."""
        return self._settings.max_tokens

    @property
    def limit_setting(self) -> str:
        """The name of the variable that limits the length of a reply."""
        return f"{self._prefix}MAX_TOKENS"

    @property
    def thinking(self) -> bool | None:
        """True to switch the model's thinking on, False to switch it off, None to leave it to the server."""
        return self._settings.thinking

    @property
    def timeout(self) -> float:
        """Seconds that a call may take."""
        usual = _LOCAL_SECONDS if is_local(self.model_host) else _REMOTE_SECONDS
        return self._timeout or self._settings.seconds or usual

    @property
    def structured_output(self) -> StructuredOutput:
        """How a server is asked to reply in JSON: with a JSON schema, with ``json_object``, or not at all (``off``)."""
        return self._settings.structured

    @property
    def server(self) -> ModelServer | None:
        """The server of the model. None if the model runs in this process, or if there is no model."""
        chosen = None if self.is_absent else self._choose()
        return chosen if isinstance(chosen, ModelServer) else None

    @property
    def served_by(self) -> str | None:
        """The prefix of the variables, the address of the server and the name of the model, joined by spaces.

        None without a server.
        """
        server = self.server
        if server is None:
            return None
        return f"{self._prefix} {server.address} {server.model}"

    @property
    def record(self) -> ModelRecord:
        """The record of what is known of the model. All generators that call the same model share it."""
        if self.is_absent:
            return ModelRecord("")
        try:
            chosen = self._choose()
        except ValueError:
            # A wrong setting is reported where the model is warmed up or called.
            return ModelRecord("")
        return chosen.record if isinstance(chosen, ModelServer) else find_record_of_file(chosen.model_path)

    def keep(self, **changes: object) -> None:
        """Change the record of the model, and store it for other processes.

        :param changes: The new values by the names of the fields of :class:`ModelRecord`.
        """
        self.record.keep(**changes)

    @property
    def reply_format(self) -> str:
        """The format in which a Reasoner with ``reply_format: auto`` lets the model reply. Empty without a model.

        The format is ``text`` for an able model, and ``steps`` for a small one. The first of these that is known
        decides:

        1. the setting ``PREFRAG_LLM_FORMAT`` (or ``PREFRAG_JUDGE_FORMAT``),
        2. the trial of the model, see :class:`AbilityProbe`,
        3. the size of the model: ``steps`` if it has less than four billion weights,
        4. if the size is not known: ``steps`` for a model in this process, and for a server of this machine that has
           not answered yet; ``text`` for any other server.
        """
        if self.is_absent:
            return ""
        guess = "steps" if self._is_perhaps_small() else "text"
        return self._settings.format or self.record.reply_format or guess

    def _is_perhaps_small(self) -> bool:
        """Check whether the model is small. Where its size is not known, where it runs decides."""
        size = self.record.parameters
        if size is not None:
            return size < SMALL
        # Models on a laptop are small, and a laptop that is busy with its model may not state the size in time. An
        # answer of a small model must not be shown as if a large model had written it.
        is_silent_here = is_local(self.model_host) and not self.record.has_answered
        return self.is_embedded or is_silent_here

    @property
    def is_format_guessed(self) -> bool:
        """Whether the reply format is a guess, because there is neither a setting nor a trial of the model."""
        return not (self._settings.format or self.record.reply_format)

    @property
    def format_reason(self) -> str:
        """The reason for :attr:`reply_format`, in words."""
        if self._settings.format:
            return f"{self._prefix}FORMAT says so"
        if self.record.reply_format:
            return self.record.reason
        size = self.record.parameters
        weights = "of unknown size" if size is None else f"of about {size / 1e9:.1f} billion weights"
        return f"a first guess for a model {weights}, which has not been tried yet"

    def warm_up(self) -> None:
        """Choose the model, and load it or connect to its server.

        :raises ModelMissing: When no model is configured in the environment.
        :raises ValueError: When a setting in the environment is invalid.
        :raises ImportError: When a GGUF file is set and llama.cpp is not installed.
        """
        chosen = self._choose()
        if isinstance(chosen, EmbeddedChatGenerator):
            chosen.warm_up()
        else:
            chosen.connect()
            # A server that does not answer is asked only once here. Haystack calls `warm_up` at every run, and waiting
            # for the server would block the event loop.
            read_facts(chosen, again=False)

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self,
        messages: list[ChatMessage],
        generation_kwargs: dict[str, Any] | None = None,
        tools: ToolsType | None = None,
        streaming_callback: StreamingCallbackT | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """Call the model.

        :param messages: The conversation.
        :param generation_kwargs: Parameters of this call, which override the parameters of the component.
        :param tools: The tools that the model may call, also as a toolset. Only models on a server can call tools.
        :param streaming_callback: A function that gets each whole reply as one chunk. Nothing is streamed to it while
            the model writes.
        :returns: A dictionary with the following key:

            - ``replies``: The replies with their unchanged text and tool calls. Reasoning that the server sends in a
              separate field is left out.
        :raises ModelServerError: When the model cannot be reached or gives no usable reply.
        :raises ValueError: When a setting in the environment or a parameter is invalid.
        """
        own_kwargs = limit_reply(self.generation_kwargs, self.reply_limit)
        # The limit of the call overrides the limit of the environment. A `ModelCall` has already put the limit of the
        # environment into the call, as far as the window allows.
        kwargs = limit_reply(with_parameters(own_kwargs, generation_kwargs or {}), None)
        chosen = self._choose()
        flat_tools = flatten_tools_or_toolsets(tools) or None
        if isinstance(chosen, EmbeddedChatGenerator):
            if flat_tools:
                raise ValueError(
                    "The model in this process cannot call tools: either set reply_format to auto, or use a model "
                    "server (set PREFRAG_LLM_BASE_URL to its address and PREFRAG_LLM_MODEL to a model on it)."
                )
            try:
                output = await call_component(chosen, {"messages": messages, "generation_kwargs": kwargs})
            except Exception as error:
                raise ModelServerError(str(error)) from error
            return {"replies": await _tell(output["replies"], streaming_callback)}

        # The server is asked for its window again, because it may not have answered during `warm_up`.
        await call_matching(read_facts, read_facts_async, chosen)
        request = self._request(kwargs)
        # The reply is streamed if somebody wants reports of the progress. Only llama.cpp tells how far it has read the
        # prompt.
        has_one_text = not flat_tools and (request.get("n") or 1) == 1
        is_followed = followed.get() is not None
        if has_one_text and is_followed and chosen.record.is_llama_cpp:
            own_extra_body = request.get("extra_body") or {}
            request["extra_body"] = STREAMED | own_extra_body

        replies = await self._call_server(chosen, messages, request, flat_tools)
        return {"replies": await _tell(replies, streaming_callback)}

    run = as_blocking(run_async)

    async def _call_server(
        self, server: ModelServer, messages: list[ChatMessage], request: dict[str, object], tools: list[Tool] | None
    ) -> list[ChatMessage]:
        """Call a server, and repeat the call without the parameters that the server refuses."""
        request = leave_out(server.record.refused, request)
        # The parameters that the server has refused and named.
        named_parameters: list[str] = []
        # This loop ends, because each repetition leaves out at least one parameter.
        while True:
            try:
                replies = await call_matching(server.call, server.call_async, messages, request, tools)
                break
            except ModelServerError as error:
                await learn_window(server, error)
                refused, is_named = find_refused(error, request)
                if not refused:
                    raise
                refused_names = " and ".join(refused)
                again = f"The call is made again without {refused_names}."
                logger.warning("%s %s%s", error, again, advise(refused, server.prefix))
                if is_named:
                    named_parameters += refused
                request = leave_out(refused, request)
        server.record.refused |= frozenset(named_parameters)
        return replies

    @property
    def _settings_role(self) -> Role:
        """The role whose variables are read. The judge uses the main model if it has no model of its own."""
        # The variables of the two models are never mixed, because the settings of one may not fit the other.
        judge = models["judge"]
        judge_has_own_model = judge.base_url or judge.gguf
        if self.role == "judge" and judge_has_own_model:
            return "judge"
        return "llm"

    @property
    def _settings(self) -> ModelSettings:
        """The values of the variables of the model."""
        return models[self._settings_role]

    @property
    def _prefix(self) -> str:
        """The prefix of the names of these variables, such as ``PREFRAG_LLM_``."""
        return f"PREFRAG_{self._settings_role.upper()}_"

    def _choose(self) -> ModelServer | EmbeddedChatGenerator:
        """Return the object that makes the calls. It is made at the first call of this method.

        :raises ModelMissing: When no model is configured.
        :raises ValueError: When a setting in the environment is invalid.
        """
        if self._chosen is None:
            base_url = self._settings.base_url
            if base_url:
                self._chosen = self._server(base_url)
            elif self._settings.gguf:
                self._chosen = EmbeddedChatGenerator(
                    self._settings.gguf,
                    adapter_path=self._settings.adapter or None,
                    context_window=self.context_window,
                    timeout=self.timeout,
                    threads=self._settings.threads,
                )
            else:
                raise ModelMissing(
                    "There is no language model: set PREFRAG_LLM_BASE_URL and PREFRAG_LLM_MODEL to use a model server, "
                    "or PREFRAG_LLM_GGUF to run a GGUF file in this process."
                )
        return self._chosen

    def _server(self, base_url: str) -> ModelServer:
        """Make the connection to a server, after checks of the settings.

        :raises ValueError: When a setting in the environment is invalid.
        """
        if not _is_address(base_url):
            raise ValueError(
                f"{self._prefix}BASE_URL is not the address of a server: set it to one like http://localhost:8000/v1."
            )
        own_settings = self._settings
        if not own_settings.api_key.isascii() or not own_settings.api_key.isprintable():
            raise ValueError(f"{self._prefix}API_KEY contains a line break or another character that is not allowed.")
        server = ModelServer(
            base_url=base_url,
            model=own_settings.model,
            api_key=own_settings.api_key,
            prefix=self._prefix,
            timeout=self.timeout,
            max_retries=self.retries,
        )
        if not server.model:
            raise ValueError(
                f"{self._prefix}MODEL is not set: set it to the name of a model that {server.address}/models lists."
            )
        return server

    def _request(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Adapt the parameters of a call to the settings for JSON replies and for thinking."""
        request = dict(kwargs)
        if request.get("response_format") is None or self.structured_output == "off":
            request.pop("response_format", None)
        elif self.structured_output == "json_object":
            request["response_format"] = {"type": "json_object"}

        thinking = self.thinking
        if thinking is not None:
            extra_body = request.get("extra_body") or {}
            own_template_kwargs = extra_body.get("chat_template_kwargs") or {}
            template_kwargs = {**own_template_kwargs, "enable_thinking": thinking}
            request["extra_body"] = {**extra_body, "chat_template_kwargs": template_kwargs}
        return request


async def _tell(replies: list[ChatMessage], callback: StreamingCallbackT | None) -> list[ChatMessage]:
    """Pass each reply to a callback, and return the replies.

    In the asynchronous form of the call, the callback may be a coroutine function.
    """
    if callback is None:
        return replies
    for reply in replies:
        # A coroutine function returns a coroutine, which has to be awaited.
        result: object = callback(StreamingChunk(content=reply.text or "", meta=dict(reply.meta)))
        if isawaitable(result):
            await result
    return replies


def _is_address(url: str) -> bool:
    """Check whether a text is the address of a server.

    For example, ``_is_address("http://localhost:8000/v1")`` returns ``True``, and ``_is_address("localhost:8000")``
    returns ``False``.
    """
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
