"""Train boosted decision trees with XGBoost. The commands of `prefrag train` that train trees share this code."""

import importlib
import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from prefrag.components.trees import BoostedTrees, TreesMissing
from prefrag.evaluation.simulated_reader.gold import fold_words
from prefrag.training.dataset import Dataset

T = TypeVar("T")


@dataclass(frozen=True)
class Training(Generic[T]):
    """The results of a training of trees: the file, and how well trees do on questions that are new to them."""

    output: Path  # the file of the trees
    questions: int
    examples: int  # the number of steps, pairs or questions that the trees learnt from
    held_back: tuple[T, ...]  # for each dataset, how well trees do on questions that they were not trained on
    seconds: float
    measured: tuple[Any, ...] = ()  # for each dataset that is used only to measure, how well the final trees do


class TreeTraining:
    """What all trainings of trees share: check the arguments, report the progress, and write the output file."""

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
        """Report a line of progress to the caller's ``on_progress``, if there is one."""
        if self._on_progress is not None:
            self._on_progress(progress)

    def keep(self, booster: Any) -> None:
        """Write the trees to the output file. An older file is replaced only when the new file is complete."""
        part = self.output.with_name(f".{self.output.stem}.{os.getpid()}.json")
        try:
            booster.save_model(part)
            part.replace(self.output)
        finally:
            part.unlink(missing_ok=True)


def mean_of_trees(first: Path, second: Path, output: Path) -> None:
    """Combine two files of trees with the same features. The new trees return the mean of both files' log odds."""
    learners = [json.loads(file.read_text(encoding="utf-8"))["learner"] for file in (first, second)]
    # Some releases of XGBoost write `base_score` as a number, others as a list with one number.
    shares = [np.atleast_1d(json.loads(learner["learner_model_param"]["base_score"]))[0] for learner in learners]
    base = sum(math.log(share / (1 - share)) for share in shares) / 2
    trees: list[dict[str, Any]] = []
    for learner in learners:
        for tree in learner["gradient_booster"]["model"]["trees"]:
            halved = []
            # `split_conditions` holds leaf values and the thresholds of inner nodes. Only the leaf values are halved.
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


def import_xgboost() -> Any:
    """Import XGBoost, which trains trees but is not needed to run them."""
    try:
        return importlib.import_module("xgboost")
    except ImportError as error:
        raise TreesMissing(
            'Training trees needs XGBoost, which is not installed: run pip install "prefrag[trees]".'
        ) from error


def fit_trees(
    settings: Mapping[str, Any], rounds: int, rows: Any, names: Sequence[str], objective: Any = None, **labels: Any
) -> Any:
    """Train trees on rows of features. Only one thread is used, so that the same rows give the same trees."""
    xgboost = import_xgboost()
    matrix = xgboost.DMatrix(rows, feature_names=list(names), nthread=1, **labels)
    return xgboost.train(dict(settings), matrix, rounds, obj=objective)


def read_booster(booster: Any) -> BoostedTrees:
    """Convert a trained XGBoost model to :class:`BoostedTrees`, without writing a file."""
    return BoostedTrees(json.loads(booster.save_raw("json"))["learner"])


def leave_out(everything: Iterable[T], held_back: Iterable[T], question: Callable[[T], str]) -> list[T]:
    """Return the examples whose question is not held back. Questions are compared by their texts, across datasets."""
    unseen = {fold_words(question(example)) for example in held_back}
    return [example for example in everything if fold_words(question(example)) not in unseen]
