"""The JSON format: one object a reply, constrained by a schema that small models can follow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from prefrag.components.agent.reply_formats.fields import Tool, find_tool, one_answer, plain, plain_query, read_label
from prefrag.components.agent.reply_formats.reply_format import ReplyFormat
from prefrag.components.generators.json_reply import object_schema, read_object, response_format
from prefrag.components.state.state import Action, Label, State, Step

_ANSWER = "Final_Answer"
# Without bounds a small model, which does not know when to stop, fills its window with one field.
_THOUGHT = {"type": "string", "maxLength": 240}


class JsonFormat(ReplyFormat):
    """The format in which a reply is a JSON object with the fields of the text format.

    :param self_evaluation: Whether an answer has a label, an explanation and suggestions.
    """

    prompt = "reasoner_json"

    def __init__(self, self_evaluation: bool = True):
        self.self_evaluation = self_evaluation

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Choose the parameters of the call.

        :param tools: The tools that there are.
        :param state: The state of the run.
        :param must_answer: The model has to answer now.
        :returns: What the chat generator is given besides the messages.
        """
        answer = self._answer_schema()
        search = self._search_schema(tools, {"type": "string", "minLength": 3, "maxLength": 160})
        return {"response_format": response_format("step", answer if must_answer else {"anyOf": [search, answer]})}

    def _answer_schema(
        self, thought: dict[str, Any] = _THOUGHT, answer_length: int = 160, explanation_length: int = 200
    ) -> dict[str, Any]:
        reason = {"type": "string", "maxLength": explanation_length}
        evaluation = {"label": {"enum": [label.value for label in Label]}, "explanation": reason, "suggestions": reason}
        return object_schema(
            thought=thought,
            action={"const": _ANSWER},
            answer={"type": "string", "minLength": 1, "maxLength": answer_length},
            **(evaluation if self.self_evaluation else {}),
        )

    @staticmethod
    def _search_schema(
        tools: Sequence[Tool], query: dict[str, Any], thought: dict[str, Any] = _THOUGHT
    ) -> dict[str, Any]:
        return object_schema(thought=thought, action={"enum": [tool.name for tool in tools]}, query=query)

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply.

        :param text: The reply, without thinking blocks.
        :param tools: The tools that it may name.
        :param must_answer: The reply is an answer, whatever it looks like.
        :returns: The step.
        """
        values = read_object(text)
        if values is None:
            if must_answer and text.strip():
                return Step(Action.ANSWER, reply=text.strip(), answer=one_answer(text))
            return Step(Action.UNREADABLE, reply=text.strip()[:2_000])
        reply = json.dumps(values, ensure_ascii=False)
        name, thought = _text(values, "action"), _text(values, "thought")
        answer = one_answer(_text(values, "answer"))
        if must_answer and not answer:
            answer = plain(thought)
        if answer and (must_answer or find_tool(name, tools) is None):
            return Step(
                Action.ANSWER,
                reply=reply,
                thought=thought,
                answer=answer,
                label=read_label(_text(values, "label")),
                explanation=_text(values, "explanation"),
                suggestions=_text(values, "suggestions"),
            )
        tool, query = find_tool(name, tools), plain_query(_text(values, "query"))
        if tool is None and name:
            return Step(Action.UNKNOWN_ACTION, reply=reply, thought=thought, tool=name, query=query)
        if tool is None or not query or must_answer:
            return Step(Action.UNREADABLE, reply=reply, thought=thought)
        return Step(Action.SEARCH, reply=reply, thought=thought, tool=tool.name, query=query, named_source=tool.source)


def _text(values: dict[str, Any], key: str) -> str:
    value = values.get(key)
    return " ".join(("" if value is None else str(value)).split())
