"""Leave out repeated values, for lists in which each value counts once."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def distinct(values: Iterable[T]) -> list[T]:
    """Return values in their order, without those that are equal to an earlier one.

    For example, ``distinct(["web", "local", "web"])`` returns ``["web", "local"]``.

    :param values: The values.
    :returns: The values without repetitions.
    """
    # A dict keeps the order in which its keys were first added, unlike a set.
    return list(dict.fromkeys(values))
