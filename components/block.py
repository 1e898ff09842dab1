"""The base class of the objects that a pipeline's YAML describes, and checks of their settings.

The checks take settings by parameter name, allow None, and raise a `ValueError` that says what to set.
"""

import inspect
import math
from collections.abc import Iterable
from typing import Any, Self

from haystack import default_from_dict, default_to_dict
from haystack.core.serialization import component_to_dict


class Block:
    """An object that can be written to YAML. It stores each constructor parameter in an attribute of the same name."""

    def to_dict(self) -> dict[str, Any]:
        """Return the class and the constructor parameters as plain values, as they appear in the YAML."""
        names = inspect.signature(type(self).__init__).parameters
        return default_to_dict(self, **{name: _write(getattr(self, name)) for name in names if name != "self"})

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make the object from the output of :meth:`to_dict`."""
        return default_from_dict(cls, data)


def check_whole_number(least: int, most: float = math.inf, **settings: object) -> None:
    """Refuse anything but a whole number within a range."""
    # In Python, True is an int.
    fits = [
        isinstance(value, int) and not isinstance(value, bool) and least <= value <= most for value in settings.values()
    ]
    bounds = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
    _refuse(settings, fits, f"a whole number {bounds}")


def check_range(least: float, most: float = math.inf, **settings: object) -> None:
    """Refuse anything but a number within a range."""
    fits = [isinstance(value, int | float) and least <= value <= most for value in settings.values()]
    bounds = f"of at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
    _refuse(settings, fits, f"a number {bounds}")


def check_above_zero(**settings: object) -> None:
    """Refuse anything but a finite number above zero."""
    fits = [isinstance(value, int | float) and 0 < value < math.inf for value in settings.values()]
    _refuse(settings, fits, "a number above 0")


def check_choice(choices: Iterable[str], **settings: object) -> None:
    """Refuse anything but one of the choices."""
    *others, last = choices
    fits = [value in (*others, last) for value in settings.values()]
    _refuse(settings, fits, f"{', '.join(others)} or {last}" if others else last)


def _refuse(settings: dict[str, object], fits: list[bool], wanted: str) -> None:
    for (name, value), fit in zip(settings.items(), fits, strict=True):
        if value is not None and not fit:
            raise ValueError(f"{name} is {value!r}: set it to {wanted}.")


def _write(value: object) -> object:
    if isinstance(value, list):
        return [_write(part) for part in value]
    # `default_to_dict` alone would not serialise a nested component that has no `to_dict`.
    return component_to_dict(value, type(value).__name__) if hasattr(value, "run") else value
