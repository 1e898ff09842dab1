"""Compare two runs question by question.

For each measure, such as accuracy, the two values of every question are subtracted. The mean of these differences gets
a confidence interval, a p-value and a verdict.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from prefrag.evaluation.report.intervals import CONFIDENCE, Interval, intervals, tango, wilson
from prefrag.evaluation.report.measures import (
    ACC,
    CALLS,
    DOCUMENTS,
    EM,
    F1,
    LOOKUPS,
    MEASURES,
    RECALL,
    TOTAL,
    TOTAL_WEB,
    Measure,
)
from prefrag.evaluation.report.runs import Run
from prefrag.evaluation.report.settings import list_differences
from prefrag.evaluation.report.significance import compute_p, correct

# A comparison over fewer questions gets no verdict. Such a difference says little about other questions, even if the
# test finds it significant.
FEWEST = 30
# If one run is right and the other wrong on fewer questions than this, the bootstrap is unreliable. Then Tango's
# interval is used.
FEW_DIFFERING = 10
# The measures that are compared, in the order in which they are shown.
COMPARED = (ACC, F1, EM, RECALL, TOTAL, TOTAL_WEB, LOOKUPS, CALLS, DOCUMENTS)

# What the report says about a difference.
Verdict = Literal["better", "worse", "no difference shown", "too few questions"]
# The confidence intervals of scores, by the name of the run and the key of the measure.
Intervals = Mapping[tuple[str, str], Interval]


@dataclass(frozen=True)
class Difference:
    """The difference between two runs in one measure."""

    # What is compared, such as accuracy.
    measure: Measure
    # The difference of the means over the questions that both runs have, with its confidence interval.
    interval: Interval
    # The p-value of the paired test, see `compute_p`.
    p: float
    # The p-value after the correction for the number of comparisons.
    corrected: float

    @property
    def verdict(self) -> Verdict:
        """Whether the first run is better or worse.

        It is only better or worse if the corrected p-value is at most 0.05. Fewer retrievals, calls or documents are
        better.
        """
        if self.interval.n < FEWEST:
            return "too few questions"
        if self.corrected > 1 - CONFIDENCE / 100:
            return "no difference shown"
        is_higher = self.interval.mean > 0
        return "better" if is_higher == self.measure.higher_is_better else "worse"

    @property
    def words(self) -> str:
        """The verdict in words. For counts, the words also say whether the first run has fewer or more."""
        verdict = self.verdict
        if self.measure.higher_is_better or verdict not in ("better", "worse"):
            return verdict
        return "better: fewer" if verdict == "better" else "worse: more"

    @property
    def mean_text(self) -> str:
        """The difference in digits, with its sign."""
        return self.measure.text(self.interval.mean, sign=True)

    @property
    def interval_text(self) -> str:
        """The interval in digits."""
        low = self.measure.text(self.interval.low, sign=True)
        high = self.measure.text(self.interval.high, sign=True)
        return f"{low} to {high}"

    @property
    def p_text(self) -> str:
        """Both p-values in digits."""
        return f"p {_digits(self.p)}, corrected {_digits(self.corrected)}"


@dataclass(frozen=True)
class Comparison:
    """The comparison of two runs, over the questions that both have answered."""

    # The run that is compared.
    run: Run
    # The run that `run` is compared with.
    other: Run
    # The number of shared questions.
    n: int
    # The ids of the questions that only `run` has, in order.
    only_run: tuple[str, ...]
    # The ids of the questions that only `other` has, in order.
    only_other: tuple[str, ...]
    # The ids that both runs have, but with different questions or gold answers.
    unlike: tuple[str, ...]
    # The names of the settings in which the two runs differ.
    differing: tuple[str, ...]
    # The value of `run` minus the value of `other`, by the key of the measure. Only measures that both runs have.
    differences: Mapping[str, Difference]


def score_intervals(runs: Iterable[Run]) -> dict[tuple[str, str], Interval]:
    """Compute the confidence interval of every score of every run.

    :param runs: The runs.
    :returns: The intervals by the name of the run and the key of the measure. Scores without any value are left out.
    """
    # Runs with equally many questions and repetitions are resampled together, because resampling takes most of the
    # time.
    by_size: dict[tuple[int, int], list[Run]] = {}
    for run in runs:
        by_size.setdefault((len(run.predictions), len(run.runs)), []).append(run)

    by_measure: dict[tuple[str, str], Interval] = {}
    for (_, repetitions), runs_of_size in by_size.items():
        # There is a column for each measure of each run.
        columns = np.hstack([_collect_repetitions(run) for run in runs_of_size])
        runs_and_measures = itertools.product(runs_of_size, MEASURES)
        computed = intervals(columns, repetitions=repetitions)
        for (run, measure), interval in zip(runs_and_measures, computed, strict=True):
            if interval.n:
                by_measure[run.name, measure.key] = _widen(measure, interval)
    return by_measure


def _widen(measure: Measure, interval: Interval) -> Interval:
    """Return Wilson's interval if all scores are 0 or all are 100. The bootstrap interval would have no width."""
    has_no_width = interval.low == interval.high and interval.mean in (0.0, 100.0)
    if measure.kind == "share" and has_no_width:
        return wilson(interval.mean, interval.n)
    return interval


def compare(pairs: Sequence[tuple[Run, Run]]) -> list[Comparison]:
    """Compare pairs of runs question by question.

    If a run has several repetitions, each question counts with its mean over the repetitions.

    :param pairs: The pairs. They form one family: their p-values are corrected for the number of pairs.
    :returns: The comparison of each pair, in the same order.
    """
    # Pairs that share the same questions are computed together.
    pairs_by_ids: dict[tuple[str, ...], list[tuple[Run, Run]]] = {}
    for run, other in pairs:
        pairs_by_ids.setdefault(paired_ids(run, other), []).append((run, other))

    comparisons: dict[tuple[str, str], Comparison] = {}
    for ids, pairs_with_ids in pairs_by_ids.items():
        for comparison in _compare(pairs_with_ids, ids):
            comparisons[comparison.run.name, comparison.other.name] = comparison
    return _correct([comparisons[run.name, other.name] for run, other in pairs])


def paired_ids(run: Run, other: Run) -> tuple[str, ...]:
    """List the questions that two runs share, with the same wording, earlier turns, gold answers and gold passages.

    :param run: A run.
    :param other: Another run on the same dataset.
    :returns: The ids in the order of ``run``.
    """
    questions_of_other = {id: prediction.asked for id, prediction in other.predictions.items()}
    return tuple(id for id, prediction in run.predictions.items() if questions_of_other.get(id) == prediction.asked)


def _compare(pairs: Sequence[tuple[Run, Run]], ids: tuple[str, ...]) -> list[Comparison]:
    """Compare pairs of runs over the questions with these ids, without the correction of p-values."""
    # There is a column for each measure of each pair. All columns are resampled together, because that is faster.
    columns = [_collect_values(run, ids, COMPARED) - _collect_values(other, ids, COMPARED) for run, other in pairs]
    stacked = np.hstack(columns)
    # The interval, the p-value and the differences of each column.
    results = list(zip(intervals(stacked), compute_p(stacked), stacked.T, strict=True))
    common_ids = set(ids)

    comparisons = []
    for place, (run, other) in enumerate(pairs):
        differences = {}
        first_column = place * len(COMPARED)
        results_of_pair = results[first_column : first_column + len(COMPARED)]
        for measure, (interval, p, values) in zip(COMPARED, results_of_pair, strict=True):
            if interval.n:
                chosen_interval = _choose_interval(measure, interval, values)
                differences[measure.key] = Difference(measure, chosen_interval, p, corrected=p)

        ids_of_both = [id for id in run.predictions if id in other.predictions]
        comparisons.append(
            Comparison(
                run=run,
                other=other,
                n=len(ids),
                only_run=tuple(id for id in run.predictions if id not in other.predictions),
                only_other=tuple(id for id in other.predictions if id not in run.predictions),
                unlike=tuple(id for id in ids_of_both if id not in common_ids),
                differing=list_differences(run, other),
                differences=differences,
            )
        )
    return comparisons


def _choose_interval(measure: Measure, bootstrap: Interval, differences: np.ndarray) -> Interval:
    """Return Tango's interval if few answers differ and no answer is partly right, otherwise the bootstrap interval."""
    if measure not in (ACC, EM):
        return bootstrap
    better = int((differences == 100).sum())
    worse = int((differences == -100).sum())
    n_differing = np.count_nonzero(differences)
    has_partly_right = n_differing > better + worse
    if has_partly_right or n_differing >= FEW_DIFFERING:
        return bootstrap
    return tango(better, worse, len(differences))


def _correct(family: Sequence[Comparison]) -> list[Comparison]:
    """Correct the p-values of each measure for the number of comparisons."""
    # The differences of each comparison. They are replaced by corrected ones, measure by measure.
    family_differences: list[dict[str, Difference]] = [dict(comparison.differences) for comparison in family]
    for measure in COMPARED:
        with_measure = [differences for differences in family_differences if measure.key in differences]
        ps = correct([differences[measure.key].p for differences in with_measure])
        for differences, p in zip(with_measure, ps, strict=True):
            differences[measure.key] = replace(differences[measure.key], corrected=p)

    corrected = []
    for comparison, differences in zip(family, family_differences, strict=True):
        corrected.append(replace(comparison, differences=differences))
    return corrected


def _collect_repetitions(run: Run) -> np.ndarray:
    """Return a column per measure, and a row per question and repetition. The rows of a question are adjacent."""
    ids = list(run.predictions)
    values = [_collect_values(repetition, ids, MEASURES) for repetition in run.runs]
    return np.stack(values, axis=1).reshape(-1, len(MEASURES))


def _collect_values(run: Run, ids: Sequence[str], measures: Sequence[Measure]) -> np.ndarray:
    """Return a column per measure, and a row per question. A missing value is NaN."""
    rows = []
    for id in ids:
        values = run.predictions[id].values
        rows.append([values.get(measure.key, math.nan) for measure in measures])
    # Without questions, the array would have no columns. So its shape is set.
    return np.array(rows, dtype=float).reshape(len(ids), len(measures))


def _digits(p: float) -> str:
    """Write a p-value with three decimals.

    For example, ``_digits(0.0421)`` returns ``"0.042"``, and ``_digits(0.0002)`` returns ``"< 0.001"``.
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
