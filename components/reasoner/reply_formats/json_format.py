"""The JSON format: a reply is one JSON object. A schema constrains it, so that small models also reply in this form."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from prefrag.components.generators.json_reply import object_schema, read_objects, response_format
from prefrag.components.reasoner.reply_formats import fields
from prefrag.components.reasoner.reply_formats.reply_format import ReplyFormat
from prefrag.components.reasoner.reply_formats.text_format import TextFormat
from prefrag.components.state.state import Action, Label, State, Step

_ANSWER = "Final_Answer"
# Without a maximum length, a small model may write into one field until its context window is full.
_THOUGHT = {"type": "string", "maxLength": 240}


class JsonFormat(ReplyFormat):
    """A reply is a JSON object: a thought and an action, with the query of a search or with an answer.

    :param self_evaluation: Whether an answer also has a label, an explanation and suggestions.
    """

    prompt = "reasoner_json"

    def __init__(self, self_evaluation: bool = True):
        self.self_evaluation = self_evaluation

    def generation_kwargs(self, tools: Sequence[fields.Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Return the JSON schema of the reply: a search or an answer, or only an answer if the model must answer."""
        reason = {"type": "string", "maxLength": 200}
        evaluation = {"label": {"enum": [label.value for label in Label]}, "explanation": reason, "suggestions": reason}
        answer = object_schema(
            thought=_THOUGHT,
            action={"const": _ANSWER},
            answer={"type": "string", "minLength": 1, "maxLength": 160},
            **(evaluation if self.self_evaluation else {}),
        )
        search = object_schema(
            thought=_THOUGHT,
            action={"enum": [tool.name for tool in tools]},
            query={"type": "string", "minLength": 3, "maxLength": 160},
        )
        return {"response_format": response_format("step", answer if must_answer else {"anyOf": [search, answer]})}

    def write_search(self, tool: fields.Tool, query: str, thought: str = "") -> str:
        """Write a search as a JSON object."""
        return json.dumps({"thought": thought, "action": tool.name, "query": query}, ensure_ascii=False)

    def read(self, text: str, tools: Sequence[fields.Tool], *, must_answer: bool) -> Step:
        """Read the step from the first usable JSON object of a reply, or from its text if it contains no object."""
        # An object within a sentence is usually a quotation from a passage, so such objects are tried last.
        objects = [
            json_object.values
            for json_object in sorted(read_objects(text), key=lambda json_object: json_object.in_prose)
        ]
        # Take the first object with an action, an answer or a query. Later steps were made up before the search ran.
        steps = (values for values in objects if values.keys() & {"action", "answer", "query"})
        values = next(steps, objects[0] if objects else None)
        if values is None:
            return self._read_text(text, tools, must_answer)
        reply = json.dumps({key: _shorten(value) for key, value in values.items()}, ensure_ascii=False)
        name, thought = _text(values, "action"), fields.shorten(_text(values, "thought"))
        tool, query = fields.find_tool(name, tools), fields.plain_query(values.get("query"))
        answer = fields.one_answer(_text(values, "answer"))
        if must_answer and not answer and tool is None and not query and not fields.announces_search(thought):
            answer = fields.plain(thought)
        if answer and (must_answer or tool is None):
            return Step(
                Action.ANSWER,
                reply=reply,
                thought=thought,
                answer=answer,
                label=fields.read_label(_text(values, "label")),
                explanation=fields.shorten(_text(values, "explanation")),
                suggestions=fields.shorten(_text(values, "suggestions")),
            )
        if tool is None and name:
            action = Action.NONE if fields.is_no_tool(name) and fields.is_no_tool(query) else Action.UNKNOWN_ACTION
            return Step(action, reply=reply, thought=thought, tool=fields.shorten(name), query=query)
        if tool is None or not query or must_answer:
            return Step(Action.UNREADABLE, reply=reply, thought=thought)
        return Step(Action.SEARCH, reply=reply, thought=thought, tool=tool.name, query=query, named_source=tool.source)

    def finished(self, text: str) -> str:
        """Return the beginning of a cut-off reply, up to the end of its last complete object; empty if it has none."""
        return text[: max((json_object.end for json_object in read_objects(text) if json_object.valid), default=0)]

    @staticmethod
    def _read_text(text: str, tools: Sequence[fields.Tool], must_answer: bool) -> Step:
        """Use the text format for a reply without JSON: models may reply in that format although asked for JSON."""
        if not text.lstrip("` \n\tjson").startswith("{"):
            step = TextFormat().read(text, tools, must_answer=must_answer)
            if step.action is not Action.UNREADABLE:
                return step
        return Step(Action.UNREADABLE, reply=fields.shorten(text.strip()))


def _text(values: Mapping[str, object], key: str) -> str:
    text = _join(values.get(key)).strip()
    return text if key == "answer" else " ".join(text.split())


def _join(value: Any) -> str:
    """Write a value of any type as text. An answer may be a list, or an object such as ``{"text": "1887"}``."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return ", ".join(filter(None, map(_join, value)))
    return "" if value is None else str(value)


def _shorten(value: object) -> Any:
    if isinstance(value, str):
        return fields.shorten(value)
    return value if len(str(value)) <= fields.KEPT_CHARACTERS else fields.shorten(str(value))
