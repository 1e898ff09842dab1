"""Compute intervals by the bootstrap, paired tests that assume no distribution, and their correction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

RESAMPLES = 10_000
SEED = 20_250_101
CONFIDENCE = 95
# Resamples drawn at once, so that a block fits the cache.
_BLOCK = 250
# Decimals of a resampled mean: more than are shown, fewer than rounding errors reach.
_DECIMALS = 9
# Up to so many differing questions, every way to flip their signs is counted: 4,096 at most.
_ENUMERATED = 12


@dataclass(frozen=True)
class Interval:
    """A mean with its interval.

    :param mean: The mean.
    :param low: The 2.5th percentile of the resampled means, or Wilson's bound.
    :param high: The 97.5th.
    :param n: Questions.
    """

    mean: float
    low: float
    high: float
    n: int


def intervals(
    columns: np.ndarray, resamples: int = RESAMPLES, seed: int = SEED, repetitions: int = 1
) -> list[Interval]:
    """Compute the percentile bootstrap interval of the mean of each column (B. Efron, 1979).

    Repetitions are resampled within the questions: each drawn question gets as many of its repetitions as it has,
    drawn with replacement.
    """
    rows, quantities = columns.shape
    questions = rows // repetitions
    present = ~np.isnan(columns)
    filled = np.ascontiguousarray(np.where(present, columns, 0.0).T)
    counted = np.ascontiguousarray(present.T.astype(float))
    complete = bool(present.all())
    means = np.full((resamples, quantities), np.nan)
    random = np.random.default_rng(seed)
    for start in range(0, resamples if questions else 0, _BLOCK):
        size = min(_BLOCK, resamples - start)
        drawn = random.integers(questions, size=(size, questions))
        if repetitions > 1:
            of_each = random.integers(repetitions, size=(size, questions, repetitions))
            drawn = (drawn[:, :, None] * repetitions + of_each).reshape(size, rows)
        drawn = drawn + rows * np.arange(size)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows).astype(float)
        for column in range(quantities):
            # One column at a time, because a product of several may add up in another order on another processor.
            number = rows if complete else weights @ counted[column]
            with np.errstate(invalid="ignore"):
                means[start : start + size, column] = (weights @ filled[column]) / number
    # Round differences that cancel out to zero, because a bound of exactly zero must not get a sign.
    means = np.round(means, _DECIMALS)
    tail = (100 - CONFIDENCE) / 2
    found = []
    for column in range(quantities):
        values = int(present[:, column].sum())
        if not values:
            found.append(Interval(math.nan, math.nan, math.nan, 0))
            continue
        # A resample may hold no question with a rare value.
        drawn_means = means[~np.isnan(means[:, column]), column]
        low, high = np.percentile(drawn_means, [tail, 100 - tail])
        n = int(present[:, column].reshape(questions, repetitions).any(axis=1).sum())
        found.append(Interval(float(filled[column].sum() / values), float(low), float(high), n))
    return found


def wilson(percent: float, n: int) -> Interval:
    """Compute Wilson's interval of a proportion (E. B. Wilson, 1927), which is not empty at its ends."""
    found = binomtest(round(percent * n / 100), n).proportion_ci(CONFIDENCE / 100, method="wilson")
    return Interval(percent, 100 * float(found.low), 100 * float(found.high), n)


def compute_p(columns: np.ndarray, resamples: int = RESAMPLES, seed: int = SEED) -> list[float]:
    """Test whether the paired differences of each column could have had either sign (R. A. Fisher, 1935).

    Exact where all differences have one size, which is McNemar's exact test (Q. McNemar, 1947), and where at most
    12 questions differ. Otherwise by random signs, the same for all columns.
    """
    differences = np.nan_to_num(columns)
    found = [math.nan] * differences.shape[1]
    drawn = []
    for column, values in enumerate(differences.T):
        sizes = np.abs(values[values != 0])
        if np.allclose(sizes, sizes[:1]):
            found[column] = float(binomtest(int((values > 0).sum()), len(sizes)).pvalue) if len(sizes) else 1.0
        elif len(sizes) <= _ENUMERATED:
            signs = 1.0 - 2 * (np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes)) & 1)
            found[column] = float(_is_as_far(signs @ sizes, values.sum()).mean())
        else:
            drawn.append(column)
    held = differences[:, drawn]
    observed, further = held.sum(axis=0), np.zeros(len(drawn))
    random = np.random.default_rng(seed)
    for start in range(0, resamples if drawn else 0, _BLOCK):
        signs = random.choice((-1.0, 1.0), size=(min(_BLOCK, resamples - start), len(held)))
        further += _is_as_far(signs @ held, observed).sum(axis=0)
    for column, number in zip(drawn, further, strict=True):
        # The observed signs are one of the possible draws, so p is never 0.
        found[column] = float((number + 1) / (resamples + 1))
    return found


def correct(ps: Sequence[float]) -> list[float]:
    """Correct p-values for their number (S. Holm, 1979)."""
    order = np.argsort(ps)
    stepped = np.asarray(ps, dtype=float)[order] * np.arange(len(ps), 0, -1)
    found = np.empty(len(ps))
    found[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return [float(p) for p in found]


def _is_as_far(sums: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Check which sums are as far from zero as the observed one, but for rounding errors."""
    return np.asarray(np.abs(sums) >= np.abs(observed) - 1e-7)
