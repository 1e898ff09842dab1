"""The threshold of a classifier, and what it gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prefrag.training.pair_classifier.calibration import choose_threshold, measure, plot_calibration
from tests.for_each import for_each


@for_each(
    "scores, truth, threshold",
    ([0.1, 0.7, 0.2, 0.9], [False, True, False, True], 0.45),
    # Both labels weigh the same however many there are, and equal scores are not divided.
    ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.55], [False] * 6 + [True], 0.525),
    ([0.5, 0.5, 0.5, 0.2], [True, True, False, False], 0.35),
)
def test_the_threshold_lies_between_what_it_divides(scores: list[float], truth: list[bool], threshold: float):
    assert choose_threshold(np.array(scores), np.array(truth)) == pytest.approx(threshold)


def test_precision_recall_and_prior_also_without_pairs():
    quality = measure(np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, False, True, False]), 0.5)

    assert (quality.pairs, quality.prior, quality.accuracy, quality.precision, quality.recall) == (
        4,
        0.5,
        0.5,
        0.5,
        0.5,
    )

    assert measure(np.array([]), np.array([], dtype=bool), 0.5).precision == 0


def test_scores_that_are_shares_have_no_calibration_error():
    scores = np.array([0.25] * 4 + [0.75] * 4)
    truth = np.array([True, False, False, False, True, True, True, False])

    assert measure(scores, truth, 0.5).calibration_error == pytest.approx(0)
    assert measure(1 - scores, truth, 0.5).calibration_error == pytest.approx(0.5)


def test_the_plot_is_a_picture(tmp_path: Path):
    pytest.importorskip("matplotlib", reason="the plot needs matplotlib (the extra `evaluation`)")
    scores = np.linspace(0, 1, 40)

    assert plot_calibration(scores, scores > 0.4, 0.5, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
