"""The interface of judges, which decide whether to keep the passages that a search has found.

:class:`SourceSwitchJudge` asks a judge for a verdict on all passages of a search. The evaluator of CRAG asks for a
score of each passage. Every method has a blocking and an asynchronous form with the same result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from haystack import Document

from prefrag.components.state.state import State, Verdict


@dataclass(frozen=True)
class Relevance:
    """How relevant each passage of a list is to the question.

    :param scores: A score for each passage, from -1 (not relevant) to 1 (relevant). None for a passage without a
        reliable score.
    :param judged_by: ``model`` for a language model, ``classifier`` for boosted trees.
    :param parsed: False if the model's scores could not be read.
    :param analysis: Why scores are missing; empty if none are missing.
    """

    scores: tuple[float | None, ...]
    judged_by: str
    parsed: bool = True
    analysis: str = ""


class Judge(Protocol):
    """Decide whether to keep the passages of the last search or switch to another source (equation 3 of PrefRAG)."""

    def warm_up(self) -> None:
        """Prepare the judge before the first question."""

    def judge(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search.

        :param state: The state after a search that found at least one passage.
        :returns: The verdict (True keeps the passages), and the state with the judge's model calls added.
        :raises RunError: When a model fails. The error holds the state.
        """

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        """Do the same as :meth:`judge`, without blocking the event loop."""

    def to_dict(self) -> dict[str, object]:
        """Return the judge's class and its settings as plain values, for the pipeline's YAML.

        :returns: A dictionary of plain values.
        """


class ScoringJudge(Judge, Protocol):
    """A judge that can also score single passages, like the retrieval evaluator of CRAG."""

    def score(self, state: State, passages: Sequence[Document]) -> tuple[Relevance, State]:
        """Score how relevant each passage is to the question.

        :param state: The state after a search.
        :param passages: Passages that the search found, or parts of them.
        :returns: The scores of the passages, and the state with the judge's model calls added.
        :raises RunError: When a model fails. The error holds the state.
        """

    async def score_async(self, state: State, passages: Sequence[Document]) -> tuple[Relevance, State]:
        """Do the same as :meth:`score`, without blocking the event loop."""
