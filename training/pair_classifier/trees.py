"""Train the decision trees of the :class:`TreePairScorer`, and measure how many more gold passages they find."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from haystack import Document

from prefrag.components.pair_classifier.pair_classifier import PairClassifier, by_best_pair
from prefrag.components.pair_classifier.pair_features import FEATURES
from prefrag.components.pair_classifier.pair_scorer import Pair
from prefrag.components.pair_classifier.tree_pair_scorer import Label
from prefrag.components.state.state import identity
from prefrag.training.dataset import FEWEST_QUESTIONS, Dataset
from prefrag.training.pair_classifier.passage_loss import PassageLoss
from prefrag.training.pair_classifier.pool import Pool, pools
from prefrag.training.tree_training import Training, TreeTraining, fit_trees, leave_out

if TYPE_CHECKING:
    from xgboost import Booster

# The settings of XGBoost, chosen by cross-validation on the training questions of the four shared datasets. Other
# values give similar results.
SETTINGS: dict[str, object] = {
    "objective": "binary:logistic",
    "tree_method": "hist",
    "max_depth": 4,
    "eta": 0.1,
    # Each round trains two trees, each on a sample of rows and columns. Together they do the work of one tree.
    "num_parallel_tree": 2,
    "subsample": 0.6,
    "colsample_bytree": 0.6,
    "min_child_weight": 0.5,
    # The probability before the first tree. It is low, because few passages are needed.
    "base_score": 0.05,
    "lambda": 2,
    "nthread": 1,  # with more threads, sums would be made in another order, and the file would differ
}
# The number of rounds of the training.
ROUNDS = 150
# Trees for passages are measured by how many gold passages are among this number of first passages.
MEASURED_AT = 5
# Trees for pairs are measured by how many gold passages the selection `cfs` selects. It selects at most this number of
# passages, as in the paper.
SELECTED_AT = 6
# The total weight of a dataset's pairs in the training. The paper draws about this many pairs of each dataset.
DRAWN = 2300
# The questions are divided into this number of parts for cross-validation.
_FOLDS = 5
# With this number of questions or more, only one part of them is held back and measured.
_MANY_QUESTIONS = 400
# The bonus that the first passage of the search gets beside the classifier's score. The n-th gets 1/n of it.
_RANK_WEIGHT = PairClassifier(selection="fill").rank_weight
# An array of numbers.
Values = np.ndarray


@dataclass(frozen=True)
class Recall:
    """How many gold passages are found with and without trees, for questions that the trees were not trained on."""

    dataset: str  # the name of the dataset
    questions: int  # the number of measured questions
    before: float  # the mean share, 0 to 1, of a question's gold passages that are among the first results of a search
    after: float  # the mean share, 0 to 1, of a question's gold passages that the trees select
    documents: float  # the mean number of passages that the trees select


def train_pairs(
    datasets: Sequence[Dataset],
    output: Path,
    label: Label = "passage",
    seed: int = 7,
    on_progress: Callable[[str], None] | None = None,
) -> Training[Recall]:
    """Train the trees. The same files and seed give the same trees.

    :param datasets: The datasets, whose questions have gold passages.
    :param output: The file of the trees.
    :param label: What the trees score: a ``passage`` by its pairs, or a ``pair``.
    :param seed: The seed of all random choices.
    :param on_progress: A function that is called with each line of progress. None reports nothing.
    :returns: The results.
    :raises ValueError: If there is nothing to learn.
    """
    training = TreeTraining(datasets, output, on_progress)
    gathered: list[Pool] = []
    for dataset in datasets:
        training.report(f"Retrieving for {dataset.name}")
        with dataset.open_index(at_least=FEWEST_QUESTIONS) as (questions, store):
            gathered += pools(dataset.name, questions, store)

    held_back = _measure_held_back(gathered, label, seed, training.report)
    training.report("Training on all questions")
    training.keep(fit(gathered, seed, label))
    pairs = sum(len(pool.pairs) for pool in gathered)
    return Training(training.output, len(gathered), pairs, held_back, training.seconds)


def fit(gathered: Sequence[Pool], seed: int, label: Label = "passage") -> Booster:
    """Train trees that score passages or pairs.

    :param gathered: The questions with their pairs.
    :param seed: The seed of the training.
    :param label: What the trees score: a ``passage`` by its pairs, or a ``pair``.
    :returns: The trees, as XGBoost's ``Booster``.
    :raises ValueError: If all pairs have the same label, so that there is nothing to learn.
    """
    # Whether both passages of a pair are gold passages: True, False or both, over all pairs.
    together: set[bool] = set()
    for pool in gathered:
        together.update(first.id in pool.gold and second.id in pool.gold for first, second in pool.pairs)
    if len(together) < 2:
        finding = "only gold passages" if True in together else "no two gold passages together"
        raise ValueError(
            f"In {len(gathered)} questions with {sum(len(pool.pairs) for pool in gathered)} pairs the retrieval finds "
            f"{finding}: there is nothing to learn. Give questions with two gold passages or more (`supporting_ids`), "
            "and a corpus that also holds other passages."
        )

    features = np.concatenate([pool.features for pool in gathered])
    settings = {**SETTINGS, "seed": seed}
    if label == "pair":
        needed, weights = label_pairs(gathered)
        settings["base_score"] = 0.5
        return fit_trees(settings, ROUNDS, features, FEATURES, label=needed, weight=weights)
    return fit_trees(settings, ROUNDS, features, FEATURES, PassageLoss(gathered))


def recall(gathered: Sequence[Pool], booster: Booster, label: Label = "passage") -> tuple[float, float, float]:
    """Measure how many gold passages trees select.

    Trees for passages are measured with the selection ``fill``, and trees for pairs with ``cfs``.

    :param gathered: The questions with their pairs, at least one.
    :param booster: The trees.
    :param label: What the trees score: a ``passage`` by its pairs, or a ``pair``.
    :returns: ``before``, ``after`` and ``documents``, as in :class:`Recall`.
    """
    if label == "passage":
        before, after = shares_found(gathered, booster)
        return float(np.mean(before)), float(np.mean(after)), float(MEASURED_AT)

    selected = [select_forward(pool, booster) for pool in gathered]
    shares_before = [_share(pool, pool.documents[:SELECTED_AT]) for pool in gathered]
    shares_after = [_share(pool, documents) for pool, documents in zip(gathered, selected, strict=True)]
    sizes = [len(documents) for documents in selected]
    return float(np.mean(shares_before)), float(np.mean(shares_after)), float(np.mean(sizes))


def _share(pool: Pool, documents: Iterable[Document]) -> float:
    """Return the share of a question's gold passages that are among the documents."""
    selected_gold = pool.gold & {document.id for document in documents}
    return len(selected_gold) / len(pool.gold)


def select_forward(pool: Pool, booster: Booster, k: int = SELECTED_AT) -> list[Document]:
    """Select documents as the selection ``cfs`` does.

    :param pool: The question with its documents and pairs.
    :param booster: The trees.
    :param k: The maximum number of documents to select.
    :returns: The selected documents.
    """
    first = pool.documents[: (k + 1) // 2]
    candidates = []
    for document in first:
        candidates.append([second for leader, second in pool.pairs if leader is document])
    scores = map(float, booster.inplace_predict(pool.features)) if pool.pairs else ()
    classifier = PairClassifier(_KnownScores(pool.pairs, scores), "cfs", k)
    return list(classifier.run(pool.question, list(first), candidates)["documents"])


class _KnownScores:
    """A scorer that returns scores which were computed before."""

    def __init__(self, pairs: Iterable[Pair], scores: Iterable[float]):
        self._scores = {tuple(map(identity, pair)): score for pair, score in zip(pairs, scores, strict=True)}

    def score(self, question: str, pairs: list[Pair]) -> list[float]:
        """Return the scores of pairs."""
        return [self._scores[tuple(map(identity, pair))] for pair in pairs]


def shares_found(gathered: Sequence[Pool], booster: Booster, k: int = MEASURED_AT) -> tuple[list[float], list[float]]:
    """Measure, for each question, which share of its gold passages is among the first passages.

    :param gathered: The questions with their pairs.
    :param booster: The trees.
    :param k: The number of first passages.
    :returns: The shares without trees, in the order of the search, and the shares with trees.
    """
    before: list[float] = []
    after: list[float] = []
    for pool in gathered:
        scores = booster.inplace_predict(pool.features) if pool.pairs else []
        ranked = by_best_pair(pool.documents, pool.pairs, [float(score) for score in scores], _RANK_WEIGHT)
        for shares, documents in ((before, pool.documents), (after, ranked)):
            gold = pool.gold & {document.id for document in documents[:k]}
            shares.append(len(gold) / min(k, len(pool.gold)))
    return before, after


def _measure_held_back(
    gathered: Sequence[Pool], label: Label, seed: int, report: Callable[[str], None]
) -> tuple[Recall, ...]:
    """Measure trees by cross-validation. If there are many questions, measure only one of the five parts."""
    part: list[int] = []
    sizes = Counter(pool.dataset for pool in gathered)
    draw = random.Random(seed)
    for size in sizes.values():
        # Draw the parts within each dataset, so that every part has questions of every dataset.
        own = [number % _FOLDS for number in range(size)]
        draw.shuffle(own)
        part += own
    parts = 1 if len(gathered) >= _MANY_QUESTIONS else _FOLDS

    sums = {dataset: np.zeros(4) for dataset in sizes}
    for number in range(parts):
        report(f"Measuring on held-back questions ({number + 1} of {parts})")
        held_back = [pool for pool, own in zip(gathered, part, strict=True) if own == number]
        booster = fit(leave_out(gathered, held_back, lambda pool: pool.question), seed, label)
        for dataset in sizes:
            measured = [pool for pool in held_back if pool.dataset == dataset]
            sums[dataset] += len(measured) * np.array([1, *recall(measured, booster, label)])

    return tuple(
        Recall(dataset, int(count), before / count, after / count, documents / count)
        for dataset, (count, before, after, documents) in sums.items()
    )


def label_pairs(gathered: Sequence[Pool]) -> tuple[Values, Values]:
    """Label and weigh the pairs of questions.

    The paper draws as many negative as positive pairs. Here every pair is used, and weights balance them. In each
    dataset, positive pairs have half of the weight. Pairs with one needed document have a quarter, and pairs with none
    have a quarter. So the weighted share of positive pairs is one half, and 0.5 is the threshold. The pairs of each
    dataset together weigh :data:`DRAWN`.

    :param gathered: The questions with their pairs.
    :returns: For each pair, its label (1 if both documents are needed, else 0), and its weight.
    """
    counts = []
    for pool in gathered:
        counts += [sum(document.id in pool.gold for document in pair) for pair in pool.pairs]
    needed = np.array(counts, dtype=np.intp)
    dataset = np.array([pool.dataset for pool in gathered for _ in pool.pairs])
    weights = np.zeros(len(needed))
    for name in np.unique(dataset):
        for count, share in ((0, 0.25), (1, 0.25), (2, 0.5)):
            group = (dataset == name) & (needed == count)
            weights[group] = DRAWN * share / max(1, group.sum())
    return (needed == 2).astype(np.float64), weights
