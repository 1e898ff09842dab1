"""What a reply format is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from haystack import tools as haystack_tools
from haystack.dataclasses import ChatMessage

from prefrag.components.agent.reply_formats.fields import Tool
from prefrag.components.state.state import State, Step


class Turn(NamedTuple):
    """One step as it goes back to the model.

    :param step: What the model replied.
    :param observation: What it was shown after that; None where it was shown nothing.
    """

    step: Step
    observation: str | None


class ReplyFormat:
    """One way of calling a model for a step, and of reading the step from its reply.

    The base is a prompt that holds the transcript, and a reply that is text.
    """

    prompt: ClassVar[str]
    cites: ClassVar[bool] = True
    """Whether a model that replies so can give the numbers of its passages."""

    @property
    def keeps_thinking(self) -> bool:
        """Whether what stands in thinking blocks is part of the reply."""
        return False

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Choose the parameters of the call.

        :param tools: The tools that there are.
        :param state: The state of the run.
        :param must_answer: The model has to answer now.
        :returns: What the chat generator is given besides the messages.
        """
        return {}

    def callable_tools(self, tools: Sequence[Tool]) -> list[haystack_tools.Tool]:
        """Write the tools as the API takes them, where the model calls them natively.

        :param tools: The tools that there are.
        :returns: What the chat generator is handed.
        """
        return []

    def messages(
        self, prompt: str, turns: Sequence[Turn], tools: Sequence[Tool], must_answer: bool
    ) -> list[ChatMessage]:
        """Lay out the conversation.

        :param prompt: The filled prompt.
        :param turns: The transcript.
        :param tools: The tools that there are.
        :param must_answer: The model is to answer now.
        :returns: What the model is sent.
        """
        return [ChatMessage.from_user(prompt)]

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply.

        :param text: The reply, without thinking blocks.
        :param tools: The tools that it may name.
        :param must_answer: The reply is an answer, whatever it looks like.
        :returns: The step.
        """
        raise NotImplementedError

    def read_message(self, message: ChatMessage, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply as :meth:`read` does, from the whole message.

        :param message: The reply.
        :param tools: The tools that it may name.
        :param must_answer: The reply is an answer, whatever it looks like.
        :returns: The step.
        """
        return self.read(message.text or "", tools, must_answer=must_answer)
