"""The threshold of a classifier, and what it gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prefrag.training.pair_classifier.calibration import choose_threshold, measure, plot_calibration


def test_the_threshold_lies_between_what_it_divides():
    assert choose_threshold(np.array([0.1, 0.7, 0.2, 0.9]), np.array([False, True, False, True])) == pytest.approx(0.45)


def test_both_labels_weigh_the_same_however_many_there_are():
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.55])
    truth = np.array([False] * 6 + [True])

    assert choose_threshold(scores, truth) == pytest.approx(0.525)


def test_equal_scores_are_not_divided():
    threshold = choose_threshold(np.array([0.5, 0.5, 0.5, 0.2]), np.array([True, True, False, False]))

    assert threshold == pytest.approx(0.35)


def test_precision_recall_and_prior():
    found = measure(np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, False, True, False]), 0.5)

    assert (found.pairs, found.prior, found.accuracy, found.precision, found.recall) == (4, 0.5, 0.5, 0.5, 0.5)


def test_scores_that_are_shares_have_no_calibration_error():
    scores = np.array([0.25] * 4 + [0.75] * 4)
    truth = np.array([True, False, False, False, True, True, True, False])

    assert measure(scores, truth, 0.5).calibration_error == pytest.approx(0)
    assert measure(1 - scores, truth, 0.5).calibration_error == pytest.approx(0.5)


def test_without_pairs_there_is_nothing_to_divide_by():
    assert measure(np.array([]), np.array([], dtype=bool), 0.5).precision == 0


def test_the_plot_is_a_picture(tmp_path: Path):
    pytest.importorskip("matplotlib", reason="the plot needs matplotlib (the extra `evaluation`)")
    scores = np.linspace(0, 1, 40)

    assert plot_calibration(scores, scores > 0.4, 0.5, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
