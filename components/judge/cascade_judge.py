"""The judge that asks boosted decision trees first, and a language model only if the trees are unsure.

The trees are fast and free. They are sure if their probability is near 0 or 1. Only the other verdicts cost a model
call.
"""

from collections.abc import Sequence
from dataclasses import replace

from haystack import Document

from prefrag.components.block import Block, check_range
from prefrag.components.both_ways import as_blocking, call_matching
from prefrag.components.judge.judge import Relevance, ScoringJudge
from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.state.state import State, Verdict


class CascadeJudge(Block):
    """Judge with boosted trees and, if the trees are unsure, with a language model.

    The score of a verdict always comes from the trees, even if the model gave the verdict.
    """

    def __init__(
        self, tree_judge: TreeJudge, model_judge: ScoringJudge, unsure_from: float = 0.2, unsure_to: float = 0.8
    ):
        """Set up the judge.

        :param tree_judge: The judge that is called first. It estimates the probability that a passage is needed.
        :param model_judge: The judge that is called if the trees are unsure. The trees are unsure between the two
            bounds below, or if they give no probability.
        :param unsure_from: At this probability or less, the trees are sure that no passage is needed.
        :param unsure_to: At this probability or more, the trees are sure that a passage is needed.
        :raises ValueError: When a bound is out of range, or ``unsure_from`` is above ``unsure_to``.
        """
        check_range(0, 1, unsure_from=unsure_from, unsure_to=unsure_to)
        if unsure_from > unsure_to:
            raise ValueError(f"unsure_from is {unsure_from}: set it to at most unsure_to, which is {unsure_to}.")
        self.tree_judge = tree_judge
        self.model_judge = model_judge
        self.unsure_from = unsure_from
        self.unsure_to = unsure_to

    def warm_up(self) -> None:
        """Load the trees and prepare the model.

        :raises TreesMissing: When there is no file of trees.
        """
        self.tree_judge.warm_up()
        self.model_judge.warm_up()

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search.

        :param state: The state after a search.
        :returns: The verdict, and the state with the model's calls added if the model was asked.
        :raises RunError: When the model fails. The error holds the state.
        """
        by_trees, state = await call_matching(self.tree_judge.judge, self.tree_judge.judge_async, state)
        if not self._is_unsure(by_trees):
            return by_trees, state
        verdict, state = await call_matching(self.model_judge.judge, self.model_judge.judge_async, state)
        return replace(verdict, score=by_trees.score), state

    judge = as_blocking(judge_async)

    async def score_async(self, state: State, passages: Sequence[Document]) -> tuple[Relevance, State]:
        """Score how relevant each passage is to the question.

        If the trees are unsure of one passage, the model scores all passages.

        :param state: The state after a search.
        :param passages: Passages that the search found, or parts of them.
        :returns: The scores from -1 to 1, and the state with the model's calls added if the model was asked.
        :raises RunError: When the model fails. The error holds the state.
        """
        by_trees, state = await call_matching(self.tree_judge.score, self.tree_judge.score_async, state, passages)
        if not self._is_unsure_of_any(by_trees):
            return by_trees, state
        return await call_matching(self.model_judge.score, self.model_judge.score_async, state, passages)

    score = as_blocking(score_async)

    def _is_unsure_of_any(self, relevance: Relevance) -> bool:
        """Check whether the trees are unsure of at least one passage."""
        for score in relevance.scores:
            if score is None:
                return True
            # The score is between -1 and 1. The bounds are probabilities.
            probability = (score + 1) / 2
            if self.unsure_from < probability < self.unsure_to:
                return True
        return False

    def _is_unsure(self, verdict: Verdict) -> bool:
        """Check whether the trees are unsure of their verdict."""
        # A verdict has no score if the passages are unlike the training data, or if the tree judge used no trees.
        return verdict.score is None or self.unsure_from < verdict.score < self.unsure_to
