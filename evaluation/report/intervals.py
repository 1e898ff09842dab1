"""Compute confidence intervals.

Three kinds of intervals belong to the report. The bootstrap is the usual one. Wilson's is used if all answers of a run
score the same. Tango's is used if two runs differ on few questions. A fourth function computes an upper bound of a
proportion.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

# The number of resamples of a bootstrap, and of random draws of a test.
RESAMPLES = 10_000
# The seed of the resampling. It is fixed, so that the same runs always give the same report.
SEED = 20_250_101
# The confidence of all intervals, in percent.
CONFIDENCE = 95
# The number of resamples that are drawn at a time, so that their numbers fit into the processor's cache.
_BLOCK = 250
# A resampled mean is rounded to this number of decimals. The report shows fewer. Rounding hides the errors of floating
# point numbers.
_DECIMALS = 9
# A bound is searched by halving a range this many times, which is enough for this number of decimals.
_HALVINGS = 50


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval."""

    # The mean over all questions that have a value.
    mean: float
    # The lower bound: the 2.5th percentile of the resampled means, or the bound of Wilson or Tango.
    low: float
    # The upper bound: the 97.5th percentile of the resampled means, or the bound of Wilson or Tango.
    high: float
    # The number of questions that have a value.
    n: int


def intervals(
    columns: np.ndarray, resamples: int = RESAMPLES, seed: int = SEED, repetitions: int = 1
) -> list[Interval]:
    """Compute the percentile bootstrap interval of the mean of each column (B. Efron, 1979).

    Questions are drawn with replacement. If each question has several repetitions, the repetitions of a drawn question
    are also drawn with replacement.

    :param columns: One column per measure, and one row per question and repetition. The rows of a question are
        adjacent. NaN means no value.
    :param resamples: The number of resamples.
    :param seed: The seed of the draws.
    :param repetitions: The number of rows of each question.
    :returns: The interval of each column. A column without any value has NaN as its mean and bounds.
    """
    rows, quantities = columns.shape
    questions = rows // repetitions
    present = ~np.isnan(columns)
    values_or_zero = np.ascontiguousarray(np.where(present, columns, 0.0).T)
    has_value = np.ascontiguousarray(present.T.astype(float))
    complete = bool(present.all())
    # The mean of each resample (row) and column.
    means = np.full((resamples, quantities), np.nan)
    random = np.random.default_rng(seed)

    n_resamples = resamples if questions else 0
    for start in range(0, n_resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        # The numbers of the drawn rows, with a line for each resample.
        drawn_rows = random.integers(questions, size=(size, questions))
        if repetitions > 1:
            # The first row of each drawn question, and from there the drawn repetitions.
            first_rows = drawn_rows[:, :, None] * repetitions
            drawn_repetitions = random.integers(repetitions, size=(size, questions, repetitions))
            drawn_rows = (first_rows + drawn_repetitions).reshape(size, rows)
        # Each resample gets its own range of row numbers. So one call of `bincount` counts the rows of all resamples.
        own_ranges = rows * np.arange(size)[:, None]
        counts = np.bincount((drawn_rows + own_ranges).ravel(), minlength=size * rows)
        # How often each resample has each row.
        weights = counts.reshape(size, rows).astype(float)
        for column in range(quantities):
            # Columns are summed one at a time, because a matrix product may add in another order on another processor.
            n_drawn = rows if complete else weights @ has_value[column]
            with np.errstate(invalid="ignore"):
                means[start : start + size, column] = (weights @ values_or_zero[column]) / n_drawn
    # Differences that cancel out leave tiny remainders. Rounding removes them, so that a bound of zero gets no sign.
    means = np.round(means, _DECIMALS)

    tail = (100 - CONFIDENCE) / 2
    column_intervals = []
    for column in range(quantities):
        n_values = int(present[:, column].sum())
        if not n_values:
            column_intervals.append(Interval(math.nan, math.nan, math.nan, 0))
            continue
        # If few questions have a value, some resamples have no value and so no mean.
        drawn_means = means[~np.isnan(means[:, column]), column]
        low, high = np.percentile(drawn_means, [tail, 100 - tail])
        mean = values_or_zero[column].sum() / n_values
        # A question has a value if any of its repetitions has one.
        n = int(present[:, column].reshape(questions, repetitions).any(axis=1).sum())
        column_intervals.append(Interval(float(mean), float(low), float(high), n))
    return column_intervals


def wilson(percent: float, n: int) -> Interval:
    """Compute Wilson's interval of a proportion (E. B. Wilson, 1927). Its width is never 0.

    For example, ``round(wilson(100.0, 30).low, 1)`` returns ``88.6``.

    :param percent: The proportion in percent.
    :param n: The number of questions.
    :returns: The proportion with its bounds, in percent.
    """
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 200)
    share = round(percent * n / 100) / n
    centre = share + z * z / (2 * n)
    width = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    divisor = 1 + z * z / n
    low = 100 * (centre - width) / divisor
    high = 100 * (centre + width) / divisor
    return Interval(percent, max(0.0, low), min(100.0, high), n)


def tango(better: int, worse: int, n: int) -> Interval:
    """Compute Tango's interval of a paired difference (T. Tango, 1998, section 3.1). Its width is never 0.

    The interval has all differences that Tango's test does not reject. The observed difference is always possible. Each
    bound is found by halving the range from there to the largest or smallest difference.

    :param better: The number of questions that only the first run answers correctly.
    :param worse: The number of questions that only the other run answers correctly.
    :param n: The number of all questions.
    :returns: The difference in percentage points, with its bounds.
    """
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 200)

    def is_possible(difference: float) -> bool:
        """Check whether this difference, from -1 to 1, is in the interval."""
        linear = (2 * n - better + worse) * difference - better - worse
        square = linear * linear + 8 * n * worse * difference * (1 - difference)
        # The maximum likelihood estimate, for this difference, of the share of questions that only the other run
        # answers correctly.
        share = (math.sqrt(max(0.0, square)) - linear) / (4 * n)
        variance = n * (2 * share + difference * (1 - difference))
        return (better - worse - n * difference) ** 2 <= z * z * variance

    def find_bound(outside: float) -> float:
        """Return the bound between the observed difference and the end of the range, in percentage points."""
        inside = (better - worse) / n
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            if is_possible(middle):
                inside = middle
            else:
                outside = middle
        return round(100 * inside, _DECIMALS)

    return Interval(100 * (better - worse) / n, find_bound(-1.0), find_bound(1.0), n)


def clopper_pearson(events: int, n: int) -> float:
    """Compute the upper bound of a proportion, one-sided and exact (C. J. Clopper, E. S. Pearson, 1934).

    For example, ``round(clopper_pearson(0, 59), 2)`` returns ``0.05``: after 59 trials without an event, a proportion
    above 5% is unlikely.

    :param events: The number of trials in which the event happened.
    :param n: The number of independent trials.
    :returns: The largest proportion, from 0 to 1, with which so few events still have a probability of 5%. It is 1
        without trials.
    :raises ValueError: If there are more events than trials, or fewer than none.
    """
    if not 0 <= events <= n:
        raise ValueError(f"{events} events in {n} trials: there must be at least 0, and at most one in each trial.")
    if events == n:
        return 1.0
    # The logarithms of the number of ways in which 0, 1, ... of the trials can be events.
    log_trials = math.lgamma(n + 1)
    ways = [log_trials - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(events + 1)]

    low = 0.0
    high = 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # Logarithms are needed, because the number of combinations of many trials is larger than a float can be.
        log_event = math.log(middle)
        log_no_event = math.log1p(-middle)
        # The probability of at most so many events, if the proportion is `middle`.
        probability = math.fsum(math.exp(ways[k] + k * log_event + (n - k) * log_no_event) for k in range(events + 1))
        if probability > 1 - CONFIDENCE / 100:
            low = middle
        else:
            high = middle
    # The bound is between `low` and `high`. It is rounded up, so that it is never too low.
    return high
