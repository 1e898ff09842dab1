"""The judge that calls small boosted trees instead of a language model."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from haystack import default_to_dict

from prefrag.components.judge.switch_features import FEATURES, as_row, switch_features
from prefrag.components.state.state import Action, State, Verdict
from prefrag.components.text.term_statistics import TermStatistics
from prefrag.components.trees import BoostedTrees, load_trees

SHIPPED_TREES = Path(__file__).parent / "switch_trees.json"


def keep_probability(trees: BoostedTrees, features: Sequence[Mapping[str, float]]) -> float:
    """Estimate how likely at least one passage is needed, from the trees' estimate for each.

    :param trees: Trees over :data:`FEATURES`.
    :param features: The features of each new passage, from :func:`switch_features`.
    :returns: The probability, from 0 to 1; 0 where no passage is new.
    """
    return 1 - math.prod(1 - needed for needed in trees.probabilities([as_row(passage) for passage in features]))


class TreeJudge:
    """Judge with boosted trees, in milliseconds, how likely one of the passages is new and needed.

    It replaces models that are too small to judge, or too slow.

    ```python
    from haystack import Document
    from prefrag.components.judge.tree_judge import TreeJudge
    from prefrag.components.state.state import Action, RunSettings, Search, State, Step

    found = (Document(content="Heiberg's son was Johan.", meta={"title": "Heiberg"}),)
    step = Step(Action.SEARCH, searches=(Search("local", "Heiberg's son", found),))
    state = State("Who married Heiberg's son?", RunSettings(sources=("local",), preferred="local"), steps=(step,))
    print(TreeJudge().probability(state))
    ```
    """

    def __init__(self, trees: str | None = None, term_statistics: TermStatistics | None = None, threshold: float = 0.5):
        """Set up the judge.

        :param trees: A file that ``prefrag train judge`` has written; by default the trees that are shipped.
        :param term_statistics: The analysis and the frequencies of words: the embedded store, or the Elasticsearch
            retriever; without one all words of four letters and more have the same weight.
        :param threshold: The probability, 0 to 1, from which the passages are kept.
        :raises ValueError: When a setting is out of range.
        """
        if trees is not None and not trees:
            raise ValueError("trees is empty: give the file of the trees, or null for the shipped ones.")
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold is {threshold}: set it between 0 and 1.")
        self.trees = trees
        self.term_statistics = term_statistics
        self.threshold = threshold

    def to_dict(self) -> dict[str, Any]:
        """Write the judge as a block of the pipeline's YAML.

        :returns: Its class and its settings as plain values.
        """
        return default_to_dict(self, trees=self.trees, term_statistics=self.term_statistics, threshold=self.threshold)

    def warm_up(self) -> None:
        """Load the trees.

        :raises TreesMissing: When there are none.
        :raises ValueError: When the file does not fit.
        """
        self._load()

    def judge(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search.

        :param state: The state after a search that found something.
        :returns: The verdict, and the state as it was.
        :raises TreesMissing: When there are no trees.
        """
        probability = self.probability(state)
        analysis = (
            f"A passage that is new and needed is among them with a probability of {probability:.0%} "
            f"(kept from {self.threshold:.0%})."
        )
        return Verdict(probability >= self.threshold, "classifier", analysis, score=round(probability, 4)), state

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        """Judge as :meth:`judge` does, without blocking the event loop.

        :param state: The state after a search that found something.
        :returns: The verdict, and the state as it was.
        :raises TreesMissing: When there are no trees.
        """
        # In a thread, because the statistics may come from a server.
        return await asyncio.to_thread(self.judge, state)

    def probability(self, state: State) -> float:
        """Estimate how likely the last search found a passage that is needed and has not been shown.

        :param state: The state after a search.
        :returns: The probability, from 0 to 1.
        :raises TreesMissing: When there are no trees.
        """
        search = state.step.searches[-1]
        earlier = sum(step.action is Action.SEARCH and bool(step.searches) for step in state.steps[:-1])
        features = switch_features(
            state.question, search.query, search.documents, state.observed, earlier, self.term_statistics
        )
        return keep_probability(self._load(), features)

    def _load(self) -> BoostedTrees:
        return load_trees(Path(self.trees) if self.trees else SHIPPED_TREES, FEATURES)
