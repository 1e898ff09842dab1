"""Compute intervals of scores and of their differences by the bootstrap."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from prefrag.evaluation.report.measures import ACC, EM, F1, MEASURES, RECALL, TOTAL, Measure
from prefrag.evaluation.report.runs import Run
from prefrag.evaluation.report.settings import Setting, list_differences

RESAMPLES = 10_000
SEED = 20_250_101
CONFIDENCE = 95
# With fewer pairs the bootstrap's percentiles are too narrow: with 10 normally distributed pairs 1 interval in 10
# misses the true mean, with 30 pairs 1 in 16, where it should be 1 in 20.
FEWEST = 30
COMPARED = (ACC, F1, EM, RECALL, TOTAL)
# Resamples drawn at once, so that a block fits the cache.
_BLOCK = 250
# Decimals of a resampled mean: more than are shown, fewer than rounding errors reach.
_DECIMALS = 9
# What may differ between compared methods besides the method; the report names it.
_NAMED = {"method", "retriever", "split of the corpus"}

Verdict = Literal["better", "worse", "no difference shown", "too few questions"]


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


# By the name of a run and the key of a measure.
Intervals = Mapping[tuple[str, str], Interval]


@dataclass(frozen=True)
class Difference:
    """The difference of two runs in one measure.

    :param measure: The measure.
    :param interval: The difference of the means over the paired questions.
    :param p: The p-value of the exact test of accuracy, see :func:`mcnemar`; None for other measures.
    """

    measure: Measure
    interval: Interval
    p: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Better or worse when zero is outside the interval and p, if there is one, is not above 0.05.

        With few differing questions the interval alone is too narrow. Fewer retrievals are better.
        """
        if self.interval.n < FEWEST:
            return "too few questions"
        chance = self.p is not None and self.p > 1 - CONFIDENCE / 100
        if chance or self.interval.low <= 0 <= self.interval.high:
            return "no difference shown"
        return "better" if (self.interval.low > 0) == self.measure.higher_is_better else "worse"

    @property
    def words(self) -> str:
        """The verdict, and for counts its direction."""
        if self.measure.higher_is_better or self.verdict not in ("better", "worse"):
            return self.verdict
        return f"{self.verdict}: {'fewer' if self.verdict == 'better' else 'more'}"


@dataclass(frozen=True)
class Comparison:
    """Two runs over the questions that both have answered.

    :param run: A run.
    :param other: The run that it is compared with.
    :param n: The number of shared questions.
    :param only_run: The ids that only the first has, in order.
    :param only_other: The ids that only the other has.
    :param unlike: The shared ids with different questions or gold answers.
    :param differing: The names of the settings in which the two differ.
    :param differences: First minus other, by the key of the measure; only for measures that both have.
    """

    run: Run
    other: Run
    n: int
    only_run: tuple[str, ...]
    only_other: tuple[str, ...]
    unlike: tuple[str, ...]
    differing: tuple[str, ...]
    differences: Mapping[str, Difference]


def intervals(columns: np.ndarray, resamples: int = RESAMPLES, seed: int = SEED) -> list[Interval]:
    """Bootstrap the percentile intervals of means, with the same resamples of the questions for every column.

    :param columns: One row a question, one column a quantity; NaN where a question has none.
    :param resamples: How often to draw as many questions as there are, with replacement.
    :param seed: The seed of the draws, so that the same runs give the same report.
    :returns: One interval per column; NaN where a column has no value.
    """
    questions, quantities = columns.shape
    present = ~np.isnan(columns)
    filled = np.ascontiguousarray(np.where(present, columns, 0.0).T)
    counted = np.ascontiguousarray(present.T.astype(float))
    complete = bool(present.all())
    means = np.full((resamples, quantities), np.nan)
    random = np.random.default_rng(seed)
    for start in range(0, resamples if questions else 0, _BLOCK):
        size = min(_BLOCK, resamples - start)
        drawn = random.integers(questions, size=(size, questions)) + questions * np.arange(size)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=size * questions).reshape(size, questions).astype(float)
        for column in range(quantities):
            # One column at a time, because a product of several may add up in another order on another processor.
            number = questions if complete else weights @ counted[column]
            with np.errstate(invalid="ignore"):
                means[start : start + size, column] = (weights @ filled[column]) / number
    # Round differences that cancel out to zero, because the verdict depends on the sign of a rounding error.
    means = np.round(means, _DECIMALS)
    tail = (100 - CONFIDENCE) / 2
    found = []
    for column in range(quantities):
        n = int(present[:, column].sum())
        # A resample may hold no question with a rare value.
        drawn_means = means[~np.isnan(means[:, column]), column]
        if not n:
            found.append(Interval(math.nan, math.nan, math.nan, 0))
            continue
        low, high = np.percentile(drawn_means, [tail, 100 - tail])
        found.append(Interval(float(filled[column].sum() / n), float(low), float(high), n))
    return found


def score_intervals(runs: Iterable[Run]) -> dict[tuple[str, str], Interval]:
    """Compute the interval of each score.

    :param runs: Runs.
    :returns: The intervals by the run's name and the key of the measure. Of a share that is 0 or
        100 for every question, resamples know nothing else, so its interval is Wilson's.
    """
    found: dict[tuple[str, str], Interval] = {}
    for run in runs:
        of_run = intervals(_collect_values(run, list(run.predictions), MEASURES))
        for measure, one in zip(MEASURES, of_run, strict=True):
            if one.n:
                certain = measure.kind == "share" and one.low == one.high and one.mean in (0.0, 100.0)
                found[run.name, measure.key] = wilson(one.mean, one.n) if certain else one
    return found


def wilson(percent: float, n: int) -> Interval:
    """Compute Wilson's interval of a proportion (E. B. Wilson, 1927), which is not empty at its ends.

    :param percent: The proportion, in percent.
    :param n: The number of questions.
    :returns: The interval, in percent.
    """
    share, z = percent / 100, NormalDist().inv_cdf(0.5 + CONFIDENCE / 200)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    # Rounding errors may exceed the ends slightly.
    return Interval(percent, 100 * max(0.0, middle - reach), 100 * min(1.0, middle + reach), n)


def mcnemar(only_run: int, only_other: int) -> float:
    """Compute McNemar's exact test (Q. McNemar, 1947): the chance of so uneven a share if no run is better.

    :param only_run: The number of questions that only the first of two runs has right.
    :param only_other: The number that only the other has right.
    :returns: p, two-sided, 0 to 1.
    """
    n = only_run + only_other
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(min(only_run, only_other) + 1)) / 2**n)


def compare(settings: Mapping[Setting, Sequence[Run]]) -> list[Comparison]:
    """Compare, question by question, the runs on one dataset that can be compared.

    These are two methods under one setting, two methods that differ in retriever and split alone besides, and two runs
    that differ in one thing.

    :param settings: The runs by setting.
    :returns: One comparison per pair, in the order of the runs.
    """
    of_run = {run.name: setting for setting, held in settings.items() for run in held}
    runs = sorted((run for held in settings.values() for run in held), key=lambda run: run.order)
    pairs = [
        (run, other)
        for run, other in itertools.combinations(runs, 2)
        if run.dataset == other.dataset
        and (of_run[run.name] == of_run[other.name] or _is_comparable(list_differences(run, other)))
    ]
    # Pairs with the same questions share their resamples, which take most of the time.
    by_ids: dict[tuple[str, ...], list[tuple[Run, Run]]] = {}
    for run, other in pairs:
        by_ids.setdefault(paired_ids(run, other), []).append((run, other))
    found = {
        (comparison.run.name, comparison.other.name): comparison
        for ids, sharing in by_ids.items()
        for comparison in _compare(sharing, ids)
    }
    return [found[run.name, other.name] for run, other in pairs]


def paired_ids(run: Run, other: Run) -> tuple[str, ...]:
    """List the questions that two runs share.

    :param run: A run.
    :param other: Another one.
    :returns: The ids with the same question and gold answers in both, in the order of the first.
    """
    contents = {id: prediction.content for id, prediction in other.predictions.items()}
    return tuple(id for id, prediction in run.predictions.items() if contents.get(id) == prediction.content)


def turn_around(comparison: Comparison) -> Comparison:
    """Return the comparison seen from the other run."""
    return Comparison(
        comparison.other,
        comparison.run,
        comparison.n,
        comparison.only_other,
        comparison.only_run,
        comparison.unlike,
        comparison.differing,
        {
            key: Difference(difference.measure, Interval(-one.mean, -one.high, -one.low, one.n), difference.p)
            for key, difference in comparison.differences.items()
            for one in (difference.interval,)
        },
    )


def _is_comparable(differences: tuple[str, ...]) -> bool:
    return len(differences) <= 1 or ("method" in differences and set(differences) <= _NAMED)


def _compare(pairs: Sequence[tuple[Run, Run]], ids: tuple[str, ...]) -> list[Comparison]:
    columns = [_collect_values(run, ids, COMPARED) - _collect_values(other, ids, COMPARED) for run, other in pairs]
    every = iter(intervals(np.hstack(columns)))
    common = set(ids)
    return [
        Comparison(
            run,
            other,
            len(ids),
            tuple(id for id in run.predictions if id not in other.predictions),
            tuple(id for id in other.predictions if id not in run.predictions),
            tuple(id for id in run.predictions if id in other.predictions and id not in common),
            list_differences(run, other),
            {
                measure.key: Difference(measure, one, _test_accuracy(run, other, ids) if measure is ACC else None)
                for measure in COMPARED
                for one in (next(every),)
                if one.n
            },
        )
        for run, other in pairs
    ]


def _test_accuracy(run: Run, other: Run, ids: Sequence[str]) -> float:
    rights = [(bool(run.predictions[id].right), bool(other.predictions[id].right)) for id in ids]
    return mcnemar(rights.count((True, False)), rights.count((False, True)))


def _collect_values(run: Run, ids: Sequence[str], measures: Sequence[Measure]) -> np.ndarray:
    """Return one row per id and one column per measure."""
    return np.array(
        [[run.predictions[id].values.get(measure.key, math.nan) for measure in measures] for id in ids], dtype=float
    ).reshape(len(ids), len(measures))
