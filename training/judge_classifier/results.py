"""What a training of the judge's trees gives back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class HeldBack:
    """The verdicts of trees on held-back questions of a dataset.

    :param dataset: The name of the dataset.
    :param steps: The number of their steps.
    :param classifier: The share of steps, 0 to 1, that the trees decide correctly.
    :param left: The share, 0 to 1, of the steps with a needed passage that the trees leave.
    """

    dataset: str
    steps: int
    classifier: float
    left: float


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
