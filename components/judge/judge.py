"""The interface of a judge."""

from __future__ import annotations

from typing import Any, Protocol

from prefrag.components.state.state import State, Verdict


class Judge(Protocol):
    """Decide whether the passages that the last search found are worth keeping (equation 3 of PrefRAG)."""

    def warm_up(self) -> None:
        """Load or connect what the judge needs, before the first question."""

    def judge(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search.

        :param state: The state after a search that found something.
        :returns: The verdict, and the state with the calls counted.
        :raises RunError: When a model fails; it holds the state.
        """

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        """Judge as :meth:`judge` does, without blocking the event loop.

        :param state: The state after a search that found something.
        :returns: The verdict, and the state with the calls counted.
        :raises RunError: When a model fails; it holds the state.
        """

    def to_dict(self) -> dict[str, Any]:
        """Write the judge as a block of the pipeline's YAML.

        :returns: Its class and its settings as plain values.
        """
