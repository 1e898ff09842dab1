"""Measure how well scores tell positives from negatives."""

from collections.abc import Sequence

import numpy as np


def area_under_curve(labels: Sequence[bool], scores: Sequence[float]) -> float:
    """Compute how often a positive has a higher score than a negative. Equal scores count half.

    For example, ``area_under_curve([True, True, False], [0.9, 0.2, 0.5])`` returns ``0.5``: one of two positives has a
    higher score than the negative.

    :param labels: For each example, whether it is positive.
    :param scores: For each example, its score.
    :returns: The area under the ROC curve, from 0 to 1. It is 0.5 if there are no positives or no negatives.
    """
    positive = np.array([score for label, score in zip(labels, scores, strict=True) if label])
    negative = np.array([score for label, score in zip(labels, scores, strict=True) if not label])
    if not len(positive) or not len(negative):
        return 0.5
    # Each positive is compared with each negative.
    is_higher = positive[:, None] > negative
    is_equal = positive[:, None] == negative
    return float(is_higher.mean() + is_equal.mean() / 2)
