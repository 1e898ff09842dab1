"""The base class of the reply formats, and the turn of a transcript that they show to the model."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from haystack import tools as haystack_tools
from haystack.dataclasses import ChatMessage, ChatRole

from prefrag.components.generators.model_call import is_cut_off
from prefrag.components.reasoner.reply_formats.fields import Tool
from prefrag.components.state.state import Action, State, Step


class Turn(NamedTuple):
    """One step as it is shown to the model.

    :param step: The step.
    :param observation: The text that the model was shown after the step. None if it was shown nothing.
    """

    step: Step
    observation: str | None


class ReplyFormat:
    """Ask a model for the next step, and read the step from the reply.

    The base class sends one prompt that contains the whole transcript, and expects a reply in plain text.
    """

    prompt: ClassVar[str]
    """The name of the prompt file."""
    cites: ClassVar[bool] = True
    """Whether a reply in this format can cite passages."""
    searches: ClassVar[bool] = True
    """Whether a first search, with the question as its query, may be made before the model is called."""
    asks_narrowly: ClassVar[bool] = False
    """Whether a call asks for one thing only: some calls for an answer, the others for a query.

    Such a call shows the passages, but no earlier replies.
    """

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Return the generation parameters that this format needs.

        :param tools: The tools that the model can call.
        :param state: The state of the run.
        :param must_answer: True if the model may not search.
        :returns: OpenAI-style parameters.
        """
        return {}

    def callable_tools(self, tools: Sequence[Tool]) -> list[haystack_tools.Tool]:
        """Return the tools for the function calling of the chat API.

        :param tools: The tools that the model can call.
        :returns: The tools as Haystack's tools. Empty if the format does not use function calling.
        """
        return []

    def messages(
        self, prompt: str, turns: Sequence[Turn], tools: Sequence[Tool], must_answer: bool
    ) -> list[ChatMessage]:
        """Build the conversation from the rendered prompt and the transcript.

        :param prompt: The rendered prompt.
        :param turns: The steps so far, oldest first.
        :param tools: The tools that the model can call.
        :param must_answer: True if the model may not search.
        :returns: The messages to send.
        """
        return [ChatMessage.from_user(prompt)]

    def write_search(self, tool: Tool, query: str, thought: str = "") -> str:
        """Write a search as a reply in this format, for a search that the model has not chosen itself.

        For example, a search for "harbour" is written as the two lines "Action: Search_Engine" and "Action Input:
        harbour".

        :param tool: The tool that searches.
        :param query: The query.
        :param thought: The reasoning in words. If it is empty, the reply has no line for it.
        :returns: The reply, as if the model had written it.
        """
        lines = {"Thought": thought, "Action": tool.name, "Action Input": query}
        return "\n".join(f"{name}: {value}" for name, value in lines.items() if value)

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply.

        :param text: The reply. Thinking blocks are already removed.
        :param tools: The tools that the model can call.
        :param must_answer: If True, the reply is read only as an answer.
        :returns: The step.
        """
        raise NotImplementedError

    def read_message(self, message: ChatMessage, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a message. If the reply was cut off, only the part before the unfinished field or sentence counts.

        :param message: The reply of the model.
        :param tools: The tools that the model can call.
        :param must_answer: If True, the reply is read only as an answer.
        :returns: The step. ``UNREADABLE`` if the finished part of a cut-off reply has no usable step.
        """
        text = message.text or ""
        if not is_cut_off(message):
            return self.read(text, tools, must_answer=must_answer)

        # With `must_answer=True`, any text is read as an answer, also the beginning of a thought that was cut off. So
        # False is passed here, and a search is not accepted below if the model must answer.
        step = self.read(self.finished(text), tools, must_answer=False)
        usable = (Action.ANSWER,) if must_answer else (Action.ANSWER, Action.SEARCH)
        if step.action in usable:
            return step

        # The finished part has no usable step. For the transcript, the reply and the thought are read from the whole
        # text.
        unfinished = self.read(text, tools, must_answer=False)
        # The limit of tokens that the call had set; 0 if the call had none.
        cut_at = int(message.meta.get("reply_limit") or 0)
        return Step(Action.UNREADABLE, reply=unfinished.reply, thought=unfinished.thought, cut_at=cut_at)

    def finished(self, text: str) -> str:
        """Return the finished part of a reply that was cut off.

        :param text: The reply.
        :returns: The part before the field or sentence in which the reply was cut off. It may be empty.
        """
        raise NotImplementedError


def add_from_user(conversation: list[ChatMessage], text: str) -> None:
    """Add a user message to a conversation.

    If the last message is also the user's, the text is appended to that message. Chat templates want alternating roles.

    :param conversation: The conversation, which is changed. It has at least one message.
    :param text: The text of the message.
    """
    if conversation[-1].is_from(ChatRole.USER):
        text = f"{conversation.pop().text}\n\n{text}"
    conversation.append(ChatMessage.from_user(text))
