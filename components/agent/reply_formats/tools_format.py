"""Native function calling: what today's models are trained for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from haystack import tools as haystack_tools
from haystack.dataclasses import ChatMessage, ChatRole, ToolCall

from prefrag.components.agent.reply_formats.fields import Tool, find_tool, plain_query
from prefrag.components.agent.reply_formats.reply_format import ReplyFormat, Turn
from prefrag.components.agent.reply_formats.text_format import TextFormat
from prefrag.components.generators.json_reply import read_object
from prefrag.components.state.state import Action, State, Step

_QUERY = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "The phrase or question to search for."}},
    "required": ["query"],
    "additionalProperties": False,
}
_NO_MORE = "No further search is possible. Answer now, from the passages above."


class ToolsFormat(ReplyFormat):
    """Reads tool calls; a reply without one is the final answer, with the trailer of the text format.

    The transcript goes back as tool calls and the messages of the tool that answer them, also where a step was not
    written as a call.
    """

    prompt = "reasoner_tools"

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Choose the parameters of the call.

        :param tools: The tools that there are.
        :param state: The state of the run.
        :param must_answer: The model has to answer now.
        :returns: What the chat generator is given besides the messages.
        """
        return {"tool_choice": "none"} if must_answer else {}

    def callable_tools(self, tools: Sequence[Tool]) -> list[haystack_tools.Tool]:
        """Write the tools as the API takes them.

        :param tools: The tools that there are.
        :returns: What the chat generator is handed.
        """
        # Haystack wants a function; nobody runs it, because the pipeline is what answers a call.
        return [
            haystack_tools.Tool(
                name=_api_name(tool.name), description=tool.description, parameters=_QUERY, function=lambda query: query
            )
            for tool in tools
        ]

    def messages(
        self, prompt: str, turns: Sequence[Turn], tools: Sequence[Tool], must_answer: bool
    ) -> list[ChatMessage]:
        """Lay out the conversation: the question, then each step as a call and its result.

        :param prompt: The filled prompt.
        :param turns: The transcript.
        :param tools: The tools; the first stands in where a search was not written as a call.
        :param must_answer: The model is to answer now.
        :returns: What the model is sent.
        """
        conversation = [ChatMessage.from_user(prompt)]
        for number, (step, observation) in enumerate(turns, start=1):
            if not step.reply and observation is None:
                # An empty reply that nothing answered leaves nothing to show.
                continue
            if step.tool or step.action is Action.SEARCH:
                call = _call(step, step.tool or tools[0].name, number)
                # Every call must be answered, also one that was not run.
                result = _NO_MORE if observation is None else observation
                conversation.append(ChatMessage.from_assistant(step.thought or None, tool_calls=[call]))
                conversation.append(ChatMessage.from_tool(result, origin=call))
                continue
            if step.reply:
                conversation.append(ChatMessage.from_assistant(step.reply))
            if observation is not None:
                _add_from_user(conversation, observation)
        if must_answer and turns and not conversation[-1].is_from(ChatRole.TOOL):
            _add_from_user(conversation, _NO_MORE)
        return conversation

    def read_message(self, message: ChatMessage, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply; of several calls the first.

        :param message: The reply.
        :param tools: The tools that it may call.
        :param must_answer: The reply is an answer, whatever it looks like.
        :returns: The step.
        """
        text = (message.text or "").strip()
        if message.tool_calls and not must_answer:
            call = message.tool_calls[0]
            return _search(text, call.tool_name, call.arguments, tools)
        if message.meta.get("finish_reason") == "tool_calls" and not must_answer:
            # The chat generator drops a call whose arguments are no JSON; what is left is no answer.
            return Step(Action.UNREADABLE, reply=text, thought=" ".join(text.split()))
        return self.read(text, tools, must_answer=must_answer)

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply without a call: the final answer.

        :param text: The reply, without thinking blocks.
        :param tools: The tools that it may name.
        :param must_answer: The reply is an answer, whatever it looks like.
        :returns: The step.
        """
        if not must_answer:
            # A server without a parser for its model leaves the call in the text.
            values = read_object(text) or {}
            arguments = values.get("arguments", values.get("parameters"))
            if isinstance(values.get("name"), str) and arguments is not None:
                return _search("", values["name"], arguments, tools)
            step = TextFormat().read(text, tools, must_answer=False)
            if step.action is not Action.UNREADABLE or step.tool:
                return step
        return TextFormat().read(text, tools, must_answer=True)


def _search(text: str, name: str, arguments: Any, tools: Sequence[Tool]) -> Step:
    thought = " ".join(re.sub(r"^\s*Thought\s*:", "", text, flags=re.IGNORECASE).split())
    tool, query = find_tool(name, tools), _query(arguments)
    reply = "\n".join(filter(None, (text, json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False))))
    if tool is None:
        return Step(Action.UNKNOWN_ACTION, reply=reply, thought=thought, tool=name, query=query)
    if not query:
        return Step(Action.UNREADABLE, reply=reply, thought=thought, tool=tool.name)
    return Step(Action.SEARCH, reply=reply, thought=thought, tool=tool.name, query=query, named_source=tool.source)


def _query(arguments: Any) -> str:
    """Read the query of a call: models also name it otherwise, or send a list.

    :param arguments: The arguments of the call, whatever the model sent.
    :returns: The query; empty where there is none.
    """
    if isinstance(arguments, Mapping):
        arguments = arguments["query"] if "query" in arguments else next(iter(arguments.values()), "")
    if isinstance(arguments, list):
        arguments = next(iter(arguments), "")
    return plain_query(arguments) if isinstance(arguments, str) else ""


def _call(step: Step, name: str, number: int) -> ToolCall:
    # Nine letters and digits: what the strictest chat template (Mistral's) takes for the id of a call.
    arguments = {"query": step.query} if step.query else {}
    return ToolCall(_api_name(name), arguments, id=f"search{number:03d}")


def _api_name(name: str) -> str:
    """Reduce a name to what the API takes: letters, digits, underscores and hyphens.

    :param name: The name of a tool.
    :returns: At most 64 such characters.
    """
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:64] or "_"


def _add_from_user(conversation: list[ChatMessage], text: str) -> None:
    """Add a message of the user; templates want the roles to alternate, so it joins one that is last.

    :param conversation: The messages so far, changed in place.
    :param text: The message.
    """
    if conversation[-1].is_from(ChatRole.USER):
        text = f"{conversation.pop().text}\n\n{text}"
    conversation.append(ChatMessage.from_user(text))
