"""Test paired differences without assuming a distribution, and correct p-values for multiple comparisons."""

import math
from collections.abc import Sequence

import numpy as np

from prefrag.evaluation.report.intervals import RESAMPLES, SEED

# The number of resamples that are drawn at a time: few enough for the processor's cache.
_BLOCK = 250
# If at most this many differences are not 0, the test tries all combinations of their signs: at most 4,096.
_ENUMERATED = 12


def compute_p(columns: np.ndarray, resamples: int = RESAMPLES, seed: int = SEED) -> list[float]:
    """Test whether the paired differences of each column differ from zero, by flipping signs (R. A. Fisher, 1935).

    The test is two-sided. It is exact if at most 12 differences are not 0 or if all of these have the same size. In the
    second case, it is McNemar's exact test (Q. McNemar, 1947). All other columns are tested with the same random signs.
    """
    differences = np.nan_to_num(columns)
    ps = [math.nan] * differences.shape[1]
    drawn = []
    for column, values in enumerate(differences.T):
        sizes = np.abs(values[values != 0])
        if np.allclose(sizes, sizes[:1]):
            ps[column] = _sign_test(int((values > 0).sum()), len(sizes))
        elif len(sizes) <= _ENUMERATED:
            signs = 1.0 - 2 * (np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes)) & 1)
            ps[column] = float(_is_as_far(signs @ sizes, values.sum()).mean())
        else:
            drawn.append(column)
    drawn_differences = differences[:, drawn]
    observed, further = drawn_differences.sum(axis=0), np.zeros(len(drawn))
    random = np.random.default_rng(seed)
    for start in range(0, resamples if drawn else 0, _BLOCK):
        signs = random.choice((-1.0, 1.0), size=(min(_BLOCK, resamples - start), len(drawn_differences)))
        further += _is_as_far(signs @ drawn_differences, observed).sum(axis=0)
    for column, number in zip(drawn, further, strict=True):
        # The observed signs count as one more draw, so that p is never 0.
        ps[column] = float((number + 1) / (resamples + 1))
    return ps


def correct(ps: Sequence[float]) -> list[float]:
    """Correct p-values for multiple comparisons (S. Holm, 1979)."""
    order = np.argsort(ps)
    stepped = np.asarray(ps, dtype=float)[order] * np.arange(len(ps), 0, -1)
    corrected = np.empty(len(ps))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return [float(p) for p in corrected]


def _is_as_far(sums: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Check which sums are at least as far from zero as the observed sums, allowing for rounding errors."""
    return np.asarray(np.abs(sums) >= np.abs(observed) - 1e-7)


def _sign_test(positive: int, n: int) -> float:
    """Compute the p-value of ``positive`` heads in n throws of a fair coin (exact binomial test, two-sided)."""
    if not n:
        return 1.0
    rarer = min(positive, n - positive)
    combinations = sum(math.comb(n, number) for number in range(rarer + 1))
    p: float = combinations / 2 ** (n - 1)
    return min(1.0, p)
