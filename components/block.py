"""The base class of the objects that the YAML of a pipeline describes, and checks of their settings.

Each check takes settings by parameter name. A setting may be None. For a setting that does not fit, a check raises a
`ValueError` that says what to set. For example, `check_whole_number(1, top_k=0)` raises "top_k is 0: set it to a whole
number of at least 1."
"""

import inspect
import math
from collections.abc import Iterable
from typing import Self

from haystack import default_from_dict, default_to_dict
from haystack.core.serialization import component_to_dict


class Block:
    """An object that can be written to YAML. Each constructor parameter is stored in an attribute of the same name."""

    def to_dict(self) -> dict[str, object]:
        """Return the class and the constructor parameters as plain values, as they appear in the YAML.

        :returns: A dictionary with the keys ``type`` and ``init_parameters``.
        """
        names = inspect.signature(type(self).__init__).parameters
        return default_to_dict(self, **{name: _write(getattr(self, name)) for name in names if name != "self"})

    @classmethod
    def from_dict(cls, data: dict[str, object]) -> Self:
        """Make the object from the output of :meth:`to_dict`.

        :param data: The class and the constructor parameters.
        :returns: The object.
        """
        return default_from_dict(cls, data)


def check_whole_number(least: int, most: float = math.inf, **settings: object) -> None:
    """Refuse every setting that is no whole number within a range.

    :param least: The smallest allowed number.
    :param most: The largest allowed number. By default, there is none.
    :param settings: The settings by name.
    :raises ValueError: When a setting does not fit.
    """
    # In Python, True is an int.
    fits = [
        isinstance(value, int) and not isinstance(value, bool) and least <= value <= most for value in settings.values()
    ]
    bounds = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
    _refuse(settings, fits, f"a whole number {bounds}")


def check_range(least: float, most: float = math.inf, **settings: object) -> None:
    """Refuse every setting that is no number within a range.

    :param least: The smallest allowed number.
    :param most: The largest allowed number. By default, there is none.
    :param settings: The settings by name.
    :raises ValueError: When a setting does not fit.
    """
    fits = [isinstance(value, int | float) and least <= value <= most for value in settings.values()]
    bounds = f"of at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
    _refuse(settings, fits, f"a number {bounds}")


def check_above_zero(**settings: object) -> None:
    """Refuse every setting that is no finite number above zero.

    :param settings: The settings by name.
    :raises ValueError: When a setting does not fit.
    """
    fits = [isinstance(value, int | float) and 0 < value < math.inf for value in settings.values()]
    _refuse(settings, fits, "a number above 0")


def check_choice(choices: Iterable[str], **settings: object) -> None:
    """Refuse every setting that is none of the choices.

    :param choices: The allowed values, at least one.
    :param settings: The settings by name.
    :raises ValueError: When a setting does not fit.
    """
    names = list(choices)
    fits = [value in names for value in settings.values()]
    *others, last = names
    wanted = last
    if others:
        wanted = f"{', '.join(others)} or {last}"
    _refuse(settings, fits, wanted)


def _refuse(settings: dict[str, object], fits: list[bool], wanted: str) -> None:
    """Raise ValueError for the first setting that is not None and does not fit. ``wanted`` says what fits."""
    for (name, value), fit in zip(settings.items(), fits, strict=True):
        if value is not None and not fit:
            raise ValueError(f"{name} is {value!r}: set it to {wanted}.")


def _write(value: object) -> object:
    """Serialise a component or a list of components. Return other values unchanged."""
    if isinstance(value, list):
        return [_write(part) for part in value]
    # `default_to_dict` alone would not serialise a nested component that has no `to_dict`.
    return component_to_dict(value, type(value).__name__) if hasattr(value, "run") else value
