"""The tools format: the model searches by calling a function through the chat API.

Most current models have learnt to call functions. Some servers do not recognise the calls and return them as text. So
this module also reads calls from the text of a reply.
"""

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

# The schema of the arguments of each tool: a query.
_QUERY = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "The phrase or question to search for."}},
    "required": ["query"],
    "additionalProperties": False,
}
# A call that a model wrote into its text: "<function=Search_Engine>". The group `name` is "Search_Engine".
_FUNCTION = re.compile(r"<function=(?P<name>[\w.-]{1,64})\s{0,9}>")
# The argument of such a call: "<parameter=query>harbour". The group `value` is "harbour".
_PARAMETER = re.compile(r"\s{0,9}<parameter=\w{1,64}>(?P<value>[^<]{1,4000})")
# The beginning of a call that cannot be read: "<tool_call", "```json {" or '{"'.
_BROKEN_CALL = re.compile(r"\s*(?:<\|?(?:tool_call|function|python_tag)|```(?:json)?\s*\{|\{\s*[\"'])")
# An observation that the model invented: "Observation:", "Observation 2:".
_OBSERVATION = re.compile(r"\s*Observation(?: \d{1,2})?:", re.IGNORECASE)
# What the model is told instead of the result of a further search.
_NO_MORE = "No further search is possible. Answer now, from the passages above."


class ToolsFormat(ReplyFormat):
    """The model searches by calling a tool. Every other reply is a final answer, with the model's evaluation of it.

    The transcript shows each search as a tool call with a result. This is so even if the model did not write a call.
    """

    prompt = "reasoner_tools"

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Return the parameters that allow one tool call at a time, or none if the model must answer.

        :param tools: The tools, which make no difference here.
        :param state: The state of the run, which makes no difference here.
        :param must_answer: True forbids tool calls.
        :returns: OpenAI-style parameters.
        """
        return {"tool_choice": "none"} if must_answer else {"parallel_tool_calls": False}

    def callable_tools(self, tools: Sequence[Tool]) -> list[haystack_tools.Tool]:
        """Return the tools for the function calling of the chat API.

        :param tools: The tools that the model can call.
        :returns: The tools as Haystack's tools. Each has one argument, ``query``.
        """
        return [
            haystack_tools.Tool(
                name=_api_name(tool.name), description=tool.description, parameters=_QUERY, function=_no_search
            )
            for tool in tools
        ]

    def messages(
        self, prompt: str, turns: Sequence[Turn], tools: Sequence[Tool], must_answer: bool
    ) -> list[ChatMessage]:
        """Build the conversation: the question, then each step as a call and its result.

        :param prompt: The rendered prompt, which contains the question.
        :param turns: The steps so far, oldest first.
        :param tools: The tools that the model can call.
        :param must_answer: If True, the last message says that no further search is possible.
        :returns: The messages to send.
        """
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
            else:
                if step.reply:
                    conversation.append(ChatMessage.from_assistant(step.reply))
                if observation is not None:
                    add_from_user(conversation, observation)
        if must_answer and turns and not conversation[-1].is_from(ChatRole.TOOL):
            add_from_user(conversation, _NO_MORE)
        return conversation

    def read_message(self, message: ChatMessage, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply. If it contains several tool calls, only the first is used.

        :param message: The reply of the model.
        :param tools: The tools that the model can call.
        :param must_answer: If True, only an answer is read.
        :returns: The step.
        """
        text = (message.text or "").strip()
        if message.tool_calls and not must_answer:
            call = message.tool_calls[0]
            return _search(text, call.tool_name, call.arguments, tools)
        if is_cut_off(message):
            return TextFormat().read_message(message, tools, must_answer=must_answer)
        if message.tool_calls or message.meta.get("finish_reason") == "tool_calls":
            # The call cannot be used because the model must answer, or it was dropped as invalid. The text beside a
            # call is an answer only behind "Final Answer:".
            step = TextFormat().read(text, tools, must_answer=False)
            if step.action is Action.ANSWER:
                return step
            return Step(Action.UNREADABLE, reply=text, thought=_thought(text))
        return self.read(text, tools, must_answer=must_answer)

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply without a tool call, which is usually the final answer.

        :param text: The reply.
        :param tools: The tools that the model can call.
        :param must_answer: If True, only an answer is read.
        :returns: The step. ``UNREADABLE`` if the text seems to be a broken call, or only announces a search.
        """
        if not must_answer:
            # A server that does not recognise its model's tool calls returns them as part of the text.
            call = _find_call(text)
            if call is not None:
                return _search("", *call, tools)

            step = TextFormat().read(text, tools, must_answer=False)
            if step.action is not Action.UNREADABLE or step.tool:
                return step

            objects = [json_object.values for json_object in read_objects(text)]
            has_call_in_line = any("name" in values or "query" in values for values in objects)
            has_broken_call = _BROKEN_CALL.match(text) or _OBSERVATION.match(text)
            if has_call_in_line or has_broken_call or announces_search(text):
                return step
        return TextFormat().read(text, tools, must_answer=True)


def _no_search(query: str) -> str:
    """Return the query unchanged.

    Haystack requires a function for each tool, but never calls this one: the pipeline itself searches.
    """
    return query


def _find_call(text: str) -> tuple[str, object] | None:
    """Find a tool call that a model wrote into its text, as a JSON object or as ``<function=name>``.

    For example, ``{"name": "Search_Engine", "arguments": {"query": "harbour"}}`` is a call. The result is the name and
    the arguments. None if there is no call.
    """
    function = _FUNCTION.search(text)
    if function:
        rest = text[function.end() :]
        parameter = _PARAMETER.match(rest)
        arguments = parameter["value"].strip() if parameter else read_object(rest)
        if arguments is None:
            return None
        return function["name"], arguments

    # A call in the middle of a line does not count, because it may be quoted from a passage.
    values = next((json_object.values for json_object in read_objects(text, own=True)), {})
    arguments = None
    if "arguments" in values:
        arguments = values["arguments"]
    elif "parameters" in values:
        arguments = values["parameters"]
    elif "query" in values:
        # In broken JSON, the query may stand beside the name instead of inside the arguments.
        arguments = {"query": values["query"]}
    name = values.get("name")
    if not isinstance(name, str) or arguments is None:
        return None
    return name, arguments


def _thought(text: str) -> str:
    """Return the text beside a call as a thought: on one line, shortened, and without "Thought:"."""
    without_name = re.sub(r"^\s*Thought\s*:", "", text, flags=re.IGNORECASE)
    return " ".join(shorten(without_name).split())


def _search(text: str, name: str, arguments: object, tools: Sequence[Tool]) -> Step:
    """Read a tool call as a step. ``text`` is the text that the model wrote beside the call."""
    thought = _thought(text)
    name = shorten(name)
    tool = find_tool(name, tools)
    query = _query(arguments)

    call = {"name": name, "arguments": {"query": query} if query else {}}
    reply = json.dumps(call, ensure_ascii=False)
    text_before = shorten(text)
    if text_before:
        reply = f"{text_before}\n{reply}"
    if tool is None:
        return Step(Action.UNKNOWN_ACTION, reply=reply, thought=thought, tool=name, query=query)
    if not query:
        return Step(Action.UNREADABLE, reply=reply, thought=thought, tool=tool.name)
    return Step(Action.SEARCH, reply=reply, thought=thought, tool=tool.name, query=query, named_source=tool.source)


def _query(arguments: object) -> str:
    """Return the query of a call: its argument ``query`` or, without one, its first argument.

    For example, ``_query({"q": "harbour"})`` returns ``"harbour"``. The result is empty if the argument is not text.
    """
    query = arguments
    if isinstance(arguments, Mapping):
        first_argument = next(iter(arguments.values()), "")
        query = arguments.get("query", first_argument)
    return plain_query(query) if isinstance(query, str) else ""


def _make_call(step: Step, name: str, number: int) -> ToolCall:
    """Write a step as a call of the tool ``name``. ``number`` is the number of the step, counted from 1."""
    arguments = {"query": step.query} if step.query else {}
    # Mistral's chat template accepts only ids of exactly nine letters and digits.
    return ToolCall(_api_name(name), arguments, id=f"search{number:03d}")


def _api_name(name: str) -> str:
    """Reduce a name to the characters that the API allows: letters, digits, underscores and hyphens.

    For example, "Search Engine" becomes "Search_Engine".
    """
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:64] or "_"
