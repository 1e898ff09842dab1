"""The base class of the reply formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from haystack import tools as haystack_tools
from haystack.dataclasses import ChatMessage, ChatRole

from prefrag.components.generators.model_call import is_cut_off
from prefrag.components.reasoner.reply_formats.fields import Tool
from prefrag.components.state.state import Action, State, Step


class Turn(NamedTuple):
    """One step as the model is shown it."""

    step: Step
    observation: str | None  # what it was shown after that; None where it was shown nothing


class ReplyFormat:
    """A way to call a model for a step, and to read the step from its reply.

    This base class has a prompt that contains the transcript, and reads a reply that is text.
    """

    prompt: ClassVar[str]
    cites: ClassVar[bool] = True
    """Whether a model that replies in this format can give the numbers of its passages."""

    @property
    def keeps_thinking(self) -> bool:
        """Whether the text in thinking blocks is part of the reply."""
        return False

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Choose the parameters of the call."""
        return {}

    def callable_tools(self, tools: Sequence[Tool]) -> list[haystack_tools.Tool]:
        """Write the tools as the API takes them, where the model calls them natively."""
        return []

    def messages(
        self, prompt: str, turns: Sequence[Turn], tools: Sequence[Tool], must_answer: bool
    ) -> list[ChatMessage]:
        """Build the conversation from the rendered prompt and the transcript."""
        return [ChatMessage.from_user(prompt)]

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply without thinking blocks; one that must answer is an answer, whatever it looks like."""
        raise NotImplementedError

    def read_message(self, message: ChatMessage, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply as :meth:`read` does, from the whole message; of one that was cut off only what was finished."""
        text = message.text or ""
        if not is_cut_off(message):
            return self.read(text, tools, must_answer=must_answer)
        step = self.read(self.finished(text), tools, must_answer=False)
        if step.action is Action.ANSWER or (step.action is Action.SEARCH and not must_answer):
            return step
        unfinished = self.read(text, tools, must_answer=False)
        cut_at = int(message.meta.get("reply_limit") or 0)
        return Step(Action.UNREADABLE, reply=unfinished.reply, thought=unfinished.thought, cut_at=cut_at)

    def finished(self, text: str) -> str:
        """Keep what was finished of a reply that was cut off, which may be nothing."""
        raise NotImplementedError


def add_from_user(conversation: list[ChatMessage], text: str) -> None:
    """Add a message of the user; templates require alternating roles, so it is joined to a last message of the user."""
    if conversation[-1].is_from(ChatRole.USER):
        text = f"{conversation.pop().text}\n\n{text}"
    conversation.append(ChatMessage.from_user(text))
