"""The judge that uses small boosted trees instead of a language model."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from haystack import Document

from prefrag.components.block import Block, check_range
from prefrag.components.both_ways import in_thread
from prefrag.components.judge.judge import Relevance
from prefrag.components.judge.switch_features import FEATURES, as_row, switch_features
from prefrag.components.state.state import Action, State, Verdict
from prefrag.components.text.term_statistics import TermStatistics, analyze_texts, passage_text, term_weights, words
from prefrag.components.trees import BoostedTrees, load_trees

COST_OF_LEAVING = 2.0
_ROUNDING = 1e-6
# With the default cost of leaving, 2, a passage has to hold 55% of the question's words.
_HELD_AT_NO_COST = 1.65
_NUMBER = re.compile(r"\w*\d\w*")
SHIPPED_TREES = Path(__file__).parent / "switch_trees.json"


def keep_probability(trees: BoostedTrees, features: Sequence[Mapping[str, float]]) -> float:
    """Estimate the probability that at least one passage is needed, from each one's probability; 0 without passages."""
    return 1 - math.prod(1 - needed for needed in trees.probabilities([as_row(passage) for passage in features]))


def find_unknown(trees: BoostedTrees, features: Sequence[Mapping[str, float]]) -> str | None:
    """Find a feature whose value was not in the training data's range, which makes the trees' estimate a guess.

    Returns a text with the feature, its value and the range; None if all values are in range.
    """
    for name, (least, most) in trees.ranges.items():
        for passage in features:
            # Rounding may push a share slightly over 1.
            if not least - _ROUNDING <= passage[name] <= most + _ROUNDING:
                return f"{name} is {passage[name]:g}, outside of {least:g} to {most:g}"
    return None


def least_probability(cost_of_leaving: float) -> float:
    """Compute the least probability of a needed passage with which the passages are kept."""
    return 1 / (1 + cost_of_leaving)


class TreeJudge(Block):
    """Judge with boosted trees, in milliseconds, how likely one of the passages is needed.

    The trees replace models that are too small to judge, or too slow. Passages unlike anything in the training are
    kept. If the other source gets the question as it was typed, the trees do not judge: that source is searched only if
    no passage of this run holds 55% of the question's words. Rare words count more.

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

        :param trees: A file written by ``prefrag train judge``; by default the shipped trees.
        :param term_statistics: The Tantivy store or the Elasticsearch retriever, which analyses words and counts how
            frequent they are. Without it, all words of at least four letters have the same weight.
        :param cost_of_leaving: How many needless searches of the preferred source are as bad as one needless switch.
            The run switches if the probability that no passage is needed is over ``cost / (1 + cost)``: at 0 upon any
            doubt, at infinity never.
        :raises ValueError: When a setting is out of range.
        """
        if trees is not None and not trees:
            raise ValueError("trees is empty: give the file of the trees, or null for the shipped ones.")
        check_range(0, cost_of_leaving=cost_of_leaving)
        self.trees = trees
        self.term_statistics = term_statistics
        self.cost_of_leaving = cost_of_leaving

    def warm_up(self) -> None:
        """Load the trees; raises TreesMissing if there are none, ValueError if the file holds trees of another kind."""
        self._load()

    def judge(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search."""
        if any(map(state.takes_question, state.settings.sources)):
            return self._judge_by_words(state), state
        probability, unknown = self.estimate(state)
        least = least_probability(self.cost_of_leaving)
        if unknown and self.cost_of_leaving:
            analysis = f"Kept, because the trees were not trained on passages like these: {unknown}."
            return Verdict(True, "classifier", analysis), state
        analysis = f"It is {probability:.0%} likely that a needed passage is among these (kept from {least:.0%} on)."
        return Verdict(probability >= least, "classifier", analysis, score=round(probability, 4)), state

    # In a thread, because the term statistics may come from a server.
    judge_async = in_thread(judge)

    def _judge_by_words(self, state: State) -> Verdict:
        """Keep what was found if one passage of the run holds enough of the question's words."""
        passages = (*state.observed, *state.step.searches[-1].documents)
        asked = {*words(state.question), *_NUMBER.findall(state.question)}
        texts = [" ".join(sorted(asked)), *map(passage_text, passages)]
        wanted, *held = map(set, analyze_texts(texts, self.term_statistics))
        weights = term_weights(wanted, self.term_statistics)
        # Sorted, because a sum of floats depends on its order.
        whole, *parts = (sum(weights[term] for term in sorted(wanted & each)) for each in (wanted, *held))
        share = round(max(parts, default=0.0) / whole, 4) if whole else 1.0
        least = _HELD_AT_NO_COST * least_probability(self.cost_of_leaving)
        analysis = f"The best passage holds {share:.0%} of the question's words, by weight (kept from {least:.0%} on)."
        return Verdict(share >= least, "words", analysis)

    def estimate(self, state: State) -> tuple[float, str | None]:
        """Estimate the probability that the last search found a needed passage, and say why if it is only a guess."""
        features = self._describe(state, state.step.searches[-1].documents)
        trees = self._load()
        return keep_probability(trees, features), find_unknown(trees, features)

    def score(self, state: State, passages: Sequence[Document]) -> tuple[Relevance, State]:
        """Score each passage by the probability that it is needed; a passage unlike the training has no score."""
        features = self._describe(state, passages)
        trees = self._load()
        unknown = [find_unknown(trees, [passage]) for passage in features]
        probabilities = trees.probabilities([as_row(passage) for passage in features])
        scores = tuple(
            None if reason else round(2 * probability - 1, 4)
            for reason, probability in zip(unknown, probabilities, strict=True)
        )
        return Relevance(scores, "classifier", analysis=next(filter(None, unknown), "")), state

    score_async = in_thread(score)

    def _describe(self, state: State, passages: Sequence[Document]) -> list[dict[str, float]]:
        earlier = sum(step.action is Action.SEARCH and bool(step.searches) for step in state.steps[:-1])
        query = state.step.searches[-1].query
        return switch_features(state.question, query, passages, state.observed, earlier, self.term_statistics)

    def _load(self) -> BoostedTrees:
        return load_trees(Path(self.trees) if self.trees else SHIPPED_TREES, FEATURES)
