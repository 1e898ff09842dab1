"""Write a script in every format in which a reasoner can reply."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import Tool

from tests.fakes import CALLS
from tests.marks import put_codes
from tests.pipelines import scripted

FORMATS = ("text", "json", "tools")


@component
class ReplyingChatGenerator:
    """Replies from a script of messages, with tool calls and reasoning, and records whole conversations.

    :param script: For each reply the text, the calls as (name, arguments), and the reasoning; the last is repeated.
    """

    model_host = "localhost"

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
            put_codes(reply.get("text") or "", "\n".join(map(read_message, messages))) or None,
            tool_calls=[ToolCall(name, arguments, id="x") for name, arguments in reply.get("calls", [])],
            reasoning=reply.get("reasoning"),
            meta={"usage": {"prompt_tokens": 10, "completion_tokens": 2}, **reply.get("meta", {})},
        )
        return {"replies": [message]}


def read_message(message: ChatMessage) -> str:
    """All text of a message that a model reads."""
    return "\n".join([*message.texts, *(str(result.result) for result in message.tool_call_results)])


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
    """The reply of a model that may only answer, not search."""

    text: str = "1974"


def write_reply(reply: Search | Answer | Forced | str, form: str) -> dict[str, Any]:
    """Write a reply as a model does in this format; a text is the reply itself in every format."""
    if isinstance(reply, str):
        return {"text": reply}
    return {"text": _text, "json": _json, "tools": _tools}[form](reply)


def _text(reply: Search | Answer | Forced) -> dict[str, Any]:
    if isinstance(reply, Search):
        return {"text": scripted.search(reply.query, reply.tool, reply.thought)}
    if isinstance(reply, Answer):
        trailer = f"\nSelf-Evaluation: {reply.label}\nExplanation: As the passages say." if reply.label else ""
        return {"text": f"Thought: {reply.thought}\nFinal Answer: {reply.text}{trailer}"}
    return {"text": reply.text}


def _json(reply: Search | Answer | Forced) -> dict[str, Any]:
    if isinstance(reply, Search):
        values = {"thought": reply.thought, "action": reply.tool, "query": reply.query}
    else:
        values = {"thought": getattr(reply, "thought", ""), "action": "Final_Answer", "answer": reply.text}
        if label := getattr(reply, "label", None):
            values |= {"label": label, "explanation": "As the passages say."}
    return {"text": json.dumps(values)}


def _tools(reply: Search | Answer | Forced) -> dict[str, Any]:
    if isinstance(reply, Search):
        return {"text": reply.thought, "calls": [(reply.tool, {"query": reply.query})]}
    return _text(reply)


def replying(
    *script: Search | Answer | Forced | str, form: str, prefix: str = "", judges: bool = False, **settings: Any
) -> Any:
    """Load a shipped pipeline whose reasoner replies from a script.

    :param script: The replies of the model.
    :param form: The reply format.
    :param judges: Whether the same model judges, with replies from the same script.
    :param prefix: A text before every reply.
    :param settings: Those of :func:`tests.pipelines.scripted.scripted`; ``replace`` is merged.
    """
    replies = [write_reply(reply, form) for reply in script]
    replies = [{**reply, "text": prefix + (reply.get("text") or "")} for reply in replies]
    window = settings.pop("context_window", 8_192)
    model = {
        "type": "tests.pipelines.replies.ReplyingChatGenerator",
        "init_parameters": {"script": replies, "context_window": window},
    }
    reasoner = {"Reasoner.chat_generator": model, "Reasoner.reply_format": form}
    if judges:
        reasoner["judge.judge"] = {"type": scripted.MODEL_JUDGE, "init_parameters": {"chat_generator": model}}
    return scripted.scripted(
        *settings.pop("others", ("unused",)), replace=reasoner | settings.pop("replace", {}), **settings
    )
