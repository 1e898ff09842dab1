"""Train boosted decision trees with XGBoost.

The commands of `prefrag train` that train trees share this code: checks of the arguments, progress, and writing the
file of the trees.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from prefrag.components.trees import BoostedTrees, TreesMissing
from prefrag.evaluation.simulated_reader.gold import fold_words
from prefrag.training.dataset import Dataset

if TYPE_CHECKING:
    from xgboost import Booster

T = TypeVar("T")


@dataclass(frozen=True)
class Training(Generic[T]):
    """The results of a training of trees: the file, and how well trees do on questions that are new to them."""

    output: Path  # the file of the trees
    questions: int  # the number of questions that the trees learnt from
    examples: int  # the number of steps, pairs or questions that the trees learnt from
    held_back: tuple[T, ...]  # for each dataset, how well trees do on questions that they were not trained on
    seconds: float  # the duration of the training
    measured: tuple[Any, ...] = ()  # for each dataset that is used only to measure, how well the final trees do


class TreeTraining:
    """Check the arguments of a training, report its progress, and write its output file.

    :param datasets: The datasets to train on, at least one, with different names.
    :param output: The file of the trees. Its folder must exist.
    :param on_progress: A function that is called with each line of progress. None reports nothing.
    :raises FileNotFoundError: If the folder of the output does not exist.
    :raises ValueError: If there is no dataset, or if two have the same name.
    :raises TreesMissing: If XGBoost is not installed.
    """

    def __init__(self, datasets: Sequence[Dataset], output: Path, on_progress: Callable[[str], None] | None):
        import_xgboost()
        self._started = time.perf_counter()
        self.output = Path(output).expanduser()
        self._on_progress = on_progress
        if not self.output.parent.is_dir():
            raise FileNotFoundError(f"There is no folder {self.output.parent}: make it, or name another file.")
        if not datasets:
            raise ValueError("There is nothing to train on: give at least one dataset.")
        names = Counter(dataset.name for dataset in datasets)
        twice = next((name for name, count in names.items() if count > 1), None)
        if twice is not None:
            raise ValueError(
                f"Two datasets are called '{twice}' (the name is made from the folder and the file of the questions): "
                "give a dataset only once, or rename one of the files."
            )

    @property
    def seconds(self) -> float:
        """The number of seconds since the training began."""
        return time.perf_counter() - self._started

    def report(self, progress: str) -> None:
        """Report a line of progress to the caller's ``on_progress``, if there is one.

        :param progress: The line.
        """
        if self._on_progress is not None:
            self._on_progress(progress)

    def keep(self, booster: Booster) -> None:
        """Write the trees to the output file. An older file is replaced only when the new file is complete.

        :param booster: The trees, as XGBoost's ``Booster``.
        """
        part = self.output.with_name(f".{self.output.stem}.{os.getpid()}.json")
        try:
            booster.save_model(part)
            part.replace(self.output)
        finally:
            part.unlink(missing_ok=True)


def mean_of_trees(first: Path, second: Path, output: Path) -> None:
    """Combine two files of trees with the same features.

    Trees add up the values of their leaves, and the sum is the log odds of the probability. The new file contains all
    trees of both files, with halved values. So it returns the mean of the log odds of both files.

    :param first: The one file.
    :param second: The other file. The output takes its other settings from this file.
    :param output: The file to write. It may be one of the two files.
    """
    learners = [json.loads(file.read_text(encoding="utf-8"))["learner"] for file in (first, second)]
    # Some releases of XGBoost write `base_score` as a number, others as a list with one number.
    shares = [np.atleast_1d(json.loads(learner["learner_model_param"]["base_score"]))[0] for learner in learners]
    base = sum(math.log(share / (1 - share)) for share in shares) / 2
    trees: list[dict[str, object]] = []
    for learner in learners:
        for tree in learner["gradient_booster"]["model"]["trees"]:
            halved = []
            # `split_conditions` contains the values of leaves and the thresholds of inner nodes. Only the values of
            # leaves are halved.
            for value, left in zip(tree["split_conditions"], tree["left_children"], strict=True):
                is_leaf = left < 0
                halved.append(value / 2 if is_leaf else value)
            weights = [weight / 2 for weight in tree["base_weights"]]
            trees.append({**tree, "id": len(trees), "split_conditions": halved, "base_weights": weights})

    mean = json.loads(second.read_text(encoding="utf-8"))
    mean["learner"]["learner_model_param"]["base_score"] = f"[{1 / (1 + math.exp(-base)):.8E}]"
    model = mean["learner"]["gradient_booster"]["model"]
    count = len(trees)
    indices = list(range(count + 1))
    model |= {"trees": trees, "tree_info": [0] * count, "iteration_indptr": indices}
    model["gbtree_model_param"]["num_trees"] = str(count)
    output.write_text(json.dumps(mean, separators=(",", ":")), encoding="utf-8")


def import_xgboost() -> ModuleType:
    """Import XGBoost, which trains trees but is not needed to run them.

    :returns: The module.
    :raises TreesMissing: If XGBoost is not installed.
    """
    try:
        return importlib.import_module("xgboost")
    except ImportError as error:
        raise TreesMissing(
            'Training trees needs XGBoost, which is not installed: run pip install "prefrag[trees]".'
        ) from error


def fit_trees(
    settings: Mapping[str, object],
    rounds: int,
    rows: object,
    names: Sequence[str],
    objective: object = None,
    **labels: object,
) -> Booster:
    """Train trees on rows of features.

    :param settings: The settings of XGBoost. They should allow only one thread: the same rows then give the same trees.
    :param rounds: The number of rounds. Each round adds trees.
    :param rows: The features, one row for each example.
    :param names: The names of the features, in the order of the columns.
    :param objective: A function that computes the derivatives of the loss. None uses the objective of the settings.
    :param labels: What the trees learn from: ``label``, ``weight`` and ``qid``, as XGBoost's ``DMatrix`` takes them.
    :returns: The trees, as XGBoost's ``Booster``.
    """
    xgboost = import_xgboost()
    matrix = xgboost.DMatrix(rows, feature_names=list(names), nthread=1, **labels)
    booster: Booster = xgboost.train(dict(settings), matrix, rounds, obj=objective)
    return booster


def read_booster(booster: Booster) -> BoostedTrees:
    """Convert a trained XGBoost model to :class:`BoostedTrees`, without writing a file.

    :param booster: The trees, as XGBoost's ``Booster``.
    :returns: The trees in the form in which components run them.
    """
    return BoostedTrees(json.loads(booster.save_raw("json"))["learner"])


def leave_out(everything: Iterable[T], held_back: Iterable[T], question: Callable[[T], str]) -> list[T]:
    """Leave out the examples whose question is held back.

    :param everything: All examples.
    :param held_back: The examples whose questions are held back.
    :param question: A function that returns the text of an example's question.
    :returns: The other examples. Questions are compared by their texts, so a question that is in two datasets is left
        out of both.
    """
    unseen = {fold_words(question(example)) for example in held_back}
    return [example for example in everything if fold_words(question(example)) not in unseen]
