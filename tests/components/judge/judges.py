"""Judges whose verdict a test chooses."""

from __future__ import annotations

from typing import Any

from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.state.state import State, Verdict
from tests.fakes import CALLS


class FixedTrees(TreeJudge):
    """Trees that give every search the same probability, and may not know what they see."""

    def __init__(self, probability: float, unknown: str | None = None, **settings: Any):
        super().__init__(**settings)
        self._estimate = probability, unknown

    def estimate(self, state: State) -> tuple[float, str | None]:
        return self._estimate

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
