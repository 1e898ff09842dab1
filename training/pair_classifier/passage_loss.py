"""The loss that trains the pair classifier's trees. It scores each passage by the best pair that contains it."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from prefrag.training.pair_classifier.pool import Pool

# The temperature of the smooth maximum over a passage's pairs. Below 1, the gradient goes mostly to the best pair.
SMOOTHNESS = 0.3
_LEAST_HESSIAN = 1e-4  # the minimum of the second derivative, for passages whose probability is almost 0 or 1
# Derivatives are rounded to this many decimals. Further decimals, and so the trees, would depend on the processor.
_DIGITS = 6

Values = np.ndarray[Any, np.dtype[Any]]


class PassageLoss:
    """A custom objective for XGBoost: the cross-entropy of passages, each scored by the pairs that contain it.

    The probability of a passage is that of its best pair (:func:`by_best_pair`), which therefore gets nearly the whole
    gradient. A log-sum-exp serves as a smooth maximum. A gold passage should have at least one pair with a high score,
    any other passage none. So a gold passage counts even if no other gold passage of its question was found.
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
                passages += [number.setdefault(passage.id, len(needed) + len(number)) for passage in pair]
            gold = [key in pool.gold for key in number]
            needed += gold
            weights += [math.sqrt(typical / sizes[pool.dataset] / max(1, sum(gold)))] * len(number)
        order = np.argsort(passages, kind="stable")
        # Each pair has two entries in these arrays, one for each of its passages. The entries are sorted by passage.
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
