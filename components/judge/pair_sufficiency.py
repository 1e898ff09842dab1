"""Estimate whether the passages of a run suffice for its question, so that no other source is needed.

:class:`SourceSwitchJudge` asks for this estimate before it follows a verdict of code. The estimate comes from boosted
trees. Their features are explained in ``sufficiency_features.py``.
"""

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

# The passages suffice if the estimated probability is at least this. Below, another source may be searched.
THRESHOLD = 0.4
# The same after a language model has read passages of the run and has not found the answer in them.
THRESHOLD_AFTER_NOT_FOUND = 0.75
# The file of the trees that are used if no other file is set.
SHIPPED_TREES = Path(__file__).parent / "sufficiency_trees.json"
# The maximum number of passages that are compared. Each passage is paired with each other passage, so the number of
# pairs grows with the square of this number.
MOST_COMPARED = 20


class PairSufficiency(Block):
    """Estimate whether what was found suffices, so that no other source is needed.

    A second search often brings nothing new, because the first search has already found all there is to find. Equation
    3 of PrefRAG then says to switch the source. It says so even if the first source has the answer.

    Boosted trees estimate whether the first source has the answer. They use these features:

    - the score of the best pair of passages (equation 2 of DR-RAG);
    - how many of the question's words and names are in one passage, this pair, three passages and all passages;
    - how sure the reader is of the answer that it finds in the passages.

    A high estimate means that the passages are about the question. It does not mean that they state the answer. If the
    passages lack the answer, a run may stay with the first source although another source has the answer.
    docs/numbers.md says how often that happens.

    Usage example:
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
        threshold_after_not_found: float = THRESHOLD_AFTER_NOT_FOUND,
    ):
        """Set up the estimate. The trees are not read yet.

        :param pair_scorer: Estimates for each pair of passages whether both are needed. The shipped trees learnt from
            the scores of :class:`TreePairScorer` with the label ``pair``.
        :param threshold: The passages suffice if the estimated probability is at least this, from 0 to 1. The file
            sufficiency_trees.md says on which questions the default was chosen.
        :param trees: A file written by ``prefrag train sufficiency``. None means the shipped trees.
        :param term_statistics: The Tantivy store or the Elasticsearch retriever, which knows how rare each word is.
            With None, only words of at least four letters count, and all have the same weight.
        :param reader: Finds an answer in the passages. With None, the estimate uses only the words and the pairs of the
            passages.
        :param threshold_after_not_found: The threshold after a language model has read passages of the run and has
            written NOT FOUND, or an answer that is too unlikely to be given. The estimate is about words, so it can be
            high although no passage states the answer.
        :raises ValueError: When a threshold is out of range, or ``trees`` is an empty text.
        """
        check_range(0, 1, threshold=threshold, threshold_after_not_found=threshold_after_not_found)
        if trees is not None and not trees:
            raise ValueError("trees is empty: give the file of the trees, or null for the shipped trees.")
        if trees is None and getattr(pair_scorer, "label", "pair") != "pair":
            logger.warning("The trees of PairSufficiency learnt from pairs: set `label: pair` of its pair_scorer.")
        self.pair_scorer = pair_scorer
        self.threshold = threshold
        self.trees = trees
        self.term_statistics = term_statistics
        self.reader = reader
        self.threshold_after_not_found = threshold_after_not_found

    def warm_up(self) -> None:
        """Load the trees, the scorer of pairs and the reader.

        :raises Missing: When a file is missing.
        """
        self._trees()
        for part in (self.pair_scorer, self.reader):
            # A reader or scorer from another package may have no `warm_up`.
            warm_up = getattr(part, "warm_up", None)
            if warm_up is not None:
                warm_up()

    def estimate(self, question: str, passages: Sequence[Document]) -> float:
        """Estimate the probability that the passages are all that the question needs.

        :param question: The question.
        :param passages: The passages of one source, the most important first. Only the first 20 are compared.
        :returns: The probability, from 0 to 1. Without passages, it is 0.
        :raises Missing: When a file is missing.
        """
        if not passages:
            return 0.0
        features = sufficiency_features(
            question, passages[:MOST_COMPARED], self.pair_scorer, self.term_statistics, self.reader
        )
        (probability,) = self._trees().probabilities([as_row(features)])
        return probability

    # Runs in a thread, because the term statistics may come from a server.
    estimate_async = in_thread_async(estimate)

    def _trees(self) -> BoostedTrees:
        """Return the trees of the file that is set, or the shipped trees."""
        file = Path(self.trees) if self.trees else SHIPPED_TREES
        return load_trees(file, FEATURES)
