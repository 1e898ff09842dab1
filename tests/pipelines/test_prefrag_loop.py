"""All paths through PrefRAG's loop, on the shipped YAML."""

import asyncio
from typing import Any

import pytest

from prefrag import pipelines
from tests.fakes import CALLS
from tests.marks import drop_codes
from tests.pipelines.scripted import QUESTION, answer, kinds, run, scripted, search, verdict


def test_an_answer_may_come_at_once_without_a_search():
    pipeline = scripted(answer("1974"))
    for _ in range(2):
        result = pipelines.ask(QUESTION, pipeline)
        assert (result["answer"], result["label"], result["counts"]["total"]) == ("1974", "CORRECT", 0)
        assert result["usage"]["calls"] == {"reasoner": 1}
        assert not result["forced"]


async def test_the_first_retrieval_is_kept_unjudged():
    result = await run(scripted(search("alpha"), search("beta"), answer(), verdicts=(verdict(True),)))
    assert [step["source"] for step in result["steps"][:2]] == ["local", "local"]
    assert result["steps"][0]["verdict"]["judged_by"] == "first_step"
    assert result["usage"]["calls"]["judge"] == 1
    assert result["counts"] == {
        **{"total_local": 2, "total_web": 0, "total": 2, "used_local": 2, "used": 2, "lookups": 2},
        "sources": {"local": {"total": 2, "used": 2}, "web": {"total": 0, "used": 0}},
    }
    assert CALLS.get("web") is None


async def test_a_switch_replaces_local_by_web_passages():
    script = [search("alpha"), search("beta delta"), answer("1974 [[W1]]")]
    result = await run(scripted(*script, verdicts=(verdict(False),)))
    step = result["steps"][1]
    assert (step["searched"], step["source"]) == (["local", "web"], "web")
    assert step["documents"] == ["web-delta"]
    assert "beta" not in {document["title"] for document in result["documents"]}
    assert (result["counts"]["total_local"], result["counts"]["used_local"]) == (2, 1)
    assert result["counts"]["total_web"] == 1
    prompt = drop_codes(CALLS["model"][-1]["prompt"])
    assert "Beta is a yard" not in prompt
    assert "[1] alpha\n| Alpha was built by Beta." in prompt
    assert "[W1] delta\n| Delta won the prize" in prompt
    assert "followed by the marks of the passages" in prompt
    assert (result["answer"], result["uncited"]) == ("1974", False)
    assert [cited["id"] for cited in result["citations"]] == ["web-delta"]


async def test_an_unreadable_reply_is_corrected_and_counts_as_a_step():
    result = await run(scripted("I have no idea what to do.", answer()))

    assert result["answer"] == "1974"
    assert "unreadable" in kinds(result)
    prompt = CALLS["model"][1]["prompt"]
    assert "I have no idea what to do." in prompt
    assert "could not be read" in prompt


async def test_used_up_steps_end_in_one_forced_answer():
    searches = [search(f"alpha {number}") for number in range(4)]
    result = await run(scripted(*searches, answer("1974", "INCORRECT")), sources=["local"])
    assert result["forced"]
    assert (result["answer"], result["usage"]["calls"]) == ("1974", {"reasoner": 5})
    assert result["counts"]["total"] == 3, "the search requested in the last reply is not run"
    assert "alpha 3" in CALLS["model"][-1]["prompt"]
    assert (len(result["steps"]), result["label"], "reflection" in kinds(result)) == (5, "INCORRECT", False)


async def test_the_fourth_reply_as_published_searches_too():
    searches = [search(f"alpha {number}") for number in range(3)]
    changes = {"router.run_last_search": True, "reasoner.reply_format": "published"}
    result = await run(scripted(*searches, search("beta"), "1974", replace=changes), sources=["local"])

    assert (result["forced"], result["answer"]) == (True, "1974")
    assert (result["counts"]["total"], result["usage"]["calls"]) == (4, {"reasoner": 5})
    assert "Beta is a yard in Gamma." in CALLS["model"][-1]["prompt"]


@pytest.mark.parametrize("label", ["INCORRECT", "PARTIALLY CORRECT"])
async def test_a_negative_label_searches_every_source_once_more(label: str):
    question = "Who built alpha and what of delta?"

    result = await run(scripted(search("alpha"), answer("1812", label), answer("1974")), question)

    assert result["answer"] == "1974"
    assert [call["query"] for call in CALLS["local"]] == ["alpha", question]
    assert [call["query"] for call in CALLS["web"]] == [question]
    supplement = result["steps"][1]
    assert supplement["source"] == "local+web"
    assert supplement["documents"][0].startswith("local-")
    prompt = CALLS["model"][-1]["prompt"]
    assert "1812" in prompt, "the rejected answer stays in the context"
    assert label in prompt
    assert "Delta won the prize" in prompt


async def test_replies_are_at_most_four_and_two_more():
    replies = [*[search("alpha")] * 3, answer("1812", "INCORRECT"), search("alpha"), "1974"]

    result = await run(scripted(*replies, verdicts=(verdict(True),)))

    assert result["usage"]["calls"]["reasoner"] == 6
    assert result["forced"]


@pytest.mark.parametrize("off", ["off", False], ids=["quoted", "as YAML reads it without quotes"])
async def test_reflection_can_be_switched_off(off: Any):
    result = await run(scripted(answer("1812", "INCORRECT"), replace={"reflector.reflection": off}))

    assert (result["answer"], result["usage"]["llm_calls"]) == ("1812", 1)


async def test_reflection_can_be_a_call_of_its_own():
    pipeline = scripted(
        answer("1812", None),
        '{"explanation": "No passage says so.", "label": "INCORRECT", "suggestions": "Search."}',
        answer("1974", None),
        '{"explanation": "Now one does.", "label": "CORRECT", "suggestions": ""}',
        replace={"reflector.reflection": "call"},
    )

    result = await run(pipeline)

    assert (result["answer"], result["label"]) == ("1974", "CORRECT")
    assert result["explanation"] == "Now one does."
    assert result["usage"]["calls"] == {"reasoner": 2, "reflector": 2}


@pytest.mark.parametrize("name", ["prefrag", "react_mix"])
async def test_concurrent_runs_over_one_pipeline_do_not_mix(name: str):
    pipeline = scripted(search("alpha"), pipeline=name)
    questions = [f"Question number {number}?" for number in range(20)]

    results = await asyncio.gather(*(run(pipeline, question) for question in questions))

    for question, result in zip(questions, results, strict=True):
        assert result["question"] == question
        assert result["forced"]
        assert len(result["steps"]) == 5


@pytest.mark.parametrize("name", ["prefrag", "react_mix"])
async def test_the_trace_is_streamed_as_it_happens_and_in_full(name: str):
    pipeline = scripted(search("alpha"), answer("1812", "INCORRECT"), answer(), pipeline=name)

    *events, result = [output async for output in pipelines.stream(pipeline, "alpha or delta?")]

    assert isinstance(result, dict)
    assert sorted(map(str, (event.to_dict() for event in events))) == sorted(map(str, result["trace"]))
    assert [event.kind for event in events][:3] == ["thought", "search", "found" if name == "prefrag" else "search"]
