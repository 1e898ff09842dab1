"""Test whether two runs differ, and correct the p-values of several tests.

The tests use the differences between two runs on the same questions. They do not assume a distribution of the
differences.
"""

import math
from collections.abc import Sequence

import numpy as np

from prefrag.evaluation.report.intervals import RESAMPLES, SEED

# The number of resamples that are drawn at a time, so that their numbers fit into the processor's cache.
_BLOCK = 250
# If at most this many differences are not 0, the test tries all combinations of their signs. These are at most 4,096.
_ENUMERATED = 12


def compute_p(columns: np.ndarray, resamples: int = RESAMPLES, seed: int = SEED) -> list[float]:
    """Test whether the paired differences of each column differ from zero, by flipping signs (R. A. Fisher, 1935).

    If two runs are equally good, each difference could as well have the opposite sign. Each combination of signs has a
    sum. The p-value is the share of sums that are at least as far from zero as the observed sum. The test is two-sided.

    The test is exact in two cases. In the first case, all differences that are not 0 have the same size: this is
    McNemar's exact test (Q. McNemar, 1947). In the second case, at most 12 differences are not 0. All other columns are
    tested with the same random signs.

    :param columns: One column of differences per measure, and one row per question. NaN counts as 0.
    :param resamples: The number of random draws of all signs.
    :param seed: The seed of the draws.
    :returns: The p-value of each column.
    """
    differences = np.nan_to_num(columns)
    ps = [math.nan] * differences.shape[1]
    drawn_columns = []
    for column, values in enumerate(differences.T):
        sizes = np.abs(values[values != 0])
        have_one_size = len(sizes) == 0 or np.allclose(sizes, sizes[0])
        if have_one_size:
            ps[column] = _sign_test(int((values > 0).sum()), len(sizes))
        elif len(sizes) <= _ENUMERATED:
            # All combinations of signs. For two sizes, these are (1, 1), (1, -1), (-1, 1) and (-1, -1).
            numbers = np.arange(2 ** len(sizes))[:, None]
            # Bit by bit of the number of a combination: 0 stands for 1.0, and 1 for -1.0.
            bits = (numbers >> np.arange(len(sizes))[::-1]) & 1
            signs = 1.0 - 2.0 * bits
            ps[column] = float(_is_as_far(signs @ sizes, values.sum()).mean())
        else:
            drawn_columns.append(column)

    if drawn_columns:
        drawn_ps = _draw_signs(differences[:, drawn_columns], resamples, seed)
        for column, p in zip(drawn_columns, drawn_ps, strict=True):
            ps[column] = p
    return ps


def _draw_signs(differences: np.ndarray, resamples: int, seed: int) -> list[float]:
    """Return the p-value of each column of differences, from random draws of all signs."""
    observed = differences.sum(axis=0)
    # For each column, the number of draws whose sum is as far from zero as the observed sum.
    as_far = np.zeros(differences.shape[1])

    random = np.random.default_rng(seed)
    for start in range(0, resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        signs = random.choice((-1.0, 1.0), size=(size, len(differences)))
        as_far += _is_as_far(signs @ differences, observed).sum(axis=0)
    # The observed signs count as one more draw, so that p is never 0.
    return [float((number + 1) / (resamples + 1)) for number in as_far]


def correct(ps: Sequence[float]) -> list[float]:
    """Correct p-values for multiple comparisons (S. Holm, 1979).

    For example, ``correct([0.01, 0.04])`` returns ``[0.02, 0.04]``.

    :param ps: The p-values.
    :returns: The corrected p-values, in the same order.
    """
    order = np.argsort(ps)
    ascending = np.asarray(ps, dtype=float)[order]
    # The smallest p-value is multiplied by the number of tests, the next one by one less, and the last one by 1.
    multiplied = ascending * np.arange(len(ps), 0, -1)
    # A corrected p-value is at least as large as all before it, and at most 1.
    stepped = np.minimum(1.0, np.maximum.accumulate(multiplied))

    corrected = np.empty(len(ps))
    corrected[order] = stepped
    return [float(p) for p in corrected]


def _is_as_far(sums: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Check which sums are at least as far from zero as the observed sums, allowing for rounding errors."""
    return np.asarray(np.abs(sums) >= np.abs(observed) - 1e-7)


def _sign_test(positive: int, n: int) -> float:
    """Compute the p-value of ``positive`` heads in ``n`` throws of a fair coin (exact binomial test, two-sided).

    For example, ``_sign_test(5, 5)`` returns ``0.0625``.
    """
    if not n:
        return 1.0
    rarer = min(positive, n - positive)
    combinations = sum(math.comb(n, number) for number in range(rarer + 1))
    # There are 2 ** n results. Few heads and few tails count, so the share of the combinations is doubled.
    p: float = combinations / 2 ** (n - 1)
    return min(1.0, p)
