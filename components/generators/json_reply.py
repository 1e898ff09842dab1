"""Ask a model for JSON, and read its reply even if the reply is not valid JSON.

:func:`response_format` makes a server constrain a reply to a schema. Not every server can do this, and small models
make mistakes. So :func:`read_object` and :func:`read_field` also read JSON that is cut off, uses single quotes or
stands among other words. An object that the model quotes in a sentence counts less than an object on its own line.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

# The maximum number of characters of a reply that are read. A longer reply comes from a model that does not stop, and
# would take long to read.
MAX_REPLY_CHARACTERS = 100_000
# The brace that begins an object: a brace before a quotation mark or before a closing brace, as in `{"a": 1}` and `{}`.
# The brace in `{x}` does not match, so braces in formulas and code are skipped.
_BRACE = r"""\{(?=\s{0,99}["'}\u201c\u201d\u201e\u2018\u2019])"""
# Matches the brace that begins an object anywhere in the reply.
_START = re.compile(_BRACE)
# Blanks and marks of Markdown that may stand before an object, such as "> " in `> {"a": 1}`.
_MARKS = r"[ \t>#*_-]{0,20}"
# The beginning of a block of code, such as "```json ".
_CODE_BLOCK = r"`{1,9}(?:json)?[ \t]{0,20}"
# A tag with blanks or line breaks behind it, such as "<tool_call>".
_TAG = r"<[\w|]{1,20}>\s{0,20}"
# Matches from the beginning of a line to the brace of an object, if nothing but marks, the beginning of a block of code
# or a tag stands before the brace. The model itself has written such an object. An object behind other text, such as
# words or the `|` of a table, may be a quotation, and does not match.
_OWN_START = re.compile(rf"^{_MARKS}(?:{_CODE_BLOCK}|{_TAG})?{_BRACE}", re.IGNORECASE | re.MULTILINE)
# Matches from the end of an object to the brace of the next object, if only blanks and commas stand between them, as
# in `{"a": 1}, {"b": 2}`.
_NEXT_START = re.compile(rf"[\s,]{{0,99}}{_BRACE}")
# A key in double or single quotes, such as `'status'`.
_KEY = r"""(?P<quote>["'])(?P<key>\w+)(?P=quote)"""
# A value in double quotes, such as `"The mill"`. The closing quote may be missing, as in `"The mi`. A backslash and the
# sign behind it belong together, so the quote in `\"` does not end the value.
_DOUBLE_QUOTED = r""""(?P<double>(?:[^"\\]|\\.)*)"?"""
# A value in single quotes, by the same rules.
_SINGLE_QUOTED = r"""'(?P<single>(?:[^'\\]|\\.)*)'?"""
# A value without quotes, such as `True`, `null` or `-1.5`.
_BARE = r"(?P<bare>true|false|none|null|-?\d+(?:\.\d+)?)"
# Matches a key and its value in an invalid object, such as `'status': True` and `"answer": "cut o`.
_PAIR = re.compile(rf"{_KEY}\s*:\s*(?:{_DOUBLE_QUOTED}|{_SINGLE_QUOTED}|{_BARE})", re.IGNORECASE | re.DOTALL)
# Matches a brace that opens or closes an object.
_OPEN_OR_CLOSE = re.compile(r"[{}]")
# The values of the words that may stand without quotes, in lower case. Models also write the words of Python.
_WORDS = {"true": True, "false": False, "null": None, "none": None}
# A table for `str.translate` that turns typographic quotation marks into straight ones.
_PLAIN_QUOTES = str.maketrans("\u201c\u201d\u201e\u2018\u2019", '"""\'\'')
# The maximum number of invalid objects to read in a reply. Each of them costs a pass over the text. A valid object does
# not.
_MOST_INVALID = 20
# The maximum depth of objects and lists inside each other. What is nested more deeply is replaced by None.
_MOST_LEVELS = 8


class FoundObject(NamedTuple):
    """A JSON object in a reply.

    :param values: The values by their keys, which are in lower case.
    :param valid: Whether the object is valid JSON.
    :param end: The index in the reply at which the object ends.
    :param in_prose: Whether words stand before the object on its line. Such an object may be a quotation.
    """

    values: dict[str, object]
    valid: bool
    end: int
    in_prose: bool


def response_format(name: str, schema: Mapping[str, object]) -> dict[str, object]:
    """Build the OpenAI ``response_format`` that constrains a reply to a schema.

    :param name: The name of the schema, as the server gets it.
    :param schema: The JSON schema.
    :returns: The value of the parameter ``response_format``.
    """
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}


def object_schema(**properties: object) -> dict[str, object]:
    """Build the JSON schema of an object that has certain properties and no others.

    For example, ``object_schema(status={"type": "string"})["required"]`` returns ``["status"]``.

    :param properties: The schema of each property by its name.
    :returns: The JSON schema.
    """
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def read_objects(text: str, own: bool = False) -> list[FoundObject]:
    """Read the JSON objects in a reply.

    Objects that begin a line are preferred. Objects within a line are read only if no object begins a line. For
    example, in the reply ``'It says {"a": 1}.'``, the function finds one object with the values ``{"a": 1}``. Its field
    ``in_prose`` is true.

    :param text: The reply. Only its first 100,000 characters are read.
    :param own: Whether to leave out objects within a line, because the model may only quote them.
    :returns: The objects, in the order of the reply.
    """
    begin = text[:MAX_REPLY_CHARACTERS]
    objects = _read_from(_OWN_START, begin)
    if objects or own:
        return objects
    return _read_from(_START, begin)


def _read_from(pattern: re.Pattern[str], text: str) -> list[FoundObject]:
    """Read the JSON objects that begin where a pattern matches, and those that directly follow such an object.

    :param pattern: A pattern that ends with the brace of an object: ``_OWN_START`` or ``_START``.
    :param text: The text.
    :returns: The objects, in the order of the text.
    """
    objects: list[FoundObject] = []
    # The index at which the last object ends, whether or not it could be read.
    position = 0
    number_invalid = 0
    while number_invalid < _MOST_INVALID:
        start = None
        if objects:
            start = _NEXT_START.match(text, position)
        if start is None:
            start = pattern.search(text, position)
        if start is None:
            break

        # Each pattern ends with the brace.
        brace = start.end() - 1
        value, is_valid, position = _read_at(text, brace)
        if not is_valid:
            number_invalid += 1
        if value is None:
            continue

        end_of_last = objects[-1].end if objects else 0
        in_prose = _ends_in_prose(text[end_of_last : start.start()])
        values = _with_lower_keys(repair(value))
        objects.append(FoundObject(values, valid=is_valid, end=position, in_prose=in_prose))
    return objects


def _read_at(text: str, brace: int) -> tuple[dict[str, object] | None, bool, int]:
    """Read the object that begins at a brace.

    :param text: The text.
    :param brace: The index of the brace.
    :returns: The object, or None if it cannot be read; whether it is valid JSON; and the index at which it ends.
    """
    decoder = json.JSONDecoder(strict=False)
    try:
        value, end = decoder.raw_decode(text, brace)
    except (ValueError, RecursionError):
        pairs, end = _read_pairs(text, brace)
        return pairs, False, end
    return value, True, end


def _ends_in_prose(text: str) -> bool:
    """Check whether the last line of a text has words. For example, ``_ends_in_prose("It says ")`` returns True.

    The word "json" does not count, wherever it stands: usually it only names the language of a block of code.
    """
    _, _, last_line = text.rpartition("\n")
    last_line = last_line.replace("json", "")
    return re.search(r"\w", last_line) is not None


def read_object(text: str, key: str = "") -> dict[str, object] | None:
    """Read one JSON object in a reply.

    For example, ``read_object("{'status': 'True'")`` returns ``{"status": "True"}``, although the object has single
    quotes and is cut off.

    :param text: The reply.
    :param key: A key that the object, or an object inside it, must have. If empty, any object will do.
    :returns: The values of the object by their keys, which are in lower case. With a ``key``, this is the last object
        that has the key. Without a ``key``, it is the first object. None if there is no such object.
    """
    if not key:
        return next((json_object.values for json_object in read_objects(text)), None)
    last = _find_last(text, key)
    return last.values if last is not None else None


def _find_last(text: str, key: str) -> FoundObject | None:
    """Find the last object of a reply that has a key, or that contains an object with the key.

    An object in a sentence is taken only if no other object has the key.
    """
    # A model may quote an object from a passage or from the template of the prompt. The quoted object stands before the
    # model's own object, or in a sentence. So the search begins at the end of the reply, and it leaves objects in
    # sentences for last.
    from_the_end = read_objects(text)[::-1]
    on_own_lines = [json_object for json_object in from_the_end if not json_object.in_prose]
    in_sentences = [json_object for json_object in from_the_end if json_object.in_prose]
    for json_object in on_own_lines + in_sentences:
        holder = _find_holder(json_object.values, key)
        if holder is not None:
            return json_object._replace(values=holder)
    return None


def _find_holder(value: object, key: str) -> dict[str, object] | None:
    """Find the object that has a key.

    This is the value itself, or else the last object inside the value that has the key. For example,
    ``_find_holder([{"a": {"status": 1}}], "status")`` returns ``{"status": 1}``.
    """
    parts: list[object] = value if isinstance(value, list) else []
    if isinstance(value, dict):
        values = _with_lower_keys(value)
        if key in values:
            return values
        parts = list(values.values())
    holders = (_find_holder(part, key) for part in reversed(parts))
    return next((holder for holder in holders if holder is not None), None)


def _with_lower_keys(values: dict[object, object]) -> dict[str, object]:
    """Write the keys of an object in lower case. For example, ``_with_lower_keys({"A ": 1})`` returns ``{"a": 1}``."""
    return {str(key).strip().lower(): value for key, value in values.items()}


def repair(value: object, level: int = 0) -> Any:
    """Replace what cannot be written as JSON.

    Half of a surrogate pair becomes a question mark. An object or a list that is nested more than eight levels deep
    becomes None. For example, ``repair({"a": chr(0xd83d)})`` returns ``{"a": "?"}``.

    :param value: A text, a number, a list or a dictionary, as read from JSON.
    :param level: The depth at which the value is nested. Callers leave this out.
    :returns: A copy of the value that can be written as JSON.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if level > _MOST_LEVELS and isinstance(value, dict | list):
        return None
    if isinstance(value, dict):
        return {repair(key): repair(part, level + 1) for key, part in value.items()}
    if isinstance(value, list):
        return [repair(part, level + 1) for part in value]
    return value


def _read_pairs(text: str, start: int) -> tuple[dict[str, object] | None, int]:
    """Read the pairs of key and value of an invalid JSON object.

    The object may be cut off, may have single quotes, or may have "True" in place of "true". For example,
    ``_read_pairs("{'a': True, 'b': 'cut o", 0)`` returns ``({"a": True, "b": "cut o"}, 23)``.

    :param text: The reply.
    :param start: The index of the brace that begins the object.
    :returns: The object, or None if it has no pairs, and the index at which the object ends.
    """
    # In an object whose first key has straight quotation marks, typographic ones are part of the texts, as in
    # `{"answer": "the “Mill”`. In any other object, they stand around the keys and the texts.
    first_sign = text[start + 1 : start + 100].lstrip()[:1]
    if first_sign and first_sign not in ('"', "'"):
        text = text.translate(_PLAIN_QUOTES)
    values: dict[str, object] = {}
    # The index behind the brace or the pair that was read last.
    position = start + 1
    # The number of braces that are open.
    depth = 1
    for match in _PAIR.finditer(text, position):
        # Braces inside a string are part of the pair. Only braces between pairs open or close an object.
        for brace in _OPEN_OR_CLOSE.finditer(text, position, match.start()):
            if brace.group() == "{":
                depth += 1
            else:
                depth -= 1
            if depth == 0:
                # The object ends before this pair.
                return values or None, brace.end()

        values.setdefault(match["key"], _read_value(match))
        position = match.end()
    return values or None, position


def _read_value(match: re.Match[str]) -> object:
    """Read the value of a pair that `_PAIR` has matched."""
    if match["double"] is not None:
        return _unescape(match["double"])
    if match["single"] is not None:
        return _unescape(match["single"])
    word_or_number = match["bare"]
    if word_or_number.lower() in _WORDS:
        return _WORDS[word_or_number.lower()]
    return _read_number(word_or_number)


def _read_number(text: str) -> object:
    """Read a number. A text that is no number of JSON stays a text: ``_read_number("007")`` returns ``"007"``."""
    try:
        return json.loads(text)
    except ValueError:
        # The number has leading zeros, digits of other scripts, or more digits than Python converts.
        return text


def _unescape(text: str) -> str:
    """Replace the escapes of JSON in a text. If the text has an escape that JSON does not know, it stays as it is."""
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def read_field(text: str, key: str) -> tuple[object, dict[str, object]]:
    """Read a field from the last object that has it, or else from a line such as ``key: value``.

    For example, ``read_field("Verdict. status: True", "status")`` returns ``(None, {})``, because no line begins with
    the key. But ``read_field("**status**: True", "status")`` returns ``(" True", {})``.

    :param text: The reply.
    :param key: The key of the field, in lower case.
    :returns: The value of the field, or None if there is no such field. The second part is the object with the field,
        which is empty if no object has it.
    """
    last = _find_last(text, key)
    if last is not None and not last.in_prose:
        return last.values[key], last.values

    # An object in a sentence may be only a quotation. If a line such as `key: value` stands behind the object, the
    # value of this line is returned, and not the value in the object.
    # Marks of Markdown and quotes may stand around the key, as in `**"status"**: True`.
    marks_before = r"[ \t>#*_\"'-]{0,20}"
    marks_behind = r"[ \t*_\"']{0,20}"
    # "=" or a Chinese colon may stand for the colon.
    colon = r"[:=\uff1a]"
    pattern = rf"^{marks_before}{re.escape(key)}{marks_behind}{colon}(?P<value>.{{0,1000}})"
    values: dict[str, object] = {}
    end = 0
    if last is not None:
        values = last.values
        end = last.end
    lines = list(re.finditer(pattern, text[end:MAX_REPLY_CHARACTERS], re.IGNORECASE | re.MULTILINE))
    if lines:
        last_line = lines[-1]
        return last_line["value"], values
    return values.get(key), values
