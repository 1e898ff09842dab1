"""The model where it can judge, the trees where it cannot."""

from __future__ import annotations

from typing import Any

from haystack import default_to_dict

from prefrag.components.judge.judge import Judge
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.state.state import State, Verdict


class AutoJudge:
    """Leaves the verdict to the model of a server, and to trees in the place of the embedded model.

    The small model that runs in this process judges at chance.
    """

    def __init__(self, model_judge: ModelJudge, tree_judge: Judge):
        """Set up the judge.

        :param model_judge: Judges with the model of a server.
        :param tree_judge: Judges where that model would be the embedded one.
        """
        self.model_judge = model_judge
        self.tree_judge = tree_judge

    def to_dict(self) -> dict[str, Any]:
        """Write the judge as a block of the pipeline's YAML.

        :returns: Its class and its settings as plain values.
        """
        return default_to_dict(self, model_judge=self.model_judge, tree_judge=self.tree_judge)

    def warm_up(self) -> None:
        """Load or connect the one that judges.

        :raises TreesMissing: When the trees judge and there are none.
        """
        self._chosen().warm_up()

    def judge(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search.

        :param state: The state after a search that found something.
        :returns: The verdict, and the state with what judging has cost.
        :raises RunError: When the model fails; it holds the state.
        """
        return self._chosen().judge(state)

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        """Judge as :meth:`judge` does, without blocking the event loop.

        :param state: The state after a search that found something.
        :returns: The verdict, and the state with what judging has cost.
        :raises RunError: When the model fails; it holds the state.
        """
        return await self._chosen().judge_async(state)

    def _chosen(self) -> Judge:
        # Which model it is depends on the environment of the run, so that is looked up late.
        return self.tree_judge if self.model_judge.is_embedded else self.model_judge
