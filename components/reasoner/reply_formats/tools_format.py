"""The tools format: the model calls functions through the chat API, as most current models have learnt to do."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from haystack import tools as haystack_tools
from haystack.dataclasses import ChatMessage, ChatRole, ToolCall

from prefrag.components.generators.json_reply import read_object, read_objects
from prefrag.components.generators.model_call import is_cut_off
from prefrag.components.reasoner.reply_formats.fields import Tool, announces_search, find_tool, plain_query, shorten
from prefrag.components.reasoner.reply_formats.reply_format import ReplyFormat, Turn, add_from_user
from prefrag.components.reasoner.reply_formats.text_format import TextFormat
from prefrag.components.state.state import Action, State, Step

_QUERY = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "The phrase or question to search for."}},
    "required": ["query"],
    "additionalProperties": False,
}
_FUNCTION = re.compile(r"<function=(?P<name>[\w.-]{1,64})\s{0,9}>")
_PARAMETER = re.compile(r"\s{0,9}<parameter=\w{1,64}>(?P<value>[^<]{1,4000})")
_BROKEN_CALL = re.compile(r"\s*(?:<\|?(?:tool_call|function|python_tag)|```(?:json)?\s*\{|\{\s*[\"'])")
_OBSERVATION = re.compile(r"\s*Observation(?: \d{1,2})?:", re.IGNORECASE)
_NO_MORE = "No further search is possible. Answer now, from the passages above."


class ToolsFormat(ReplyFormat):
    """The model searches by calling a tool. Other replies are final answers, in which it also evaluates the answer.

    The transcript shows each search as a tool call with a result, even if the model did not write it as a call.
    """

    prompt = "reasoner_tools"

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Forbid tool calls if the model must answer, else allow one call at a time."""
        return {"tool_choice": "none"} if must_answer else {"parallel_tool_calls": False}

    def callable_tools(self, tools: Sequence[Tool]) -> list[haystack_tools.Tool]:
        """Return the tools for the function calling of the chat API."""
        return [
            haystack_tools.Tool(
                name=_api_name(tool.name), description=tool.description, parameters=_QUERY, function=_no_search
            )
            for tool in tools
        ]

    def messages(
        self, prompt: str, turns: Sequence[Turn], tools: Sequence[Tool], must_answer: bool
    ) -> list[ChatMessage]:
        """Build the conversation: the question, then each step as a call and its result."""
        conversation = [ChatMessage.from_user(prompt)]
        for number, (step, observation) in enumerate(turns, start=1):
            if not step.reply and observation is None:
                # There is nothing to show: the reply was empty, and there is no observation.
                continue
            if step.tool or step.action is Action.SEARCH:
                call = _make_call(step, step.tool or tools[0].name, number)
                # The API requires a result for every call, even if the search was not made.
                result = _NO_MORE if observation is None else observation
                conversation.append(ChatMessage.from_assistant(step.thought or None, tool_calls=[call]))
                conversation.append(ChatMessage.from_tool(result, origin=call))
                continue
            if step.reply:
                conversation.append(ChatMessage.from_assistant(step.reply))
            if observation is not None:
                add_from_user(conversation, observation)
        if must_answer and turns and not conversation[-1].is_from(ChatRole.TOOL):
            add_from_user(conversation, _NO_MORE)
        return conversation

    def read_message(self, message: ChatMessage, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply. If it contains several tool calls, only the first is used."""
        text = (message.text or "").strip()
        if message.tool_calls and not must_answer:
            call = message.tool_calls[0]
            return _search(text, call.tool_name, call.arguments, tools)
        if is_cut_off(message):
            return TextFormat().read_message(message, tools, must_answer=must_answer)
        if message.tool_calls or message.meta.get("finish_reason") == "tool_calls":
            # The call cannot be used now, or was dropped as invalid. Only text behind "Final Answer:" is an answer.
            step = TextFormat().read(text, tools, must_answer=False)
            return step if step.action is Action.ANSWER else Step(Action.UNREADABLE, reply=text, thought=_thought(text))
        return self.read(text, tools, must_answer=must_answer)

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply without a tool call, which is usually the final answer."""
        if not must_answer:
            # A server that does not recognise its model's tool calls returns them as part of the text.
            call = _find_call(text)
            if call is not None:
                return _search("", *call, tools)
            step = TextFormat().read(text, tools, must_answer=False)
            if step.action is not Action.UNREADABLE or step.tool:
                return step
            has_call_in_line = any({"name", "query"} & json_object.values.keys() for json_object in read_objects(text))
            has_broken_call = _BROKEN_CALL.match(text) or _OBSERVATION.match(text)
            if has_call_in_line or has_broken_call or announces_search(text):
                return step
        return TextFormat().read(text, tools, must_answer=True)


def _no_search(query: str) -> str:
    """Do nothing. Haystack requires a function for each tool, but never calls it: the pipeline itself searches."""
    return query


def _find_call(text: str) -> tuple[str, Any] | None:
    """Find a tool call that a model wrote into its text, as a JSON object or as `<function=name>`."""
    function = _FUNCTION.search(text)
    if function:
        rest = text[function.end() :]
        parameter = _PARAMETER.match(rest)
        arguments = parameter["value"].strip() if parameter else read_object(rest)
        return (function["name"], arguments) if arguments is not None else None
    # A call in the middle of a line does not count, because it may be quoted from a passage.
    values = next((json_object.values for json_object in read_objects(text, own=True)), {})
    # If the JSON is broken, the query may be next to the name in `values`, instead of inside the arguments.
    loose = {"query": values["query"]} if "query" in values else None
    arguments = values.get("arguments", values.get("parameters", loose))
    name = values.get("name")
    if not isinstance(name, str) or arguments is None:
        return None
    return name, arguments


def _thought(text: str) -> str:
    return " ".join(shorten(re.sub(r"^\s*Thought\s*:", "", text, flags=re.IGNORECASE)).split())


def _search(text: str, name: str, arguments: object, tools: Sequence[Tool]) -> Step:
    thought, name = _thought(text), shorten(name)
    tool, query = find_tool(name, tools), _query(arguments)
    call = {"name": name, "arguments": {"query": query} if query else {}}
    reply = "\n".join(filter(None, (shorten(text), json.dumps(call, ensure_ascii=False))))
    if tool is None:
        return Step(Action.UNKNOWN_ACTION, reply=reply, thought=thought, tool=name, query=query)
    if not query:
        return Step(Action.UNREADABLE, reply=reply, thought=thought, tool=tool.name)
    return Step(Action.SEARCH, reply=reply, thought=thought, tool=tool.name, query=query, named_source=tool.source)


def _query(arguments: object) -> str:
    """Return a call's argument ``query`` or, if there is none, its first argument. Empty if that is not text."""
    if isinstance(arguments, Mapping):
        arguments = arguments["query"] if "query" in arguments else next(iter(arguments.values()), "")
    return plain_query(arguments) if isinstance(arguments, str) else ""


def _make_call(step: Step, name: str, number: int) -> ToolCall:
    # Mistral's chat template accepts only ids of exactly nine letters and digits.
    arguments = {"query": step.query} if step.query else {}
    return ToolCall(_api_name(name), arguments, id=f"search{number:03d}")


def _api_name(name: str) -> str:
    """Reduce a name to the characters that the API allows: letters, digits, underscores and hyphens."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:64] or "_"
