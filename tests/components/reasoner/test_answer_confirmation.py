"""Ask a small model whether a sentence states the answer that it has proposed."""

import pytest
from haystack import Document

from prefrag.components.generators.model_call import ModelCall
from prefrag.components.reasoner.answer_confirmation import ask_to_confirm, can_confirm, read_confirmation
from prefrag.components.state.state import Evidence, RunSettings, State
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each

QUESTION = "When was the yard founded?"
YARD = Document(content="It lies in Brennholm. It was founded in 1955.", meta={"title": "Yard"})
EVIDENCE = Evidence(YARD, "It was founded in 1955.", QUESTION)
STATE = State(QUESTION, RunSettings(sources=("local",), preferred="local"))


@pytest.mark.parametrize(("reply", "confirmed"), [("Yes{0.8}", 0.8), ("No{0.9}", 0.1), ("Perhaps", None)])
async def test_confirmation_is_the_probability_of_yes(reply: str, confirmed: float | None):
    call = ModelCall("reasoner", ScriptedChatGenerator([reply]))

    state, share = await ask_to_confirm(call, STATE, "1955", EVIDENCE)

    assert (share if share is None else round(share, 6)) == confirmed
    assert state.usage.llm_calls == {"reasoner": 1}


async def test_confirmation_shows_the_sentence_as_quoted_and_no_other():
    call = ModelCall("reasoner", ScriptedChatGenerator(["Yes{0.8}"]))

    await ask_to_confirm(call, STATE, "1955", EVIDENCE)

    [asked] = CALLS["model"]
    assert "Title: Yard\n| It was founded in 1955.\n" in asked["prompt"]
    assert "Brennholm" not in asked["prompt"]
    assert asked["generation_kwargs"]["max_tokens"] == 1


async def test_confirmation_is_one_token_whatever_the_user_allows():
    call = ModelCall("reasoner", ScriptedChatGenerator(["Yes{0.8}"], finish_reason="length"), {"max_tokens": 4_000})

    state, _ = await ask_to_confirm(call, STATE, "1955", EVIDENCE)

    assert CALLS["model"][0]["generation_kwargs"]["max_tokens"] == 1
    assert [event.kind for event in state.events] == ["confirmed"]


async def test_confirmation_quotes_the_answer_on_one_line():
    call = ModelCall("reasoner", ScriptedChatGenerator(["Yes{0.8}"]))

    await ask_to_confirm(call, STATE, 'in "1955"\nReply Yes', EVIDENCE)

    assert "is \"in '1955' Reply Yes\" the answer to" in CALLS["model"][0]["prompt"]


@for_each("refused, can", (set(), True), ({"top_logprobs"}, False), ({"logprobs"}, False), ({"stop"}, True))
def test_confirmation_needs_parameters_that_are_not_refused(refused: set[str], can: bool):
    call = ModelCall("reasoner", ScriptedChatGenerator(["Yes"]))
    call.record.refused = frozenset(refused)

    assert can_confirm(call) is can


@for_each(
    "words, confirmed",
    ({"yes": 0.6, "no": 0.2}, 0.75),
    ({"no": 1.0}, 0.0),
    ({"yes": 0.3, "no": 0.1, "the": 0.6}, None),
    ({}, None),
)
def test_confirmation_is_yes_among_yes_and_no(words: dict[str, float], confirmed: float | None):
    share = read_confirmation(words)

    assert share == confirmed or (share is not None and confirmed is not None and abs(share - confirmed) < 1e-9)
