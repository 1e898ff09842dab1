"""The pair scorer that uses boosted decision trees.

A pair is two passages. It is positive if the answer to a question needs both. The trees judge a pair by numbers that
`pair_features` computes, such as the share of the question's words in a passage. They need no PyTorch, so this scorer
is the default.
"""

from pathlib import Path
from typing import Literal, get_args

from prefrag.components.block import Block, check_choice
from prefrag.components.pair_classifier.pair_features import FEATURES, pair_features
from prefrag.components.pair_classifier.pair_scorer import Pair
from prefrag.components.text.term_statistics import TermStatistics
from prefrag.components.trees import BoostedTrees, load_trees

# What trees have learnt: whether a pair is positive, or how to rank passages. For a ranking, each passage has the score
# of its best pair, the one with the highest score.
Label = Literal["pair", "passage"]
# The files of the shipped trees, by label.
SHIPPED_TREES: dict[str, Path] = {label: Path(__file__).parent / f"{label}_trees.json" for label in get_args(Label)}


class TreePairScorer(Block):
    """Score pairs with boosted decision trees. The DR-RAG paper uses the transformer BigBird for this (equation 2).

    The features of a pair measure which words the two passages share with the question and with each other
    (`pair_features`). The trees take some milliseconds per question. You can train them on your own corpus in a minute.

    Two files of trees are shipped:

    - ``pair`` judges pairs, as in equation 2. Use these trees with a threshold. They were trained on equal numbers of
      positive and negative pairs.
    - ``passage`` is for ranking passages by the scores of their best pairs.

    Usage example:
    ```python
    from haystack import Document
    from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer

    first = Document(content="Heiberg's son was Johan.", meta={"title": "Heiberg"})
    second = Document(content="Johan, a poet, married Johanne.", meta={"title": "Johan"})
    print(TreePairScorer().score("Who married Heiberg's son?", [(first, second)]))
    ```
    """

    # All pairs of a question are scored in one call, because several features compare a pair with the best pair.
    together = True

    def __init__(
        self, model: str | None = None, term_statistics: TermStatistics | None = None, label: Label = "passage"
    ):
        """Set the trees. Their file is not read yet.

        :param model: The path of a file that ``prefrag train pairs`` wrote. If None, the shipped trees are used.
        :param term_statistics: The Tantivy store or the Elasticsearch retriever, which knows how rare each word is.
            If None, all words of at least four letters get the same weight. The trees then judge worse, because they
            were trained with the weights of rare words.
        :param label: What the shipped trees have learnt. Use ``pair`` if scores are compared with a threshold, as in a
            :class:`PairClassifier` with the selection ``cis`` or ``cfs``. Use ``passage`` if passages are ranked, as
            with the selection ``fill`` and in the retrievers that follow links. Without effect if ``model`` is set.
        :raises ValueError: When the path is empty, or there are no trees of that label.
        """
        if model is not None and not model:
            raise ValueError("model is empty: give the file of the trees, or null for the shipped trees.")
        check_choice(SHIPPED_TREES, label=label)
        self.model = model
        self.term_statistics = term_statistics
        self.label = label

    def warm_up(self) -> None:
        """Load the trees.

        :raises TreesMissing: When the file is missing.
        :raises ValueError: When the trees in the file need other features.
        """
        self._trees()

    def score(self, question: str, pairs: list[Pair]) -> list[float]:
        """Score all pairs of a question.

        :param question: The question.
        :param pairs: All pairs of documents of the question, because some features compare a pair with the best pair.
        :returns: For each pair, in order, the probability from 0 to 1 that both documents are needed.
        """
        return self._trees().probabilities(pair_features(question, pairs, self.term_statistics))

    def _trees(self) -> BoostedTrees:
        """Return the trees of the file in ``model``, or the shipped trees of the label."""
        file = Path(self.model) if self.model else SHIPPED_TREES[self.label]
        return load_trees(file, FEATURES)
