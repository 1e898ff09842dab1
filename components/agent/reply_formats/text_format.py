"""The text format of the papers: Thought, Action, Action Input, Final Answer and the self-evaluation, a line each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from prefrag.components.agent.reply_formats.fields import Tool, find_tool, one_answer, plain, plain_query, read_label
from prefrag.components.agent.reply_formats.reply_format import ReplyFormat
from prefrag.components.state.state import Action, State, Step

_FIELDS = (
    "Thought",
    "Action Input",
    "Action",
    "Observation",
    "Final Answer",
    "Self-Evaluation",
    "Explanation",
    "Improvement Suggestions",
    "Question",
)
_TRAILER = ("Self-Evaluation", "Explanation", "Improvement Suggestions")
_NAMES = "|".join(re.escape(name).replace(r"\-", r"[- ]?").replace(r"\ ", r"[ _]?") for name in _FIELDS)
# A field begins a line, perhaps after Markdown marks, and ends in a colon, the wide one of Chinese included; the fields
# after an answer may also be in the middle of its line.
_AT_LINE_START = rf"^[ \t>#*_-]*(?P<line>{_NAMES})[ \t*_]*[:\uff1a][ \t]*(?:\*\*)?"
_IN_LINE = r"(?P<inline>Self[- ]?Evaluation|Improvement[ _]?Suggestions)[ \t*_]*[:\uff1a][ \t]*(?:\*\*)?"
_FIELD = re.compile(rf"{_AT_LINE_START}|{_IN_LINE}", re.IGNORECASE | re.MULTILINE)
_CALL = re.compile(r"^(?P<name>[\w .-]+?)\s*[\[(](?P<input>.+?)[\])]?\s*$", re.DOTALL)
_FINISH = re.compile(r"final[ _]?answer|finish|answer", re.IGNORECASE)
_NO_TOOL = re.compile(rf"{_FINISH.pattern}|none\b.*|n/a", re.IGNORECASE)
_SAME_LINE_EXPLANATION = re.compile(r"\bExplanation[ \t*_]*[:\uff1a]", re.IGNORECASE)
_CANONICAL = {re.sub(r"[\W_]", "", name).lower(): name for name in _FIELDS}


def _fields(text: str) -> list[tuple[str, str]]:
    """Split a text at its fields.

    :param text: The text.
    :returns: (name, text) of each; the text before the first has an empty name.
    """
    parts: list[tuple[str, str]] = []
    name, start = "", 0
    for match in _FIELD.finditer(text):
        parts.append((name, text[start : match.start()].strip()))
        name = _CANONICAL[re.sub(r"[\W_]", "", match["line"] or match["inline"]).lower()]
        start = match.end()
    parts.append((name, text[start:].strip()))
    return parts if parts[0][1] else parts[1:]


class TextFormat(ReplyFormat):
    """The format of table 18 of PrefRAG."""

    prompt = "reasoner_text"

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Choose the parameters of the call.

        :param tools: All tools.
        :param state: The state of the run.
        :param must_answer: The model has to answer now.
        :returns: The generation parameters of the chat generator.
        """
        return {"stop": ["Observation:"]}

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read the first step of a reply; what a chat model invents after it is dropped.

        :param text: The reply, without thinking blocks.
        :param tools: The tools that it may name.
        :param must_answer: The reply is an answer, whatever it looks like.
        :returns: The step.
        """
        parts = _fields(text)
        for index, (name, value) in enumerate(parts):
            if name == "Observation" and index > 0:
                parts = parts[:index]
                break
            if name == "Action" and not must_answer and not self._announces_answer(parts, index):
                return self._search(parts, index, tools)
            if name == "Final Answer" and value:
                return self._answer(parts, index)
        if must_answer:
            return self._read_forced_answer(parts)
        return Step(Action.UNREADABLE, reply=_transcript(parts) or "Thought:", thought=_first(parts, "Thought"))

    def _announces_answer(self, parts: list[tuple[str, str]], index: int) -> bool:
        """Check whether an action is not a tool but a word for the final answer that follows it.

        :param parts: The fields of the reply.
        :param index: The position of the action among them.
        :returns: Whether the next field is the answer.
        """
        following = parts[index + 1] if index + 1 < len(parts) else ("", "")
        has_answer = following[0] == "Final Answer" and bool(following[1])
        return has_answer and _NO_TOOL.fullmatch(plain(parts[index][1])) is not None

    def _search(self, parts: list[tuple[str, str]], index: int, tools: Sequence[Tool]) -> Step:
        kept = parts[: index + 1]
        name, query = plain(" ".join(parts[index][1].split())), ""
        if index + 1 < len(parts) and parts[index + 1][0] == "Action Input":
            kept = parts[: index + 2]
            query = parts[index + 1][1]
        elif call := _CALL.match(name):
            name, query = call["name"], call["input"]
        thought = _first(kept, "Thought")
        if _FINISH.fullmatch(name) and plain(query):
            return self._answer([*parts[:index], ("Final Answer", query), *parts[len(kept) :]], index)
        query = plain_query(query.split("\n\n")[0])
        tool = find_tool(name, tools)
        reply = _transcript(kept)
        if tool is None:
            return Step(Action.UNKNOWN_ACTION, reply=reply, thought=thought, tool=name, query=query)
        if not query:
            return Step(Action.UNREADABLE, reply=reply, thought=thought, tool=tool.name)
        return Step(Action.SEARCH, reply=reply, thought=thought, tool=tool.name, query=query, named_source=tool.source)

    def _answer(self, parts: list[tuple[str, str]], index: int) -> Step:
        end = index + 1
        while end < len(parts) and parts[end][0] in _TRAILER:
            end += 1
        trailer = dict(reversed(parts[index + 1 : end]))
        label, *same_line = _SAME_LINE_EXPLANATION.split(trailer.get("Self-Evaluation", ""), maxsplit=1)
        explanation = trailer.get("Explanation") or "".join(same_line)
        return Step(
            Action.ANSWER,
            reply=_transcript(parts[:end]),
            thought=_first(parts[:index], "Thought"),
            answer=one_answer(parts[index][1]),
            label=read_label(label),
            explanation=" ".join(explanation.split()),
            suggestions=" ".join(trailer.get("Improvement Suggestions", "").split()),
        )

    def _read_forced_answer(self, parts: list[tuple[str, str]]) -> Step:
        # The prompt ends with "Final Answer:", so a reply that goes on from there starts with the answer itself.
        spoken = [(name, value) for name, value in parts if value and name in ("", "Thought", "Final Answer")]
        if not spoken:
            return Step(Action.UNREADABLE, reply=_transcript(parts))
        index = parts.index(spoken[0])
        return self._answer([*parts[:index], ("Final Answer", spoken[0][1]), *parts[index + 1 :]], index)


def _first(parts: list[tuple[str, str]], name: str) -> str:
    """Find the first field of a name; for a thought also the text before the first field.

    :param parts: The fields of a reply.
    :param name: The name.
    :returns: Its text on one line; empty where there is none.
    """
    names = (name, "") if name == "Thought" else (name,)
    return next((" ".join(value.split()) for key, value in parts if key in names and value), "")


def _transcript(parts: list[tuple[str, str]]) -> str:
    """Write fields as the lines of the format.

    :param parts: The fields of a reply.
    :returns: A line for each that is not empty.
    """
    return "\n".join(f"{name or 'Thought'}: {value}".rstrip() for name, value in parts if name or value)
