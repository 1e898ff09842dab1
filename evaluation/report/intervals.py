"""Compute confidence intervals: bootstrap, Wilson's if all answers score the same, Tango's if few pairs differ."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

RESAMPLES = 10_000
SEED = 20_250_101
CONFIDENCE = 95  # percent
# The number of resamples that are drawn at a time: few enough for the processor's cache.
_BLOCK = 250
# The number of decimals of a resampled mean: more than the report shows, but few enough to hide rounding errors.
_DECIMALS = 9
_HALVINGS = 50  # how often the range that contains a bound is halved; enough for these decimals


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval."""

    mean: float
    low: float  # the 2.5th percentile of the resampled means, or Wilson's or Tango's bound
    high: float
    n: int  # the number of questions that have a value


def intervals(
    columns: np.ndarray, resamples: int = RESAMPLES, seed: int = SEED, repetitions: int = 1
) -> list[Interval]:
    """Compute the percentile bootstrap interval of the mean of each column (B. Efron, 1979).

    Questions are drawn with replacement. If each question has several repetitions, the repetitions of a drawn question
    are also drawn with replacement.

    :param columns: One row per question and repetition; the rows of a question are adjacent. NaN means no value.
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
            # Columns are summed one at a time, because a matrix product may add in another order on another processor.
            number = rows if complete else weights @ counted[column]
            with np.errstate(invalid="ignore"):
                means[start : start + size, column] = (weights @ filled[column]) / number
    # Differences that cancel out leave tiny remainders. Rounding removes them, so that a bound of zero gets no sign.
    means = np.round(means, _DECIMALS)
    tail = (100 - CONFIDENCE) / 2
    column_intervals = []
    for column in range(quantities):
        values = int(present[:, column].sum())
        if not values:
            column_intervals.append(Interval(math.nan, math.nan, math.nan, 0))
            continue
        # If few questions have a value, some resamples have no value and so no mean.
        drawn_means = means[~np.isnan(means[:, column]), column]
        low, high = np.percentile(drawn_means, [tail, 100 - tail])
        n = int(present[:, column].reshape(questions, repetitions).any(axis=1).sum())
        column_intervals.append(Interval(float(filled[column].sum() / values), float(low), float(high), n))
    return column_intervals


def wilson(percent: float, n: int) -> Interval:
    """Compute Wilson's interval of a proportion (E. B. Wilson, 1927), in percent. Its width is never 0."""
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 200)
    share = round(percent * n / 100) / n
    centre = share + z * z / (2 * n)
    width = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    low, high = (100 * (centre + side * width) / (1 + z * z / n) for side in (-1, 1))
    return Interval(percent, max(0.0, low), min(100.0, high), n)


def tango(better: int, worse: int, n: int) -> Interval:
    """Compute Tango's interval of a paired difference (T. Tango, 1998, section 3.1), in percent. It is never 0 wide."""
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 200)

    def is_possible(difference: float) -> bool:
        linear = (2 * n - better + worse) * difference - better - worse
        square = linear * linear + 8 * n * worse * difference * (1 - difference)
        # The share of pairs where only the other run is right: its maximum likelihood estimate for this difference.
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


def clopper_pearson(events: int, n: int) -> float:
    """Compute the upper bound of a proportion, one-sided and exact (C. J. Clopper, E. S. Pearson, 1934).

    :param events: How often it happened.
    :param n: In how many independent trials.
    :returns: The largest proportion, from 0 to 1, with which so few events still have a probability of 5%; 1 without
        trials.
    :raises ValueError: When there are more events than trials, or fewer than none.
    """
    if not 0 <= events <= n:
        raise ValueError(f"{events} events in {n} trials: there must be at least 0, and at most one in each trial.")
    if events == n:
        return 1.0
    # The logarithms of the number of ways in which 0, 1, ... of the trials can be events.
    log_trials = math.lgamma(n + 1)
    ways = [log_trials - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(events + 1)]
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # By logarithms, because of many trials the number of combinations is larger than a float.
        few, many = math.log(middle), math.log1p(-middle)
        probability = math.fsum(math.exp(ways[k] + k * few + (n - k) * many) for k in range(events + 1))
        low, high = (middle, high) if probability > 1 - CONFIDENCE / 100 else (low, middle)
    # The bound itself is still possible, so round it up.
    return high
