"""Compare two runs question by question."""

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

# With fewer questions, a difference says little about other questions, even if the test finds it significant.
FEWEST = 30
# If two runs differ (one right, the other wrong) on fewer questions than this, the bootstrap is unreliable.
FEW_DIFFERING = 10
COMPARED = (ACC, F1, EM, RECALL, TOTAL, TOTAL_WEB, LOOKUPS, CALLS, DOCUMENTS)

Verdict = Literal["better", "worse", "no difference shown", "too few questions"]
# The intervals of scores, by the name of the run and the key of the measure.
Intervals = Mapping[tuple[str, str], Interval]


@dataclass(frozen=True)
class Difference:
    """The difference between two runs in one measure."""

    measure: Measure
    interval: Interval  # the difference of the means over the paired questions
    p: float  # the p-value of the paired test, see `compute_p`
    corrected: float  # the p-value after the correction for the number of comparisons

    @property
    def verdict(self) -> Verdict:
        """Better or worse only if the corrected p is at most 0.05. Fewer retrievals, calls or documents are better."""
        if self.interval.n < FEWEST:
            return "too few questions"
        if self.corrected > 1 - CONFIDENCE / 100:
            return "no difference shown"
        return "better" if (self.interval.mean > 0) == self.measure.higher_is_better else "worse"

    @property
    def words(self) -> str:
        """The verdict. For counts, it also says whether the first run has fewer or more."""
        if self.measure.higher_is_better or self.verdict not in ("better", "worse"):
            return self.verdict
        return f"{self.verdict}: {'fewer' if self.verdict == 'better' else 'more'}"

    @property
    def mean_text(self) -> str:
        """The difference in digits, with its sign."""
        return self.measure.text(self.interval.mean, sign=True)

    @property
    def interval_text(self) -> str:
        """The interval in digits."""
        low, high = (self.measure.text(bound, sign=True) for bound in (self.interval.low, self.interval.high))
        return f"{low} to {high}"

    @property
    def p_text(self) -> str:
        """Both p-values in digits."""
        return f"p {_digits(self.p)}, corrected {_digits(self.corrected)}"


@dataclass(frozen=True)
class Comparison:
    """The comparison of two runs, over the questions that both have answered."""

    run: Run
    other: Run  # the run that `run` is compared with
    n: int  # the number of shared questions
    only_run: tuple[str, ...]  # the ids of the questions that only `run` has, in order
    only_other: tuple[str, ...]  # the ids of the questions that only `other` has
    unlike: tuple[str, ...]  # the shared ids with different questions or gold answers
    differing: tuple[str, ...]  # the names of the settings in which the two runs differ
    # The value of `run` minus the value of `other`, by the key of the measure, for measures that both runs have.
    differences: Mapping[str, Difference]


def score_intervals(runs: Iterable[Run]) -> dict[tuple[str, str], Interval]:
    """Compute the confidence interval of every score of every run."""
    # Runs with equally many questions are resampled together, because resampling takes most of the time.
    by_size: dict[tuple[int, int], list[Run]] = {}
    for run in runs:
        by_size.setdefault((len(run.predictions), len(run.runs)), []).append(run)
    by_measure: dict[tuple[str, str], Interval] = {}
    for (_, repetitions), sharing in by_size.items():
        columns = np.hstack([_collect_repetitions(run) for run in sharing])
        computed = iter(intervals(columns, repetitions=repetitions))
        for run in sharing:
            for measure in MEASURES:
                interval = next(computed)
                if interval.n:
                    by_measure[run.name, measure.key] = _widen(measure, interval)
    return by_measure


def _widen(measure: Measure, interval: Interval) -> Interval:
    """Return Wilson's interval if all scores are 0, or all are 100: the bootstrap interval would have no width."""
    has_no_width = interval.low == interval.high and interval.mean in (0.0, 100.0)
    if measure.kind == "share" and has_no_width:
        return wilson(interval.mean, interval.n)
    return interval


def compare(pairs: Sequence[tuple[Run, Run]]) -> list[Comparison]:
    """Compare pairs of runs question by question. Each question counts with its mean over a run's repetitions."""
    by_ids: dict[tuple[str, ...], list[tuple[Run, Run]]] = {}
    for run, other in pairs:
        by_ids.setdefault(paired_ids(run, other), []).append((run, other))
    by_names = {
        (comparison.run.name, comparison.other.name): comparison
        for ids, sharing in by_ids.items()
        for comparison in _compare(sharing, ids)
    }
    return _correct([by_names[run.name, other.name] for run, other in pairs])


def paired_ids(run: Run, other: Run) -> tuple[str, ...]:
    """List the ids of the questions that two runs share, with the same wording, earlier turns and gold."""
    asked = {id: prediction.asked for id, prediction in other.predictions.items()}
    return tuple(id for id, prediction in run.predictions.items() if asked.get(id) == prediction.asked)


def _compare(pairs: Sequence[tuple[Run, Run]], ids: tuple[str, ...]) -> list[Comparison]:
    columns = [_collect_values(run, ids, COMPARED) - _collect_values(other, ids, COMPARED) for run, other in pairs]
    stacked = np.hstack(columns)
    every = zip(intervals(stacked), compute_p(stacked), stacked.T, strict=True)
    common = set(ids)
    comparisons = []
    for run, other in pairs:
        differences = {}
        for measure in COMPARED:
            interval, p, values = next(every)
            if interval.n:
                differences[measure.key] = Difference(measure, _choose_interval(measure, interval, values), p, p)
        only_run = tuple(id for id in run.predictions if id not in other.predictions)
        only_other = tuple(id for id in other.predictions if id not in run.predictions)
        unlike = tuple(id for id in run.predictions if id in other.predictions and id not in common)
        differing = list_differences(run, other)
        comparisons.append(Comparison(run, other, len(ids), only_run, only_other, unlike, differing, differences))
    return comparisons


def _choose_interval(measure: Measure, bootstrap: Interval, differences: np.ndarray) -> Interval:
    """Return Tango's interval if few answers differ and no answer is partly right, otherwise the bootstrap interval."""
    better = int((differences == 100).sum())
    worse = int((differences == -100).sum())
    has_partly_right = better + worse != np.count_nonzero(differences)
    if measure in (ACC, EM) and better + worse < FEW_DIFFERING and not has_partly_right:
        return tango(better, worse, len(differences))
    return bootstrap


def _correct(family: Sequence[Comparison]) -> list[Comparison]:
    """Correct the p-values of each measure for the number of comparisons."""
    corrected: list[dict[str, Difference]] = [dict(comparison.differences) for comparison in family]
    for measure in COMPARED:
        tested = [differences for differences in corrected if measure.key in differences]
        ps = correct([differences[measure.key].p for differences in tested])
        for differences, p in zip(tested, ps, strict=True):
            differences[measure.key] = replace(differences[measure.key], corrected=p)
    return [
        replace(comparison, differences=differences) for comparison, differences in zip(family, corrected, strict=True)
    ]


def _collect_repetitions(run: Run) -> np.ndarray:
    """Return a column per measure, and a row per question and repetition. The rows of a question are adjacent."""
    ids = list(run.predictions)
    values = [_collect_values(repetition, ids, MEASURES) for repetition in run.runs]
    return np.stack(values, axis=1).reshape(-1, len(MEASURES))


def _collect_values(run: Run, ids: Sequence[str], measures: Sequence[Measure]) -> np.ndarray:
    rows = []
    for id in ids:
        values = run.predictions[id].values
        rows.append([values.get(measure.key, math.nan) for measure in measures])
    # Without questions, the array would have no columns.
    return np.array(rows, dtype=float).reshape(len(ids), len(measures))


def _digits(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
