"""The trees judge if they are sure, otherwise the model."""

import pytest

from prefrag.components.judge.cascade_judge import CascadeJudge
from tests.components.judge.judges import FixedJudge, FixedTrees
from tests.components.samples import document, found, observed_step, search_step, state
from tests.fakes import CALLS
from tests.for_each import for_each

JUDGED = state(observed_step(document("alpha")), search_step("beta", found(document("beta"))))


@for_each("probability, status", (0.8, True), (0.95, True), (0.2, False))
def test_calls_no_model_where_the_trees_are_sure(probability: float, status: bool):
    verdict, _ = CascadeJudge(FixedTrees(probability), FixedJudge(not status)).judge(JUDGED)

    assert (verdict.status, verdict.judged_by) == (status, "classifier")
    assert "judge" not in CALLS


@pytest.mark.parametrize("status", [True, False])
async def test_an_unsure_cascade_calls_the_model(status: bool):
    unsure = CascadeJudge(FixedTrees(0.6), FixedJudge(status))

    for verdict, after in (unsure.judge(JUDGED), await unsure.judge_async(JUDGED)):
        assert (verdict.status, verdict.judged_by, verdict.score) == (status, "model", 0.6)
        assert after.usage.llm_calls == {"judge": 1}


def test_passages_unknown_to_the_trees_go_to_the_model():
    verdict, _ = CascadeJudge(FixedTrees(0.9, unknown="words is 900"), FixedJudge(False)).judge(JUDGED)
    narrow = CascadeJudge(FixedTrees(0.6), FixedJudge(False), unsure_from=0.5, unsure_to=0.5)

    assert (verdict.status, verdict.judged_by) == (False, "model")
    assert narrow.judge(JUDGED)[0].judged_by == "classifier"


@pytest.mark.parametrize(
    ("probability", "unknown", "judged_by"),
    [(0.8, None, "classifier"), (0.6, None, "model"), (0.9, "words is 900", "model")],
)
async def test_scores_of_which_the_trees_are_unsure_are_the_models(
    probability: float, unknown: str | None, judged_by: str
):
    cascade = CascadeJudge(FixedTrees(probability, unknown=unknown), FixedJudge(True))

    for relevance, _ in (
        cascade.score(JUDGED, [document("beta")]),
        await cascade.score_async(JUDGED, [document("beta")]),
    ):
        assert relevance.judged_by == judged_by


def test_warms_up_both():
    CascadeJudge(FixedTrees(0.5), FixedJudge(True)).warm_up()

    assert CALLS["warmed"] == ["trees", "judge"]
