"""The loss that trains the pair classifier's trees.

Trees score pairs of passages, but the training data says which single passages are needed. So the loss gives each
passage the score of the best pair that contains it.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from prefrag.training.pair_classifier.pool import Pool

# The temperature of the smooth maximum over a passage's pairs. Below 1, the gradient goes mostly to the best pair.
SMOOTHNESS = 0.3
# The second derivative of a passage is at least this. It would be smaller if the probability is almost 0 or 1.
_LEAST_HESSIAN = 1e-4
# Derivatives are rounded to this number of decimals. Further decimals would depend on the processor, and so would the
# trees.
_DIGITS = 6

# An array of numbers.
Values = np.ndarray


class PassageLoss:
    """A custom objective for XGBoost: the cross-entropy of passages, each scored by the pairs that contain it.

    The probability of a passage is that of its best pair (:func:`by_best_pair`). So the best pair gets nearly the whole
    gradient. A log-sum-exp serves as a smooth maximum. A gold passage should have at least one pair with a high score.
    Any other passage should have none. So a gold passage counts even if no other gold passage of its question was
    found.

    :param gathered: The questions with their pairs, in the order of the rows of features.
    """

    def __init__(self, gathered: Sequence[Pool]):
        sizes = Counter(pool.dataset for pool in gathered)
        typical = len(gathered) / max(len(sizes), 1)
        passages: list[int] = []
        needed: list[bool] = []
        weights: list[float] = []
        for pool in gathered:
            # The number of each passage of this question, counted over all questions.
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

    def __call__(self, margins: Values, _matrix: object) -> tuple[Values, Values]:
        """Compute the first and the second derivative of the loss for each pair.

        :param margins: The trees' score of each pair, in log odds.
        :param _matrix: XGBoost's data, which is not used.
        :returns: The first and the second derivatives.
        """
        scaled = margins.astype(np.float64)[self._pair] / SMOOTHNESS
        highest = np.maximum.reduceat(scaled, self._starts)
        parts = np.exp(scaled - highest[self._passage])
        sums = np.add.reduceat(parts, self._starts)
        likely = 1 / (1 + np.exp(-SMOOTHNESS * (highest + np.log(sums))))
        gradient = self._weights * (likely - self._needed)
        hessian = self._weights * np.maximum(likely * (1 - likely), _LEAST_HESSIAN)
        share = parts / sums[self._passage]
        # Each pair gets its share of the derivatives of both of its passages.
        shares_of_gradient = gradient[self._passage] * share
        shares_of_hessian = hessian[self._passage] * share
        first = np.bincount(self._pair, weights=shares_of_gradient, minlength=len(margins)).round(_DIGITS)
        second = np.bincount(self._pair, weights=shares_of_hessian, minlength=len(margins)).round(_DIGITS)
        return first, np.maximum(second, 10.0**-_DIGITS)
