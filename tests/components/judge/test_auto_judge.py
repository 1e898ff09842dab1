"""The trees judge first. A model is asked only if it is named as the judge, or has passed its trial."""

from types import SimpleNamespace

import pytest

from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.judge.auto_judge import AutoJudge
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.state.state import State
from tests.components.judge.judges import FixedTrees
from tests.components.samples import document, found, observed_step, search_step, state
from tests.fakes import CALLS, ScriptedChatGenerator

STEPS = (observed_step(document("alpha")), search_step("beta", found(document("beta"))))
JUDGED = state(*STEPS)
PLAIN = state(*STEPS, prompts="plain")


class Model(ScriptedChatGenerator):
    def warm_up(self) -> None:
        CALLS.setdefault("warmed", []).append("model")


def auto(
    trial: tuple[int, int] | None = None, probability: float = 0.3, is_embedded: bool = False, is_named: bool = False
) -> AutoJudge:
    model = Model(['{"status": "True", "1": 9}'], is_embedded=is_embedded)
    model.record, model.is_named_for_judging = SimpleNamespace(verdicts=trial), is_named  # type: ignore[attr-defined]
    return AutoJudge(ModelJudge(model), FixedTrees(probability))


@pytest.mark.parametrize(
    ("judge", "reached", "judged_by"),
    [
        (auto(), JUDGED, "classifier"),
        (auto((19, 30)), JUDGED, "classifier"),
        (auto((15, 15)), JUDGED, "classifier"),
        (auto((20, 30)), JUDGED, "model"),
        (auto((20, 30), probability=0.1), JUDGED, "classifier"),
        (auto((20, 30), probability=0.9), JUDGED, "classifier"),
        (auto((20, 30), is_embedded=True), JUDGED, "model"),
        (auto(probability=0.9, is_named=True), JUDGED, "model"),
        (auto(probability=0.9, is_embedded=True, is_named=True), JUDGED, "model"),
        (auto(probability=0.9), PLAIN, "model"),
        (auto((20, 30), is_embedded=True), PLAIN, "classifier"),
    ],
)
async def test_who_gives_verdicts_and_scores(judge: AutoJudge, reached: State, judged_by: str):
    passages = [document("beta")]

    for verdict, _ in (judge.judge(reached), await judge.judge_async(reached)):
        assert verdict.judged_by == judged_by
    for relevance, _ in (judge.score(reached, passages), await judge.score_async(reached, passages)):
        assert relevance.judged_by == judged_by


def test_a_model_of_which_nothing_is_kept_counts_as_not_tried():
    judge = AutoJudge(ModelJudge(ScriptedChatGenerator(['{"status": "True"}'])), FixedTrees(0.3))

    assert not judge.has_passed
    assert judge.judge(JUDGED)[0].judged_by == "classifier"


@pytest.mark.parametrize(
    ("variable", "warmed"),
    [
        (None, ["trees"]),
        ("PREFRAG_LLM_GGUF", ["trees"]),
        ("PREFRAG_JUDGE_GGUF", ["model"]),
        ("PREFRAG_JUDGE_BASE_URL", ["model"]),
        ("PREFRAG_LLM_BASE_URL", ["trees", "model"]),
    ],
)
def test_warms_up_those_that_may_be_asked(monkeypatch: pytest.MonkeyPatch, variable: str | None, warmed: list[str]):
    if variable is not None:
        monkeypatch.setenv(variable, "http://localhost:9/v1")
    monkeypatch.setattr(ChatModel, "warm_up", lambda self: CALLS.setdefault("warmed", []).append("model"))

    AutoJudge(ModelJudge(ChatModel(role="judge")), FixedTrees(0.3)).warm_up()

    assert CALLS["warmed"] == warmed


def test_a_judge_without_a_model_is_refused_in_its_place():
    with pytest.raises(ValueError, match="model_judge is a FixedTrees: give a ModelJudge"):
        AutoJudge(FixedTrees(0.3), FixedTrees(0.3))  # type: ignore[arg-type]
