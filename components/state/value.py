"""The base class of the immutable parts of a state."""

from typing import Self


class Value:
    """An immutable value. To copy it returns the value itself.

    Haystack deep-copies every input of every component. In one run, that would be some thirty copies of a state that
    grows with each step. The copies are not needed, because no component changes the state that it receives.
    """

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self
