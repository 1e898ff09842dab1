"""Choose the threshold of a pair classifier, and show how well calibrated its scores are."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

# An array of numbers.
Values = np.ndarray
# The scores, from 0 to 1, are divided into this number of ranges.
_BINS = 10


@dataclass(frozen=True)
class Quality:
    """How well a threshold tells positive pairs (both documents are needed) from negative pairs."""

    pairs: int  # the number of pairs that were measured
    prior: float  # the share of positive pairs, 0 to 1
    accuracy: float  # the share of right verdicts
    precision: float  # the share of positive pairs among the pairs with a positive verdict; 0 without such pairs
    recall: float  # the share of positive pairs that get a positive verdict; 0 without positive pairs
    # The scores are divided into ten ranges. The error of a range is the distance between its mean score and its share
    # of positive pairs. This value is the mean of the errors, weighted by the numbers of pairs.
    calibration_error: float


def choose_threshold(scores: Values, truth: Values) -> float:
    """Choose the threshold with the best balanced accuracy: all positive pairs weigh as much as all negative pairs.

    For example, for the scores 0.1, 0.4 and 0.8, of which only the last is positive, the threshold is 0.6.

    :param scores: The scores of pairs, from 0 to 1.
    :param truth: For each pair, whether it is positive.
    :returns: The threshold, from 0.01 to 0.99.
    """
    order = np.argsort(scores)
    ordered = scores[order]
    positive = truth[order].astype(float)
    negative = 1 - positive
    # A threshold lies in a gap: before the first score, between two scores, or behind the last. So n scores have n + 1
    # gaps. For each gap, from low to high: the share of negative pairs below it, and that of positive pairs above it.
    negative_below = np.concatenate([[0.0], np.cumsum(negative)]) / negative.sum()
    positive_above = 1 - np.concatenate([[0.0], np.cumsum(positive)]) / positive.sum()
    right_shares = negative_below + positive_above
    # No threshold lies between two equal scores. The gaps between scores are all but the first and the last gap.
    is_closed = ordered[1:] == ordered[:-1]
    right_shares[1:-1][is_closed] = -1
    # The gap with the number n lies between the edges n and n + 1.
    edges = np.concatenate([[0.0], ordered, [1.0]])
    gap = int(np.argmax(right_shares))
    middle = (edges[gap] + edges[gap + 1]) / 2
    return float(np.clip(middle, 0.01, 0.99))


def measure(scores: Values, truth: Values, threshold: float) -> Quality:
    """Measure the verdicts that a threshold gives.

    :param scores: The scores of pairs, from 0 to 1.
    :param truth: For each pair, whether it is positive.
    :param threshold: A pair with at least this score gets a positive verdict.
    :returns: The measures. All are 0 if there are no pairs.
    """
    if not len(truth):
        return Quality(pairs=0, prior=0.0, accuracy=0.0, precision=0.0, recall=0.0, calibration_error=0.0)
    verdicts = scores >= threshold
    true_positives = (verdicts & truth).sum()
    error = 0.0
    for mask in _masks(scores):
        distance = abs(scores[mask].mean() - truth[mask].mean())
        error += distance * mask.mean()
    return Quality(
        pairs=len(scores),
        prior=float(truth.mean()),
        accuracy=float((verdicts == truth).mean()),
        precision=float(true_positives / max(1, verdicts.sum())),
        recall=float(true_positives / max(1, truth.sum())),
        calibration_error=float(error),
    )


def plot_calibration(scores: Values, truth: Values, threshold: float, file: Path) -> bool:
    """Plot the share of positive pairs against the score.

    :param scores: The scores of pairs, from 0 to 1.
    :param truth: For each pair, whether it is positive.
    :param threshold: The threshold, which is drawn as a line.
    :param file: The picture to write.
    :returns: False if matplotlib is not installed, so that nothing is written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False

    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.subplots()
    masks = _masks(scores)
    axes.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle="--", label="perfectly calibrated scores")
    mean_scores = [scores[mask].mean() for mask in masks]
    mean_shares = [truth[mask].mean() for mask in masks]
    axes.plot(mean_scores, mean_shares, marker="o", label="held-back pairs")
    axes.axvline(threshold, color="tab:red", linewidth=1, label=f"threshold {threshold:.2f}")
    axes.set_xlabel("score")
    axes.set_ylabel("share of positive pairs")
    axes.set_title(f"{len(scores)} pairs, {truth.mean():.0%} positive")
    axes.legend()
    figure.savefig(file, dpi=120)
    return True


def _masks(scores: Values) -> list[Values]:
    """Divide the scores into ten equal ranges. For each range with pairs, return a mask that selects these pairs."""
    part = np.minimum((scores * _BINS).astype(int), _BINS - 1)
    return [part == number for number in range(_BINS) if (part == number).any()]
