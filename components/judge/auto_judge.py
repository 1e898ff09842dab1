"""The judge that uses a language model if a suitable one is set up, and boosted decision trees otherwise."""

from collections.abc import Sequence

from haystack import Document

from prefrag.components.block import Block
from prefrag.components.both_ways import as_blocking, call_matching
from prefrag.components.judge.judge import Relevance, ScoringJudge
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.state.state import State, Verdict


class AutoJudge(Block):
    """Judge with a language model if a suitable one is set up, and with boosted decision trees otherwise.

    Any model on a server is suitable. A model that runs in this process is too small to judge better than chance, so it
    is used only if ``PREFRAG_JUDGE_GGUF`` names it as the judge.
    """

    def __init__(self, model_judge: ModelJudge, tree_judge: ScoringJudge):
        """Set up the judge.

        :param model_judge: The judge that calls a language model. It is used if its ``can_judge`` is true.
        :param tree_judge: The judge that is used otherwise.
        :raises ValueError: When ``model_judge`` has no ``can_judge``.
        """
        if not hasattr(model_judge, "can_judge"):
            raise ValueError(f"model_judge is a {type(model_judge).__name__}: give a ModelJudge.")
        self.model_judge = model_judge
        self.tree_judge = tree_judge

    def warm_up(self) -> None:
        """Prepare the judge that is used now; raises TreesMissing if it needs trees and their file is missing."""
        self._choose().warm_up()

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search."""
        chosen = self._choose()
        return await call_matching(chosen.judge, chosen.judge_async, state)

    judge = as_blocking(judge_async)

    async def score_async(self, state: State, passages: Sequence[Document]) -> tuple[Relevance, State]:
        """Score how relevant each passage is to the question."""
        chosen = self._choose()
        return await call_matching(chosen.score, chosen.score_async, state, passages)

    score = as_blocking(score_async)

    def _choose(self) -> ScoringJudge:
        # Chosen anew at each call, because the environment variables that name the model may have changed.
        return self.model_judge if self.model_judge.can_judge else self.tree_judge
