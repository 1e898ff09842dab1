"""The pair scorer that uses boosted decision trees."""

from pathlib import Path
from typing import Literal, get_args

from prefrag.components.block import Block, check_choice
from prefrag.components.pair_classifier.pair_features import FEATURES, pair_features
from prefrag.components.pair_classifier.pair_scorer import Pair
from prefrag.components.text.term_statistics import TermStatistics
from prefrag.components.trees import BoostedTrees, load_trees

Label = Literal["pair", "passage"]
SHIPPED_TREES: dict[str, Path] = {label: Path(__file__).parent / f"{label}_trees.json" for label in get_args(Label)}


class TreePairScorer(Block):
    """Score pairs with boosted decision trees. They replace BigBird in equation 2 of DR-RAG.

    The features measure which words two passages share with the question and with each other (`pair_features`). The
    trees take some milliseconds per question and need no PyTorch. You can train them on your own corpus in a minute.
    Two files of trees are shipped. ``pair`` judges pairs, as in equation 2: use it with a threshold. It was trained on
    equal numbers of positive and negative pairs. ``passage`` is for ranking passages by the scores of their best pairs.

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
        """Set the trees; they are not read yet.

        :param model: A file written by ``prefrag train pairs``; by default the shipped trees.
        :param term_statistics: The Tantivy store or the Elasticsearch retriever, which knows how rare each word is.
            Without it, all words of at least four letters get the same weight. The trees then judge worse, because they
            were trained with the weights of rare words.
        :param label: What the shipped trees have learnt: ``pair`` for ``cis`` and ``cfs``, ``passage`` for ``fill`` and
            the linked retrievers. It has no effect if ``model`` is set.
        :raises ValueError: When the path is empty, or there are no trees of that label.
        """
        if model is not None and not model:
            raise ValueError("model is empty: give the file of the trees, or null for the shipped trees.")
        check_choice(SHIPPED_TREES, label=label)
        self.model = model
        self.term_statistics = term_statistics
        self.label = label

    def warm_up(self) -> None:
        """Load the trees. Raises TreesMissing if the file is missing, ValueError if its trees need other features."""
        self._trees()

    def score(self, question: str, pairs: list[Pair]) -> list[float]:
        """Score all pairs of a question."""
        return self._trees().probabilities(pair_features(question, pairs, self.term_statistics))

    def _trees(self) -> BoostedTrees:
        return load_trees(Path(self.model) if self.model else SHIPPED_TREES[self.label], FEATURES)
