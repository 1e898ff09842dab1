"""The judge that needs no language model, because it uses boosted decision trees.

For each passage that a search found, the trees estimate the probability that the passage is needed. The judge computes
from these the probability that at least one passage is needed, and compares it with a threshold. A verdict takes some
5 ms. The file switch_trees.md says how the shipped trees were trained and how often they are right.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from haystack import Document

from prefrag.components.block import Block, check_range
from prefrag.components.both_ways import in_thread_async
from prefrag.components.judge.judge import Relevance
from prefrag.components.judge.switch_features import FEATURES, as_row, switch_features
from prefrag.components.state.state import Action, State, Verdict
from prefrag.components.text.term_statistics import (
    TermStatistics,
    analyze_texts,
    content_words,
    passage_text,
    sum_of_weights,
    term_weights,
)
from prefrag.components.trees import BoostedTrees, load_trees

# A run searches the preferred source first. The judge then keeps the passages that were found, or the run leaves this
# source and switches to another one. A switch is needless if a needed passage was among those that were found. This
# number says how many times worse a needless switch is than keeping useless passages. With 2, passages are kept if the
# probability that one of them is needed is at least 1/3. A higher cost keeps more passages.
COST_OF_LEAVING = 2.0
# How far the value of a feature may lie outside the range of the training data. Because of rounding, a share may be
# slightly more than 1.
_ROUNDING = 1e-6
# Without the trees, passages are kept if one passage contains a large enough share of the question's words. This share
# is the product of this number and the threshold of the trees. With a cost of 2, the threshold is 1/3, and the share is
# 1.65 * 1/3 = 55%.
_WORD_SHARE_FACTOR = 1.65
# The file of the trees that are used if no other file is set.
SHIPPED_TREES = Path(__file__).parent / "switch_trees.json"


def keep_probability(trees: BoostedTrees, features: Sequence[Mapping[str, float]]) -> float:
    """Estimate the probability that at least one of the passages is needed.

    The passages are taken to be independent. For example, two passages that are each needed with probability 0.5 give
    1 - 0.5 * 0.5 = 0.75.

    :param trees: The trees.
    :param features: The features of each passage, as :func:`switch_features` returns them.
    :returns: The probability, from 0 to 1. Without passages, it is 0.
    """
    probabilities = trees.probabilities([as_row(passage) for passage in features])
    none_is_needed = math.prod(1 - needed for needed in probabilities)
    return 1 - none_is_needed


def find_unknown(trees: BoostedTrees, features: Sequence[Mapping[str, float]]) -> str | None:
    """Find a feature whose value is outside the range of the training data.

    The trees can only guess about passages with such a value.

    :param trees: The trees, which know the ranges.
    :param features: The features of each passage.
    :returns: A text with the feature, its value and the range, such as ``words is 9000, outside of 0 to 500``. None if
        all values are in range.
    """
    for name, (least, most) in trees.ranges.items():
        for passage in features:
            value = passage[name]
            is_in_range = least - _ROUNDING <= value <= most + _ROUNDING
            if not is_in_range:
                return f"{name} is {value:g}, outside of {least:g} to {most:g}"
    return None


def least_probability(cost_of_leaving: float) -> float:
    """Compute the threshold: passages are kept if the probability that one of them is needed is at least this.

    For example, ``least_probability(2)`` is 1/3, and ``least_probability(0)`` is 1.

    :param cost_of_leaving: How many times worse a needless switch is than keeping useless passages.
    :returns: The threshold, from 0 to 1.
    """
    return 1 / (1 + cost_of_leaving)


class TreeJudge(Block):
    """Judge by the probability that one of the passages is needed, as boosted trees estimate it.

    Use this judge where the language model is too small or too slow to judge. Passages unlike the training data are
    kept.

    In some runs the trees do not judge. An example is a run without a language model that may also search the web. To
    keep words of the user's files from the web, the web gets only the question as the user typed it. The question
    must then be sent only if no passage so far answers it. But the trees judge only the passages of the last search.

    In such a run the judge compares words instead. It keeps the passages if one passage of the run contains 55% of the
    question's words. Rare words count more in this share.

    Usage example:
    ```python
    from haystack import Document
    from prefrag.components.judge.tree_judge import TreeJudge
    from prefrag.components.state.state import Action, RunSettings, Search, State, Step

    found = (Document(content="Heiberg's son was Johan.", meta={"title": "Heiberg"}),)
    step = Step(Action.SEARCH, searches=(Search("local", "Heiberg's son", found),))
    state = State("Who married Heiberg's son?", RunSettings(sources=("local",), preferred="local"), steps=(step,))
    print(TreeJudge().estimate(state))
    ```
    """

    def __init__(
        self,
        trees: str | None = None,
        term_statistics: TermStatistics | None = None,
        cost_of_leaving: float = COST_OF_LEAVING,
    ):
        """Set up the judge.

        :param trees: A file written by ``prefrag train judge``. None means the shipped trees.
        :param term_statistics: The Tantivy store or the Elasticsearch retriever. It splits texts into words, and knows
            in how many documents a word occurs. With None, only words of at least four letters count, and all have the
            same weight.
        :param cost_of_leaving: How many times worse a needless switch is than keeping useless passages. The passages
            are kept if the probability that one of them is needed is at least ``1 / (1 + cost_of_leaving)``, else the
            run switches to another source. With 0, the probability must be 1, so the run nearly always switches. With
            infinity, it never switches.
        :raises ValueError: When a setting is out of range.
        """
        if trees is not None and not trees:
            raise ValueError("trees is empty: set it to the file of the trees, or to null for the shipped trees.")
        check_range(0, cost_of_leaving=cost_of_leaving)
        self.trees = trees
        self.term_statistics = term_statistics
        self.cost_of_leaving = cost_of_leaving

    def warm_up(self) -> None:
        """Load the trees.

        :raises TreesMissing: When there is no file of trees.
        :raises ValueError: When the trees were made for other features.
        """
        self._load()

    def judge(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search.

        :param state: The state after a search.
        :returns: The verdict and the unchanged state. The verdict's score is the probability that a passage is needed.
            The score is None if the passages are unlike the training data, or if no trees judged.
        :raises TreesMissing: When the trees are needed and there is no file of trees.
        """
        if math.isinf(self.cost_of_leaving):
            # The verdict must stand. With "words" instead of "classifier", the SourceSwitchJudge could overrule it.
            return Verdict(True, "classifier", "Kept, because cost_of_leaving is infinite."), state

        # The sources that get only the question as the user typed it, and no other query.
        sources_for_question = [source for source in state.settings.sources if state.takes_question(source)]
        if sources_for_question:
            return self._judge_by_words(state), state

        probability, unknown = self.estimate(state)
        least = least_probability(self.cost_of_leaving)
        # The trees can only guess about unknown passages. They are kept, because a needless switch may be the worse
        # mistake. With a cost of 0, a needless switch does no harm, so there the guess of the trees counts.
        may_switch_be_worse = self.cost_of_leaving > 0
        if unknown and may_switch_be_worse:
            analysis = f"Kept, because the trees were not trained on passages like these: {unknown}."
            return Verdict(True, "classifier", analysis), state
        analysis = f"It is {probability:.0%} likely that a needed passage is among these (kept at {least:.0%} or more)."
        return Verdict(probability >= least, "classifier", analysis, score=round(probability, 4)), state

    # Runs in a thread, because the term statistics may come from a server.
    judge_async = in_thread_async(judge)

    def _judge_by_words(self, state: State) -> Verdict:
        """Keep the passages if one passage of the run contains enough of the question's words."""
        passages = (*state.observed, *state.step.searches[-1].documents)
        question_text = " ".join(content_words(state.question))
        texts = [question_text, *map(passage_text, passages)]
        # All texts are split in one call, because the statistics may come from a server.
        terms_of_texts = [set(terms) for terms in analyze_texts(texts, self.term_statistics)]
        wanted = terms_of_texts[0]
        terms_of_passages = terms_of_texts[1:]
        # Sorted, because a sum of floats depends on the order in which they are added.
        weights = dict(sorted(term_weights(wanted, self.term_statistics).items()))

        whole = sum(weights.values())
        largest = max((sum_of_weights(weights, terms) for terms in terms_of_passages), default=0.0)
        share = round(largest / whole, 4) if whole else 1.0
        least = _WORD_SHARE_FACTOR * least_probability(self.cost_of_leaving)
        analysis = f"One passage holds {share:.0%} of the question's words, by weight (kept at {least:.0%} or more)."
        return Verdict(share >= least, "words", analysis)

    def estimate(self, state: State) -> tuple[float, str | None]:
        """Estimate the probability that the last search found a needed passage.

        :param state: The state after a search.
        :returns: The probability, from 0 to 1. The second value says why the probability is only a guess, see
            :func:`find_unknown`. It is None if the passages are like the training data.
        :raises TreesMissing: When there is no file of trees.
        """
        features = self._describe(state, state.step.searches[-1].documents)
        trees = self._load()
        return keep_probability(trees, features), find_unknown(trees, features)

    def score(self, state: State, passages: Sequence[Document]) -> tuple[Relevance, State]:
        """Score each passage by the probability that it is needed.

        The probabilities 0, 0.5 and 1 become the scores -1, 0 and 1.

        :param state: The state after a search.
        :param passages: Passages that the search found, or parts of them.
        :returns: The scores and the unchanged state. A passage unlike the training data has the score None.
        :raises TreesMissing: When there is no file of trees.
        """
        features = self._describe(state, passages)
        trees = self._load()
        unknown = [find_unknown(trees, [passage]) for passage in features]
        probabilities = trees.probabilities([as_row(passage) for passage in features])

        scores: list[float | None] = []
        for reason, probability in zip(unknown, probabilities, strict=True):
            score = round(2 * probability - 1, 4)
            scores.append(None if reason else score)
        first_reason = next(filter(None, unknown), "")
        return Relevance(tuple(scores), "classifier", analysis=first_reason), state

    score_async = in_thread_async(score)

    def _describe(self, state: State, passages: Sequence[Document]) -> list[dict[str, float]]:
        """Compute the features of passages that the last search found."""
        # The number of earlier steps that searched.
        earlier = sum(step.action is Action.SEARCH and bool(step.searches) for step in state.steps[:-1])
        query = state.step.searches[-1].query
        return switch_features(state.question, query, passages, state.observed, earlier, self.term_statistics)

    def _load(self) -> BoostedTrees:
        """Return the trees of the file that is set, or the shipped trees."""
        file = Path(self.trees) if self.trees else SHIPPED_TREES
        return load_trees(file, FEATURES)
