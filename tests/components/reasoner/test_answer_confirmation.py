"""Ask a small model whether a sentence states the answer that it has proposed."""

import pytest
from haystack import Document

from prefrag.components.generators.model_call import ModelCall
from prefrag.components.reasoner.answer_confirmation import ask_to_confirm, read_confirmation
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


async def test_confirmation_of_the_same_answer_is_asked_once():
    call = ModelCall("reasoner", ScriptedChatGenerator(["Yes{0.8}", "No{0.9}"]))

    state, first = await ask_to_confirm(call, STATE, "1955", EVIDENCE)
    state, again = await ask_to_confirm(call, state, "1955", EVIDENCE)
    state, other = await ask_to_confirm(call, state, "in Brennholm", EVIDENCE)

    assert first == again != other
    assert state.usage.llm_calls == {"reasoner": 2}
    assert [event.data["text"] for event in state.events if event.kind == "confirmed"] == ["1955", "in Brennholm"]


@for_each(
    "words, confirmed",
    ({"yes": 0.6, "no": 0.2}, 0.75),
    ({"no": 1.0}, 0.0),
    ({"yes": 0.3, "no": 0.1, "the": 0.6}, None),
    ({}, None),
)
def test_confirmation_in_other_words_is_none(words: dict[str, float], confirmed: float | None):
    share = read_confirmation(words)

    assert share == confirmed or (share is not None and confirmed is not None and abs(share - confirmed) < 1e-9)
