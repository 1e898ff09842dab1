"""Boosted trees from a file: small classifiers that need no PyTorch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from prefrag.components.errors import Missing

# The attributes of a model that hold the ranges of its features, and the names of its classes where it has several.
RANGES = "ranges"
CLASSES = "classes"


class TreesMissing(Missing):
    """Report that there are no trained trees, or no package that runs them; the message states what to do."""


class BoostedTrees:
    """A trained classifier of XGBoost.

    :param booster: The trained trees.
    """

    def __init__(self, booster: Any):
        self._booster = booster
        #: The least and the greatest value of each feature in the training; empty where the file does not hold them.
        self.ranges: dict[str, tuple[float, float]] = {
            name: (least, most) for name, (least, most) in json.loads(booster.attr(RANGES) or "{}").items()
        }
        #: The names of the classes, where the trees were trained to tell several apart; else empty.
        self.classes: tuple[str, ...] = tuple(json.loads(booster.attr(CLASSES) or "[]"))

    def probabilities(self, rows: Sequence[Sequence[float]] | np.ndarray[Any, Any]) -> list[float]:
        """Classify rows of features; several threads may do so at once.

        :param rows: The values of the features, in the order in which the trees were trained.
        :returns: For each row the probability, from 0 to 1, of the positive class.
        """
        if len(rows) == 0:
            return []
        return self.scores(rows)

    def distributions(self, rows: Sequence[Sequence[float]] | np.ndarray[Any, Any]) -> list[dict[str, float]]:
        """Classify rows of features with trees that tell several classes apart.

        :param rows: The values of the features, in the order in which the trees were trained.
        :returns: For each row the probability of each class, from 0 to 1, which add up to 1.
        """
        if len(rows) == 0:
            return []
        found = self._booster.inplace_predict(np.asarray(rows, dtype=np.float32))
        return [dict(zip(self.classes, map(float, row), strict=True)) for row in found]

    def scores(self, rows: Sequence[Sequence[float]] | np.ndarray[Any, Any]) -> list[float]:
        """Score rows of features as the trees were trained to: with probabilities, or with numbers that rank.

        :param rows: The values of the features, in the order in which the trees were trained.
        :returns: For each row its score.
        """
        return list(map(float, self._booster.inplace_predict(np.asarray(rows, dtype=np.float32))))


def load_trees(file: Path, features: Sequence[str]) -> BoostedTrees:
    """Load trees; an unchanged file is read once a process.

    :param file: A model saved by XGBoost in JSON, with the names of its features.
    :param features: The names of the features of a row, in order.
    :returns: The trees.
    :raises TreesMissing: When the file or XGBoost is absent.
    :raises ValueError: When the file holds no trees, or trees over other features.
    """
    file = Path(file).expanduser()
    if not file.is_file():
        raise TreesMissing(f"There are no trained trees in {file}: train them (prefrag train), or correct the path.")
    return _load(file, file.stat().st_mtime_ns, tuple(features))


@lru_cache(maxsize=16)
def _load(file: Path, changed: int, features: tuple[str, ...]) -> BoostedTrees:
    try:
        import xgboost
    except ImportError as error:
        raise TreesMissing("The trained trees need the package xgboost-cpu: pip install xgboost-cpu.") from error
    booster = xgboost.Booster({"nthread": 1})
    try:
        booster.load_model(file)
    except (xgboost.core.XGBoostError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(f"{file} holds no trees that XGBoost can read ({reason}): train them again.") from error
    if tuple(booster.feature_names or ()) != features:
        raise ValueError(f"{file} was trained on other features than this version computes: train it again.")
    return BoostedTrees(booster)
