"""The model judges if it can, otherwise the trees."""

import pytest

from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.judge.auto_judge import AutoJudge
from prefrag.components.judge.model_judge import ModelJudge
from tests.components.judge.judges import FixedTrees
from tests.components.samples import document, found, observed_step, search_step, state
from tests.fakes import CALLS, ScriptedChatGenerator

JUDGED = state(observed_step(document("alpha")), search_step("beta", found(document("beta"))))


class Model(ScriptedChatGenerator):
    def warm_up(self) -> None:
        CALLS.setdefault("warmed", []).append("model")


def auto(is_embedded: bool) -> AutoJudge:
    return AutoJudge(ModelJudge(Model(['{"status": "True"}'], is_embedded=is_embedded)), FixedTrees(0.3))


@pytest.mark.parametrize(("is_embedded", "judged_by", "status"), [(True, "classifier", False), (False, "model", True)])
async def test_the_embedded_model_is_left_out_of_verdicts_and_scores_and_not_warmed_up(
    is_embedded: bool, judged_by: str, status: bool
):
    judge, passages = auto(is_embedded), [document("beta")]

    for verdict, _ in (judge.judge(JUDGED), await judge.judge_async(JUDGED)):
        assert (verdict.judged_by, verdict.status) == (judged_by, status)
    for relevance, _ in (judge.score(JUDGED, passages), await judge.score_async(JUDGED, passages)):
        assert relevance.judged_by == judged_by
    judge.warm_up()
    assert CALLS["warmed"] == ["trees" if is_embedded else "model"]


@pytest.mark.parametrize(
    ("variable", "judges"),
    [
        (None, "trees"),
        ("PREFRAG_LLM_GGUF", "trees"),
        ("PREFRAG_JUDGE_GGUF", "model"),
        ("PREFRAG_LLM_BASE_URL", "model"),
    ],
)
def test_a_file_judges_only_where_it_is_named_for_the_judge(
    monkeypatch: pytest.MonkeyPatch, variable: str | None, judges: str
):
    if variable is not None:
        monkeypatch.setenv(variable, "http://localhost:9/v1")
    monkeypatch.setattr(ChatModel, "warm_up", lambda self: CALLS.setdefault("warmed", []).append("model"))

    AutoJudge(ModelJudge(ChatModel(role="judge")), FixedTrees(0.3)).warm_up()

    assert CALLS["warmed"] == [judges]


def test_a_judge_that_calls_no_model_of_its_own_is_refused_in_the_models_place():
    with pytest.raises(ValueError, match="model_judge is a FixedTrees: give a ModelJudge"):
        AutoJudge(FixedTrees(0.3), FixedTrees(0.3))  # type: ignore[arg-type]
