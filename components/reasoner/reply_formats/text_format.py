"""The text format of the papers, with a line for each field of a reply.

For example, a search is written as::

    Thought: I need the museum's founder.
    Action: Search_Engine
    Action Input: harbour museum founder

An answer has the fields Final Answer, Self-Evaluation, Explanation and Improvement Suggestions.
"""

import re
from collections.abc import Sequence
from typing import Any

from prefrag.components.generators.json_reply import MAX_REPLY_CHARACTERS
from prefrag.components.reasoner.reply_formats.fields import (
    FINISH,
    Tool,
    announces_search,
    find_tool,
    is_no_tool,
    one_answer,
    plain,
    plain_query,
    read_label,
    shorten,
)
from prefrag.components.reasoner.reply_formats.reply_format import ReplyFormat
from prefrag.components.state.state import Action, State, Step

# The names of the fields, as the prompt writes them. "Action Input" comes before "Action", because in a regular
# expression the first alternative that fits is taken.
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
# The fields that may follow an answer.
_TRAILER = ("Self-Evaluation", "Explanation", "Improvement Suggestions")
# The names of the fields as a regular expression. The parts of a name may be written in several ways: "Final Answer",
# "Final_Answer" or "FinalAnswer".
_NAMES = "|".join(map(re.escape, _FIELDS)).replace(r"\-", r"[- ]?").replace(r"\ ", r"[ _]?")
# "Evaluation:" is a field only if a label follows, as in "Evaluation: CORRECT". Otherwise it may be a heading in an
# answer.
_NAMES += r"|Evaluation(?=[ \t*_]*[:\uff1a][ \t*_]*(?:[A-Z]+[ -])?(?:IN)?CORRECT\b)"
# A field's name at the beginning of a line, with its colon: "Thought:". The colon may be the wide Chinese colon. There
# may be Markdown before the name and a number after it, as in ReAct: "**Thought 2:**".
_AT_LINE_START = rf"^[ \t>#*_-]*(?P<line>{_NAMES})(?:[ \t]*\d{{1,2}})?[ \t*_]*[:\uff1a][ \t]*(?:\*\*)?"
# A field of the evaluation may also stand in the middle of the answer's line: "1969 Self-Evaluation: CORRECT".
_IN_LINE = r"(?P<inline>Self[- ]?Evaluation|Improvement[ _]?Suggestions)[ \t*_]*[:\uff1a][ \t]*(?:\*\*)?"
# Either of the two. The group `line` or the group `inline` is the name of the field.
_FIELD = re.compile(rf"{_AT_LINE_START}|{_IN_LINE}", re.IGNORECASE | re.MULTILINE)
# The words "Final Answer:" inside a thought: "so Final Answer: 1969". Behind a quotation mark they do not match,
# because they are then probably quoted from a passage.
_ANSWER_IN_THOUGHT = re.compile(
    r"(?<![\w'\"`\u2018\u201c])Final[ _]?Answer[ \t*_]{0,9}[:\uff1a][ \t]*(?:\*\*)?", re.IGNORECASE
)
# An action with its input in brackets or parentheses: "Search[harbour]". The group `name` is "Search", and the group
# `input` is "harbour". "Search harbour" does not match.
_CALL = re.compile(r"^(?P<name>[\w .-]+?)\s*[\[(](?P<input>.+?)[\])]?\s*$", re.DOTALL)
# The word "Explanation:" on the line of the label: "CORRECT Explanation: Passage 1 says so".
_SAME_LINE_EXPLANATION = re.compile(r"\bExplanation[ \t*_]*[:\uff1a]", re.IGNORECASE)


def _fold(name: str) -> str:
    """Write the name of a field in small letters without blanks and signs: "Final Answer" becomes "finalanswer"."""
    return re.sub(r"[\W_]", "", name).lower()


# The name of each field, by its form in small letters: "finalanswer" is "Final Answer".
_CANONICAL = {_fold(name): name for name in _FIELDS}
_CANONICAL["evaluation"] = "Self-Evaluation"


def _fields(text: str) -> list[tuple[str, str]]:
    r"""Split a reply into its fields, each a name and a text.

    For example, "Thought: It is stated.\nFinal Answer: 1969" gives ``[("Thought", "It is stated."), ("Final Answer",
    "1969")]``. A text before the first field has an empty name.
    """
    parts: list[tuple[str, str]] = []
    name = ""
    start = 0
    for match in _find_fields(text):
        parts.append((name, text[start : match.start()].strip()))
        name = _name(match)
        start = match.end()
    parts.append((name, text[start:].strip()))

    _, text_before_fields = parts[0]
    return parts if text_before_fields else parts[1:]


def _find_fields(text: str) -> list[re.Match[str]]:
    """Find the names of the fields in a reply, in order.

    A field of the evaluation may stand inside a line. But if a later line begins with the same field, the first is a
    quotation and is skipped.
    """
    fields: list[re.Match[str]] = []
    # The fields of the evaluation that begin a later line and belong to the same answer.
    following: set[str] = set()
    for match in reversed(list(_FIELD.finditer(text))):
        name = _name(match)
        if name not in _TRAILER:
            following.clear()
        elif match["line"]:
            following.add(name)
        if match["line"] or name not in following:
            fields.append(match)
    return fields[::-1]


def _name(field: re.Match[str]) -> str:
    """Return the name of a field as the prompt writes it: "Self-Evaluation" for a match with "self evaluation"."""
    return _CANONICAL[_fold(field["line"] or field["inline"])]


def _split_answer_in_thought(parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Split a thought at the last "Final Answer:" inside it, if the reply has no separate answer or action.

    For example, the thought "It is stated. Final Answer: 1969" becomes a thought and the final answer "1969".
    """
    thoughts: list[int] = []
    for index, (name, value) in enumerate(parts):
        if name == "Observation":
            # The model invented this observation, so nothing behind it counts.
            break
        if name == "Action" or (name == "Final Answer" and value):
            return parts
        if name in ("", "Thought"):
            thoughts.append(index)

    for index in thoughts:
        name, value = parts[index]
        beginnings = list(_ANSWER_IN_THOUGHT.finditer(value))
        if beginnings:
            last = beginnings[-1]
            thought = (name, value[: last.start()].strip())
            answer = ("Final Answer", value[last.end() :].strip())
            return [*parts[:index], thought, answer, *parts[index + 1 :]]
    return parts


class TextFormat(ReplyFormat):
    """The format of the PrefRAG paper (table 18): lines such as ``Thought: ...``, ``Action: ...``."""

    prompt = "reasoner_text"

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Return the text at which the model stops, so that it does not invent an observation.

        :param tools: The tools, which make no difference here.
        :param state: The state of the run, which makes no difference here.
        :param must_answer: Makes no difference here.
        :returns: ``stop`` with the text.
        """
        # The word must begin a line, because a thought may quote a passage that contains the word.
        return {"stop": ["\nObservation:"]}

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read the first step of a reply. Later steps are ignored, because the model invents their observations.

        :param text: The reply.
        :param tools: The tools that a search can name.
        :param must_answer: If True, only an answer is read.
        :returns: The step. ``UNREADABLE`` if the reply has neither an action nor an answer.
        """
        parts = _split_answer_in_thought(_fields(text[:MAX_REPLY_CHARACTERS]))
        return self.read_fields(parts, tools, must_answer)

    def read_fields(self, parts: list[tuple[str, str]], tools: Sequence[Tool], must_answer: bool) -> Step:
        """Read the first step of a reply from its fields.

        :param parts: The fields, each a name and a text, in order.
        :param tools: The tools that a search can name.
        :param must_answer: If True, only an answer is read.
        :returns: The step.
        """
        for index, (name, value) in enumerate(parts):
            if name == "Observation":
                # The model invented this observation, so nothing after it counts.
                parts = parts[:index]
                break
            if name == "Action" and not must_answer:
                answered = self._find_answer(parts, index, tools)
                if answered is not None:
                    return self.read_answer(parts, answered)
                return self._search(parts, index, tools)
            if name == "Final Answer" and value:
                return self.read_answer(parts, index)

        if must_answer:
            return self._read_forced_answer(parts)
        return Step(Action.UNREADABLE, reply=_transcript(parts) or "Thought:", thought=_first_thought(parts))

    def finished(self, text: str) -> str:
        """Return the fields that were finished before the reply was cut off.

        :param text: The reply.
        :returns: The reply without its last field. Empty if the last field is a self-evaluation.
        """
        parts = list(_FIELD.finditer(text[:MAX_REPLY_CHARACTERS]))
        if not parts or _name(parts[-1]) == "Self-Evaluation":
            return ""
        return text[: parts[-1].start()]

    def _find_answer(self, parts: list[tuple[str, str]], index: int, tools: Sequence[Tool]) -> int | None:
        """Find the final answer that follows an action such as "answer" or "none".

        ``index`` is the place of the action in ``parts``. None if the action names a tool, or if no final answer
        follows.
        """
        _, written_action = parts[index]
        if not is_no_tool(written_action) or find_tool(written_action, tools) is not None:
            return None

        for following in range(index + 1, len(parts)):
            name, value = parts[following]
            if name == "Final Answer" and value:
                return following
            names_something = name in ("Action Input", "Observation") and not is_no_tool(value)
            if name == "Action" or names_something:
                return None
        return None

    def _search(self, parts: list[tuple[str, str]], index: int, tools: Sequence[Tool]) -> Step:
        """Read the action at ``index`` as a search.

        The query is in the next field, or in brackets behind the action: ``Search[harbour]``.
        """
        _, written_action = parts[index]
        name = plain(" ".join(shorten(written_action).split()))
        written_query = ""
        next_name, next_value = "", ""
        if index + 1 < len(parts):
            next_name, next_value = parts[index + 1]

        # The fields of this step: those up to the action, and the field "Action Input" behind it.
        own = parts[: index + 1]
        call = _CALL.match(name)
        if next_name == "Action Input":
            own = parts[: index + 2]
            written_query = next_value
        elif call:
            name = call["name"]
            written_query = call["input"]

        thought = _first_thought(own)
        if FINISH.fullmatch(name) and plain(shorten(written_query)):
            return self.read_answer([*parts[:index], ("Final Answer", written_query), *parts[len(own) :]], index)

        first_paragraph, *_ = written_query.split("\n\n")
        query = plain_query(first_paragraph)
        tool = find_tool(name, tools)
        reply = _transcript(own)
        if tool is None:
            wants_nothing = bool(name) and is_no_tool(name) and is_no_tool(query)
            action = Action.NONE if wants_nothing else Action.UNKNOWN_ACTION
            return Step(action, reply=reply, thought=thought, tool=name, query=query)
        if not query:
            return Step(Action.UNREADABLE, reply=reply, thought=thought, tool=tool.name)
        return Step(Action.SEARCH, reply=reply, thought=thought, tool=tool.name, query=query, named_source=tool.source)

    def read_answer(self, parts: list[tuple[str, str]], index: int) -> Step:
        """Read the answer in the field at ``index``, with the evaluation that follows it.

        :param parts: The fields of the reply, each a name and a text, in order.
        :param index: The place of the final answer in ``parts``.
        :returns: The step with the answer.
        """
        end = index + 1
        while end < len(parts) and parts[end][0] in _TRAILER:
            end += 1
        # If a field comes twice, the first counts.
        trailer = dict(reversed(parts[index + 1 : end]))
        label, *same_line = _SAME_LINE_EXPLANATION.split(trailer.get("Self-Evaluation", ""), maxsplit=1)
        explanation = trailer.get("Explanation") or "".join(same_line)
        suggestions = trailer.get("Improvement Suggestions", "")
        _, answer = parts[index]
        return Step(
            Action.ANSWER,
            reply=_transcript(parts[:end]),
            thought=_first_thought(parts[:index]),
            answer=one_answer(answer),
            label=read_label(label),
            explanation=" ".join(shorten(explanation).split()),
            suggestions=" ".join(shorten(suggestions).split()),
        )

    def _read_forced_answer(self, parts: list[tuple[str, str]]) -> Step:
        """Read a reply of a model that must answer and has written no final answer field.

        The prompt ends with "Final Answer:". So the reply may begin with the answer, without the name of a field.
        """
        searches = any(name == "Action" and not is_no_tool(value) for name, value in parts)
        # A thought may be the answer, unless the reply also has a search. A text that only announces a search is no
        # answer.
        names_of_answers = ("",) if searches else ("", "Thought")
        for index, (name, value) in enumerate(parts):
            if value and name in names_of_answers and not announces_search(value):
                return self.read_answer([*parts[:index], ("Final Answer", value), *parts[index + 1 :]], index)
        return Step(Action.UNREADABLE, reply=_transcript(parts), thought=_first_thought(parts))


def _first_thought(parts: list[tuple[str, str]]) -> str:
    """Return the first thought or the text before the first field, on one line. Empty if there is none."""
    for name, value in parts:
        if name in ("Thought", "") and value:
            return " ".join(shorten(value).split())
    return ""


def _transcript(parts: list[tuple[str, str]]) -> str:
    r"""Write fields as the model sees them in the next step. The text before the first field becomes a thought.

    For example, the fields ``("", "I know.")`` and ``("Final Answer", "1969")`` are written as
    "Thought: I know.\nFinal Answer: 1969".
    """
    lines = []
    for name, value in parts:
        if name or value:
            shown_name = name or "Thought"
            lines.append(f"{shown_name}: {shorten(value)}".rstrip())
    return "\n".join(lines)
