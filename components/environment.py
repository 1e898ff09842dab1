"""The settings in the environment that are numbers."""

from __future__ import annotations

import math
import os

from prefrag.components.errors import BadInput


def read_number(variable: str, default: float) -> float:
    """Read a setting that is a number above zero.

    :param variable: The environment variable.
    :param default: The value where it is unset or empty.
    :returns: The number.
    :raises BadInput: When it is set to something else.
    """
    text = os.environ.get(variable, "").strip()
    try:
        number = float(text) if text else default
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise BadInput(f"{variable} is '{text}': set it to a number above zero, or unset it.")
    return number


def read_count(variable: str, default: int, least: int) -> int:
    """Read a setting that is a whole number.

    :param variable: The environment variable.
    :param default: The value where it is unset or empty.
    :param least: The lowest value.
    :returns: The number.
    :raises BadInput: When it is set to something else.
    """
    text = os.environ.get(variable, "").strip()
    number = default if not text else int(text) if text.isdecimal() else -1
    if number < least:
        raise BadInput(f"{variable} is '{text}': set it to a whole number from {least} on, or unset it.")
    return number
