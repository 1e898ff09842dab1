"""Call a component's chat generator: fit the prompt into the window, count the call, keep the trace on failure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

from haystack.dataclasses import ChatMessage
from haystack.tools import Tool

from prefrag.audit_log import AuditLogFailed, audit, audit_log
from prefrag.components.both_ways import as_blocking, call_component
from prefrag.components.generators.context_window import is_too_long, read_count
from prefrag.components.generators.json_reply import MAX_REPLY_CHARACTERS, repair
from prefrag.components.generators.model_host import RemoteModelRefused, find_host, is_local, refuse_remote_models
from prefrag.components.generators.model_record import ModelRecord
from prefrag.components.generators.reasoning_blocks import FILED_AS_REASONING, has_open_reasoning, strip_reasoning
from prefrag.components.generators.token_budget import OVERHEAD_TOKENS, Observations, estimate_tokens, fit_to_window
from prefrag.components.prompts.render_prompt import render_prompt
from prefrag.components.recording import NotRecorded
from prefrag.components.state.state import RunError, State
from prefrag.components.state.usage import ModelTraffic
from prefrag.errors import BadInput, find_cause
from prefrag.tracing import measure

DEFAULT_CONTEXT_WINDOW = 8_192
_MESSAGE_TOKENS = 8  # the number of tokens that a chat template adds to each message after the first
_FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter")
Reading = TypeVar("Reading")


class ModelLeftOut(BadInput):
    """The error when a run that must not call its model cannot go on without it."""


# Whether the present run has to do without its model.
model_left_out: ContextVar[bool] = ContextVar("model_left_out", default=False)


class ChatGenerator(Protocol):
    """Any Haystack chat generator."""

    def run(self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call the model.

        :param messages: The conversation.
        :param generation_kwargs: Parameters of this call.
        :returns: ``replies``, the messages of the model.
        """


@dataclass(frozen=True)
class PreparedCall:
    """A call that is ready to be made.

    :param messages: The messages for the model.
    :param generation_kwargs: The generation parameters.
    :param state: The state of the run, whose trace says what was cut from the prompt.
    :param tools: The tools that the model may call.
    :param note: What is put behind the last message when the call is repeated.
    :param shorten: Takes this call, the error of a server that refused it as too long, and the state. Prepares a call
        with a shorter prompt or reply, and raises RunError if nothing is left to shorten.
    """

    messages: list[ChatMessage]
    generation_kwargs: dict[str, Any]
    state: State
    tools: Sequence[Tool] = ()
    note: str = ""
    shorten: Callable[[PreparedCall, Exception, State], PreparedCall] | None = field(default=None, repr=False)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments for the chat generator, with tools only if there are any: not all generators take them."""
        *others, last = self.messages
        messages = [*others, ChatMessage.from_user(f"{last.text}{self.note}")] if self.note else self.messages
        arguments = {"messages": messages, "generation_kwargs": self.generation_kwargs}
        return {**arguments, "tools": list(self.tools)} if self.tools else arguments


class ModelCall:
    """Make a component's calls to its model: fit prompts into the window, count calls, keep the trace if a call fails.

    :param caller: The name under which the calls are counted.
    :param chat_generator: The model.
    :param generation_kwargs: OpenAI-style parameters of every call, which override the model's parameters.
    :param max_tokens: The default limit of a reply in tokens. The model and ``generation_kwargs`` can override it.
    """

    def __init__(
        self,
        caller: str,
        chat_generator: ChatGenerator,
        generation_kwargs: dict[str, Any] | None = None,
        max_tokens: int = 512,
    ):
        self.caller = caller
        self.chat_generator = chat_generator
        self._defaults = {"temperature": 0.1, "top_p": 0.9, "max_tokens": max_tokens}
        self._given = generation_kwargs or {}
        # What is learnt of a generator that keeps no record of its model.
        self._own_record = ModelRecord("")

    @property
    def generation_kwargs(self) -> dict[str, Any]:
        """The parameters of every call. The constructor's values override the model's, which override the defaults."""
        # Read the model's parameters at each call: the file of a RecordedChatGenerator may not contain them earlier.
        models = getattr(self.chat_generator, "generation_kwargs", None) or {}
        chosen = {name: models.get(name, value) for name, value in self._defaults.items()}
        if models.get("max_completion_tokens") is not None:
            chosen["max_completion_tokens"] = models["max_completion_tokens"]
        return {**chosen, **self._given}

    @property
    def limit_setting(self) -> str:
        """The name of the setting that limits the length of a reply."""
        return str(getattr(self.chat_generator, "limit_setting", None) or "`max_tokens`")

    @property
    def is_absent(self) -> bool:
        """True if no model is configured in the environment, or if the present run does without it."""
        return model_left_out.get() or bool(getattr(self.chat_generator, "is_absent", False))

    @property
    def is_embedded(self) -> bool:
        """Whether the model runs in this process."""
        return bool(getattr(self.chat_generator, "is_embedded", False))

    @property
    def context_window(self) -> int:
        """The maximum number of tokens of prompt and reply together."""
        return int(getattr(self.chat_generator, "context_window", None) or DEFAULT_CONTEXT_WINDOW)

    def has_same_model_as(self, chat_generator: ChatGenerator) -> bool:
        """Check whether another chat generator calls the same model. If so, both share the model's prompt cache."""
        return bool(_name_model(self.chat_generator) == _name_model(chat_generator))

    def warm_up(self) -> None:
        """Prepare the model. Raises RemoteModelRefused if it is on another machine and remote models are forbidden."""
        refuse_remote_models(self.chat_generator)
        if hasattr(self.chat_generator, "warm_up"):
            self.chat_generator.warm_up()

    def prepare(
        self,
        state: State,
        prompt: str,
        observations: Observations,
        render: Callable[[Observations], Mapping[str, object]],
        *,
        messages: Callable[[str, Observations], list[ChatMessage]] | None = None,
        tools: Sequence[Tool] = (),
        **kwargs: Any,
    ) -> PreparedCall:
        """Fit a prompt, and the conversation that follows it, into the model's window.

        :param state: The state of the run.
        :param prompt: The name of the prompt file.
        :param observations: For each step of the run, the documents that it found, oldest step first.
        :param render: Takes the observations that fit into the window, and returns the values for the template.
        :param messages: Builds the conversation from the rendered prompt; by default the prompt is its only message.
        :param tools: The tools that the model may call.
        :param kwargs: Further generation parameters of this call.
        :returns: The call, ready to be sent.
        :raises RunError: When the prompt does not fit even without documents, or cannot be rendered.
        """
        limit = getattr(self.chat_generator, "reply_limit", None)
        generation_kwargs = limit_reply(with_parameters(self.generation_kwargs, kwargs), limit)
        longest = reply_limit(generation_kwargs)

        def conversation(observations: Observations) -> list[ChatMessage]:
            text = render_prompt(prompt, state.settings.prompts, **render(observations))
            return [ChatMessage.from_user(text)] if messages is None else messages(text, observations)

        def estimate(shown: Sequence[ChatMessage]) -> int:
            return math.ceil(self._record.token_factor * _tokens(shown, tools))

        def room() -> int:
            return self.context_window - min(longest or 512, self.context_window // 2) - OVERHEAD_TOKENS

        def fit(reached: State, most: float, limits_reply: bool) -> PreparedCall:
            try:
                fitted = fit_to_window(conversation, observations, room=int(min(room(), most)), tokens=estimate)
            except ValueError as error:
                raise RunError(f"The {self.caller} cannot call its model: {error}", reached) from error
            if fitted.documents_cut or fitted.documents_shortened:
                reached = reached.with_event(
                    "cut",
                    caller=self.caller,
                    documents_cut=fitted.documents_cut,
                    documents_shortened=fitted.documents_shortened,
                    context_window=self.context_window,
                )
            left = self.context_window - OVERHEAD_TOKENS - estimate(fitted.prompt)
            limited = limit_reply(generation_kwargs, min(longest, left) if limits_reply and longest else None)
            return PreparedCall(fitted.prompt, limited, reached, tools, shorten=shorten)

        def shorten(refused: PreparedCall, error: Exception, reached: State) -> PreparedCall:
            again = fit(reached, math.inf, True)
            if again.messages == refused.messages and again.generation_kwargs != refused.generation_kwargs:
                return again
            estimated, sent = _tokens(refused.messages, tools), reply_limit(refused.generation_kwargs) or 0
            stated = read_count(error, self.context_window, 3 * estimated + sent)
            if stated is not None:
                # Some servers state the prompt alone, some with the reply.
                self._record.learn_tokens(stated - sent if stated - sent >= estimated else stated, estimated)
            most = estimate(refused.messages)
            # If neither the window nor a number tells how much is too much, a quarter is left out.
            return fit(reached, most * (0.95 if most > room() else 0.75), True)

        # A window that is only a guess reserves room, but does not limit a reply: the real one may be much larger.
        return fit(state, math.inf, getattr(self.chat_generator, "knows_window", False))

    async def send_async(self, call: PreparedCall) -> tuple[str, State]:
        """Make the call.

        :param call: See :meth:`prepare`.
        :returns: The reply's text without thinking blocks (empty if cut off), and the state, which counts the call.
        :raises RunError: When the model fails.
        """
        message, state = await self.send_for_message_async(call)
        return _whole_text(message), state

    send = as_blocking(send_async)

    async def send_until_read_async(
        self, call: PreparedCall, read: Callable[[str], Reading | None]
    ) -> tuple[Reading | None, str, State]:
        """Make the call, and repeat it once if the reply cannot be read or was cut off.

        :param call: See :meth:`prepare`.
        :param read: Reads the text of a reply, and returns None if that is not possible.
        :returns: What ``read`` made of the last reply, the text of that reply, and the state, which counts the calls.
        :raises RunError: When the model fails.
        """
        message, state, accepted = await self._send(call)
        value = read(_whole_text(message))
        if value is None:
            why = "was cut off" if is_cut_off(message) else "could not be read"
            note = f"\n\nYour last reply to this {why}. Reply with one short JSON object and nothing else."
            again = state.with_event("unreadable", caller=self.caller, again=True)
            message, state, _ = await self._send(replace(accepted, state=again, note=note))
            value = read(_whole_text(message))
        return value, message.text or "", state

    send_until_read = as_blocking(send_until_read_async)

    async def send_for_message_async(self, call: PreparedCall) -> tuple[ChatMessage, State]:
        """Make the call and return the whole message.

        :param call: See :meth:`prepare`.
        :returns: The reply (its text and tool calls, without reasoning), and the state, which counts the call.
        :raises RunError: When the model fails.
        """
        message, state, _ = await self._send(call)
        return message, state

    send_for_message = as_blocking(send_for_message_async)

    async def _send(self, call: PreparedCall) -> tuple[ChatMessage, State, PreparedCall]:
        """Make the call, and shorten it until the server accepts it. Returns also the call that was accepted."""
        if model_left_out.get():
            # Not every method can do without a model. One that cannot must not call it all the same.
            refusal = ModelLeftOut(f"This method cannot answer without its model: its {self.caller} calls one.")
            raise RunError(str(refusal), call.state) from refusal
        self._audit(call.state)
        with measure(
            "gen_ai.chat", call.state.number, gen_ai__operation__name="chat", prefrag__role=self._role
        ) as chat:
            try:
                output = await call_component(self.chat_generator, call.arguments)
            except Exception as error:
                if call.shorten is None or not is_too_long(error):
                    raise self._failure(error, call.state) from error
                chat.error = type(error).__name__
                try:
                    shorter = replace(call.shorten(call, error, self._count_sent(call.state, {})), note=call.note)
                except RunError:
                    raise self._failure(error, call.state) from error
            else:
                message, state = self._read_output(output, call)
                usage, reason = message.meta.get("usage") or {}, message.meta.get("finish_reason")
                chat.tags["gen_ai.usage.input_tokens"] = read = int(usage.get("prompt_tokens") or 0)
                if read:
                    self._record.learn_tokens(read, _tokens(call.messages, call.tools) + OVERHEAD_TOKENS)
                chat.tags["gen_ai.usage.output_tokens"] = int(usage.get("completion_tokens") or 0)
                # Record only known reasons: a server may send any text.
                chat.tags["gen_ai.response.finish_reasons"] = [reason if reason in _FINISH_REASONS else "other"]
                return message, state, call
            finally:
                chat.tags |= self._describe()
        return await self._send(shorter)

    @property
    def _record(self) -> ModelRecord:
        own = getattr(self.chat_generator, "record", None)
        return own if isinstance(own, ModelRecord) else self._own_record

    def _describe(self) -> dict[str, str]:
        server = getattr(self.chat_generator, "server", None)
        model = getattr(server, "model", None) or type(self.chat_generator).__name__
        return {"gen_ai.request.model": model, "server.address": self._host}

    def _audit(self, state: State) -> None:
        """Write a call to a model on another machine into the audit log, if there is one."""
        if audit_log() is None:
            return
        host = find_host(self.chat_generator)
        if is_local(host):
            return
        try:
            audit("model_call", role=self._role, caller=self.caller, host=host)
        except AuditLogFailed as error:
            raise RunError(str(error), state.with_event("error", caller=self.caller, message=str(error))) from error

    @property
    def _role(self) -> str:
        return "judge" if self.caller == "judge" else "llm"

    @cached_property
    def _host(self) -> str:
        # Read this as late as possible, after the first call: some generators do not know their server earlier.
        return find_host(self.chat_generator)

    def _count_sent(self, state: State, meta: Mapping[str, Any]) -> State:
        # Failed calls count too: a prompt without a reply has still been sent.
        host = self._host
        usage = meta.get("usage") or {}
        read = int(usage.get("prompt_tokens") or 0)
        written = int(usage.get("completion_tokens") or 0)
        return state.with_traffic(ModelTraffic(host, not is_local(host), self._role, 1, read, written))

    def _failure(self, error: Exception, state: State) -> RunError:
        state = self._count_sent(state, {}).with_event("error", caller=self.caller, message=str(error))
        return RunError(f"The {self.caller}'s model failed: {error}", state)

    def _read_output(self, output: dict[str, Any], call: PreparedCall) -> tuple[ChatMessage, State]:
        replies = output.get("replies") or []
        if not replies:
            raise self._failure(ValueError("it sent no reply"), call.state)
        reply = replies[0]
        text = repair((reply.text or "")[:MAX_REPLY_CHARACTERS])
        meta = dict(reply.meta)
        if has_open_reasoning(text):
            meta["finish_reason"] = "length"
        text = strip_reasoning(text)
        # The reply is cut here too, because some servers refuse or ignore `stop`.
        ends = [text.find(stop) for stop in _stops(call.generation_kwargs) if stop in text]
        if ends:
            text = text[: min(ends)]
            meta["finish_reason"] = "stop"
        state = self._count_sent(call.state, reply.meta).with_call(self.caller, reply.meta)
        if meta.get("finish_reason") == "length":
            meta["reply_limit"] = limit = reply_limit(call.generation_kwargs)
            state = state.with_event("cut_off", caller=self.caller, limit=limit, setting=self.limit_setting)
        if meta.get("filed_as_reasoning"):
            state = state.with_event("filed_as_reasoning", caller=self.caller, message=FILED_AS_REASONING)
        return ChatMessage.from_assistant(text, tool_calls=reply.tool_calls, meta=meta), state


def may_go_on(error: RunError, state: State) -> bool:
    """Check whether a run can go on without the model that failed: not if it may not be called, or was not recorded."""
    is_final = any(find_cause(error, kind) for kind in (AuditLogFailed, RemoteModelRefused, NotRecorded))
    return state.settings.prompts == "product" and not is_final


def _name_model(chat_generator: object) -> Any:
    named = getattr(chat_generator, "served_by", None)
    return named or (chat_generator.to_dict() if hasattr(chat_generator, "to_dict") else chat_generator)


def is_cut_off(message: ChatMessage) -> bool:
    """Check whether a reply was cut off, at its limit of tokens or within its thinking."""
    return message.meta.get("finish_reason") == "length"


def _whole_text(message: ChatMessage) -> str:
    return "" if is_cut_off(message) else message.text or ""


def reply_limit(parameters: dict[str, Any]) -> int | None:
    """Read the maximum number of tokens of a reply from generation parameters; None if they set no maximum."""
    limit = parameters.get("max_completion_tokens") or parameters.get("max_tokens")
    return int(limit) if limit else None


def limit_reply(parameters: Mapping[str, object], limit: int | None) -> dict[str, Any]:
    """Set the maximum number of tokens of a reply. If ``limit`` is None, the present maximum stays."""
    # This parameter has two names. Keep only one of them, because servers refuse a call that has both.
    name = "max_completion_tokens" if parameters.get("max_completion_tokens") is not None else "max_tokens"
    others = {key: value for key, value in parameters.items() if key not in ("max_tokens", "max_completion_tokens")}
    if limit is not None:
        return {**others, name: limit}
    return {**others, name: parameters[name]} if name in parameters else others


def with_parameters(parameters: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """Merge generation parameters. ``others`` take precedence, except that ``stop`` and ``extra_body`` are combined."""
    joined = {**parameters, **others}
    stops = dict.fromkeys([*_stops(parameters), *_stops(others)])
    if stops:
        joined["stop"] = list(stops)
    if parameters.get("extra_body") and others.get("extra_body"):
        joined["extra_body"] = {**parameters["extra_body"], **others["extra_body"]}
    return joined


def _stops(parameters: dict[str, Any]) -> list[str]:
    stop = parameters.get("stop") or []
    return [stop] if isinstance(stop, str) else list(stop)


def _tokens(messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()) -> int:
    texts = [*map(_write_out, messages), *(json.dumps(tool.tool_spec) for tool in tools)]
    return sum(map(estimate_tokens, texts)) + _MESSAGE_TOKENS * (len(messages) - 1)


def _write_out(message: ChatMessage) -> str:
    calls = [
        f"{call.id} {call.tool_name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in message.tool_calls
    ]
    results = [f"{result.origin.id} {result.result}" for result in message.tool_call_results]
    return "\n".join([*message.texts, *calls, *results])
