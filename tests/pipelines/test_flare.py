"""FLARE on the shipped YAML: it searches for a sentence of the look-ahead if the model is unsure of it."""

from typing import Any

import pytest

from prefrag import pipelines
from prefrag.components.state.state import Event
from prefrag.pipelines.trace_text import trace_text
from tests.fakes import CALLS
from tests.pipelines.scripted import events, scripted

QUESTION = "Where is the yard that built alpha?"
DOUBTED = "The yard beta is in Delta{0.2}."
AGAIN = "The yard beta is in Gamma."
END = "So the answer is: Gamma."


async def run(*replies: str, options: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    return await pipelines.ask_async(scripted(*replies, pipeline="flare", **settings), QUESTION, **(options or {}))


def queries() -> list[str]:
    return [call["query"] for call in CALLS["local"]]


def prompts() -> list[str]:
    return [call["prompt"] for call in CALLS["model"]]


async def test_a_chain_that_is_sure_searches_for_the_question_alone():
    result = await run("Alpha was built by Beta.", AGAIN, END)

    assert queries() == [QUESTION]
    assert (result["answer"], result["forced"], result["label"]) == ("Gamma", False, None)
    assert result["usage"]["calls"] == {"reasoner": 3}
    assert all(call["generation_kwargs"]["logprobs"] for call in CALLS["model"])


async def test_a_doubted_sentence_is_searched_for_and_written_again():
    result = await run(DOUBTED, AGAIN, END)

    assert queries() == [QUESTION, "The yard beta is in ."]
    first, again, end = prompts()
    assert first.endswith("Sentences so far:\n\nNext sentence:")
    assert again.endswith("Sentences so far:\n\nNext sentence:"), "the doubted sentence is dropped"
    assert "Beta is a yard in Gamma." in again
    assert end.endswith(f"Sentences so far:\n{AGAIN}\n\nNext sentence:")
    assert (result["answer"], result["counts"]["total_local"]) == ("Gamma", 2)


async def test_the_passages_of_a_search_replace_those_before():
    await run(DOUBTED, AGAIN, END)

    first, again, end = prompts()
    assert "Alpha was built by Beta." in first
    assert "Alpha was built by Beta." not in again + end
    assert again.count("Passages:") == 1


async def test_each_decision_is_in_the_trace_and_is_one_line_of_words():
    result = await run(DOUBTED, AGAIN, END)

    seen = events(result, "look_ahead")
    assert [(event["lowest"], event["masked"], event["query"]) for event in seen] == [
        (0.2, ["Delta"], "The yard beta is in ."),
        (0.99, [], ""),
        (0.99, [], ""),
    ]
    lines = [trace_text(Event("look_ahead", 1, event)) for event in seen]
    assert lines == [
        "Drafted: The yard beta is in Delta. (its least likely token: 'Delta', 20%; left out of the query: Delta)",
        f"Written again: {AGAIN}",
        f"Kept this sentence: {END} (its least likely token: 'So', 99%)",
    ]
    assert [(step["thought"], step["query"]) for step in result["steps"]][1] == (
        "The yard beta is in Delta.",
        "The yard beta is in .",
    )


@pytest.mark.parametrize("sentence", ["Then comes beta.", DOUBTED])
async def test_a_chain_without_end_stops_and_its_answer_is_forced(sentence: str):
    result = await run(*[sentence] * 16, "Final Answer: Gamma")

    assert result["usage"]["calls"] == {"reasoner": 17}
    assert (result["answer"], result["forced"]) == ("Gamma", True)


async def test_a_correction_does_not_take_the_place_of_the_passages():
    await run("Alpha, which was built by\u2026", "Then comes beta.", END)

    first, corrected, after = prompts()
    assert all("Alpha was built by Beta." in prompt for prompt in prompts())
    assert ("cut off" in first, "cut off" in corrected, "cut off" in after) == (False, True, False)


async def test_an_empty_sentence_has_the_answer_read_from_the_rest():
    result = await run("", "Final Answer: Gamma")

    assert (result["answer"], result["usage"]["calls"]) == ("Gamma", {"reasoner": 2})
