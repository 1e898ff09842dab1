"""What all components that call a model do alike."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.components.loop.follow_up_rewriter import FollowUpRewriter
from prefrag.components.loop.self_reflector import SelfReflector
from prefrag.components.mspr.answer_reviewer import AnswerReviewer
from prefrag.components.mspr.observation_refiner import ObservationRefiner
from prefrag.components.state.state import RunError, State
from tests.components.samples import answer_step, document, found, observed_step, search_step, settings, state
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each

OBSERVED = observed_step(document("alpha", content="Alpha was built by Beta. " * 50))
ANSWERED = state(OBSERVED, answer_step())
SEARCHED = state(OBSERVED, search_step("beta", found(document("beta"))))
FOLLOW_UP = State("And when?", settings(), history=(("user", "Who built Aurora?"),))
# By the name under which calls are counted: how to make the component with a model, its state, and a reply.
CALLERS: dict[str, tuple[Callable[..., Any], State, str]] = {
    "judge": (
        lambda model, **settings: SourceSwitchJudge(["local", "web"], ModelJudge(model, **settings)),
        SEARCHED,
        '{"status": "True"}',
    ),
    "reviewer": (
        lambda model, **settings: AnswerReviewer(["web"], model, "web", **settings),
        ANSWERED,
        '{"label": "True"}',
    ),
    "refiner": (
        lambda model, **settings: ObservationRefiner(model, threshold=100, **settings),
        SEARCHED,
        "Beta built it.",
    ),
    "reflector": (
        lambda model, **settings: SelfReflector(**{"reflection": "call", "chat_generator": model, **settings}),
        ANSWERED,
        "CORRECT",
    ),
    "rewriter": (FollowUpRewriter, FOLLOW_UP, '{"question": "When?"}'),
}
every_caller = pytest.mark.parametrize("name", CALLERS)


@every_caller
def test_a_prompt_that_there_is_not_is_refused(name: str):
    with pytest.raises(ValueError, match="No prompt 'nonsense'"):
        CALLERS[name][0](ScriptedChatGenerator(["x"]), prompt="nonsense")


@every_caller
def test_a_call_is_counted_under_its_name(name: str):
    make, reached, reply = CALLERS[name]

    (after,) = make(ScriptedChatGenerator([reply])).run(reached).values()

    assert after.usage.llm_calls == {name: 1}


@every_caller
async def test_a_model_that_fails_ends_the_run_with_its_state(name: str):
    make, reached, _ = CALLERS[name]
    # With the prompts of the product, rules rewrite a follow-up if the model fails.
    reached = replace(reached, settings=replace(reached.settings, prompts="plain"))
    for together in (False, True):
        caller = make(ScriptedChatGenerator(["!no server"]))

        with pytest.raises(RunError, match=f"The {name}'s model failed: no server") as failure:
            await caller.run_async(reached) if together else caller.run(reached)

        assert (failure.value.state.steps, failure.value.state.question) == (reached.steps, reached.question)


@for_each(
    "name, off",
    ("reviewer", {"enabled": False}),
    ("refiner", {"enabled": False}),
    ("reflector", {"reflection": "reply"}),
    ("reflector", {"reflection": "off"}),
)
def test_a_model_is_warmed_up_only_where_it_is_called(name: str, off: dict[str, Any]):
    class Cold(ScriptedChatGenerator):
        def warm_up(self) -> None:
            CALLS.setdefault("warmed", []).append(self.name)

    CALLERS[name][0](Cold(["x"], "off"), **off).warm_up()
    CALLERS[name][0](Cold(["x"], "on")).warm_up()

    assert CALLS["warmed"] == ["on"]
