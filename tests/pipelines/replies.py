"""One script, written in every format that a reasoner can reply in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import Tool

from tests.fakes import CALLS
from tests.pipelines import scripted

FORMATS = ("text", "json", "tools", "tags")


@component
class ReplyingChatGenerator:
    """Replies from a script of messages, tool calls and reasoning included, and keeps whole conversations.

    :param script: Of each reply the text, the calls as (name, arguments), and the reasoning; the last one is repeated.
    """

    def __init__(self, script: list[dict[str, Any]], context_window: int = 8_192):
        self.script = script
        self.context_window = context_window

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, script=self.script, context_window=self.context_window)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ReplyingChatGenerator:
        return default_from_dict(cls, data)

    @component.output_types(replies=list[ChatMessage])
    def run(
        self,
        messages: list[ChatMessage],
        generation_kwargs: dict[str, Any] | None = None,
        tools: list[Tool] | None = None,
    ) -> dict[str, Any]:
        calls = CALLS.setdefault("model", [])
        calls.append({"messages": messages, "generation_kwargs": generation_kwargs, "tools": tools})
        reply = self.script[min(len(calls), len(self.script)) - 1]
        message = ChatMessage.from_assistant(
            reply.get("text"),
            tool_calls=[ToolCall(name, arguments, id="x") for name, arguments in reply.get("calls", [])],
            reasoning=reply.get("reasoning"),
            meta={"usage": {"prompt_tokens": 10, "completion_tokens": 2}, **reply.get("meta", {})},
        )
        return {"replies": [message]}


@dataclass(frozen=True)
class Search:
    query: str
    tool: str = "Search_Engine"
    thought: str = "I look it up."


@dataclass(frozen=True)
class Answer:
    text: str = "1974"
    label: str | None = None
    thought: str = "I now know the final answer."


@dataclass(frozen=True)
class Forced:
    """What a model says that may do nothing else but answer."""

    text: str = "1974"


def written(said: Search | Answer | Forced, form: str) -> dict[str, Any]:
    """:returns: One reply, as a model of this format gives it."""
    return {"text": _text, "json": _json, "tools": _tools, "tags": _tags}[form](said)


def _text(said: Search | Answer | Forced) -> dict[str, Any]:
    if isinstance(said, Search):
        return {"text": scripted.search(said.query, said.tool, said.thought)}
    if isinstance(said, Answer):
        trailer = f"\nSelf-Evaluation: {said.label}\nExplanation: As the passages say." if said.label else ""
        return {"text": f"Thought: {said.thought}\nFinal Answer: {said.text}{trailer}"}
    return {"text": said.text}


def _json(said: Search | Answer | Forced) -> dict[str, Any]:
    if isinstance(said, Search):
        values = {"thought": said.thought, "action": said.tool, "query": said.query}
    else:
        values = {"thought": getattr(said, "thought", ""), "action": "Final_Answer", "answer": said.text}
        if label := getattr(said, "label", None):
            values |= {"label": label, "explanation": "As the passages say."}
    return {"text": json.dumps(values)}


def _tools(said: Search | Answer | Forced) -> dict[str, Any]:
    if isinstance(said, Search):
        return {"text": said.thought, "calls": [(said.tool, {"query": said.query})]}
    return _text(said)


def _tags(said: Search | Answer | Forced) -> dict[str, Any]:
    # As servers give it: without the tag that they stop at.
    if isinstance(said, Search):
        name = "search" if said.tool == "Search_Engine" else said.tool
        closing = "" if name == "search" else f"</{name}>"
        return {"text": f"<think>{said.thought}</think>\n<{name}> {said.query} {closing}"}
    if isinstance(said, Answer):
        return {"text": f"<think>{said.thought}</think>\n<answer> {said.text}"}
    return {"text": said.text}


def replying(
    *script: Search | Answer | Forced, form: str, prefix: dict[str, str] | None = None, **settings: Any
) -> Any:
    """Load the shipped pipeline whose reasoner replies so.

    :param script: What the model says.
    :param form: The reply format.
    :param prefix: Of every reply, what stands before its text, or beside it as ``reasoning``.
    :param settings: Those of :func:`tests.pipelines.scripted.scripted`; ``replace`` is joined.
    """
    replies = [written(said, form) for said in script]
    if prefix:
        replies = [{**reply, **prefix, "text": prefix.get("text", "") + (reply.get("text") or "")} for reply in replies]
    window = settings.pop("context_window", 8_192)
    model = {
        "type": "tests.pipelines.replies.ReplyingChatGenerator",
        "init_parameters": {"script": replies, "context_window": window},
    }
    reasoner = {"Reasoner.chat_generator": model, "Reasoner.reply_format": form}
    return scripted.scripted(
        *settings.pop("others", ("unused",)), replace=reasoner | settings.pop("replace", {}), **settings
    )
