"""Asking a model for one JSON object, and reading what it sends."""

from __future__ import annotations

import json
import re
from typing import Any

_FENCE = re.compile(r"```(?:json)?\s*(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_PAIR = re.compile(
    r"""(?P<quote>["'])(?P<key>\w+)(?P=quote)\s*:\s*
    (?: "(?P<double>(?:[^"\\]|\\.)*)"? | '(?P<single>(?:[^'\\]|\\.)*)'?
      | (?P<bare>true|false|none|null|-?\d+(?:\.\d+)?) )""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_WORDS = {"true": True, "false": False, "null": None, "none": None}


def response_format(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAI ``response_format`` that constrains a reply to the schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the JSON schema of an object that has these properties, all of them and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_object(text: str) -> dict[str, Any] | None:
    """Read a JSON object out of a reply, be it fenced, surrounded by words, or cut off at its end.

    :param text: The reply.
    :returns: The object, or None when there is none.
    """
    fenced = _FENCE.search(text)
    # A fence behind the first brace is a word of one of the object's texts.
    body = fenced.group(1) if fenced and fenced.start() < text.find("{") else text
    start = body.find("{")
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(body[start:])
    except (ValueError, RecursionError):
        value = _pairs(body[start:])
    return {_sound(key): _sound(part) for key, part in value.items()} if isinstance(value, dict) else None


def _sound(value: Any) -> Any:
    # Half of an escaped character, as a reply that was cut off may end in, cannot be written out again.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _pairs(text: str) -> dict[str, Any] | None:
    """Return the pairs of an object that is not valid JSON (cut off, single quotes, True for true)."""
    values: dict[str, Any] = {}
    for match in _PAIR.finditer(text):
        if (bare := match["bare"]) is not None:
            value = _WORDS[bare.lower()] if bare.lower() in _WORDS else _number(bare)
        else:
            value = _unescaped(match["double"] if match["double"] is not None else match["single"])
        values.setdefault(match["key"], value)
    return values or None


def _number(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        # Leading zeros, digits of other scripts, more digits than Python turns into a number.
        return text


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def read_boolean(value: Any) -> bool | None:
    """Read a truth value that a model may have written in many ways.

    :param value: A boolean, a number, or a string such as ``"True"`` or ``"no"``.
    :returns: The value, or None when it is neither.
    """
    if isinstance(value, bool):
        return value
    word = str(value).strip().strip("\"'`*. ").lower()
    if word in ("true", "yes", "1"):
        return True
    if word in ("false", "no", "0"):
        return False
    return None
