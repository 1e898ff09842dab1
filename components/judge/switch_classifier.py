"""The judge as small trees: is there something new and needed among the passages?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from haystack import Document, default_from_dict, default_to_dict

from prefrag.components.judge.switch_features import FEATURES, as_row, judge_features
from prefrag.components.text.term_statistics import TermStatistics
from prefrag.components.trees import BoostedTrees, load_trees

SHIPPED_TREES = Path(__file__).parent / "switch_trees.json"


def keep_probability(trees: BoostedTrees, features: Sequence[Mapping[str, float]]) -> float:
    """Estimate whether at least one passage is needed, from what the trees say of each.

    :param trees: Trees over :data:`FEATURES`.
    :param features: What :func:`judge_features` tells of each new passage.
    :returns: The probability, from 0 to 1; 0 where no passage is new.
    """
    return 1 - math.prod(1 - needed for needed in trees.probabilities([as_row(passage) for passage in features]))


class SwitchClassifier:
    """Boosted trees over what the passages cover and are called, in place of the model of equation 3 of PrefRAG.

    They estimate of each new passage whether it is needed; the verdict is on whether at least one of them is.

    ```python
    from haystack import Document
    from prefrag.components.judge.switch_classifier import SwitchClassifier

    found = [Document(content="Heiberg's son was Johan.", meta={"title": "Heiberg"})]
    print(SwitchClassifier().probability("Who married Heiberg's son?", "Heiberg's son", found, [], step=0))
    ```
    """

    def __init__(self, model: str | None = None):
        """
        :param model: A file that ``prefrag train judge`` has written; by default the trees that are shipped.
        :raises ValueError: When the path is empty.
        """
        if model is not None and not model:
            raise ValueError("model is empty: give the file of the trees, or null for the shipped ones.")
        self.model = model

    def to_dict(self) -> dict[str, Any]:
        """:returns: The classifier as plain values."""
        return default_to_dict(self, model=self.model)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SwitchClassifier:
        """:param data: See :meth:`to_dict`. :returns: The classifier."""
        return default_from_dict(cls, data)

    def warm_up(self) -> None:
        """
        Load the trees.

        :raises TreesMissing: When there are none.
        :raises ValueError: When the file is none that fits.
        """
        self._trees()

    def probability(
        self,
        question: str,
        query: str,
        new: Sequence[Document],
        observed: Sequence[Document],
        step: int,
        statistics: TermStatistics | None = None,
    ) -> float:
        """
        Estimate whether the new passages hold one that is needed and has not been shown.

        :param question: The original question.
        :param query: What the source was asked.
        :param new: The passages that it gave, best first.
        :param observed: The passages that have been shown.
        :param step: How many searches went before this one.
        :param statistics: Analyses the texts and weighs their words; see :func:`term_weights`.
        :returns: The probability, from 0 to 1.
        :raises TreesMissing: See :meth:`warm_up`.
        """
        return keep_probability(self._trees(), judge_features(question, query, new, observed, step, statistics))

    def _trees(self) -> BoostedTrees:
        return load_trees(Path(self.model) if self.model else SHIPPED_TREES, FEATURES)
