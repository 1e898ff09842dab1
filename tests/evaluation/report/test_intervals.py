import math

import numpy as np
import pytest

from prefrag.evaluation.report.intervals import intervals, tango, wilson
from tests.for_each import for_each


def test_the_interval_of_a_share_is_close_to_the_normal_one() -> None:
    answers = np.array([100.0] * 120 + [0.0] * 80).reshape(-1, 1)

    (interval,) = intervals(answers)

    error = 1.96 * math.sqrt(0.6 * 0.4 / 200) * 100
    assert interval.mean == pytest.approx(60.0)
    assert (interval.low, interval.high) == (pytest.approx(60 - error, abs=0.6), pytest.approx(60 + error, abs=0.6))
    assert interval.n == 200


def test_values_give_the_same_interval_alone_or_beside_others():
    """Rounding is no difference."""

    values = np.random.default_rng(1).normal(size=(50, 3))

    (alone,) = intervals(values[:, 1:2])
    beside = intervals(values)[1]

    assert (beside.mean, beside.low, beside.high) == pytest.approx((alone.mean, alone.low, alone.high), abs=1e-8)
    assert intervals(values) == intervals(values)

    # Equal values, added in 10,000 orders and with different weights, give means that differ in the last bit.
    (interval,) = intervals(np.full((50, 1), 0.1))

    assert interval.low == interval.high


@pytest.mark.slow
def test_scipy_gives_the_same_interval() -> None:
    from scipy.stats import bootstrap

    values = np.random.default_rng(2).exponential(size=150)
    theirs = bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=3).confidence_interval

    (ours,) = intervals(values.reshape(-1, 1))

    assert (ours.low, ours.high) == (pytest.approx(theirs.low, abs=0.02), pytest.approx(theirs.high, abs=0.02))


def test_the_interval_of_a_proportion_is_not_empty_at_its_ends() -> None:
    for percent, n, low, high in ((0.0, 100, 0.0, 3.699), (30.0, 50, 19.103, 43.751), (100.0, 40, 91.238, 100.0)):
        interval = wilson(percent, n)

        assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-3)


@pytest.mark.slow
def test_scipy_gives_the_same_interval_of_every_proportion() -> None:
    from scipy.stats import binomtest

    counts = [(right, n) for n in (1, 2, 40, 50, 100, 300, 2_000) for right in sorted({0, 1, n // 3, n // 2, n})]
    for right, n in counts:
        theirs = binomtest(right, n).proportion_ci(0.95, method="wilson")

        ours = wilson(100 * right / n, n)

        assert (ours.low / 100, ours.high / 100) == pytest.approx((theirs.low, theirs.high), abs=1e-12), (right, n)


def test_interval_of_a_difference_of_few_pairs_is_as_published() -> None:
    # Examples: Bentur and others (2009), in Fagerland, Lydersen and Laake (2017), table 8.6; Newcombe (1998).
    for better, worse, n, low, high in ((1, 7, 21, -51.72, -2.60), (12, 2, 50, 6.11, 34.47)):
        interval = tango(better, worse, n)

        assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.01)
        assert (-interval.high, -interval.low) == (tango(worse, better, n).low, tango(worse, better, n).high)
    assert (tango(0, 0, 154).low, tango(0, 0, 154).high) == pytest.approx((-2.434, 2.434), abs=1e-3)
    assert tango(30, 0, 30).high == 100.0


@pytest.mark.slow
@for_each("better, worse, n", (0, 1, 44), (3, 5, 100), (9, 0, 82))
def test_its_bounds_are_where_the_score_test_stops_to_doubt(better: int, worse: int, n: int) -> None:
    from scipy.optimize import minimize_scalar

    interval = tango(better, worse, n)
    for difference in (interval.low / 100, interval.high / 100):

        def surprise(share: float, difference: float = difference) -> float:
            cells = ((better, share + difference), (worse, share), (n - better - worse, 1 - 2 * share - difference))
            return -sum(count * math.log(max(cell, 1e-300)) for count, cell in cells)

        bounds = (max(0.0, -difference), (1 - difference) / 2)
        share = minimize_scalar(surprise, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
        deviation = math.sqrt((2 * share + difference - difference**2) / n)
        assert abs((better - worse) / n - difference) / deviation == pytest.approx(1.959964, abs=1e-3)


def test_questions_without_a_value_are_out_of_the_mean() -> None:
    (some, none) = intervals(np.array([[1.0, math.nan], [3.0, math.nan], [math.nan, math.nan]]))

    assert (some.mean, some.n) == (2.0, 2)
    assert 1.0 <= some.low <= some.high <= 3.0
    assert none.n == 0
    assert math.isnan(none.mean)


def test_repetitions_are_resampled_within_their_questions() -> None:
    # Every question is right in one of two repetitions, so the uncertainty is in the seeds, not in the questions.
    values = np.tile([[100.0], [0.0]], (50, 1))

    (interval,) = intervals(values, repetitions=2)

    error = 1.96 * 50 / math.sqrt(100)
    assert (interval.mean, interval.n) == (50.0, 50)
    assert (interval.low, interval.high) == (pytest.approx(50 - error, abs=0.6), pytest.approx(50 + error, abs=0.6))
