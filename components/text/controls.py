"""Remove the characters that a terminal or a browser would obey instead of showing them.

Such characters in a passage or in a reply could change colours, delete lines or reverse the text around them.
"""

import re
from collections.abc import Mapping
from typing import Any

# The characters to remove: control characters, except tab and line feed, and characters that reverse or hide text.
# Examples are the escape character (U+001B) and the right-to-left override (U+202E).
# Joiners such as U+200D are not matched, because some scripts need them.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e0fff]")


def strip_controls(text: str) -> str:
    """Remove control characters, and characters that hide or reverse the text around them.

    Tabs and line feeds stay. For example, ``strip_controls("a" + chr(27) + "[31m")`` returns ``"a[31m"``: the escape
    character is removed, and the rest of the colour command is harmless text.

    :param text: Any text.
    :returns: The text without these characters.
    """
    return _CONTROLS.sub("", text)


def strip_all_controls(value: object) -> Any:
    """Apply :func:`strip_controls` to each text in a value of nested lists and mappings.

    :param value: A text, a list, a tuple, a mapping, or any other object.
    :returns: A copy of the value with cleaned texts. Keys of mappings, and values of other types, stay as they are.
    """
    if isinstance(value, str):
        return strip_controls(value)
    if isinstance(value, Mapping):
        return {key: strip_all_controls(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(strip_all_controls, value))
    return value
