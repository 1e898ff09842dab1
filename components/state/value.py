"""The base of the immutable parts of a state."""

from typing import Any, Self


class Value:
    """An immutable value, whose copies are the value itself.

    Haystack deep-copies every input of every component, which would be some thirty copies of the growing state per run.
    The copies are not needed, because no component changes the state that it receives.
    """

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
