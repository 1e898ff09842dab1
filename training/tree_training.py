"""What the trainings of trees share: how they begin, what they leave out to measure, and how they are kept."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from prefrag.evaluation.simulated_reader.gold import spoken
from prefrag.training.dataset import Dataset

T = TypeVar("T")


class TreeTraining:
    """A training that has begun.

    :param datasets: What to train on.
    :param output: The file to write, JSON.
    :param on_progress: Called with what is being done.
    :raises FileNotFoundError: When the folder of the output is absent.
    :raises ValueError: When there is no dataset, or two have one name, so that a report cannot tell them apart.
    """

    def __init__(self, datasets: Sequence[Dataset], output: Path, on_progress: Callable[[str], None] | None):
        self._started = time.perf_counter()
        self.output = Path(output).expanduser()
        self._on_progress = on_progress
        if not self.output.parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self.output.parent}: make it, or name another file.")
        if not datasets:
            raise ValueError("There is nothing to train on: give at least one dataset.")
        twice = next((name for name, count in Counter(one.name for one in datasets).items() if count > 1), None)
        if twice is not None:
            raise ValueError(
                f"Two datasets are called '{twice}' (folder and file of their questions): give each once, under a name "
                "of its own."
            )

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self._started

    def report(self, progress: str) -> None:
        """Report what is being done.

        :param progress: A few words.
        """
        if self._on_progress is not None:
            self._on_progress(progress)

    def keep(self, booster: Any) -> None:
        """Write trees as a whole, so that a file that is there already is never half another.

        :param booster: An ``xgboost.Booster``.
        """
        part = self.output.with_name(f".{self.output.stem}.{os.getpid()}.json")
        try:
            booster.save_model(part)
            part.replace(self.output)
        finally:
            part.unlink(missing_ok=True)


def leave_out(everything: Iterable[T], held_back: Iterable[T], question: Callable[[T], str]) -> list[T]:
    """Leave out what is held back, and every copy of its questions in other datasets.

    :param everything: What could be learned from.
    :param held_back: What is measured on.
    :param question: Gives the text of a question.
    :returns: What may teach.
    """
    unseen = {spoken(question(one)) for one in held_back}
    return [one for one in everything if spoken(question(one)) not in unseen]
