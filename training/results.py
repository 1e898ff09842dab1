"""What a training of trees gives back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Training(Generic[T]):
    """Trees that were trained on all questions, and what was measured before on questions that were held back."""

    output: Path  # the file of the trees
    questions: int
    examples: int  # what the trees learnt from: steps, pairs or questions
    held_back: tuple[T, ...]  # one per dataset
    seconds: float
    measured: tuple[Any, ...] = ()  # the trees on further questions, one per dataset
