"""Call the chat generator of a component.

Each component that needs a model (the Reasoner, the judges and others) has a :class:`ModelCall`. A call has two parts:

1. :meth:`ModelCall.prepare` renders the prompt and fits it into the context window of the model.
2. :meth:`ModelCall.send` or one of its relatives sends the call, and counts it in the state of the run.

If the model fails, the error contains the state so far, so that the trace of the run is not lost.
"""

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

# The context window in tokens that is assumed for a chat generator that does not say how large its window is.
DEFAULT_CONTEXT_WINDOW = 8_192
# The number of tokens that a chat template adds to each message after the first.
_MESSAGE_TOKENS = 8
# The reasons for the end of a reply that OpenAI's interface defines.
_FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter")
# What a caller reads from the text of a reply, such as a verdict.
Reading = TypeVar("Reading")


class ModelLeftOut(BadInput):
    """The error when a run must not call its model, but cannot go on without it."""


# Whether the present run must not call its model.
model_left_out: ContextVar[bool] = ContextVar("model_left_out", default=False)


class ChatGenerator(Protocol):
    """Any Haystack chat generator."""

    def run(
        self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None
    ) -> dict[str, list[ChatMessage]]:
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
    :param state: The state of the run. Its trace says what was cut from the prompt.
    :param tools: The tools that the model may call.
    :param note: A text that is added to the last message when the call is repeated.
    :param shorten: A function that prepares a call with a shorter prompt or reply, or None. It is called when a server
        has refused this call as too long. It takes this call, the error of the server, and the state. It raises
        RunError if nothing is left to shorten.
    """

    messages: list[ChatMessage]
    generation_kwargs: dict[str, object]
    state: State
    tools: Sequence[Tool] = ()
    note: str = ""
    shorten: Callable[[PreparedCall, Exception, State], PreparedCall] | None = field(default=None, repr=False)

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments for the ``run`` method of the chat generator.

        ``tools`` is left out if there are none, because not all generators have this parameter.
        """
        messages = self.messages
        if self.note:
            *others, last = self.messages
            messages = [*others, ChatMessage.from_user(f"{last.text}{self.note}")]
        arguments: dict[str, object] = {"messages": messages, "generation_kwargs": self.generation_kwargs}
        if self.tools:
            arguments["tools"] = list(self.tools)
        return arguments


class ModelCall:
    """Make the calls of a component to its model.

    Prompts are fitted into the context window of the model, and calls are counted. If a call fails, the trace of the
    run is not lost.

    :param caller: The name under which the calls are counted, such as ``judge``.
    :param chat_generator: The model.
    :param generation_kwargs: Parameters of every call under their OpenAI names. They override the parameters of the
        model.
    :param max_tokens: The default limit of a reply in tokens. The parameters of the model and ``generation_kwargs`` can
        override it.
    """

    def __init__(
        self,
        caller: str,
        chat_generator: ChatGenerator,
        generation_kwargs: dict[str, object] | None = None,
        max_tokens: int = 512,
    ):
        self.caller = caller
        self.chat_generator = chat_generator
        self._defaults = {"temperature": 0.1, "top_p": 0.9, "max_tokens": max_tokens}
        self._own_kwargs = generation_kwargs or {}
        # The record of the model, if the chat generator has no record of its own.
        self._own_record = ModelRecord("")

    @property
    def generation_kwargs(self) -> dict[str, object]:
        """The parameters of every call.

        The values of the constructor override those of the model, which override the defaults.
        """
        # The parameters of the model are read at each call, because a RecordedChatGenerator may not know them earlier.
        model_kwargs = getattr(self.chat_generator, "generation_kwargs", None) or {}
        chosen = {name: model_kwargs.get(name, value) for name, value in self._defaults.items()}
        if model_kwargs.get("max_completion_tokens") is not None:
            chosen["max_completion_tokens"] = model_kwargs["max_completion_tokens"]
        return {**chosen, **self._own_kwargs}

    @property
    def limit_setting(self) -> str:
        """The name of the setting that limits the length of a reply, for messages to the user."""
        return str(getattr(self.chat_generator, "limit_setting", None) or "`max_tokens`")

    @property
    def is_absent(self) -> bool:
        """True if no model is configured in the environment, or if the present run must not call it."""
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
        """Check whether another chat generator calls the same model.

        If it does, both share the cache in which the server stores the prompts that the model has read.

        :param chat_generator: The other chat generator.
        :returns: Whether both call the same model.
        """
        return bool(_name_model(self.chat_generator) == _name_model(chat_generator))

    def warm_up(self) -> None:
        """Prepare the model.

        :raises RemoteModelRefused: When the model is on another machine and remote models are forbidden.
        """
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
        **kwargs: object,
    ) -> PreparedCall:
        """Fit a prompt, and the conversation that follows it, into the context window of the model.

        :param state: The state of the run.
        :param prompt: The name of the prompt file.
        :param observations: For each step of the run, the documents that it found, oldest step first.
        :param render: Takes the observations that fit into the window, and returns the values for the template.
        :param messages: Builds the conversation from the rendered prompt and the observations. If None, the prompt is
            the only message.
        :param tools: The tools that the model may call.
        :param kwargs: Further generation parameters of this call.
        :returns: The call, ready to be sent.
        :raises RunError: When the prompt does not fit even without documents, or cannot be rendered.
        """
        limit = getattr(self.chat_generator, "reply_limit", None)
        merged_kwargs = with_parameters(self.generation_kwargs, kwargs)
        generation_kwargs = limit_reply(merged_kwargs, limit)

        def conversation(observations: Observations) -> list[ChatMessage]:
            """Build the messages from the documents that fit."""
            text = render_prompt(prompt, state.settings.prompts, **render(observations))
            if messages is None:
                return [ChatMessage.from_user(text)]
            return messages(text, observations)

        fitting = _Fitting(self, conversation, observations, tools, generation_kwargs)
        # If the window is only a guess, room for the reply is reserved, but the reply is not limited to this room. The
        # real window may be much larger.
        knows_window = getattr(self.chat_generator, "knows_window", False)
        return fitting.fit(state, most=math.inf, limits_reply=knows_window)

    async def send_async(self, call: PreparedCall) -> tuple[str, State]:
        """Make the call, and return the text of the reply.

        :param call: The call that :meth:`prepare` has returned.
        :returns: The text of the reply without thinking blocks, and the state, in which the call is counted. The text
            is empty if the reply was cut off.
        :raises RunError: When the model fails.
        """
        message, state = await self.send_for_message_async(call)
        return _whole_text(message), state

    send = as_blocking(send_async)

    async def send_until_read_async(
        self, call: PreparedCall, read: Callable[[str], Reading | None]
    ) -> tuple[Reading | None, str, State]:
        """Make the call, and repeat it once if the reply cannot be read or was cut off.

        :param call: The call that :meth:`prepare` has returned.
        :param read: Reads the text of a reply, and returns None if that is not possible.
        :returns: The result of ``read`` for the last reply, the text of this reply, and the state, in which the calls
            are counted.
        :raises RunError: When the model fails.
        """
        message, state, accepted_call = await self._send(call)
        value = read(_whole_text(message))
        if value is None:
            problem = "was cut off" if is_cut_off(message) else "could not be read"
            note = f"\n\nYour last reply to this {problem}. Reply with one short JSON object and nothing else."
            state = state.with_event("unreadable", caller=self.caller, again=True)
            message, state, _ = await self._send(replace(accepted_call, state=state, note=note))
            value = read(_whole_text(message))
        return value, message.text or "", state

    send_until_read = as_blocking(send_until_read_async)

    async def send_for_message_async(self, call: PreparedCall) -> tuple[ChatMessage, State]:
        """Make the call, and return the whole message.

        :param call: The call that :meth:`prepare` has returned.
        :returns: The reply with its text and tool calls, but without reasoning. The second part is the state, in which
            the call is counted.
        :raises RunError: When the model fails.
        """
        message, state, _ = await self._send(call)
        return message, state

    send_for_message = as_blocking(send_for_message_async)

    async def _send(self, call: PreparedCall) -> tuple[ChatMessage, State, PreparedCall]:
        """Make the call, and shorten it until the server accepts it.

        :returns: The reply, the state, and the call that the server has accepted.
        """
        if model_left_out.get():
            # This run must not call its model. Some methods can answer without a model, but this one cannot.
            refusal = ModelLeftOut(f"This method cannot answer without its model: its {self.caller} calls one.")
            raise RunError(str(refusal), call.state) from refusal
        self._audit(call.state)
        # `chat` is the measurement of the call. Its tags are set once the reply is there.
        with measure(
            "gen_ai.chat", call.state.number, gen_ai__operation__name="chat", prefrag__role=self._role
        ) as chat:
            try:
                output = await call_component(self.chat_generator, call.arguments)
            except Exception as error:
                if call.shorten is None or not is_too_long(error):
                    raise self._failure(error, call.state) from error
                chat.error = type(error).__name__
                # The refused call is counted too. If the call cannot be shortened, the error of the server is raised.
                try:
                    shortened_call = call.shorten(call, error, self._count_sent(call.state, {}))
                except RunError:
                    raise self._failure(error, call.state) from error
            else:
                message, state = self._read_output(output, call)
                tags = _describe_reply(message)
                chat.tags |= tags
                prompt_tokens = tags["gen_ai.usage.input_tokens"]
                if prompt_tokens:
                    estimated = _tokens(call.messages, call.tools) + OVERHEAD_TOKENS
                    self.record.learn_tokens(prompt_tokens, estimated)
                return message, state, call
            finally:
                chat.tags |= self._describe()
        return await self._send(replace(shortened_call, note=call.note))

    @property
    def record(self) -> ModelRecord:
        """The record of the model: that of the chat generator, or else that of this object."""
        record = getattr(self.chat_generator, "record", None)
        return record if isinstance(record, ModelRecord) else self._own_record

    def _describe(self) -> dict[str, str]:
        """Name the model and its host, as tags of the measured call."""
        server = getattr(self.chat_generator, "server", None)
        model = getattr(server, "model", None) or type(self.chat_generator).__name__
        return {"gen_ai.request.model": model, "server.address": self._host}

    def _audit(self, state: State) -> None:
        """Write a line about the call into the audit log, if there is such a log and the model is on another machine.

        :raises RunError: When the line cannot be written.
        """
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
        """The role of the model in the audit log and in the traffic: ``judge`` or ``llm``."""
        return "judge" if self.caller == "judge" else "llm"

    @cached_property
    def _host(self) -> str:
        """The host to which the chat generator sends its prompts."""
        # This is read as late as possible, after the first call, because some generators do not know their server
        # earlier.
        return find_host(self.chat_generator)

    def _count_sent(self, state: State, meta: Mapping[str, Any]) -> State:
        """Count one call in the state, with the tokens that the metadata of its reply names.

        Failed calls count too, because their prompt has been sent.
        """
        host = self._host
        usage = meta.get("usage") or {}
        prompt_tokens = int(usage.get("prompt_tokens") or 0)
        completion_tokens = int(usage.get("completion_tokens") or 0)
        traffic = ModelTraffic(
            host=host,
            remote=not is_local(host),
            role=self._role,
            calls=1,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
        )
        return state.with_traffic(traffic)

    def _failure(self, error: Exception, state: State) -> RunError:
        """Make the error for a failed call. Its state counts the call and has the reason in its trace."""
        state = self._count_sent(state, {}).with_event("error", caller=self.caller, message=str(error))
        return RunError(f"The {self.caller}'s model failed: {error}", state)

    def _read_output(self, output: Mapping[str, list[ChatMessage]], call: PreparedCall) -> tuple[ChatMessage, State]:
        """Read the first reply of a call, and record in the state what happened.

        The text of the reply loses its thinking and what follows a stop sequence.

        :raises RunError: When there is no reply.
        """
        replies = output.get("replies") or []
        if not replies:
            raise self._failure(ValueError("it sent no reply"), call.state)

        reply = replies[0]
        text = repair((reply.text or "")[:MAX_REPLY_CHARACTERS])
        meta = dict(reply.meta)
        if has_open_reasoning(text):
            meta["finish_reason"] = "length"
        text = strip_reasoning(text)

        # The reply is cut at a stop sequence here too, because some servers refuse or ignore `stop`.
        ends = [text.find(stop) for stop in _stops(call.generation_kwargs) if stop in text]
        if ends:
            text = text[: min(ends)]
            meta["finish_reason"] = "stop"

        state = self._count_sent(call.state, reply.meta).with_call(self.caller, reply.meta)
        limit = reply_limit(call.generation_kwargs)
        # A reply of one token is not cut off: the call asks only for the probabilities of its first word.
        if meta.get("finish_reason") == "length" and limit != 1:
            meta["reply_limit"] = limit
            state = state.with_event("cut_off", caller=self.caller, limit=limit, setting=self.limit_setting)
        if meta.get("filed_as_reasoning"):
            state = state.with_event("filed_as_reasoning", caller=self.caller, message=FILED_AS_REASONING)
        return ChatMessage.from_assistant(text, tool_calls=reply.tool_calls, meta=meta), state


class _Fitting:
    """Fit a prompt into the context window of a model, and make it shorter if the server refuses it.

    :param call: What calls the model.
    :param conversation: Builds the messages from the documents that fit.
    :param observations: For each step of the run, the documents that it found, oldest step first.
    :param tools: The tools that the model may call.
    :param generation_kwargs: The generation parameters.
    """

    def __init__(
        self,
        call: ModelCall,
        conversation: Callable[[Observations], list[ChatMessage]],
        observations: Observations,
        tools: Sequence[Tool],
        generation_kwargs: dict[str, object],
    ):
        self._call = call
        self._conversation = conversation
        self._observations = observations
        self._tools = tools
        self._generation_kwargs = generation_kwargs
        self._max_reply_tokens = reply_limit(generation_kwargs)

    def fit(self, run_state: State, most: float, limits_reply: bool) -> PreparedCall:
        """Prepare a call whose prompt has at most ``most`` tokens.

        :param run_state: The state so far.
        :param most: The maximum number of tokens.
        :param limits_reply: Whether the reply is limited to the rest of the window.
        :returns: The call, ready to be sent.
        :raises RunError: When the prompt does not fit even without documents, or cannot be rendered.
        """
        call = self._call
        try:
            room = int(min(self._room_for_prompt(), most))
            fitted = fit_to_window(self._conversation, self._observations, room=room, tokens=self._estimate)
        except ValueError as error:
            raise RunError(f"The {call.caller} cannot call its model: {error}", run_state) from error

        if fitted.documents_cut or fitted.documents_shortened:
            run_state = run_state.with_event(
                "cut",
                caller=call.caller,
                documents_cut=fitted.documents_cut,
                documents_shortened=fitted.documents_shortened,
                context_window=call.context_window,
            )

        rest_of_window = call.context_window - OVERHEAD_TOKENS - self._estimate(fitted.prompt)
        new_limit = None
        if limits_reply and self._max_reply_tokens:
            new_limit = min(self._max_reply_tokens, rest_of_window)
        limited_kwargs = limit_reply(self._generation_kwargs, new_limit)
        return PreparedCall(fitted.prompt, limited_kwargs, run_state, self._tools, shorten=self._shorten)

    def _shorten(self, refused: PreparedCall, error: Exception, run_state: State) -> PreparedCall:
        """Prepare the call again, after the server has refused it as too long."""
        # If the limit of the reply alone becomes smaller, this may be enough.
        refitted = self.fit(run_state, most=math.inf, limits_reply=True)
        if refitted.messages == refused.messages and refitted.generation_kwargs != refused.generation_kwargs:
            return refitted

        self._learn_tokens(refused, error)
        prompt_tokens = self._estimate(refused.messages)
        # If the prompt is now known to be too long, `fit` cuts it to the window, and is asked for only a little less
        # than the refused prompt. If nothing tells how long a prompt may be, a quarter is left out.
        is_known_to_be_too_long = prompt_tokens > self._room_for_prompt()
        share = 0.95 if is_known_to_be_too_long else 0.75
        return self.fit(run_state, most=prompt_tokens * share, limits_reply=True)

    def _learn_tokens(self, refused: PreparedCall, error: Exception) -> None:
        """Learn from the message of an error how many tokens the server has counted, if it says that."""
        estimated = _tokens(refused.messages, self._tools)
        reply_tokens = reply_limit(refused.generation_kwargs) or 0
        # The estimate of the prompt is at most three times too low.
        counted = read_count(error, self._call.context_window, most=3 * estimated + reply_tokens)
        if counted is not None:
            # Some servers count the prompt alone, and others count the prompt and the maximum reply together.
            without_reply = counted - reply_tokens
            counted_in_prompt = without_reply if without_reply >= estimated else counted
            self._call.record.learn_tokens(counted_in_prompt, estimated)

    def _estimate(self, shown: Sequence[ChatMessage]) -> int:
        """Estimate the tokens of messages, corrected by what the server has counted before."""
        return math.ceil(self._call.record.token_factor * _tokens(shown, self._tools))

    def _room_for_prompt(self) -> int:
        """Return the maximum number of tokens of a prompt. At most half of the window is reserved for the reply."""
        window = self._call.context_window
        reserved_for_reply = min(self._max_reply_tokens or 512, window // 2)
        return window - reserved_for_reply - OVERHEAD_TOKENS


def may_go_on(error: RunError, state: State) -> bool:
    """Check whether a run can go on without the model that failed.

    It cannot go on if the model may not be called, if the call could not be written into the audit log, or if a
    replayed recording does not contain the call. It goes on only with the prompts ``product``, because other prompts
    are for measurements.

    :param error: The error of the failed call.
    :param state: The state of the run.
    :returns: Whether the run can go on.
    """
    is_final = any(find_cause(error, kind) for kind in (AuditLogFailed, RemoteModelRefused, NotRecorded))
    return state.settings.prompts == "product" and not is_final


def _name_model(chat_generator: object) -> object:
    """Return a value that is equal for two chat generators if they call the same model."""
    served_by = getattr(chat_generator, "served_by", None)
    if served_by:
        return served_by
    if hasattr(chat_generator, "to_dict"):
        return chat_generator.to_dict()
    return chat_generator


def is_cut_off(message: ChatMessage) -> bool:
    """Check whether a reply was cut off, at its limit of tokens or within its thinking.

    :param message: The reply.
    :returns: Whether the finish reason in its metadata is ``length``.
    """
    return message.meta.get("finish_reason") == "length"


def _describe_reply(message: ChatMessage) -> dict[str, Any]:
    """Return the tokens of a call and the reason for the end of its reply, as tags of the measured call."""
    usage = message.meta.get("usage") or {}
    # Only known reasons are recorded, because a server may send any text.
    reason = message.meta.get("finish_reason")
    return {
        "gen_ai.usage.input_tokens": int(usage.get("prompt_tokens") or 0),
        "gen_ai.usage.output_tokens": int(usage.get("completion_tokens") or 0),
        "gen_ai.response.finish_reasons": [reason if reason in _FINISH_REASONS else "other"],
    }


def _whole_text(message: ChatMessage) -> str:
    """Return the text of a reply, or an empty text if the reply was cut off."""
    if is_cut_off(message):
        return ""
    return message.text or ""


def reply_limit(parameters: Mapping[str, Any]) -> int | None:
    """Read the maximum number of tokens of a reply from generation parameters.

    For example, ``reply_limit({"max_tokens": 20})`` returns ``20``.

    :param parameters: The parameters under their OpenAI names.
    :returns: The maximum, or None if the parameters set no maximum.
    """
    limit = parameters.get("max_completion_tokens") or parameters.get("max_tokens")
    return int(limit) if limit else None


def limit_reply(parameters: Mapping[str, object], limit: int | None) -> dict[str, object]:
    """Set the maximum number of tokens of a reply.

    For example, ``limit_reply({"max_tokens": 20}, 5)`` returns ``{"max_tokens": 5}``.

    :param parameters: The parameters under their OpenAI names. They are not changed.
    :param limit: The maximum. If None, the present maximum stays.
    :returns: The parameters with the maximum.
    """
    # This parameter has two names. Only one of them is written, because servers refuse a call that has both.
    name = "max_completion_tokens" if parameters.get("max_completion_tokens") is not None else "max_tokens"
    others = {key: value for key, value in parameters.items() if key not in ("max_tokens", "max_completion_tokens")}
    if limit is not None:
        return {**others, name: limit}
    if name in parameters:
        return {**others, name: parameters[name]}
    return others


def with_parameters(parameters: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, object]:
    """Merge generation parameters.

    The values of ``stop`` and ``extra_body`` are combined. For all other names, the second value is taken. For example,
    ``with_parameters({"stop": "a", "n": 1}, {"stop": "b", "n": 2})`` returns ``{"stop": ["a", "b"], "n": 2}``.

    :param parameters: The parameters under their OpenAI names.
    :param others: The parameters that take precedence.
    :returns: The merged parameters.
    """
    joined = {**parameters, **others}
    stops = dict.fromkeys([*_stops(parameters), *_stops(others)])
    if stops:
        joined["stop"] = list(stops)
    if parameters.get("extra_body") and others.get("extra_body"):
        joined["extra_body"] = {**parameters["extra_body"], **others["extra_body"]}
    return joined


def _stops(parameters: Mapping[str, Any]) -> list[str]:
    """List the stop sequences of a call. For example, ``_stops({"stop": "a"})`` returns ``["a"]``."""
    stop = parameters.get("stop") or []
    return [stop] if isinstance(stop, str) else list(stop)


def _tokens(messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()) -> int:
    """Estimate the number of tokens of messages and tools."""
    texts = [_write_out(message) for message in messages]
    texts += [json.dumps(tool.tool_spec) for tool in tools]
    messages_after_first = len(messages) - 1
    return sum(map(estimate_tokens, texts)) + _MESSAGE_TOKENS * messages_after_first


def _write_out(message: ChatMessage) -> str:
    """Write the texts, tool calls and tool results of a message as one text, to estimate its tokens."""
    calls = []
    for call in message.tool_calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        calls.append(f"{call.id} {call.tool_name} {arguments}")
    results = [f"{result.origin.id} {result.result}" for result in message.tool_call_results]
    return "\n".join([*message.texts, *calls, *results])
