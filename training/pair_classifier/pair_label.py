"""The label of DR-RAG's pair classifier: a pair is positive when both documents are needed (equation 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from prefrag.training.pair_classifier.pool import Pool

# About the number of pairs that the paper draws for each dataset.
DRAWN = 2300

Values = np.ndarray[Any, np.dtype[Any]]


def label_pairs(gathered: Sequence[Pool]) -> tuple[Values, Values]:
    """Label and weigh the pairs of questions.

    The paper draws one negative to one positive. Here every pair teaches, and the weights balance them: in each dataset
    the positive pairs weigh as much as the negative ones, of these the pairs with one needed document as much as those
    with none, and together as much as :data:`DRAWN` pairs. So 0.5 is the threshold of a prior of one half.
    """
    needed = np.array(
        [sum(one.id in pool.gold for one in pair) for pool in gathered for pair in pool.pairs], dtype=np.intp
    )
    dataset = np.array([pool.dataset for pool in gathered for _ in pool.pairs])
    weights = np.zeros(len(needed))
    for name in np.unique(dataset):
        for count, share in ((0, 0.25), (1, 0.25), (2, 0.5)):
            group = (dataset == name) & (needed == count)
            weights[group] = DRAWN * share / max(1, group.sum())
    return (needed == 2).astype(np.float64), weights
