"""Compute the report's intervals: bootstrap, Wilson's if all answers are alike, Tango's if few pairs differ."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

RESAMPLES = 10_000
SEED = 20_250_101
CONFIDENCE = 95
# Resamples drawn at once, so that a block fits the cache.
_BLOCK = 250
# The decimals of a resampled mean: more than the report shows, and too few for rounding errors to matter.
_DECIMALS = 9
# How often the bisection for a bound halves its range: enough for all of those decimals.
_HALVINGS = 50


@dataclass(frozen=True)
class Interval:
    """A mean with its interval."""

    mean: float
    low: float  # the 2.5th percentile of the resampled means, or Wilson's or Tango's bound
    high: float
    n: int


def intervals(
    columns: np.ndarray, resamples: int = RESAMPLES, seed: int = SEED, repetitions: int = 1
) -> list[Interval]:
    """Compute the percentile bootstrap interval of the mean of each column (B. Efron, 1979).

    Repetitions are resampled within the questions: of each drawn question, as many repetitions as it has are drawn with
    replacement.
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
            # One column at a time, because a matrix product may sum in a different order on another processor.
            number = rows if complete else weights @ counted[column]
            with np.errstate(invalid="ignore"):
                means[start : start + size, column] = (weights @ filled[column]) / number
    # Rounding removes tiny remainders of differences that cancel out: a bound of zero must not get a sign.
    means = np.round(means, _DECIMALS)
    tail = (100 - CONFIDENCE) / 2
    found = []
    for column in range(quantities):
        values = int(present[:, column].sum())
        if not values:
            found.append(Interval(math.nan, math.nan, math.nan, 0))
            continue
        # If few questions have a value, a resample may have none of them.
        drawn_means = means[~np.isnan(means[:, column]), column]
        low, high = np.percentile(drawn_means, [tail, 100 - tail])
        n = int(present[:, column].reshape(questions, repetitions).any(axis=1).sum())
        found.append(Interval(float(filled[column].sum() / values), float(low), float(high), n))
    return found


def wilson(percent: float, n: int) -> Interval:
    """Compute Wilson's interval of a proportion (E. B. Wilson, 1927), which has a width even at 0% and 100%."""
    z, share = NormalDist().inv_cdf(0.5 + CONFIDENCE / 200), round(percent * n / 100) / n
    centre, width = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    low, high = (100 * (centre + side * width) / (1 + z * z / n) for side in (-1, 1))
    return Interval(percent, max(0.0, low), min(100.0, high), n)


def tango(better: int, worse: int, n: int) -> Interval:
    """Compute the score interval of a difference of two paired proportions (T. Tango, 1998, section 3.1), in percent.

    It has a width even if no pair differs.
    """
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 200)

    def is_possible(difference: float) -> bool:
        linear = (2 * n - better + worse) * difference - better - worse
        square = linear * linear + 8 * n * worse * difference * (1 - difference)
        # The maximum likelihood share of pairs in which only the other is right, given this difference.
        share = (math.sqrt(max(0.0, square)) - linear) / (4 * n)
        variance = n * (2 * share + difference * (1 - difference))
        return (better - worse - n * difference) ** 2 <= z * z * variance

    bounds = []
    for end in (-1.0, 1.0):
        inside, outside = (better - worse) / n, end
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if is_possible(middle) else (inside, middle)
        bounds.append(round(100 * inside, _DECIMALS))
    return Interval(100 * (better - worse) / n, bounds[0], bounds[1], n)
