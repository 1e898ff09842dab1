"""Judges whose verdict a test chooses."""

from __future__ import annotations

from typing import Any

from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.state.state import State, Verdict
from tests.fakes import CALLS


class FixedTrees(TreeJudge):
    """Trees that give every search the same probability."""

    def __init__(self, probability: float, **settings: Any):
        super().__init__(**settings)
        self._probability = probability

    def probability(self, state: State) -> float:
        return self._probability

    def warm_up(self) -> None:
        CALLS.setdefault("warmed", []).append("trees")


class FixedJudge:
    """Gives every search the same verdict, and keeps what it was called with."""

    def __init__(self, status: bool):
        self.status = status

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def warm_up(self) -> None:
        CALLS.setdefault("warmed", []).append("judge")

    def judge(self, state: State) -> tuple[Verdict, State]:
        CALLS.setdefault("judge", []).append(state)
        return Verdict(self.status, "model", "Compared."), state.with_call("judge", {})

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        return self.judge(state)
