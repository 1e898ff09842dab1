"""The loss that trains the pair classifier. It is computed from passages, each of which is scored by its best pair."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from prefrag.training.pair_classifier.pool import Pool

# With a value below 1, almost only the best pair of a passage learns. With a value above 1, all of its pairs learn.
SMOOTHNESS = 0.3
# The minimum of the second derivative, for passages whose score is almost certain.
_LEAST_HESSIAN = 1e-4
# Derivatives are rounded to this many digits. The further digits differ between processors, and so would the trees.
_DIGITS = 6

Values = np.ndarray[Any, np.dtype[Any]]


class PassageLoss:
    """A custom objective for XGBoost: the cross-entropy of passages that are scored by their pairs.

    A passage is as likely to be needed as its best pair (:func:`by_best_pair`), so only that pair learns from it. A
    gold passage needs just one good pair, and other passages must have no good pair. A log-sum-exp smooths the choice
    of the best pair. A gold passage is used even if no other gold passage of its question was found.
    """

    def __init__(self, gathered: Sequence[Pool]):
        sizes = Counter(pool.dataset for pool in gathered)
        typical = len(gathered) / max(len(sizes), 1)
        passages: list[int] = []
        needed: list[bool] = []
        weights: list[float] = []
        for pool in gathered:
            number: dict[str, int] = {}
            for pair in pool.pairs:
                passages += [number.setdefault(one.id, len(needed) + len(number)) for one in pair]
            gold = [key in pool.gold for key in number]
            needed += gold
            weights += [math.sqrt(typical / sizes[pool.dataset] / max(1, sum(gold)))] * len(number)
        order = np.argsort(passages, kind="stable")
        # One entry for each passage of each pair, sorted by passage: the indices of the pair and of the passage.
        self._pair = order // 2
        self._passage = np.asarray(passages, np.intp)[order]
        self._starts = np.searchsorted(self._passage, np.arange(len(needed)))
        self._needed = np.asarray(needed, np.float64)
        self._weights = np.asarray(weights, np.float64)

    def __call__(self, margins: Values, _matrix: Any) -> tuple[Values, Values]:
        """Compute the first and the second derivative of the loss for each pair."""
        scaled = margins.astype(np.float64)[self._pair] / SMOOTHNESS
        highest = np.maximum.reduceat(scaled, self._starts)
        parts = np.exp(scaled - highest[self._passage])
        sums = np.add.reduceat(parts, self._starts)
        likely = 1 / (1 + np.exp(-SMOOTHNESS * (highest + np.log(sums))))
        gradient = self._weights * (likely - self._needed)
        hessian = self._weights * np.maximum(likely * (1 - likely), _LEAST_HESSIAN)
        share = parts / sums[self._passage]
        first, second = (
            np.bincount(self._pair, weights=of[self._passage] * share, minlength=len(margins)).round(_DIGITS)
            for of in (gradient, hessian)
        )
        return first, np.maximum(second, 10.0**-_DIGITS)
