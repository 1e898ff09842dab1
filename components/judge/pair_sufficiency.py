"""Score whether the passages of a run suffice for its question, by the pair of them that fits it best."""

import re
from collections.abc import Iterator, Sequence

from haystack import Document

from prefrag.components.block import Block, check_range
from prefrag.components.both_ways import in_thread_async
from prefrag.components.pair_classifier.pair_classifier import all_pairs
from prefrag.components.pair_classifier.pair_scorer import PairScorer
from prefrag.components.text.term_statistics import passage_text

THRESHOLD = 0.6
# The number of pairs grows with the square.
_MOST_COMPARED = 20
_WORD = re.compile(r"\w{3,}")


class PairSufficiency(Block):
    """Score by pairs of passages whether what was found suffices, so that no other source is needed.

    A second search often brings nothing that the first did not bring, because the first already found all there is to
    find. Equation 3 of PrefRAG then says to switch the source, whether the answer is at home or not. The trees behind
    linked retrieval tell the two apart: two passages that are needed together for the question have a high score.
    Nothing suffices while a name of the question (a capitalised word) stands in none of the passages.

    The score says that two passages belong to the question, not that they state its answer: where they do not, a run
    stays at home although another source has the answer. docs/numbers.md has how often.

    ```python
    from haystack import Document
    from prefrag.components.judge.pair_sufficiency import PairSufficiency
    from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer

    shown = [
        Document(content="Heiberg's son was Johan.", meta={"title": "Heiberg"}),
        Document(content="Johan, a poet, married Johanne.", meta={"title": "Johan"}),
    ]
    print(PairSufficiency(TreePairScorer()).estimate("Who married Heiberg's son?", shown))
    ```
    """

    def __init__(self, pair_scorer: PairScorer, threshold: float = THRESHOLD):
        """Set up the estimate.

        :param pair_scorer: The scorer of pairs, such as :class:`TreePairScorer`.
        :param threshold: The score from which the best pair suffices, from 0 to 1. 0.6 was chosen on the training
            questions of HotpotQA and 2WikiMultiHopQA.
        :raises ValueError: When ``threshold`` is out of range.
        """
        check_range(0, 1, threshold=threshold)
        self.pair_scorer = pair_scorer
        self.threshold = threshold

    def warm_up(self) -> None:
        """Load what scores the pairs; raises TreesMissing without its file."""
        if (warm_up := getattr(self.pair_scorer, "warm_up", None)) is not None:
            warm_up()

    def estimate(self, question: str, passages: Sequence[Document]) -> float:
        """Score the best pair of the passages.

        :param question: The question.
        :param passages: The passages of one source, the most important first; the first 20 count.
        :returns: The score of the best pair, from 0 to 1; 0 if there is no pair, or a name of the
            question is absent.
        """
        compared = passages[:_MOST_COMPARED]
        text = "\n".join(map(passage_text, compared)).casefold()
        if not all(name.casefold() in text for name in _list_names(question)):
            return 0.0
        pairs = all_pairs(compared, [()] * len(compared))
        return max(self.pair_scorer.score(question, pairs), default=0.0) if pairs else 0.0

    # Runs in a thread, because the term statistics may come from a server.
    estimate_async = in_thread_async(estimate)


def _list_names(question: str) -> Iterator[str]:
    """List the capitalised words of a question but its first."""
    begin = len(question) - len(question.lstrip()) + 1
    return (word for word in _WORD.findall(question[begin:]) if word[0].isupper())
