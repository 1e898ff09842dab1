"""The states on which judges are tried, and what counts as better than chance."""

import json

from prefrag.components.generators.token_budget import estimate_tokens
from prefrag.components.judge.judge_trial import TRIAL_STATES, is_better_than_chance, read_states, try_judge
from prefrag.components.judge.model_judge import ModelJudge
from tests.components.judge.judges import FixedJudge
from tests.components.judge.trial_states import make_states, read_lines
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each


def test_the_shipped_states_are_those_of_the_rule():
    states = json.loads(TRIAL_STATES.read_text(encoding="utf-8"))

    assert states == make_states()
    assert len(states) >= 30
    assert [state["verdict"] for state in states] == [True, False] * (len(states) // 2)
    judge = ModelJudge(ScriptedChatGenerator([""]))
    prompts = [judge.prepare(state).messages[0].text or "" for state, _ in read_states()]
    assert max(map(len, prompts)) / 4 < 560
    assert max(map(estimate_tokens, prompts)) < 700


def test_a_state_is_true_if_a_supporting_passage_is_new():
    supporting = {question["id"]: {*question["supporting_ids"]} for question in read_lines("questions.jsonl")}

    for state in json.loads(TRIAL_STATES.read_text(encoding="utf-8")):
        new = {document["id"] for document in state["new"]} - {document["id"] for document in state["observed"]}
        assert bool(new & supporting[state["id"]]) == state["verdict"]


async def test_a_constant_judge_is_right_on_half_of_a_trial():
    assert await try_judge(FixedJudge(True)) == (15, 30)
    assert await try_judge(FixedJudge(False)) == (15, 30)
    CALLS.clear()

    assert await try_judge(FixedJudge(True), 7, 10, most=2) == (8, 12)
    assert [judged.question for judged in CALLS["judge"]] == [state.question for state, _ in read_states()[10:12]]
    assert await try_judge(FixedJudge(True), 20, 30) == (20, 30)


async def test_a_verdict_that_cannot_be_read_is_wrong():
    assert await try_judge(ModelJudge(ScriptedChatGenerator(["No idea."])), most=2) == (0, 2)


@for_each(
    "right, of, better",
    (20, 30, True),
    (19, 30, False),
    (30, 30, True),
    (15, 30, False),
    (20, 20, False),
    (0, 0, False),
)
def test_twenty_of_thirty_are_better_than_chance(right: int, of: int, better: bool):
    assert is_better_than_chance(right, of) == better
