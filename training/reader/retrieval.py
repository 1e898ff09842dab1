"""Retrieve passages for the reader's training, ranked by a classifier that was not trained on the same questions.

A reader that learns from training questions should see passages that are as well ranked as those of new questions. The
shipped classifier would rank them better, because it was trained on some of these questions.
"""

import random
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from prefrag.components.pair_classifier.pair_classifier import PairClassifier, by_best_pair
from prefrag.components.pair_classifier.pair_features import FEATURES
from prefrag.components.pair_classifier.tree_pair_scorer import SHIPPED_TREES
from prefrag.components.trees import load_trees
from prefrag.training.dataset import FEWEST_QUESTIONS, Dataset
from prefrag.training.pair_classifier.pool import Pool, pools
from prefrag.training.pair_classifier.trees import fit
from prefrag.training.tree_training import leave_out

# For each question, at most this number of passages is kept.
DEPTH = 10
# The questions are divided into this number of parts.
_FOLDS = 5
# The bonus that the first passage of the search gets beside the classifier's score. The second gets half of it, and the
# n-th gets 1/n of it.
_RANK_WEIGHT = PairClassifier(selection="fill").rank_weight


def retrieve_unseen(
    datasets: Sequence[Dataset], seed: int, report: Callable[[str], None]
) -> dict[str, dict[str, list[str]]]:
    """Retrieve passages for training questions as ``dr_rag_linked`` does for new questions.

    The training questions are divided into five parts. The passages for each part are ranked by trees that were trained
    on the other four parts.

    :param datasets: The datasets.
    :param seed: The seed of all random choices.
    :param report: A function that is called with each line of progress.
    :returns: The ids of the passages, best first, for each dataset's name and each question's id.
    """
    gathered: list[tuple[str, str, Pool]] = []
    for dataset in datasets:
        report(f"Retrieving for {dataset.name}")
        with dataset.open_index(at_least=FEWEST_QUESTIONS) as (questions, store):
            retrieved = pools(dataset.name, questions, store)
            gathered += [(dataset.name, question.id, pool) for question, pool in zip(questions, retrieved, strict=True)]

    parts = [number % _FOLDS for number in range(len(gathered))]
    random.Random(seed).shuffle(parts)
    ranked: dict[str, dict[str, list[str]]] = {dataset.name: {} for dataset in datasets}
    for part in range(_FOLDS):
        report(f"Ranking the retrieved passages ({part + 1} of {_FOLDS})")
        back = [entry for entry, own in zip(gathered, parts, strict=True) if own == part]
        pools_back = [pool for _, _, pool in back]
        rest = leave_out((pool for _, _, pool in gathered), pools_back, lambda pool: pool.question)
        trees = _fit_or_shipped(rest, seed + part)
        for dataset_name, question, pool in back:
            ranked[dataset_name][question] = _rank(pool, trees)
    return ranked


def _fit_or_shipped(learnt: Sequence[Pool], seed: int) -> Callable[[np.ndarray], Iterable[float]]:
    """Train trees, and return the function that scores pairs of passages with them."""
    try:
        return fit(learnt, seed).inplace_predict
    except ValueError:
        # If each question has only one gold passage, there are no pairs to learn from. Then the shipped trees are used.
        return load_trees(SHIPPED_TREES["passage"], FEATURES).probabilities


def _rank(pool: Pool, trees: Callable[[np.ndarray], Iterable[float]]) -> list[str]:
    """Return the ids of a question's passages, ranked by the scores of trees."""
    scores: list[float] = []
    if pool.pairs:
        scores = [float(score) for score in trees(pool.features)]
    ranked = by_best_pair(pool.documents, pool.pairs, scores, _RANK_WEIGHT)
    return [document.id for document in ranked][:DEPTH]
