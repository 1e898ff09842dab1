"""Judges whose verdict a test chooses."""

from collections.abc import Sequence
from typing import Any

from haystack import Document

from prefrag.components.both_ways import as_async
from prefrag.components.judge.judge import Relevance
from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.state.state import State, Verdict
from tests.fakes import CALLS


class FixedTrees(TreeJudge):
    """Trees that give every search the same probability, or do not know its passages."""

    def __init__(self, probability: float, unknown: str | None = None, **settings: Any):
        super().__init__(**settings)
        self._estimate = probability, unknown

    def estimate(self, state: State) -> tuple[float, str | None]:
        return self._estimate

    def score(self, state: State, passages: Sequence[Document]) -> tuple[Relevance, State]:
        probability, unknown = self._estimate
        return Relevance((None if unknown else 2 * probability - 1,) * len(passages), "classifier"), state

    score_async = as_async(score)

    def warm_up(self) -> None:
        CALLS.setdefault("warmed", []).append("trees")


class FixedJudge:
    """Gives every search the same verdict, and records its calls."""

    def __init__(self, status: bool, judged_by: str = "model"):
        self.status = status
        self.judged_by = judged_by

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def warm_up(self) -> None:
        CALLS.setdefault("warmed", []).append("judge")

    def judge(self, state: State) -> tuple[Verdict, State]:
        CALLS.setdefault("judge", []).append(state)
        return Verdict(self.status, self.judged_by, "Compared."), state.with_call("judge", {})

    judge_async = as_async(judge)

    def score(self, state: State, passages: Sequence[Document]) -> tuple[Relevance, State]:
        scores = (1.0 if self.status else -1.0,) * len(passages)
        return Relevance(scores, "model"), state.with_call("judge", {})

    score_async = as_async(score)
