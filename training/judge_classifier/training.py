"""Train the trees of the :class:`TreeJudge` and measure them."""

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
# Switching away from a needed passage costs a run more than keeping a useless one, because the other source may lack
# it as well, and it costs the more, the fewer searches are left.
_NEEDED_COUNTS_FIRST, _NEEDED_COUNTS_LATER = 1.5, 2.0
_HELD_BACK = 0.2
# A small dataset teaches more when its corpus is divided between the sources several times.
_ENOUGH_QUESTIONS = 400
_MOST_DIVISIONS = 4


@dataclass(frozen=True)
class TrainingStep:
    """A step and its use.

    :param dataset: The name of its dataset.
    :param step: The step.
    :param measures: Whether it is of a run as it would be served and may be measured on; others are only trained on.
    """

    dataset: str
    step: JudgedStep
    measures: bool


@dataclass(frozen=True)
class HeldBack:
    """The accuracy of trees on held-back questions of a dataset.

    :param dataset: The name of the dataset.
    :param steps: The number of their steps.
    :param classifier: The share of steps, 0 to 1, that the trees decide correctly.
    """

    dataset: str
    steps: int
    classifier: float


@dataclass(frozen=True)
class JudgeTraining:
    """The results of a training.

    :param output: The file of the trees, which were then trained on all questions.
    :param questions: The number of questions.
    :param steps: The number of steps that the trees were trained on.
    :param held_back: The earlier measurement on held-back questions, one per dataset.
    :param seconds: The duration of all of it.
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

    :param datasets: The datasets to train on, each with its own corpus.
    :param output: The file to write, JSON; an existing one is replaced at the end of the training.
    :param seed: The seed of all draws.
    :param on_progress: Called with a description of the current work.
    :returns: The results.
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
    """Run the questions of a dataset in every useful variant.

    The variants are: with their sub-questions, where they have some, and without; each of the two sources as the
    preferred one; where the questions are few, with further divisions of the corpus; and without the titles of the
    passages, so that the trees also judge where there are none.

    :param dataset: The dataset.
    :param seed: The seed with which a corpus without a field `source` is divided.
    :returns: The steps.
    :raises FileNotFoundError: When a file is absent.
    :raises ValueError: When a file cannot be read or used for training.
    """
    questions, passages = dataset.read(at_least=FEWEST_QUESTIONS)
    texts = {passage.id: passage for passage in passages}
    divided = any(question.decomposition or question.evidence_triples for question in questions)
    plain_or_not = (False, True) if divided else (False,)
    for division in range(min(_MOST_DIVISIONS, max(1, _ENOUGH_QUESTIONS // len(questions)))):
        with two_sources(passages, seed + division, draw_all=division > 0) as sources:
            for swapped, plain in product((False, True), plain_or_not):
                preferred = sources.swap() if swapped else sources
                for step in simulated_steps(questions, preferred, texts, plain=plain):
                    yield TrainingStep(dataset.name, step, measures=not (division or swapped or plain))
    untitled = [replace(passage, meta={**passage.meta, "title": ""}) for passage in passages]
    with two_sources(untitled, seed) as sources:
        for preferred in (sources, sources.swap()):
            for step in simulated_steps(questions, preferred, texts):
                yield TrainingStep(dataset.name, step, measures=False)


def fit(steps: Sequence[TrainingStep], seed: int) -> Any:
    """Train trees.

    :param steps: The examples, one per new passage of each step; a dataset weighs the root of its number of steps.
    :param seed: The seed of the draws of rows and columns.
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
        (as_row(features), needed, weights[one.dataset] * (_weigh_needed(one.step) if needed else 1))
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


def _weigh_needed(step: JudgedStep) -> float:
    return _NEEDED_COUNTS_LATER if step.step else _NEEDED_COUNTS_FIRST


def _measure(name: str, steps: Sequence[TrainingStep], trees: BoostedTrees) -> HeldBack:
    right = [one.step.keep == (keep_probability(trees, one.step.features) >= 0.5) for one in steps]
    return HeldBack(name, len(steps), sum(right) / len(steps))
