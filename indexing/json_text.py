"""Write JSON as text that people would write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from prefrag.indexing.report import CannotRead
from prefrag.indexing.tables import limit_text

# Each value is written behind its name.
_MOST_NAME = 200


def read_json(text: str) -> list[str]:
    """Read a JSON text."""
    try:
        # Numbers as they are written: Python's would lose digits, and refuse long ones.
        return list(limit_text(_lines(json.loads(text, parse_int=str, parse_float=str, parse_constant=str), "")))
    except RecursionError as error:
        raise CannotRead("its values are nested too deeply") from error
    except ValueError as error:
        raise CannotRead(f"it is not JSON ({error})") from error


def _lines(value: Any, name: str) -> Iterator[str]:
    values: list[str] = []
    lists: list[tuple[str, Any]] = []
    _collect(value, "", values, lists)
    if values:
        yield (f"{name}: " if name else "") + "; ".join(values)
    for below, items in lists:
        path = " > ".join(filter(None, (name, below)))[:_MOST_NAME]
        for item in items:
            yield from _lines(item, path)


def _collect(value: Any, name: str, values: list[str], lists: list[tuple[str, Any]]) -> None:
    """Collect the simple values of an object and of those in it, and the lists that hold more than simple values."""
    label = f"{name}: " if name else ""
    if isinstance(value, dict):
        for key, content in value.items():
            _collect(content, f"{name} {_one_line(key)}".strip()[:_MOST_NAME], values, lists)
    elif isinstance(value, list):
        if any(isinstance(item, list | dict) for item in value):
            lists.append((name, value))
        elif simple := ", ".join(filter(None, map(_simple, value))):
            values.append(label + simple)
    elif simple := _simple(value):
        values.append(label + simple)


def _simple(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else _one_line(str(value))


def _one_line(text: str) -> str:
    return " ".join(text.split())
