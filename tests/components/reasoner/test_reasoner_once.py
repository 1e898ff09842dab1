"""The reasoner in methods that make one call, or whose answers are not evaluated."""

import json
from typing import Any

from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.state.state import Action, Step
from tests.components.samples import QUESTION, document, search_step, state
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each

ANSWER = "Thought: I know.\nFinal Answer: 1974\nSelf-Evaluation: CORRECT\nExplanation: So they say."
TOOLS = [
    {"name": "Search_Local", "description": "The documents.", "source": "local"},
    {"name": "Search_Web", "description": "The web.", "source": "web"},
]
RETRIEVED = Step(Action.SEARCH, query=QUESTION, documents=(document("alpha"),), source="local", observed=True)


def reasoner(reply: str = ANSWER, **changes: Any) -> Reasoner:
    return Reasoner(ScriptedChatGenerator([reply], **changes.pop("model", {})), **changes)


@for_each("steps", (), (RETRIEVED,))
def test_the_only_call_of_a_method_is_not_forced(steps: tuple[Step, ...]):
    reached = reasoner("1974", must_answer=True, prompt="answer_once").run(state(*steps))["state"]

    assert (reached.step.answer, reached.step.forced) == ("1974", False)
    assert reached.events[-1].data["forced"] is False


def test_a_call_after_a_reply_is_forced():
    unknown = Step(Action.UNKNOWN_ACTION, tool="Telephone")

    for earlier in (search_step("a"), unknown):
        assert reasoner("1974", must_answer=True).run(state(earlier))["state"].step.forced


@for_each("reply_format", "text", "json")
@for_each("evaluates", True, False)
def test_self_evaluation_is_asked_for_only_where_it_is_wanted(reply_format: str, evaluates: bool):
    reasoner(reply_format=reply_format, self_evaluation=evaluates).run(state())  # type: ignore[arg-type]

    prompt = CALLS["model"][0]["prompt"]
    assert any(word in prompt for word in ("Self-Evaluation", "label")) is evaluates


@for_each(
    "reply_format, reply",
    ("text", ANSWER),
    ("json", json.dumps({"action": "Final_Answer", "answer": "1974", "label": "CORRECT", "explanation": "So."})),
)
def test_an_evaluation_that_nobody_wanted_is_dropped(reply_format: str, reply: str):
    step = reasoner(reply, reply_format=reply_format, self_evaluation=False).run(state())["state"].step

    assert (step.answer, step.label, step.explanation, step.suggestions) == ("1974", None, "", "")


class TestTools:
    def test_of_closed_sources_are_neither_offered_nor_in_a_schema(self):
        reasoner(tools=TOOLS).run(state(sources=("local",)))

        prompt = CALLS["model"][0]["prompt"]
        assert "Search_Local" in prompt
        assert "Search_Web" not in prompt
        CALLS.clear()

        reasoner("{}", tools=TOOLS, reply_format="json").run(state(sources=("web",), preferred="web"))

        schema = json.dumps(CALLS["model"][0]["generation_kwargs"]["response_format"])
        assert "Search_Web" in schema
        assert "Search_Local" not in schema

    def test_are_all_named_so_the_router_can_tell_closed_ones(self):
        reply = "Thought: The web.\nAction: Search_Web\nAction Input: alpha"

        step = reasoner(reply, tools=TOOLS).run(state(sources=("local",)))["state"].step

        assert (step.action, step.named_source) == (Action.SEARCH, "web")


def test_prompt_of_a_single_call_asks_embedded_models_for_json():
    reasoner("1974", must_answer=True, prompt="answer_once", model={"is_embedded": True}).run(state(RETRIEVED))

    assert '"Final_Answer"' in CALLS["model"][0]["prompt"]
