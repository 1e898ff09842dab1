"""IRCoT on the shipped YAML: each sentence of a chain of thought is the next query."""

from typing import Any

from prefrag import pipelines
from tests.fakes import CALLS
from tests.pipelines.scripted import scripted

QUESTION = "Where is the yard that built alpha?"
CHAIN = ("Alpha was built by beta.", "So the answer is: Gamma.")
NUMBERED = {f"topic{number}": f"Text {number}." for number in range(40)}


async def run(*replies: str, options: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    return await pipelines.ask_async(scripted(*replies, pipeline="ircot", **settings), QUESTION, **(options or {}))


def queries() -> list[str]:
    return [call["query"] for call in CALLS["local"]]


def prompts() -> list[str]:
    return [call["prompt"] for call in CALLS["model"]]


async def test_queries_are_the_question_and_then_each_sentence():
    result = await run(*CHAIN, "Final Answer: Gamma")

    assert queries() == [QUESTION, "Alpha was built by beta."]
    assert [step["query"] for step in result["steps"]][:2] == queries()
    assert (result["counts"]["total_local"], result["counts"]["total_web"]) == (2, 0)


async def test_a_sentence_is_written_from_passages_and_sentences():
    await run(*CHAIN, "Final Answer: Gamma")

    first, second, _ = prompts()
    assert "Alpha was built by Beta." in first
    assert "Beta is a yard" not in first
    assert first.endswith("Sentences so far:\n\nNext sentence:")
    assert "Beta is a yard in Gamma." in second
    assert second.endswith("Sentences so far:\nAlpha was built by beta.\n\nNext sentence:")


async def test_the_reader_answers_from_all_passages_at_the_end():
    result = await run(*CHAIN, "Final Answer: Gamma [[1]]")

    last = prompts()[-1]
    assert all(text in last for text in ("Alpha was built by Beta.", "Beta is a yard in Gamma."))
    assert "Sentences so far" not in last
    assert (result["answer"], result["label"], result["forced"]) == ("Gamma", None, False)
    assert [citation["title"] for citation in result["citations"]] == ["alpha"]
    assert result["usage"]["calls"] == {"reasoner": 3}


async def test_the_chain_and_its_end_are_in_the_trace():
    result = await run(*CHAIN, "Final Answer: Gamma")

    shown = [(event["kind"], event.get("query") or event.get("text")) for event in result["trace"]]
    assert ("search", "Alpha was built by beta.") in shown
    assert ("thought", "So the answer is: Gamma.") in shown
    assert "no_further_search" in [kind for kind, _ in shown]


async def test_a_chain_without_end_stops_after_eight_sentences():
    result = await run(*[f"Then comes topic{number}." for number in range(8)], "Final Answer: Gamma")

    assert result["usage"]["calls"] == {"reasoner": 9}
    assert len(queries()) == 8, "the eighth sentence is no query"
    assert (result["answer"], result["forced"]) == ("Gamma", True)


async def test_a_request_can_ask_for_fewer_sentences():
    await run("Then comes alpha.", options={"max_steps": 0})

    assert (len(queries()), len(prompts())) == (1, 2)


async def test_no_passage_is_shown_twice_and_no_more_than_fifteen_are():
    words = [" ".join(f"topic{number}" for number in range(start, start + 7)) for start in (0, 5, 12, 18, 24)]
    documents = {"local": NUMBERED}
    result = await run(*[f"See {seven}." for seven in words], "So the answer is: Gamma.", "Gamma", documents=documents)

    assert len(result["documents"]) == 15
    assert len({document["id"] for document in result["documents"]}) == 15
    last = prompts()[-1]
    assert all(last.count(f"Text {number}.") <= 1 for number in range(40))


async def test_a_sentence_that_was_cut_off_goes_back_with_a_correction():
    await run("Alpha, which was built by\u2026", *CHAIN, "Final Answer: Gamma")

    assert "cut off" in prompts()[1]
    assert queries() == [QUESTION, "Alpha was built by beta."]


async def test_the_answer_may_be_read_by_a_chain_of_thought_as_well():
    replace = {"answerer.reply_format": "cot", "answerer.prompt": None}
    result = await run(*CHAIN, "Beta is a yard in Gamma. So the answer is: Gamma.", replace=replace)

    assert result["answer"] == "Gamma"
    assert prompts()[-1].endswith("Reasoning:")
