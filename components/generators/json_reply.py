"""JSON replies: constrain a reply to a schema, and read the reply even if it is not valid JSON."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

# The maximum length of a reply. A longer reply comes from a model that does not stop, and takes long to read.
MAX_REPLY_CHARACTERS = 100_000
# An object begins with a brace before a quoted name or a closing brace. Braces in formulas and code are skipped.
_START = re.compile(r"""\{(?=\s{0,99}["'}\u201c\u201d\u201e\u2018\u2019])""")
# An object that begins a line was written by the model itself. Within a line, or after a `|`, it may be a quotation.
_OWN_START = re.compile(
    rf"^[ \t>#*_-]{{0,20}}(?:`{{1,9}}(?:json)?[ \t]{{0,20}}|<[\w|]{{1,20}}>\s{{0,20}})?{_START.pattern}",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT_START = re.compile(rf"[\s,]{{0,99}}{_START.pattern}")
_PAIR = re.compile(
    r"""(?P<quote>["'])(?P<key>\w+)(?P=quote)\s*:\s*
    (?: "(?P<double>(?:[^"\\]|\\.)*)"? | '(?P<single>(?:[^'\\]|\\.)*)'?
      | (?P<bare>true|false|none|null|-?\d+(?:\.\d+)?) )""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_PLAIN_QUOTES = str.maketrans("\u201c\u201d\u201e\u2018\u2019", '"""\'\'')
# The maximum number of invalid objects to read. Each of them costs a pass over the text.
_MOST_ATTEMPTS = 20
_MOST_LEVELS = 8


class FoundObject(NamedTuple):
    """A JSON object in a reply."""

    values: dict[str, Any]  # the names are in lower case
    valid: bool
    end: int
    in_prose: bool  # whether words precede the object on its line, so that it may be a quotation


def response_format(name: str, schema: Mapping[str, object]) -> dict[str, Any]:
    """Build the OpenAI ``response_format`` that constrains a reply to a schema.

    :param name: The name of the schema.
    :param schema: The JSON schema.
    :returns: The value of the parameter.
    """
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}


def object_schema(**properties: object) -> dict[str, Any]:
    """Build the JSON schema of an object that has exactly the given properties.

    :param properties: The schema of each property by its name.
    :returns: The JSON schema.
    """
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def read_objects(text: str, own: bool = False) -> list[FoundObject]:
    """Read the JSON objects that begin a line. If there are none, read objects within lines, unless ``own`` is true."""
    begin = text[:MAX_REPLY_CHARACTERS]
    objects = _read_from(_OWN_START, begin)
    if objects or own:
        return objects
    return _read_from(_START, begin)


def _read_from(pattern: re.Pattern[str], text: str) -> list[FoundObject]:
    objects: list[FoundObject] = []
    decoder = json.JSONDecoder(strict=False)
    position = attempts = 0
    while attempts < _MOST_ATTEMPTS:
        # An object that directly follows another counts as written by the model too, even within a line.
        following = _NEXT_START.match(text, position) if objects else None
        start = following or pattern.search(text, position)
        if start is None:
            break
        brace = start.end() - 1
        try:
            value, position = decoder.raw_decode(text, brace)
            is_valid = True
        except (ValueError, RecursionError):
            value, position = _read_pairs(text, brace)
            is_valid = False
            attempts += 1
        if isinstance(value, dict):
            begin_of_line = text.rfind("\n", 0, start.start()) + 1
            end_of_last = objects[-1].end if objects else 0
            before = text[max(begin_of_line, end_of_last) : start.start()]
            # The word "json" stands behind the marks of a block of code.
            in_prose = re.search(r"\w", before.replace("json", "")) is not None
            objects.append(FoundObject(_with_lower_keys(repair(value)), is_valid, position, in_prose))
    return objects


def read_object(text: str, key: str = "") -> dict[str, Any] | None:
    """Read one JSON object in a reply.

    :param text: The reply.
    :param key: A key that must be in the object, or in an object inside it.
    :returns: With ``key``, the last object that has it; otherwise the first object. None if there is no such object.
    """
    if not key:
        return next((json_object.values for json_object in read_objects(text)), None)
    last = _find_last(text, key)
    return last.values if last is not None else None


def _find_last(text: str, key: str) -> FoundObject | None:
    # A model may quote an object from a passage or the template. It does so before its own object, or in a sentence.
    latest_first = read_objects(text)[::-1]
    for json_object in sorted(latest_first, key=lambda json_object: json_object.in_prose):
        holder = _find_holder(json_object.values, key)
        if holder is not None:
            return json_object._replace(values=holder)
    return None


def _find_holder(value: object, key: str) -> dict[str, object] | None:
    """Find the object that has a key: the value itself, or else the last object with the key inside the value."""
    parts: list[object] = value if isinstance(value, list) else []
    if isinstance(value, dict):
        values = _with_lower_keys(value)
        if key in values:
            return values
        parts = list(values.values())
    holders = (_find_holder(part, key) for part in reversed(parts))
    return next((holder for holder in holders if holder is not None), None)


def _with_lower_keys(values: dict[Any, Any]) -> dict[str, object]:
    return {str(key).strip().lower(): value for key, value in values.items()}


def repair(value: object, level: int = 0) -> Any:
    """Replace what cannot be written as JSON: lone surrogates, and objects and lists that are nested too deeply."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if level > _MOST_LEVELS and isinstance(value, dict | list):
        return None
    if isinstance(value, dict):
        return {repair(key): repair(part, level + 1) for key, part in value.items()}
    if isinstance(value, list):
        return [repair(part, level + 1) for part in value]
    return value


def _read_pairs(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """Read the key-value pairs of an invalid JSON object: cut off, or with single quotes, or with True for true."""
    if text[start + 1 : start + 100].lstrip()[:1] not in "\"'":
        text = text.translate(_PLAIN_QUOTES)
    values: dict[str, object] = {}
    position, depth = start + 1, 1
    for match in _PAIR.finditer(text, position):
        # Braces inside a string are part of the pair. Only braces between pairs open or close an object.
        for brace in re.finditer(r"[{}]", text[position : match.start()]):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                return values or None, position + brace.end()
        bare = match["bare"]
        if bare is not None:
            value = _WORDS[bare.lower()] if bare.lower() in _WORDS else _read_number(bare)
        else:
            value = _unescape(match["double"] if match["double"] is not None else match["single"])
        values.setdefault(match["key"], value)
        position = match.end()
    return values or None, position


def _read_number(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        # The number has leading zeros, digits of other scripts, or more digits than Python converts.
        return text


def _unescape(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def read_field(text: str, key: str) -> tuple[Any, dict[str, Any]]:
    """Read a field from the last object that has it, or else from a line such as `key: value`.

    Returns the value (None if there is no such field), and the object with the field (empty if no object has it).
    """
    last = _find_last(text, key)
    if last is not None and not last.in_prose:
        return last.values[key], last.values
    # An object in a sentence may be only a quotation. If a line such as `key: value` follows, prefer that line.
    pattern = rf"^[ \t>#*_\"'-]{{0,20}}{re.escape(key)}[ \t*_\"']{{0,20}}[:=\uff1a](?P<value>.{{0,1000}})"
    end = 0 if last is None else last.end
    lines = list(re.finditer(pattern, text[end:MAX_REPLY_CHARACTERS], re.IGNORECASE | re.MULTILINE))
    values = {} if last is None else last.values
    if lines:
        return lines[-1]["value"], values
    return values.get(key), values
