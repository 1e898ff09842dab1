"""The JSON format: each reply is one JSON object.

The server gets a schema and lets the model write only what fits the schema. So even small models keep to this form. For
example, a search is ``{"thought": "...", "action": "Search_Engine", "query": "harbour museum"}``.
"""

import json
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from prefrag.components.generators.json_reply import object_schema, read_objects, response_format
from prefrag.components.reasoner.reply_formats import fields
from prefrag.components.reasoner.reply_formats.reply_format import ReplyFormat
from prefrag.components.reasoner.reply_formats.text_format import TextFormat
from prefrag.components.state.state import Action, Label, State, Step

# The name of the action with which the model answers.
_ANSWER = "Final_Answer"
# The schema of a thought. Without a maximum length, in characters, a small model may write into one field until its
# context window is full.
_THOUGHT = {"type": "string", "maxLength": 240}


class JsonFormat(ReplyFormat):
    """A reply is a JSON object with a thought, an action and, for the action, either a query or an answer.

    :param self_evaluation: If True, an answer also has a label, an explanation and suggestions.
    """

    prompt = "reasoner_json"

    def __init__(self, self_evaluation: bool = True):
        self.self_evaluation = self_evaluation

    def generation_kwargs(self, tools: Sequence[fields.Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Return the JSON schema of the reply: a search or an answer.

        :param tools: The tools that a search can name.
        :param state: The state of the run, which this format does not use.
        :param must_answer: If True, the schema allows only an answer.
        :returns: ``response_format`` with the schema.
        """
        reason = {"type": "string", "maxLength": 200}
        evaluation: dict[str, object] = {}
        if self.self_evaluation:
            labels = [label.value for label in Label]
            evaluation = {"label": {"enum": labels}, "explanation": reason, "suggestions": reason}
        answer = object_schema(
            thought=_THOUGHT,
            action={"const": _ANSWER},
            answer={"type": "string", "minLength": 1, "maxLength": 160},
            **evaluation,
        )
        search = object_schema(
            thought=_THOUGHT,
            action={"enum": [tool.name for tool in tools]},
            query={"type": "string", "minLength": 3, "maxLength": 160},
        )
        step = answer if must_answer else {"anyOf": [search, answer]}
        return {"response_format": response_format("step", step)}

    def write_search(self, tool: fields.Tool, query: str, thought: str = "") -> str:
        """Write a search as a JSON object.

        :param tool: The tool that searches.
        :param query: The query.
        :param thought: The reasoning in words.
        :returns: The reply, as if the model had written it.
        """
        return json.dumps({"thought": thought, "action": tool.name, "query": query}, ensure_ascii=False)

    def read(self, text: str, tools: Sequence[fields.Tool], *, must_answer: bool) -> Step:
        """Read the step from the first usable JSON object of a reply.

        :param text: The reply. If it contains no object, it is read in the text format.
        :param tools: The tools that a search can name.
        :param must_answer: If True, only an answer is read.
        :returns: The step.
        """
        values = _find_step(text)
        if values is None:
            return self._read_text(text, tools, must_answer)

        # The reply as later prompts show it. Its fields are shortened, because a long text would take the room of
        # passages.
        reply = json.dumps({key: _shorten(value) for key, value in values.items()}, ensure_ascii=False)
        name = _text(values, "action")
        thought = fields.shorten(_text(values, "thought"))
        tool = fields.find_tool(name, tools)
        query = fields.plain_query(values.get("query"))
        answer = fields.one_answer(_text(values, "answer"))
        # A reply for a search names a tool, has a query, or says in the thought that the model needs to search.
        wants_search = tool is not None or bool(query) or fields.announces_search(thought)
        if must_answer and not answer and not wants_search:
            # A model that must answer may write its answer into the thought.
            answer = fields.plain(thought)
        # If the model may search and names a tool, its answer is only a guess before the search.
        is_guess = tool is not None and not must_answer
        if answer and not is_guess:
            return Step(
                Action.ANSWER,
                reply=reply,
                thought=thought,
                answer=answer,
                label=fields.read_label(_text(values, "label")),
                explanation=fields.shorten(_text(values, "explanation")),
                suggestions=fields.shorten(_text(values, "suggestions")),
            )
        # From here on, the reply has no usable answer.
        if tool is None and name:
            # A model that wants no search writes a word such as "none" as the action. It leaves the query empty, or
            # writes such a word there as well.
            wants_nothing = fields.is_no_tool(name) and fields.is_no_tool(query)
            action = Action.NONE if wants_nothing else Action.UNKNOWN_ACTION
            return Step(action, reply=reply, thought=thought, tool=fields.shorten(name), query=query)
        # A search needs a tool and a query. If the model must answer, it may not search at all.
        if tool is None or not query or must_answer:
            return Step(Action.UNREADABLE, reply=reply, thought=thought)
        return Step(Action.SEARCH, reply=reply, thought=thought, tool=tool.name, query=query, named_source=tool.source)

    def finished(self, text: str) -> str:
        """Return the beginning of a cut-off reply, up to the end of its last complete object.

        :param text: The reply.
        :returns: The beginning. Empty if the reply has no complete object.
        """
        ends = [json_object.end for json_object in read_objects(text) if json_object.valid]
        return text[: max(ends, default=0)]

    @staticmethod
    def _read_text(text: str, tools: Sequence[fields.Tool], must_answer: bool) -> Step:
        """Read a reply without JSON in the text format. Models may use that format although asked for JSON."""
        # An object that is cut off is not read as text. Before it, there may be blanks or "```json", the beginning of a
        # block of code. `lstrip` removes all these characters in any order.
        without_fence = text.lstrip("` \n\tjson")
        if not without_fence.startswith("{"):
            step = TextFormat().read(text, tools, must_answer=must_answer)
            if step.action is not Action.UNREADABLE:
                return step
        return Step(Action.UNREADABLE, reply=fields.shorten(text.strip()))


def _find_step(text: str) -> dict[str, object] | None:
    """Find the first object of a reply that has an action, an answer or a query.

    If there is no such object, return the first object. None if the reply has no object.
    """
    # An object within a sentence is usually a quotation from a passage, so such objects are tried last. Sorting puts
    # False before True, and otherwise keeps the order.
    objects = sorted(read_objects(text), key=attrgetter("in_prose"))
    for json_object in objects:
        # The first object with one of these fields counts. Those after it are ignored: the model wrote them before it
        # saw what the search finds.
        if not json_object.values.keys().isdisjoint(("action", "answer", "query")):
            return json_object.values
    return objects[0].values if objects else None


def _text(values: dict[str, object], key: str) -> str:
    """Read a field as a text on one line. Only an answer keeps its lines, because they may be a list."""
    text = _join(values.get(key)).strip()
    return text if key == "answer" else " ".join(text.split())


def _join(value: object) -> str:
    """Write a value of any type as text, because a model may write a list or an object as its answer.

    For example, ``_join(["a", {"text": "1887"}])`` returns ``"a, 1887"``.
    """
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return ", ".join(filter(None, map(_join, value)))
    return "" if value is None else str(value)


def _shorten(value: object) -> object:
    """Shorten a text. A long value of another type is written as text and then shortened."""
    if isinstance(value, str):
        return fields.shorten(value)
    written = str(value)
    return value if len(written) <= fields.KEPT_CHARACTERS else fields.shorten(written)
