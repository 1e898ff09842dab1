"""The reading of a verdict in the reply of a model."""

from __future__ import annotations

import re
from typing import Any

from prefrag.components.generators.json_reply import read_field

_LEADING = re.compile(r"(?:(?P<true>true|yes)|false|no)(?![^\W_])", re.IGNORECASE)
_REASON_FOLLOWS = re.compile(r"\s*(?:$|[.,;:!()\n\u2013\u2014-]|because\b|since\b|as\b)", re.IGNORECASE)
_BOTH = re.compile(r"true\W{1,9}(?:or\W{1,9})?false|false\W{1,9}(?:or\W{1,9})?true", re.IGNORECASE)


def read_boolean(value: Any) -> bool | None:
    """Read a truth value, which models write in many ways."""
    if isinstance(value, bool):
        return value
    text = str(value)[:1_000].strip().strip("\"'`*. \u201c\u201d")
    if text in ("1", "0"):
        return text == "1"
    word = _LEADING.match(text)
    if word is None or _BOTH.match(text):
        return None
    # What follows is a reason; "No doubt" or "True to its name" is no verdict.
    return word["true"] is not None if _REASON_FOLLOWS.match(text[word.end() :].lstrip("\"'`*")) else None


def read_verdict(text: str, key: str) -> tuple[bool | None, dict[str, Any]]:
    """Read a verdict from an object, from a line such as ``Status: True``, or from the whole reply."""
    field, values = read_field(text, key)
    return read_boolean(text if field is None else field), values
