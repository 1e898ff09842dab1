"""What a training of the classifier of questions gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class HeldBack:
    """How trees classify questions of a dataset that they have not seen.

    :param dataset: The name of the dataset.
    :param questions: The number of its questions.
    :param shares: The share of each class among its labels, 0 to 1.
    :param silver: The share of the labels that a strategy gave, 0 to 1; the others are the bias of the dataset.
    :param right: The share of right classes, 0 to 1, by trees that have learnt from its other questions.
    :param without: The share of right classes by trees that have learnt from the other datasets alone; None where there
        is no other that has two classes.
    """

    dataset: str
    questions: int
    shares: Mapping[str, float]
    silver: float
    right: float
    without: float | None

    @property
    def most_frequent(self) -> float:
        """The share of right classes where only the dataset is known: that of its most frequent class."""
        return max(self.shares.values())


@dataclass(frozen=True)
class Measured:
    """How the trees that are kept classify the questions of a dataset that they have not learnt from.

    :param dataset: The name of the dataset.
    :param questions: The number of questions that a strategy answered.
    :param right: The share of right classes, 0 to 1.
    :param most_frequent: The share of the most frequent class, 0 to 1.
    :param chosen: How often each class is chosen, 0 to 1.
    """

    dataset: str
    questions: int
    right: float
    most_frequent: float
    chosen: Mapping[str, float]


@dataclass(frozen=True)
class QuestionTraining:
    """The results of a training.

    :param output: The file of the trees, which were then trained on all questions.
    :param questions: The number of questions.
    :param held_back: The earlier measurement on held-back questions, one per dataset.
    :param measured: The trees on further questions.
    :param seconds: The duration of all of it.
    """

    output: Path
    questions: int
    held_back: tuple[HeldBack, ...]
    measured: tuple[Measured, ...]
    seconds: float
