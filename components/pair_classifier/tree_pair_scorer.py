"""The pair scorer that uses boosted trees."""

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
    """Score pairs with boosted trees, in place of BigBird in equation 2 of DR-RAG.

    The features are what two passages cover of the question and of each other (`pair_features`). The trees take some
    milliseconds per question, need no PyTorch, and are trained in a minute on questions about your own corpus. Two
    files are shipped. The trees for a selection by threshold learnt whether a pair is positive, as in equation 2, from
    as many positive as negative pairs. The trees for a ranking learnt whether a passage is needed, from its best pair.

    ```python
    from haystack import Document
    from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer

    first = Document(content="Heiberg's son was Johan.", meta={"title": "Heiberg"})
    second = Document(content="Johan, a poet, married Johanne.", meta={"title": "Johan"})
    print(TreePairScorer().score("Who married Heiberg's son?", [(first, second)]))
    ```
    """

    # Several features compare a pair with the best one of the question.
    together = True

    def __init__(
        self, model: str | None = None, term_statistics: TermStatistics | None = None, label: Label = "passage"
    ):
        """Set the trees; they are not read yet.

        :param model: A file written by ``prefrag train pairs``; by default the shipped trees.
        :param term_statistics: The Tantivy store or the Elasticsearch retriever, which analyses words and counts how
            frequent they are. Without it, all words of at least four letters have the same weight, and the trees judge
            worse, because they were trained with it.
        :param label: What the shipped trees have learnt: ``pair`` for ``cis`` and ``cfs``, ``passage`` for ``fill`` and
            the linked retrievals. It has no effect on a file of your own.
        :raises ValueError: When the path is empty, or there are no trees of that label.
        """
        if model is not None and not model:
            raise ValueError("model is empty: give the file of the trees, or null for the shipped ones.")
        check_choice(SHIPPED_TREES, label=label)
        self.model = model
        self.term_statistics = term_statistics
        self.label = label

    def warm_up(self) -> None:
        """Load the trees; raises TreesMissing if there are none, ValueError if the file holds trees of another kind."""
        self._trees()

    def score(self, question: str, pairs: list[Pair]) -> list[float]:
        """Score all pairs of a question."""
        return self._trees().probabilities(pair_features(question, pairs, self.term_statistics))

    def _trees(self) -> BoostedTrees:
        return load_trees(Path(self.model) if self.model else SHIPPED_TREES[self.label], FEATURES)
