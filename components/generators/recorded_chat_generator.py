"""Record the replies of a model in a file, or replay them.

A recording makes measurements repeatable. A pipeline runs once with the model. Later runs read the replies from the
file, without the model and with the same results.
"""

import copy
from collections.abc import Mapping
from typing import Any

from haystack import component
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool

from prefrag.components.block import Block
from prefrag.components.both_ways import as_blocking, call_component
from prefrag.components.generators.model_call import ChatGenerator
from prefrag.components.generators.model_host import THIS_MACHINE, find_host
from prefrag.components.recording import Entry, Recording


@component
class RecordedChatGenerator(Block):
    """Record the replies of a chat generator, so that a pipeline can run again without the model.

    A reply is looked up by the name of the model and by the messages, parameters and tools of the call. Properties of
    the model, such as its context window, are recorded too. The prompts of a replay must be cut in the same way as
    before, and this depends on these properties.

    Usage example:
    ```python
    from haystack.dataclasses import ChatMessage
    from prefrag.components.generators.chat_model import ChatModel
    from prefrag.components.generators.recorded_chat_generator import RecordedChatGenerator
    from prefrag.components.recording import Recording

    recorded = RecordedChatGenerator(Recording("kept.jsonl"), "llm", ChatModel())
    recorded.warm_up()
    recorded.run([ChatMessage.from_user("What is the capital of France?")])

    replayed = RecordedChatGenerator(Recording("kept.jsonl", "replay"), "llm")
    print(replayed.run([ChatMessage.from_user("What is the capital of France?")])["replies"][0].text)
    ```
    """

    def __init__(self, recording: Recording, name: str, chat_generator: ChatGenerator | None = None):
        """Check that there is a model to record or a recording to replay.

        :param recording: The recording, which reads and writes the file.
        :param name: The name of the model in the recording. Models with different settings need different names.
        :param chat_generator: The model. None is allowed for a replay.
        :raises ValueError: When there is no model, and the recording is not replayed.
        """
        if chat_generator is None and recording.mode != "replay":
            raise ValueError(f"A `chat_generator` is needed to {recording.mode} replies of '{name}': give one.")
        self.recording = recording
        self.name = name
        self.chat_generator = chat_generator

    @property
    def is_absent(self) -> bool:
        """True if no model is configured in the environment. A replay needs no model, so this is then false."""
        return self.recording.mode != "replay" and bool(getattr(self.chat_generator, "is_absent", False))

    @property
    def is_embedded(self) -> bool:
        """Whether the model runs in this process."""
        return bool(self._facts()["is_embedded"])

    @property
    def is_named_for_judging(self) -> bool:
        """Whether the environment variables of the judge set the model."""
        return bool(self._facts().get("is_named_for_judging"))

    @property
    def served_by(self) -> str | None:
        """The name of the model and its server. None if there is no server, or if an old recording lacks this."""
        return self._facts().get("served_by")

    @property
    def model_host(self) -> str:
        """The host on which the model runs. In a replay, this is this machine."""
        if self.chat_generator is None or self.recording.mode == "replay":
            return THIS_MACHINE
        return find_host(self.chat_generator)

    @property
    def context_window(self) -> int | None:
        """The maximum number of tokens of prompt and reply together. None if the model does not report it."""
        window: int | None = self._facts()["context_window"]
        return window

    @property
    def generation_kwargs(self) -> dict[str, object]:
        """The parameters of the model by their OpenAI names. Empty if an old recording lacks them."""
        return dict(self._facts().get("generation_kwargs") or {})

    @property
    def reply_limit(self) -> int | None:
        """The maximum number of tokens of a reply that the environment sets. None if it sets none."""
        return self._facts().get("reply_limit")

    @property
    def reply_format(self) -> str | None:
        """The reply format that suits the model. None if the model does not report it, or an old recording lacks it."""
        return self._facts().get("reply_format")

    @property
    def limit_setting(self) -> str | None:
        """The name of the setting that limits the length of a reply. None if the model does not report it."""
        return getattr(self.chat_generator, "limit_setting", None)

    def warm_up(self) -> None:
        """Prepare the model, unless replies are replayed.

        :raises ValueError: When the recording has replies of another model.
        """
        warm_up = getattr(self.chat_generator, "warm_up", None)
        if warm_up is not None and self.recording.mode != "replay":
            warm_up()
        self._facts()

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self,
        messages: list[ChatMessage],
        generation_kwargs: dict[str, Any] | None = None,
        tools: list[Tool] | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """Replay a reply, or call the model and record its reply.

        :param messages: The conversation.
        :param generation_kwargs: Parameters of this call, under their OpenAI names.
        :param tools: The tools that the model may call.
        :returns: A dictionary with the following key:

            - ``replies``: The replies of the model, as it sent them.
        :raises NotRecorded: When the replayed recording does not contain the call.
        :raises RuntimeError: When the call failed while it was recorded.
        """
        request = _request(messages, generation_kwargs, tools)
        entry = self.recording.play("reply", self.name, *request)
        # There is an entry in a replay, or if the same call was recorded before.
        if entry is not None:
            return _play_entry(entry)

        try:
            output = await call_component(self._model(), _arguments(messages, generation_kwargs, tools))
        except Exception as error:
            self.recording.record(Entry(error=str(error) or type(error).__name__), "reply", self.name, *request)
            raise

        replies = tuple(output.get("replies") or ())
        if not replies:
            return output
        recorded_entry = self.recording.record(Entry(replies=replies), "reply", self.name, *request)
        return _play_entry(recorded_entry)

    run = as_blocking(run_async)

    def _model(self) -> ChatGenerator:
        """Return the model.

        :raises ValueError: When there is none.
        """
        if self.chat_generator is None:
            raise ValueError(f"There is no model '{self.name}' to call: give a `chat_generator`.")
        return self.chat_generator

    def _facts(self) -> dict[str, Any]:
        """Return the properties of the model.

        In a replay, they are read from the recording. Otherwise, the model is asked, and the properties are recorded.

        :raises ValueError: When the recording has replies of a model with other properties.
        """
        entry = self.recording.play("model", self.name)
        recorded = None if entry is None else entry.facts
        if recorded is not None and self.recording.mode == "replay":
            return dict(recorded)

        model = self._model()
        facts = _read_facts(model)
        # The format of the model may change after its trial. But a recording has one format from beginning to end.
        reply_format = getattr(model, "reply_format", None) if recorded is None else recorded.get("reply_format")
        if reply_format:
            facts["reply_format"] = reply_format

        if recorded is not None:
            # An old recording may lack the server of the model, which is then not compared.
            recorded_with_server = {"served_by": facts.get("served_by"), **recorded}
            facts_with_server = {"served_by": None, **facts}
            if recorded_with_server != facts_with_server:
                raise ValueError(
                    f"The recording {self.recording.path} holds replies of another model "
                    f"({_as_text(recorded)}; now {_as_text(facts)}): record to another file."
                )
        self.recording.record(Entry(facts=facts), "model", self.name)
        return facts


def _read_facts(model: ChatGenerator) -> dict[str, Any]:
    """Ask a model for its properties except its reply format. Most are left out if the model does not have them."""
    facts: dict[str, Any] = {
        "is_embedded": bool(getattr(model, "is_embedded", False)),
        "context_window": getattr(model, "context_window", None),
    }
    if getattr(model, "is_named_for_judging", False):
        facts["is_named_for_judging"] = True
    served_by = getattr(model, "served_by", None)
    if served_by:
        facts["served_by"] = served_by
    generation_kwargs = getattr(model, "generation_kwargs", None)
    if generation_kwargs:
        facts["generation_kwargs"] = dict(generation_kwargs)
    limit = getattr(model, "reply_limit", None)
    if limit is not None:
        facts["reply_limit"] = limit
    return facts


def _play_entry(entry: Entry) -> dict[str, list[ChatMessage]]:
    """Return the replies of a recorded call.

    :raises RuntimeError: When the recorded call failed.
    """
    if entry.error is not None:
        raise RuntimeError(entry.error)
    # The replies are copied, because the caller may change the metadata of a message.
    return {"replies": copy.deepcopy(list(entry.replies))}


def _arguments(
    messages: list[ChatMessage], generation_kwargs: Mapping[str, object] | None, tools: list[Tool] | None
) -> dict[str, object]:
    """Build the arguments for the model. Without tools, ``tools`` is left out, because some models do not take it."""
    arguments: dict[str, object] = {"messages": messages, "generation_kwargs": generation_kwargs}
    if tools:
        arguments["tools"] = tools
    return arguments


def _request(
    messages: list[ChatMessage], generation_kwargs: Mapping[str, object] | None, tools: list[Tool] | None
) -> list[object]:
    """List the values that identify a call. The first is the text of the last message.

    The ids of tool calls are left out, because they are random.
    """
    conversation = []
    for message in messages:
        calls = [[call.tool_name, call.arguments] for call in message.tool_calls]
        results = [str(result.result) for result in message.tool_call_results]
        conversation.append([message.role.value, message.texts, calls, results])
    last_text = ""
    if messages and messages[-1].texts:
        last_text = messages[-1].texts[0]
    specifications = [tool.tool_spec for tool in tools or ()]
    return [last_text, conversation, generation_kwargs or {}, specifications]


def _as_text(facts: Mapping[str, object]) -> str:
    """Write properties as a text. For example, ``_as_text({"a": 1, "b": 2})`` returns ``"a 1, b 2"``."""
    return ", ".join(f"{name} {value}" for name, value in facts.items())
