"""What the reply formats have in common: tools, labels, queries, answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from components.state import Label

MAX_QUERY_CHARACTERS = 1_000


@dataclass(frozen=True)
class Tool:
    """A tool as the model sees it.

    :param name: The action that calls it.
    :param description: What it is good for.
    :param source: The source that it stands for; None for a tool that leaves the source to the router.
    """

    name: str
    description: str
    source: str | None = None


_LABELS = (
    (re.compile(r"\bPARTIAL(?:LY)?[\s_-]*CORRECT\b", re.IGNORECASE), Label.PARTIALLY_CORRECT),
    (re.compile(r"\bIN[\s_-]?CORRECT\b|\bNOT\s+CORRECT\b", re.IGNORECASE), Label.INCORRECT),
    (re.compile(r"\bCORRECT\b", re.IGNORECASE), Label.CORRECT),
)


def read_label(text: str) -> Label | None:
    """Read a label from its own field.

    The longer labels hold the shorter ones, so each is taken out of the text before the next is looked for. A field
    that still names more than one (the prompt's list, echoed) says nothing.

    :param text: What stands in the field.
    :returns: The label, or None.
    """
    found: list[Label] = []
    for pattern, label in _LABELS:
        text, count = pattern.subn(" ", text)
        if count:
            found.append(label)
    return found[0] if len(found) == 1 else None


def plain(text: str) -> str:
    """Take Markdown marks and quotes off both ends of a one-line text.

    :param text: The text.
    :returns: The text as one would say it.
    """
    text = text.strip()
    while True:
        stripped = re.sub(r"^(?:[#>]+\s+|[*_`]+)|(?:[*_`]+)$", "", text).strip()
        if len(stripped) > 1 and stripped[0] == stripped[-1] and stripped[0] in "\"'":
            stripped = stripped[1:-1].strip()
        if stripped == text:
            return text
        text = stripped


def plain_query(text: str) -> str:
    """Clean the input of a search: models wrap it in quotes, Markdown or a JSON object.

    :param text: The input as the model wrote it.
    :returns: The query, at most 1,000 characters.
    """
    text = text.strip().strip("`").strip()
    if text.startswith("{"):
        try:
            values = json.loads(text)
        except ValueError:
            values = None
        if isinstance(values, dict):
            strings = [value for value in values.values() if isinstance(value, str)]
            if strings:
                text = values["query"] if isinstance(values.get("query"), str) else strings[0]
    return plain(" ".join(text.split()))[:MAX_QUERY_CHARACTERS]


def find_tool(name: str, tools: Sequence[Tool]) -> Tool | None:
    """Find the tool that an action names.

    :param name: The action as the model wrote it.
    :param tools: The tools that there are.
    :returns: The tool whose name it is, but for case, blanks, underscores and Markdown; or None.
    """
    wanted = re.sub(r"[\W_]+", "", name).lower()
    return next((tool for tool in tools if re.sub(r"[\W_]+", "", tool.name).lower() == wanted), None)
