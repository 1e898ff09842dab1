"""Remove the characters of a text that a terminal or a browser obeys."""

import re
from collections.abc import Mapping
from typing import Any

# Control characters, and characters that reverse or hide text, but no joiners, because some scripts need joiners.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e0fff]")


def strip_controls(text: str) -> str:
    """Remove control characters, and characters that hide or reverse the text around them."""
    return _CONTROLS.sub("", text)


def strip_all_controls(value: object) -> Any:
    """Apply `strip_controls` to each text in a value of lists and mappings; their keys stay."""
    if isinstance(value, str):
        return strip_controls(value)
    if isinstance(value, Mapping):
        return {key: strip_all_controls(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(strip_all_controls, value))
    return value
