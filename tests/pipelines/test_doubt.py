"""A reply that cannot be read or was cut off decides nothing: no answer, no query, no verdict (on the shipped YAML)."""

import json
from typing import Any

import pytest

from prefrag import pipelines
from tests.fakes import CALLS
from tests.pipelines.replies import replying
from tests.pipelines.scripted import answer, events, scripted, search, verdict

QUESTION = "In which year did the yard that built alpha win the prize?"
TWO_SEARCHES = (search("alpha"), search("beta delta"), answer())
# The scripted model ends a reply that was cut off with this character.
CUT = "\u2026"


async def run(pipeline: Any, **options: Any) -> dict[str, Any]:
    return await pipelines.ask_async(pipeline, QUESTION, **options)


@pytest.mark.parametrize(
    "reply",
    [
        "I would say maybe.",
        "",
        "<think>The new passages are",
        '{"analysis": "New.", "status": "Fal' + CUT,
        verdict(False) + CUT,
    ],
)
async def test_a_verdict_in_doubt_sends_no_query_out(reply: str):
    result = await run(scripted(*TWO_SEARCHES, verdicts=(reply,)))

    assert (result["answer"], result["steps"][1]["source"]) == ("1974", "local")
    assert (CALLS.get("web"), result["queries_sent_out"]) == (None, [])
    assert result["usage"]["calls"]["judge"] == 2
    assert events(result, "verdict")[-1]["parsed"] is False


class TestRepliesThatAreCutOff:
    async def test_are_corrected_with_the_reason(self):
        result = await run(
            scripted(search("alpha"), f"Thought: I know.\nFinal Answer: lit in the year 18{CUT}", answer())
        )

        assert (result["answer"], result["steps"][1]["action"]) == ("1974", "unreadable")
        assert "The reply was cut off at 512 tokens before it was finished" in CALLS["model"][2]["prompt"]
        (cut,) = events(result, "cut_off")
        assert (cut["caller"], cut["limit"]) == ("reasoner", 512)
        assert result["errors"] == [], "it happened once, and a whole reply followed"

    async def test_cut_off_queries_and_labels_do_not_count(self):
        result = await run(scripted(f"Thought: a\nAction: Search_Engine\nAction Input: alp{CUT}", answer()))

        assert result["counts"]["total"] == 0

        result = await run(scripted(f"Thought: a\nFinal Answer: 1812\nSelf-Evaluation: {CUT}", answer()))

        assert result["answer"] == "1974"

    async def test_count_as_far_as_they_were_finished(self):
        reply = f"Thought: a\nFinal Answer: 1974\nSelf-Evaluation: CORRECT\nExplanation: As the pass{CUT}"

        result = await run(scripted(search("alpha"), reply))

        assert (result["answer"], result["label"], result["usage"]["llm_calls"]) == ("1974", "CORRECT", 2)

    @pytest.mark.parametrize("reply", [f"Final Answer: it was lit in the year 18{CUT}", "<think>Let me see, the"])
    async def test_again_and_again_are_an_error_that_states_what_to_do(self, reply: str):
        result = await run(scripted(reply))

        assert (result["answer"], result["forced"]) == ("", True)
        assert any(
            "cut off at 512 tokens: raise PREFRAG_LLM_MAX_TOKENS" in error and "PREFRAG_LLM_THINKING=off" in error
            for error in result["errors"]
        )

    @pytest.mark.parametrize("form", ["text", "json", "tools"])
    async def test_are_no_answers_in_any_format(self, form: str):
        texts = {
            "text": "Final Answer: lit in 18",
            "json": '{"thought": "a", "action": "Final_Answer", "answer": "lit in 18',
            "tools": "lit in the year 18",
        }
        whole = {
            "text": "Final Answer: 1974",
            "json": json.dumps({"thought": "a", "action": "Final_Answer", "answer": "1974"}),
            "tools": "Final Answer: 1974",
        }
        script = [{"text": texts[form], "meta": {"finish_reason": "length"}}, {"text": whole[form]}]
        model = {"type": "tests.pipelines.replies.ReplyingChatGenerator", "init_parameters": {"script": script}}

        result = await run(replying(form=form, replace={"Reasoner.chat_generator": model}))

        assert (result["answer"], result["steps"][0]["action"]) == ("1974", "unreadable")


class TestAForcedReplyThatSearches:
    SEARCHES = (search("alpha"), search("beta"), search("alpha"), search("beta"))

    async def test_a_forced_reply_that_searches_is_not_an_answer(self):
        last = search("more", thought="I need to search for more.")

        result = await run(scripted(*self.SEARCHES, last))

        assert result["answer"] == ""
        assert "No answer could be read from the model's replies." in result["errors"]

    async def test_leaves_the_answer_before_it(self):
        script = (answer("1812", "INCORRECT"), *self.SEARCHES, search("more", thought="The yard is open."))

        result = await run(scripted(*script))

        assert (result["answer"], result["label"], result["forced"]) == ("1812", "INCORRECT", True)


async def test_the_first_of_parallel_calls_is_used_and_traced():
    calls = [("Search_Engine", {"query": "alpha"}), ("Search_Engine", {"query": "beta"})]
    script = [{"text": "I look.", "calls": calls}, {"text": "Final Answer: 1974"}]
    model = {"type": "tests.pipelines.replies.ReplyingChatGenerator", "init_parameters": {"script": script}}

    result = await run(replying(form="tools", replace={"Reasoner.chat_generator": model}))

    assert [call["query"] for call in CALLS["local"]] == ["alpha"]
    assert [event["number"] for event in events(result, "calls_dropped")] == [1]
    assert CALLS["model"][0]["generation_kwargs"]["parallel_tool_calls"] is False


@pytest.mark.parametrize("pipeline", ["vanilla_local", "dr_rag_qdc"])
async def test_an_announcement_is_no_answer_of_a_method_of_one_call(pipeline: str):
    result = await run(
        scripted("Thought: I need to search.\nAction: Search_Engine\nAction Input: x", pipeline=pipeline)
    )

    assert result["answer"] == ""
    assert "No answer could be read from the model's replies." in result["errors"]
