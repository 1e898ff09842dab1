"""The parts of a reply that all formats read: tools, labels, queries and answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from prefrag.components.generators.json_reply import read_object
from prefrag.components.state.state import Label

MAX_QUERY_CHARACTERS = 1_000
# The numbers of passages behind an answer; Markdown marks and quotes around the answer end before them.
_CITED = re.compile(r"(?:\s{0,3}\(?[\[\u3010][\w ,;-]{1,60}[\]\u3011]\)?){1,20}\s{0,3}[.*_`]{0,9}$")
_EVALUATION = re.compile(r"^Self-Evaluation:", re.MULTILINE)


@dataclass(frozen=True)
class Tool:
    """A tool as the model sees it.

    :param name: The action that calls it.
    :param description: What it is for.
    :param source: The source that it searches; None for a tool that leaves the source to the router.
    """

    name: str
    description: str
    source: str | None = None


# Underscores around a label are Markdown, so they do not belong to its word.
_LABELS = tuple(
    (re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])", re.IGNORECASE), label)
    for words, label in (
        (r"PART(?:IAL)?(?:LY)?[\s_-]*CORRECT", Label.PARTIALLY_CORRECT),
        (r"IN[\s_-]?CORRECT|NOT\s+CORRECT", Label.INCORRECT),
        (r"CORRECT", Label.CORRECT),
    )
)
# Where a label ends and its reason begins; the prompt's list of labels, if repeated, has none of these between them.
_REASON = re.compile(r"[.:(\n]|\s[-\u2013\u2014]\s")


def read_label(text: str) -> Label | None:
    """Read a label from its own field.

    The longer labels contain the shorter ones, so each is removed from the text before the next is searched for. Where
    a reason behind the label names others, the label is the one before the reason. A field that still names more than
    one (a repetition of the prompt's list) gives none.

    :param text: The text of the field.
    :returns: The label, or None.
    """
    labels = _labels(text)
    if len(labels) > 1:
        labels = _labels(_REASON.split(text.strip(), maxsplit=1)[0])
    return labels[0] if len(labels) == 1 else None


def _labels(text: str) -> list[Label]:
    found: list[Label] = []
    for pattern, label in _LABELS:
        text, count = pattern.subn(" ", text)
        if count:
            found.append(label)
    return found


def plain(text: str) -> str:
    """Remove Markdown marks and quotes from both ends of a one-line text.

    :param text: The text.
    :returns: The text without them.
    """
    text = text.strip()
    while True:
        stripped = re.sub(r"^(?:[#>]+\s+|[*_`]+\s*)+", "", text).rstrip("*_` \n\t")
        if len(stripped) > 1 and stripped[0] == stripped[-1] and stripped[0] in "\"'":
            # Only quotes around the whole text are removed, not those around its first and last words.
            stripped = stripped[1:-1].strip() if stripped[0] not in stripped[1:-1] else stripped
        if stripped == text:
            return text
        text = stripped


def one_answer(text: str) -> str:
    """Clean an answer: models go on writing after it.

    :param text: The text of the answer's field.
    :returns: The first paragraph, on one line, without Markdown, followed by its citations.
    """
    line = " ".join(text.strip().split("\n\n")[0].split())
    cited = _CITED.search(line)
    return f"{plain(line[: cited.start()])} {cited[0].strip()}".strip() if cited else plain(line)


def with_evaluation(reply: str, label: Label, explanation: str, suggestions: str = "") -> str:
    """Write an evaluation behind an answer, as if the reply had held it, so that the next step learns from it.

    :param reply: The reply of an answer, as the transcript keeps it.
    :param label: The label.
    :param explanation: Why it has this label.
    :param suggestions: What would improve the answer.
    :returns: The reply with this evaluation in the place of its own.
    """
    if reply.startswith("{") and (values := read_object(reply)) is not None:
        evaluation = {"label": label.value, "explanation": explanation, "suggestions": suggestions}
        return json.dumps({**values, **evaluation}, ensure_ascii=False)
    own = _EVALUATION.search(reply)
    fields = {"Self-Evaluation": label.value, "Explanation": explanation, "Improvement Suggestions": suggestions}
    lines = [f"{name}: {' '.join(text.split())}" for name, text in fields.items() if text]
    return "\n".join([reply[: own.start()].rstrip() if own else reply, *lines])


def plain_query(text: str) -> str:
    """Clean the input of a search: models wrap it in quotes, Markdown or a JSON object.

    :param text: The input as the model wrote it.
    :returns: The query, at most 1,000 characters.
    """
    text = re.sub(r"^`+(?:json\b)?|`+$", "", text.strip()).strip()
    if text.startswith("{"):
        values = read_object(text) or {}
        strings = [value for value in values.values() if isinstance(value, str)]
        if strings:
            text = values["query"] if isinstance(values.get("query"), str) else strings[0]
    return plain(" ".join(text.split()))[:MAX_QUERY_CHARACTERS]


def find_tool(name: str, tools: Sequence[Tool]) -> Tool | None:
    """Find the tool that an action names.

    :param name: The action as the model wrote it.
    :param tools: All tools.
    :returns: The tool of that name, compared without case, blanks, underscores and Markdown; or None.
    """
    wanted = re.sub(r"[\W_]+", "", name).lower()
    return next((tool for tool in tools if re.sub(r"[\W_]+", "", tool.name).lower() == wanted), None)
