"""Trains the trees of the :class:`TreeJudge` and measures them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from prefrag.components.judge.switch_features import FEATURES, as_row
from prefrag.components.judge.tree_judge import keep_probability
from prefrag.components.trees import BoostedTrees
from prefrag.training.dataset import FEWEST_QUESTIONS, Dataset
from prefrag.training.judge_classifier.steps import JudgedStep, simulated_steps, two_sources
from prefrag.training.tree_training import TreeTraining, leave_out

# Chosen by cross-validation on the training questions of the four shared datasets.
SETTINGS: dict[str, Any] = {
    "objective": "binary:logistic",
    "tree_method": "hist",
    "max_depth": 6,
    "eta": 0.05,
    "subsample": 0.8,
    "colsample_bytree": 0.5,
    "min_child_weight": 6,
    "lambda": 2,
    "nthread": 1,
}
ROUNDS = 150
# To switch away from a needed passage costs a run more than to keep a useless one, which the other source may lack as
# well; the more, the fewer searches are left.
_NEEDED_COUNTS_FIRST, _NEEDED_COUNTS_LATER = 1.5, 2.0
_HELD_BACK = 0.2
# A small dataset teaches more when its corpus is shared out between the sources again and again.
_ENOUGH_QUESTIONS = 400
_MOST_DIVISIONS = 4


@dataclass(frozen=True)
class TrainingStep:
    """A step and how it is used.

    :param dataset: The name of its dataset.
    :param step: The step.
    :param measures: Whether it is of a run as it would be served, and so may measure; the others only teach.
    """

    dataset: str
    step: JudgedStep
    measures: bool


@dataclass(frozen=True)
class HeldBack:
    """What trees without the held-back questions of a dataset say of those.

    :param dataset: The name of the dataset.
    :param steps: How many steps they have.
    :param classifier: The share, 0 to 1, of them that the trees decide rightly.
    """

    dataset: str
    steps: int
    classifier: float


@dataclass(frozen=True)
class JudgeTraining:
    """What came of a training.

    :param output: The file of the trees, which were then trained on all questions.
    :param questions: How many questions there were.
    :param steps: How many steps the trees were trained on.
    :param held_back: The measurement before that, a dataset each.
    :param seconds: How long all of it took.
    """

    output: Path
    questions: int
    steps: int
    held_back: tuple[HeldBack, ...]
    seconds: float


def train_judge(
    datasets: Sequence[Dataset], output: Path, seed: int = 7, on_progress: Callable[[str], None] | None = None
) -> JudgeTraining:
    """Train the trees on the steps of simulated runs; the same files and seed give the same trees.

    :param datasets: What to train on: each its own corpus.
    :param output: The file to write, JSON; one that is there is replaced when the training is over.
    :param seed: Of all draws.
    :param on_progress: Called with what is being done.
    :returns: What came of it.
    :raises FileNotFoundError: When a file, or the folder of the output, is absent.
    :raises ValueError: When a file cannot be read, two datasets have one name, there are too few questions, gold
        passages are absent, or all steps have the same verdict.
    """
    training = TreeTraining(datasets, output, on_progress)
    steps: list[TrainingStep] = []
    questions = 0
    held: set[tuple[str, str]] = set()
    for dataset in datasets:
        training.report(f"Running the questions of {dataset.name}")
        own = list(training_steps(dataset, seed))
        ids = sorted({one.step.question_id for one in own})
        random.Random(seed).shuffle(ids)
        held |= {(dataset.name, key) for key in ids[: math.ceil(_HELD_BACK * len(ids))]}
        questions += len(ids)
        steps += own
    training.report("Training the trees")
    back = [one for one in steps if (one.dataset, one.step.question_id) in held]
    rest = leave_out(steps, back, lambda one: one.step.question)
    back = [one for one in back if one.measures]
    trees = BoostedTrees(fit(rest, seed))
    measured = tuple(
        _measure(name, [one for one in back if one.dataset == name], trees)
        for name in dict.fromkeys(one.dataset for one in back)
    )
    training.keep(fit(steps, seed))
    return JudgeTraining(training.output, questions, len(steps), measured, training.seconds)


def training_steps(dataset: Dataset, seed: int) -> Iterator[TrainingStep]:
    """Run the questions of a dataset, each way that teaches something.

    They run with their sub-questions, where they have some, and without; of either source as the preferred one,
    so that what one source lacks the other shows; where they are few, with the corpus shared out in other ways too;
    and with passages that have lost their titles, so that the trees also judge where there are none.

    :param dataset: The dataset.
    :param seed: Shares out a corpus that does not say which source holds a passage.
    :returns: The steps.
    :raises FileNotFoundError: When a file is absent.
    :raises ValueError: When a file cannot be read, or not be trained on.
    """
    questions, passages = dataset.read(at_least=FEWEST_QUESTIONS)
    texts = {passage.id: passage for passage in passages}
    divided = any(question.decomposition or question.evidence_triples for question in questions)
    plain_or_not = (False, True) if divided else (False,)
    for division in range(min(_MOST_DIVISIONS, max(1, _ENOUGH_QUESTIONS // len(questions)))):
        with two_sources(passages, seed + division, draw_all=division > 0) as sources:
            for swapped, plain in product((False, True), plain_or_not):
                preferred = sources.swapped() if swapped else sources
                for step in simulated_steps(questions, preferred, texts, plain=plain):
                    yield TrainingStep(dataset.name, step, measures=not (division or swapped or plain))
    untitled = [replace(passage, meta={**passage.meta, "title": ""}) for passage in passages]
    with two_sources(untitled, seed) as sources:
        for preferred in (sources, sources.swapped()):
            for step in simulated_steps(questions, preferred, texts):
                yield TrainingStep(dataset.name, step, measures=False)


def fit(steps: Sequence[TrainingStep], seed: int) -> Any:
    """Train trees.

    :param steps: What to learn from, each new passage of each; a dataset counts by the root of its number of steps.
    :param seed: Of the draws of rows and columns.
    :returns: The trees, an ``xgboost.Booster``.
    :raises ValueError: When all steps have the same verdict.
    """
    import numpy as np
    import xgboost

    verdicts = {one.step.keep for one in steps}
    if len(verdicts) < 2:
        verdict = "keeps" if any(verdicts) else "switches"
        raise ValueError(
            f"In all {len(steps)} steps a perfect judge {verdict}: there is nothing to learn. Give questions of which "
            "one source holds some gold passages and lacks others."
        )
    sizes = {name: sum(one.dataset == name for one in steps) for name in {one.dataset for one in steps}}
    scale = math.sqrt(len(steps) / len(sizes))
    weights = {name: scale / math.sqrt(size) for name, size in sizes.items()}
    passages = [
        (as_row(features), needed, weights[one.dataset] * (_counts(one.step) if needed else 1))
        for one in steps
        for features, needed in zip(one.step.features, one.step.needed, strict=True)
    ]
    matrix = xgboost.DMatrix(
        np.asarray([row for row, _, _ in passages], dtype=np.float32),
        label=np.asarray([needed for _, needed, _ in passages], dtype=np.float32),
        weight=np.asarray([weight for _, _, weight in passages], dtype=np.float32),
        feature_names=list(FEATURES),
        nthread=1,
    )
    return xgboost.train({**SETTINGS, "seed": seed}, matrix, ROUNDS)


def _counts(step: JudgedStep) -> float:
    return _NEEDED_COUNTS_LATER if step.step else _NEEDED_COUNTS_FIRST


def _measure(name: str, steps: Sequence[TrainingStep], trees: BoostedTrees) -> HeldBack:
    right = [one.step.keep == (keep_probability(trees, one.step.features) >= 0.5) for one in steps]
    return HeldBack(name, len(steps), sum(right) / len(steps))
