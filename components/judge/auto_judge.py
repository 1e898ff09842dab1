"""The judge that asks boosted decision trees first, and a language model only if it is known to judge well.

The pipelines for users have this judge, because a user may set up any model. The judge decides anew at each search
which of three judges to use: the trees alone, the model alone, or the trees and then the model.
"""

from collections.abc import Sequence

from haystack import Document

from prefrag.components.block import Block
from prefrag.components.both_ways import as_blocking, call_matching
from prefrag.components.generators.model_call import may_go_on
from prefrag.components.judge.cascade_judge import CascadeJudge
from prefrag.components.judge.judge import Relevance, ScoringJudge
from prefrag.components.judge.judge_trial import is_better_than_chance, read_trial
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.state.state import RunError, State, Verdict


class AutoJudge(Block):
    """Judge with boosted decision trees and, if they are unsure, with a language model that has passed its trial.

    The size of a model cannot be seen from its address, and small models say True to everything. So a model has to pass
    a trial first: it must be right on more of 30 shipped states than guessing explains. ``prefrag serve`` runs the
    trial (:func:`try_judge`) while it is idle. A model that has passed is asked as in :class:`CascadeJudge`.

    A model that ``PREFRAG_JUDGE_BASE_URL`` or ``PREFRAG_JUDGE_GGUF`` names needs no trial and is always asked.

    In a run with other ``prompts`` than ``product``, as in the papers, any model on a server judges without a trial.
    The trees judge if there is no such model.
    """

    def __init__(self, model_judge: ModelJudge, tree_judge: TreeJudge):
        """Set up the judge.

        :param model_judge: The judge that calls a language model.
        :param tree_judge: The judge that uses boosted trees. It also judges if the model fails.
        :raises ValueError: When ``model_judge`` has no ``can_judge``.
        """
        if not hasattr(model_judge, "can_judge"):
            raise ValueError(f"model_judge is a {type(model_judge).__name__}: give a ModelJudge.")
        self.model_judge = model_judge
        self.tree_judge = tree_judge

    @property
    def is_named(self) -> bool:
        """Whether the environment variables of the judge name its model, which is then always asked."""
        chat_generator = self.model_judge.chat_generator
        return self.model_judge.can_judge and bool(getattr(chat_generator, "is_named_for_judging", False))

    @property
    def has_passed(self) -> bool:
        """Whether the model was found to judge better than chance."""
        if self.model_judge.call.is_absent:
            return False
        right, of = read_trial(self.model_judge.chat_generator)
        return is_better_than_chance(right, of)

    def warm_up(self) -> None:
        """Prepare the judges that may be used.

        :raises TreesMissing: When the trees are needed and their file is missing.
        """
        if not self.is_named:
            self.tree_judge.warm_up()
        if self.model_judge.can_judge or self.has_passed:
            self.model_judge.warm_up()

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search.

        :param state: The state after a search that found at least one passage.
        :returns: The verdict, and the state with the model's calls added if a model was asked.
        :raises RunError: When the model fails and the run may not continue without it. The error holds the state.
        """
        chosen = self._choose(state)
        try:
            return await call_matching(chosen.judge, chosen.judge_async, state)
        except RunError as error:
            if chosen is self.tree_judge or not may_go_on(error, state):
                raise
            # The trees judge in place of the model that failed. The trace keeps the model's error.
            return await call_matching(self.tree_judge.judge, self.tree_judge.judge_async, error.state)

    judge = as_blocking(judge_async)

    async def score_async(self, state: State, passages: Sequence[Document]) -> tuple[Relevance, State]:
        """Score how relevant each passage is to the question.

        :param state: The state after a search.
        :param passages: Passages that the search found, or parts of them.
        :returns: The scores from -1 to 1, and the state with the model's calls added if a model was asked.
        :raises RunError: When the model fails. The error holds the state.
        """
        chosen = self._choose(state)
        return await call_matching(chosen.score, chosen.score_async, state, passages)

    score = as_blocking(score_async)

    def _choose(self, state: State) -> ScoringJudge:
        """Choose the judge for this search."""
        # Chosen anew at each call, because the environment variables and the result of the trial may have changed.
        if self.is_named:
            return self.model_judge
        if state.settings.prompts != "product":
            # In a measurement, as in the papers, a model judges without a trial.
            return self.model_judge if self.model_judge.can_judge else self.tree_judge
        if self.has_passed:
            return CascadeJudge(self.tree_judge, self.model_judge)
        return self.tree_judge
