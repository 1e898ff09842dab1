"""Train and measure the decision trees of the :class:`TreeQuestionClassifier`.

The trees choose how much retrieval a question needs. They see only features of the question's words.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prefrag.components.adaptive_rag.question_classifier import CLASSES, QuestionClass
from prefrag.components.adaptive_rag.question_features import FEATURES, question_features
from prefrag.components.trees import CLASSES as CLASS_NAMES
from prefrag.components.trees import BoostedTrees
from prefrag.evaluation.pipeline_under_test.experiment import SIMULATED, Experiment
from prefrag.training.card import table, write_card
from prefrag.training.dataset import FEWEST_QUESTIONS, Dataset
from prefrag.training.question_classifier.labels import STRATEGIES, LabelledQuestion, label_dataset, read_single_hop
from prefrag.training.tree_training import Training, TreeTraining, fit_trees, leave_out, read_booster

if TYPE_CHECKING:
    from xgboost import Booster

# The settings of XGBoost, chosen by cross-validation on the training questions. The results hardly depend on them.
SETTINGS: dict[str, object] = {
    "objective": "multi:softprob",
    "tree_method": "hist",
    "max_depth": 3,
    "eta": 0.1,
    "subsample": 0.7,
    "colsample_bytree": 0.4,
    "min_child_weight": 2,
    "lambda": 2,
    "nthread": 1,  # with more threads, sums would be made in another order, and the file would differ
}
# The number of rounds of the training.
ROUNDS = 100
# The questions are divided into this number of parts for cross-validation.
_FOLDS = 5


@dataclass(frozen=True)
class HeldBack:
    """How well trees classify the questions of a dataset if they were not trained on these questions."""

    dataset: str  # the name of the dataset
    questions: int  # the number of questions
    shares: Mapping[str, float]  # the share of each class among the labels, 0 to 1
    silver: float  # the share of questions, 0 to 1, that a strategy answered; others have the dataset's default class
    right: float  # the share of questions, 0 to 1, that trees trained on the other questions classify rightly
    # The same share for trees that were trained only on the other datasets; None if those have only one class.
    without: float | None

    @property
    def most_frequent(self) -> float:
        """The share of the dataset's most frequent class, which is how often the best constant guess is right."""
        return max(self.shares.values())


@dataclass(frozen=True)
class Measured:
    """How well the final trees classify the questions of a dataset that was not used for training."""

    dataset: str
    questions: int  # the number of questions that a strategy answered
    right: float  # the share of questions, 0 to 1, that are classified rightly
    most_frequent: float  # the share of questions, 0 to 1, that have the most frequent class
    chosen: Mapping[str, float]  # for each class, the share of questions, 0 to 1, for which the trees choose it


def train_questions(
    multi_hop: Sequence[Dataset],
    output: Path,
    seed: int = 7,
    *,
    single_hop: Sequence[Dataset] = (),
    reading: Path | None = None,
    measure: Sequence[Dataset] = (),
    experiment: Experiment | None = None,
    concurrency: int = 4,
    on_progress: Callable[[str], None] | None = None,
) -> Training[HeldBack]:
    """Train the trees. The same files, answers and seed give the same trees.

    A folder beside the output keeps the answers that decide the labels, so that an interrupted training can continue.

    :param multi_hop: Datasets of questions that need several steps.
    :param output: The file of the trees.
    :param seed: The seed of all random choices.
    :param single_hop: Datasets of questions that need one step.
    :param reading: A file of questions on single passages. They are labelled as questions of one step.
    :param measure: Datasets that are used only to measure the final trees.
    :param experiment: The model whose answers decide the labels. None uses the simulated reader.
    :param concurrency: How many questions run at the same time.
    :param on_progress: A function that is called with each line of progress. None reports nothing.
    :returns: The results.
    :raises ValueError: If there are too few questions, or if all have the same class.
    """
    training = TreeTraining([*multi_hop, *single_hop], output, on_progress)
    model = experiment or Experiment(llm=SIMULATED)
    folder = training.output.with_name(f"{training.output.stem}-training")

    def label(dataset: Dataset, bias: QuestionClass) -> list[LabelledQuestion]:
        training.report(f"Answering {dataset.name} with {len(STRATEGIES)} strategies")
        return label_dataset(dataset, bias, model, folder, concurrency=concurrency)

    labelled: list[LabelledQuestion] = []
    for dataset in multi_hop:
        labelled += label(dataset, "multi_step")
    for dataset in single_hop:
        labelled += label(dataset, "single_step")
    if reading is not None:
        labelled += read_single_hop(Path(reading).expanduser(), seed)
    if len(labelled) < FEWEST_QUESTIONS:
        raise ValueError(f"There are {len(labelled)} questions: training needs at least {FEWEST_QUESTIONS}.")
    # Only questions that a strategy answered are measured, because a default class says nothing about a question.
    measured_questions = {}
    for dataset in measure:
        measured_questions[dataset.name] = [question for question in label(dataset, "multi_step") if question.silver]

    training.report("Training without the held-back questions, to measure the trees on these questions")
    held_back = _measure_held_back(labelled, seed)

    training.report("Training the trees on all questions")
    booster = fit(labelled, seed)
    training.keep(booster)
    trees = read_booster(booster)
    measured = tuple(_measure(name, questions, trees) for name, questions in measured_questions.items() if questions)
    result = Training(training.output, len(labelled), len(labelled), held_back, training.seconds, measured)
    _write_card(result, seed, model.llm or "the model that PREFRAG_LLM_* names")
    return result


def _write_card(training: Training[HeldBack], seed: int, llm: str) -> None:
    """Write the model card of a training. ``llm`` is the model whose answers decided the labels."""
    classes = " / ".join(CLASSES)
    head = [
        "dataset",
        "questions",
        classes,
        "labels that a strategy gave",
        "right on held-back questions",
        "right by always choosing the most frequent class",
        "right by trees of the other datasets",
    ]
    rows: list[tuple[object, ...]] = []
    for result in training.held_back:
        shares = write_shares(result.shares)
        percentages = (f"{result.silver:.0%}", f"{result.right:.1%}", f"{result.most_frequent:.1%}")
        by_other_datasets = "-" if result.without is None else f"{result.without:.1%}"
        rows.append((result.dataset, result.questions, shares, *percentages, by_other_datasets))
    paragraphs = [
        f"`{training.output.name}`: seed {seed}, {training.questions} questions, answered by {llm}, "
        f"{training.seconds:.0f} s.",
        table(head, rows),
        "The last column shows how the trees do on questions of another kind. If it is no higher than the column "
        "before it, the trees have learnt to tell the datasets apart, not how much retrieval a question needs.",
    ]
    if training.measured:
        head = ["dataset, only measured", "answered questions", "right", "right by the most frequent class"]
        rows = []
        for measured in training.measured:
            shares = write_shares(measured.chosen)
            rows.append(
                (
                    measured.dataset,
                    measured.questions,
                    f"{measured.right:.1%}",
                    f"{measured.most_frequent:.1%}",
                    shares,
                )
            )
        paragraphs.append(table([*head, f"chosen: {classes}"], rows))
    write_card(training.output, "Trees of `prefrag train questions`", *paragraphs)


def write_shares(shares: Mapping[str, float]) -> str:
    """Write the share of each class as text, in the order from no retrieval to several retrievals.

    For example, ``{"no_retrieval": 0.5, "single_step": 0.2, "multi_step": 0.3}`` becomes "50% / 20% / 30%".

    :param shares: The share of each class, from 0 to 1.
    :returns: The text.
    """
    return " / ".join(f"{shares.get(name, 0):.0%}" for name in CLASSES)


def fit(labelled: Sequence[LabelledQuestion], seed: int) -> Booster:
    """Train trees on labelled questions. Each dataset has the same weight, whatever its size.

    :param labelled: The questions with their classes.
    :param seed: The seed of the training.
    :returns: The trees, as XGBoost's ``Booster``. They also have the names of the classes.
    :raises ValueError: If all questions have the same class.
    """
    import numpy as np

    labels = {question.label for question in labelled}
    classes = [name for name in CLASSES if name in labels]
    if len(classes) < 2:
        raise ValueError(
            f"All {len(labelled)} questions are of the class {classes[0]}: there is nothing to learn. Add "
            "questions that need more retrieval, or less (--single-hop, --reading)."
        )
    sizes = Counter(question.dataset for question in labelled)
    weights = [len(labelled) / len(sizes) / sizes[question.dataset] for question in labelled]
    rows = np.asarray([question_features(question.question) for question in labelled], dtype=np.float32)
    labels_of_rows = np.asarray([classes.index(question.label) for question in labelled], dtype=np.float32)
    booster = fit_trees(
        {**SETTINGS, "num_class": len(classes), "seed": seed},
        ROUNDS,
        rows,
        FEATURES,
        label=labels_of_rows,
        weight=np.asarray(weights, dtype=np.float32),
    )
    booster.set_attr(**{CLASS_NAMES: json.dumps(classes)})
    return booster


def _measure_held_back(labelled: Sequence[LabelledQuestion], seed: int) -> tuple[HeldBack, ...]:
    """Measure trees by cross-validation, for each dataset. Also measure trees that learnt only from other datasets."""
    order = list(labelled)
    random.Random(seed).shuffle(order)
    n_right: Counter[str] = Counter()
    for fold in range(_FOLDS):
        held_back = order[fold::_FOLDS]
        trees = read_booster(fit(leave_out(order, held_back, _text), seed))
        for question, is_right in zip(held_back, _are_right(held_back, trees), strict=True):
            n_right[question.dataset] += is_right

    results = []
    for name in dict.fromkeys(question.dataset for question in labelled):
        own = [question for question in labelled if question.dataset == name]
        others = leave_out([question for question in labelled if question.dataset != name], own, _text)
        # The share that is right by trees of the other datasets. With a single class, these could learn nothing.
        without = None
        if len({question.label for question in others}) > 1:
            are_right = _are_right(own, read_booster(fit(others, seed)))
            without = sum(are_right) / len(own)
        silver = sum(question.silver for question in own) / len(own)
        results.append(HeldBack(name, len(own), _shares(own), silver, n_right[name] / len(own), without))
    return tuple(results)


def _measure(name: str, questions: Sequence[LabelledQuestion], trees: BoostedTrees) -> Measured:
    """Measure the final trees on a dataset that was not used for training."""
    n = len(questions)
    right = sum(_are_right(questions, trees)) / n
    chosen_labels = Counter(_classify(questions, trees))
    shares: dict[str, float] = {label: chosen_labels[label] / n for label in CLASSES}
    return Measured(name, n, right, max(_shares(questions).values()), shares)


def _shares(labelled: Sequence[LabelledQuestion]) -> dict[str, float]:
    """Return the share of each class among the labels."""
    counts = Counter(question.label for question in labelled)
    return {name: counts[name] / len(labelled) for name in CLASSES}


def _classify(labelled: Sequence[LabelledQuestion], trees: BoostedTrees) -> list[str]:
    """Return the likeliest class of each question. Of equally likely classes, the one with more retrieval."""
    distributions = trees.distributions([question_features(question.question) for question in labelled])
    return [max(reversed(trees.classes), key=lambda name: distribution[name]) for distribution in distributions]


def _are_right(labelled: Sequence[LabelledQuestion], trees: BoostedTrees) -> list[bool]:
    """Check for each question whether trees choose its label."""
    return [question.label == name for question, name in zip(labelled, _classify(labelled, trees), strict=True)]


def _text(question: LabelledQuestion) -> str:
    """Return the text of a question."""
    return question.question
