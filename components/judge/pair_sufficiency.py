"""Estimate whether the passages of a run suffice for its question, by what they hold and how sure a reader is."""

import logging
from collections.abc import Sequence
from pathlib import Path

from haystack import Document

from prefrag.components.block import Block, check_range
from prefrag.components.both_ways import in_thread_async
from prefrag.components.judge.sufficiency_features import FEATURES, as_row, sufficiency_features
from prefrag.components.pair_classifier.pair_scorer import PairScorer
from prefrag.components.reader.reader import Reader
from prefrag.components.text.term_statistics import TermStatistics
from prefrag.components.trees import BoostedTrees, load_trees

logger = logging.getLogger(__name__)

THRESHOLD = 0.4
SHIPPED_TREES = Path(__file__).parent / "sufficiency_trees.json"
# The number of passages that are compared in pairs: the number of pairs grows with its square.
MOST_COMPARED = 20


class PairSufficiency(Block):
    """Estimate whether what was found suffices, so that no other source is needed.

    A second search often brings nothing that the first did not bring, because the first already found all there is to
    find. Equation 3 of PrefRAG then says to switch the source, whether the first source has the answer or not.
    Boosted trees estimate whether it has, by the score of the best pair of passages (equation 2 of DR-RAG), by how many
    of the question's words and names are in one passage, in this pair, in three passages and in all of them, and by how
    sure the reader is of the answer that it finds in them.

    A high estimate means that the passages belong to the question, and hardly that they state its answer. Where the
    passages lack the answer, a run then stays with the first source although another one has the answer.
    docs/numbers.md has how often.

    ```python
    from haystack import Document
    from prefrag.components.judge.pair_sufficiency import PairSufficiency
    from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
    from prefrag.components.reader.extractive_reader import ExtractiveReader

    shown = [
        Document(content="Heiberg's son was Johan.", meta={"title": "Heiberg"}),
        Document(content="Johan, a poet, married Johanne.", meta={"title": "Johan"}),
    ]
    sufficiency = PairSufficiency(TreePairScorer(label="pair"), reader=ExtractiveReader())
    print(sufficiency.estimate("Who married Heiberg's son?", shown))
    ```
    """

    def __init__(
        self,
        pair_scorer: PairScorer,
        threshold: float = THRESHOLD,
        trees: str | None = None,
        term_statistics: TermStatistics | None = None,
        reader: Reader | None = None,
    ):
        """Set up the estimate; the trees are not read yet.

        :param pair_scorer: The scorer of pairs. The shipped trees learnt from the scores of :class:`TreePairScorer`
            with the label ``pair``.
        :param threshold: The probability from which the passages suffice, from 0 to 1. Its card,
            sufficiency_trees.md, says on which questions the default was chosen.
        :param trees: A file written by ``prefrag train sufficiency``; by default the shipped trees.
        :param term_statistics: The Tantivy store or the Elasticsearch retriever, which knows how rare each word is.
            Without it, all words of at least four letters get the same weight.
        :param reader: Finds an answer in the passages. Without it, the estimate knows only what the passages hold.
        :raises ValueError: When ``threshold`` is out of range, or the path is empty.
        """
        check_range(0, 1, threshold=threshold)
        if trees is not None and not trees:
            raise ValueError("trees is empty: give the file of the trees, or null for the shipped trees.")
        if trees is None and getattr(pair_scorer, "label", "pair") != "pair":
            logger.warning("The trees of PairSufficiency learnt from pairs: set `label: pair` of its pair_scorer.")
        self.pair_scorer = pair_scorer
        self.threshold = threshold
        self.trees = trees
        self.term_statistics = term_statistics
        self.reader = reader

    def warm_up(self) -> None:
        """Load the trees, the reader, and what scores the pairs.

        :raises Missing: When a file is missing.
        """
        self._trees()
        for part in (self.pair_scorer, self.reader):
            # A reader or a scorer of somebody else may have nothing to load.
            warm_up = getattr(part, "warm_up", None)
            if warm_up is not None:
                warm_up()

    def estimate(self, question: str, passages: Sequence[Document]) -> float:
        """Estimate the probability that the passages are all that the question needs.

        :param question: The question.
        :param passages: The passages of one source, the most important first; the first 20 count.
        :returns: The probability, from 0 to 1; 0 without a passage.
        """
        if not passages:
            return 0.0
        features = sufficiency_features(
            question, passages[:MOST_COMPARED], self.pair_scorer, self.term_statistics, self.reader
        )
        return self._trees().probabilities([as_row(features)])[0]

    # Runs in a thread, because the term statistics may come from a server.
    estimate_async = in_thread_async(estimate)

    def _trees(self) -> BoostedTrees:
        return load_trees(Path(self.trees) if self.trees else SHIPPED_TREES, FEATURES)
