"""Whether the passages that were found suffice for the question."""

import pytest
from haystack import Document

from prefrag.components.judge.pair_sufficiency import PairSufficiency
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer

QUESTION = "In which year was the founder of the Tarn Mill born?"
MILL = Document(
    content="The Tarn Mill is a weaving mill at Hollin. Ada Roke founded it in 1870.", meta={"title": "Tarn Mill"}
)
ROKE = Document(content="Ada Roke, born in 1841, was an English weaver.", meta={"title": "Ada Roke"})
GULL = Document(content="The gull is a bird that nests on cliffs.", meta={"title": "Gull"})


class FixedScorer:
    """Scores pairs by a table of titles."""

    def __init__(self, scores: dict[frozenset[str], float]):
        self.scores = scores
        self.most = 0

    def score(self, question: str, pairs: list[tuple[Document, Document]]) -> list[float]:
        self.most = max(self.most, len(pairs))
        return [self.scores.get(frozenset(document.meta["title"] for document in pair), 0.1) for pair in pairs]


def test_the_best_pair_decides():
    scorer = FixedScorer({frozenset(("Tarn Mill", "Ada Roke")): 0.9})

    assert PairSufficiency(scorer).estimate(QUESTION, [GULL, MILL, ROKE]) == 0.9
    assert PairSufficiency(scorer).estimate(QUESTION, [GULL, MILL]) == 0.1


@pytest.mark.parametrize(
    ("question", "probability"),
    [
        ("Did the founder of the Tarn Mill know Ada Roke?", 0.9),
        ("Did the founder of the Tarn Mill know Hedda Brink?", 0.0),
        # The first word is capitalised anyway.
        ("Brink or mill: which is older?", 0.9),
    ],
)
def test_nothing_suffices_while_a_name_is_absent(question: str, probability: float):
    scorer = FixedScorer({frozenset(("Tarn Mill", "Ada Roke")): 0.9})

    assert PairSufficiency(scorer).estimate(question, [MILL, ROKE]) == probability


@pytest.mark.parametrize("number", [0, 1])
def test_without_a_pair_nothing_suffices(number: int):
    assert PairSufficiency(FixedScorer({})).estimate(QUESTION, [MILL][:number]) == 0.0


def test_the_number_of_compared_passages_is_bounded():
    scorer = FixedScorer({})
    passages = [Document(content=str(place), meta={"title": ""}) for place in range(99)]
    PairSufficiency(scorer).estimate("How old is it?", passages)

    assert scorer.most == 20 * 19


def test_the_shipped_trees_tell_both_facts_from_one():
    sufficiency = PairSufficiency(TreePairScorer())
    sufficiency.warm_up()

    assert sufficiency.estimate(QUESTION, [MILL, ROKE, GULL]) >= sufficiency.threshold
    assert sufficiency.estimate(QUESTION, [MILL, GULL]) < sufficiency.threshold


def test_related_passages_suffice_also_without_the_answer():
    # A limit of the score, which a run pays for with a search of the web that it misses.
    silent = Document(content="Ada Roke was an English weaver.", meta={"title": "Ada Roke"})

    assert PairSufficiency(TreePairScorer()).estimate(QUESTION, [MILL, silent]) >= 0.6


def test_a_threshold_that_is_no_probability_is_refused():
    with pytest.raises(ValueError, match="threshold is 2"):
        PairSufficiency(FixedScorer({}), threshold=2)
