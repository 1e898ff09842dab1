"""Whether the passages that were found suffice for the question."""

from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from prefrag.components.judge.pair_sufficiency import PairSufficiency
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from prefrag.components.trees import TreesMissing

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


def test_the_shipped_trees_tell_both_facts_from_one():
    sufficiency = PairSufficiency(TreePairScorer(label="pair"))
    sufficiency.warm_up()

    assert sufficiency.estimate(QUESTION, [MILL, ROKE, GULL]) >= sufficiency.threshold
    assert sufficiency.estimate(QUESTION, [MILL, GULL]) < sufficiency.threshold


def test_the_shipped_trees_ask_for_the_third_fact():
    sufficiency = PairSufficiency(TreePairScorer(label="pair"))
    question = "Which medal did the sister of the founder of the Tarn Mill win at the Linden Games?"
    sister = Document(content="Ada Roke, a weaver, had a sister, Hedda Roke.", meta={"title": "Ada Roke"})
    medal = Document(content="Hedda Roke won the silver medal at the Linden Games.", meta={"title": "Hedda Roke"})

    assert sufficiency.estimate(question, [MILL, sister, medal]) > sufficiency.estimate(question, [MILL, sister, GULL])
    assert sufficiency.estimate(question, [MILL, sister, GULL]) < sufficiency.threshold


def test_without_a_passage_nothing_suffices():
    assert PairSufficiency(FixedScorer({})).estimate(QUESTION, []) == 0.0


def test_one_passage_may_suffice():
    sufficiency = PairSufficiency(TreePairScorer(label="pair"))
    asked = "Who founded the Tarn Mill at Hollin?"

    assert sufficiency.estimate(asked, [MILL, GULL]) >= sufficiency.threshold
    assert sufficiency.estimate(asked, [ROKE, GULL]) < sufficiency.threshold


def test_a_scorer_whose_scores_the_trees_do_not_know_is_told(caplog: pytest.LogCaptureFixture):
    PairSufficiency(TreePairScorer(label="passage"))

    assert "set `label: pair`" in caplog.text


def test_an_absent_name_makes_it_less_likely():
    sufficiency = PairSufficiency(FixedScorer({frozenset(("Tarn Mill", "Ada Roke")): 0.9}))
    asked = "Did the founder of the Tarn Mill know {}?"

    present, absent = (sufficiency.estimate(asked.format(name), [MILL, ROKE]) for name in ("Ada Roke", "Hedda Brink"))

    assert absent < present


def test_the_number_of_compared_passages_is_bounded():
    scorer = FixedScorer({})
    passages = [Document(content=str(place), meta={"title": ""}) for place in range(99)]
    PairSufficiency(scorer).estimate("How old is it?", passages)

    assert scorer.most == 20 * 19


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"threshold": 2}, "threshold is 2"), ({"trees": ""}, "trees is empty")],
)
def test_a_setting_that_means_nothing_is_refused(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        PairSufficiency(FixedScorer({}), **settings)


def test_a_missing_file_of_trees_is_told_at_the_start(tmp_path: Path):
    with pytest.raises(TreesMissing, match="no file of decision trees"):
        PairSufficiency(FixedScorer({}), trees=str(tmp_path / "trees.json")).warm_up()
