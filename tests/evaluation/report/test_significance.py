"""Paired tests, and the correction of their p-values."""

import numpy as np
import pytest

from prefrag.evaluation.report.significance import compute_p, correct


def test_few_right_and_wrong_answers_have_their_exact_p() -> None:
    for (first, second), p in {(0, 0): 1.0, (1, 0): 1.0, (4, 0): 0.125, (0, 6): 0.03125, (7, 7): 1.0}.items():
        differences = np.array([100.0] * first + [-100.0] * second + [0.0] * 20).reshape(-1, 1)

        assert compute_p(differences) == compute_p(-differences) == [p], (first, second)


@pytest.mark.slow
def test_answers_right_or_wrong_have_mcnemars_exact_p() -> None:
    from scipy.stats import binomtest

    for first, second in [(0, 0), (1, 0), (4, 0), (0, 6), (7, 7), (8, 7), (31, 12), (130, 170), (900, 1_100)]:
        theirs = binomtest(first, first + second).pvalue if first + second else 1.0
        differences = np.array([100.0] * first + [-100.0] * second + [0.0] * 20).reshape(-1, 1)

        assert compute_p(differences) == compute_p(-differences) == [pytest.approx(theirs, abs=1e-12)], (first, second)


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 60])
def test_scipy_gives_the_same_p(n: int) -> None:
    from scipy.stats import permutation_test

    values = np.random.default_rng(n).integers(-2, 4, size=n).astype(float)
    values[:2] = 1, 2
    theirs = permutation_test(
        (values, np.zeros(n)),
        lambda values, other, axis: (values - other).sum(axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,
    ).pvalue

    alone, beside = compute_p(np.stack([values, np.arange(n) % 5.0], axis=1))[:1], compute_p(values.reshape(-1, 1))

    assert alone == beside
    assert beside == [pytest.approx(theirs, abs=0.02)]


def test_single_comparison_is_uncorrected_and_several_by_holm() -> None:
    assert correct([]) == []
    assert correct([0.04]) == [0.04]
    # In Holm's paper, this example would reject the first two at 0.05 and then stop.
    assert correct([0.01, 0.06, 0.02]) == pytest.approx([0.03, 0.06, 0.04])
    assert correct([0.02, 0.02, 0.9]) == pytest.approx([0.06, 0.06, 0.9])
