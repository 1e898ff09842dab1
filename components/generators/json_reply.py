"""JSON replies: the schema that constrains one, and the reading of what a model sends."""

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
    """Build the OpenAI ``response_format`` that constrains a reply to a schema.

    :param name: The name of the schema.
    :param schema: The JSON schema.
    :returns: The value of the parameter.
    """
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}


def object_schema(**properties: Any) -> dict[str, Any]:
    """Build the JSON schema of an object that has exactly the given properties.

    :param properties: The schema of each property by its name.
    :returns: The JSON schema.
    """
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_object(text: str) -> dict[str, Any] | None:
    """Read the JSON object in a reply, which may be fenced, surrounded by words, or cut off at its end.

    :param text: The reply.
    :returns: The object, or None when there is none.
    """
    fenced = _FENCE.search(text)
    # A fence after the first brace belongs to a text in the object.
    body = fenced.group(1) if fenced and fenced.start() < text.find("{") else text
    start = body.find("{")
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(body[start:])
    except (ValueError, RecursionError):
        value = _read_pairs(body[start:])
    return {_repair(key): _repair(part) for key, part in value.items()} if isinstance(value, dict) else None


def _repair(value: Any) -> Any:
    # A reply that was cut off may end in half of an escaped character, which cannot be encoded.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _read_pairs(text: str) -> dict[str, Any] | None:
    """Read the pairs of an object that is not valid JSON (cut off, single quotes, True for true).

    :param text: The text of the object.
    :returns: Its values by their names; None when there are none.
    """
    values: dict[str, Any] = {}
    for match in _PAIR.finditer(text):
        if (bare := match["bare"]) is not None:
            value = _WORDS[bare.lower()] if bare.lower() in _WORDS else _read_number(bare)
        else:
            value = _unescape(match["double"] if match["double"] is not None else match["single"])
        values.setdefault(match["key"], value)
    return values or None


def _read_number(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        # Leading zeros, digits of other scripts, or more digits than Python converts.
        return text


def _unescape(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def read_boolean(value: Any) -> bool | None:
    """Read a truth value, which models write in many ways.

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
