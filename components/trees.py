"""Boosted decision trees from a file: small classifiers that need no PyTorch.

Each tree asks in each node whether a feature is below a number, and ends in a leaf with a value. The sum of the values
of all trees is the score. The trees are trained with XGBoost and run here with numpy alone.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from prefrag.errors import Missing

# The name of the attribute in the file of a model that has the ranges of its features.
RANGES = "ranges"
# The name of the attribute in the file of a model that has the names of its classes.
CLASSES = "classes"


class TreesMissing(Missing):
    """The error when trained trees are missing, or the package to train them. The message says what to do."""


class BoostedTrees:
    """A trained XGBoost classifier, read from the object ``learner`` in its JSON file and run with numpy."""

    def __init__(self, learner: Mapping[str, Any]):
        """Read the trees.

        :param learner: The object ``learner`` of the JSON file that XGBoost saved.
        """
        attributes = learner.get("attributes") or {}
        ranges = json.loads(attributes.get(RANGES) or "{}")
        #: The minimum and the maximum of each feature in the training data. Empty if the file does not contain them.
        self.ranges: dict[str, tuple[float, float]] = {name: (least, most) for name, (least, most) in ranges.items()}
        #: The names of the classes if the trees were trained on several classes. Otherwise empty.
        self.classes: tuple[str, ...] = tuple(json.loads(attributes.get(CLASSES) or "[]"))

        model = learner["gradient_booster"]["model"]
        parameters = learner["learner_model_param"]
        self._objective = learner["objective"]["name"]
        base = np.atleast_1d(np.array(json.loads(parameters["base_score"]), np.float32))
        # XGBoost writes a probability. Its logit is added to the values of the leaves.
        self._base = -np.log(1 / base - 1) if self._objective == "binary:logistic" else base
        self._class_of = np.array(model["tree_info"])
        sizes = [len(tree["left_children"]) for tree in model["trees"]]
        # The nodes of all trees are numbered consecutively. So the root of a tree comes after all nodes of the trees
        # before it.
        self._roots = np.cumsum([0, *sizes])[:-1]

        def join(key: str, kind: type[object]) -> np.ndarray:
            """Return the values of a key for the nodes of all trees."""
            return np.concatenate([np.array(tree[key], kind) for tree in model["trees"]])

        self._values = join("split_conditions", np.float32)
        root = np.repeat(self._roots, sizes)
        left = join("left_children", int)
        right = join("right_children", int)
        itself = np.arange(len(left))
        leaf = left < 0
        # Both children of a leaf are the leaf itself, so that all walks down the trees can have the same length. In
        # `_children`, the left child of node n is at place 2n, and the right child is at place 2n + 1.
        left_child = np.where(leaf, itself, left + root)
        right_child = np.where(leaf, itself, right + root)
        children = np.stack([left_child, right_child], 1)
        self._children = children.ravel()
        self._features = np.where(leaf, 0, join("split_indices", int))
        # For each node, whether a row that lacks the feature goes left.
        self._left_without = join("default_left", bool)

        # The number of steps from the roots until all walks have reached a leaf.
        self._depth = 0
        nodes = self._roots
        while not leaf[nodes].all():
            nodes = np.unique(children[nodes])
            self._depth += 1

    def _sums(self, rows: object) -> np.ndarray:
        """Walk all rows down all trees together, and add up the values of the leaves that each row reaches.

        The result has a row for each row of features, and a column for each class.
        """
        table = np.ascontiguousarray(rows, np.float32)
        flat = table.ravel()
        # The place in `flat` at which each row begins, as a column.
        begins = (np.arange(len(table)) * table.shape[1])[:, None]
        lacks_values = bool(np.isnan(flat).any())

        # The current node of each row in each tree.
        nodes = np.repeat(self._roots[None], len(table), 0)
        for _ in range(self._depth):
            values = flat.take(self._features.take(nodes) + begins)
            goes_right = values >= self._values.take(nodes)
            if lacks_values:
                goes_right |= np.isnan(values) & ~self._left_without.take(nodes)
            # In this sum, True counts as 1.
            nodes = self._children.take(2 * nodes + goes_right)

        ends = self._values.take(nodes)
        sums = []
        for number in range(max(1, len(self.classes))):
            ends_of_class = ends[:, self._class_of == number]
            # The values are added one by one, in the order in which XGBoost adds them, so that the sums are rounded in
            # the same way.
            sums.append(np.cumsum(ends_of_class, 1, dtype=np.float32)[:, -1])
        return np.stack(sums, 1) + self._base

    def probabilities(self, rows: Sequence[Sequence[float]] | np.ndarray) -> list[float]:
        """Compute the probability of the positive class for each row. Several threads may call this method at once.

        :param rows: The features of each row.
        :returns: A probability from 0 to 1 for each row.
        """
        if len(rows) == 0:
            return []
        return self.scores(rows)

    def distributions(self, rows: Sequence[Sequence[float]] | np.ndarray) -> list[dict[str, float]]:
        """Compute the probability of each class for each row. Only for trees with several classes.

        :param rows: The features of each row.
        :returns: For each row, a probability from 0 to 1 for each class. They add up to 1.
        """
        if len(rows) == 0:
            return []
        sums = self._sums(rows)
        powers = np.exp(sums - sums.max(1, keepdims=True))
        shares = powers / powers.sum(1, keepdims=True)
        return [dict(zip(self.classes, map(float, row), strict=True)) for row in shares]

    def scores(self, rows: Sequence[Sequence[float]] | np.ndarray) -> list[float]:
        """Compute a score for each row.

        :param rows: The features of each row.
        :returns: A probability from 0 to 1 for each row if the trees were trained for probabilities. Otherwise, a
            number by which rows can be ranked.
        """
        sums = self._sums(rows)[:, 0]
        scores = 1 / (1 + np.exp(-sums)) if self._objective == "binary:logistic" else sums
        return [float(score) for score in scores]


def load_trees(file: Path, features: Sequence[str]) -> BoostedTrees:
    """Load trees from a file. A process reads the file again only if the file has changed.

    :param file: A model that XGBoost saved as JSON.
    :param features: The names of the features. The trees must have been trained on exactly these, in this order.
    :returns: The trees.
    :raises TreesMissing: When there is no such file.
    :raises ValueError: When the trees have other features, or the file is broken.
    """
    file = Path(file).expanduser()
    if not file.is_file():
        raise TreesMissing(f"There is no file of decision trees {file}: run `prefrag train`, or correct the path.")
    return _load(file, file.stat().st_mtime_ns, tuple(features))


@lru_cache(maxsize=16)
def _load(file: Path, changed: int, features: tuple[str, ...]) -> BoostedTrees:
    """Read a file of trees.

    ``changed``, the time of its last change, is only a part of the key of the cache, so that a changed file is read
    again.
    """
    try:
        learner = json.loads(file.read_bytes())["learner"]
        trees = BoostedTrees(learner)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"{file} contains no readable decision trees ({error}): train them again.") from error
    if tuple(learner["feature_names"]) != features:
        raise ValueError(f"{file} was trained on other features than this version computes: train it again.")
    return trees
