"""Single-step RAG and the model alone, on the shipped YAML."""

import asyncio
from typing import Any

import pytest

from prefrag import pipelines
from prefrag.pipelines import RunFailed
from tests.fakes import CALLS
from tests.pipelines.scripted import scripted

QUESTION = "Who built alpha, and what did delta win?"
RETRIEVING = {"vanilla_local": ["local"], "vanilla_web": ["web"], "vanilla_mix": ["local", "web"]}
ALL = {"no_retrieval": [], **RETRIEVING}


async def run(
    pipeline: str, *replies: str, question: str = QUESTION, options: dict[str, Any] | None = None, **settings: Any
):
    made = scripted(*(replies or ("1974",)), pipeline=pipeline, **settings)
    return await pipelines.ask_async(made, question, **(options or {}))


@pytest.mark.parametrize(
    ("pipeline", "holds", "lacks"),
    [
        ("no_retrieval", ["from what you know"], ["passages", "Alpha", "Delta"]),
        ("vanilla_local", ["Alpha was built by Beta."], ["says the web", "Delta won"]),
        ("vanilla_web", ["says the web", "Delta won the prize"], ["Alpha was built by Beta."]),
        ("vanilla_mix", ["Alpha was built by Beta.", "says the web", "Delta won the prize"], []),
    ],
)
async def test_vanilla_asks_each_source_once_and_makes_one_call(pipeline: str, holds: list[str], lacks: list[str]):
    sources = ALL[pipeline]
    reply = "Final Answer: 1974\nSelf-Evaluation: INCORRECT"
    result = await run(pipeline, reply, together=pipeline == "vanilla_mix")
    assert result["errors"] == [], "a source that was searched in turn would have failed"
    assert (result["answer"], result["usage"]["calls"]) == ("1974", {"reasoner": 1})
    [call] = CALLS["model"]
    prompt = call["prompt"]
    assert f"Question: {QUESTION}" in prompt
    assert all(text in prompt for text in holds)
    assert not any(text in prompt for text in [*lacks, "Search_Engine", "Self-Evaluation", "Action"])
    assert prompt.endswith("Final Answer:")
    assert {name: [call["query"] for call in CALLS[name]] for name in ("local", "web") if name in CALLS} == {
        source: [QUESTION] for source in sources
    }
    assert result["counts"]["total_local"] == ("local" in sources)
    assert result["counts"]["total_web"] == ("web" in sources)
    assert result["counts"]["total"] == result["counts"]["used"] == len(sources)
    final = {"kind": "answer", "step": len(result["steps"]), "text": "1974", "label": None, "forced": False}
    assert (result["trace"][-1], result["label"], result["forced"]) == (final, None, False)


@pytest.mark.parametrize(("pipeline", "sources"), RETRIEVING.items())
async def test_failed_sources_are_recorded_and_the_model_answers(pipeline: str, sources: list[str]):
    result = await run(pipeline, errors={"local": "gone", "web": "gone too"})

    assert (result["answer"], len(result["errors"])) == ("1974", len(sources))
    prompt = CALLS["model"][0]["prompt"]
    assert "No passages were found." in prompt
    assert "Try other words" not in prompt, "there is no second search"


@pytest.mark.parametrize("pipeline", ["vanilla_web", "vanilla_mix"])
async def test_a_query_without_a_reply_at_the_deadline_is_reported(pipeline: str):
    made = scripted("1974", pipeline=pipeline)
    out = asyncio.Event()

    async def silent(**_: Any) -> dict[str, Any]:
        out.set()
        await asyncio.Event().wait()
        raise AssertionError

    made.get_component("web").retriever.run_async = silent

    with pytest.raises(RunFailed, match="was given up") as failure:
        async for _ in pipelines.stream(made, QUESTION, deadline=0.3):
            pass

    assert out.is_set()
    [sent] = failure.value.result["queries_sent_out"]
    told = {"source": "web", "query": QUESTION, "provider": "ScriptedRetriever"}
    assert sent == {**told, "error": "the run ended before a reply came", "seconds": sent["seconds"]}
    assert sent["seconds"] > 0


@pytest.mark.parametrize("pipeline", ALL)
async def test_a_follow_up_is_rewritten_before_anything_else(pipeline: str):
    history = [{"role": "user", "content": "Who built alpha?"}, {"role": "assistant", "content": "Beta."}]

    result = await run(
        pipeline,
        '{"question": "What did delta win?"}',
        "1974",
        question="And what did it win?",
        options={"history": history},
    )

    assert (result["answer"], result["usage"]["calls"]) == ("1974", {"rewriter": 1, "reasoner": 1})
    assert "Question: What did delta win?" in CALLS["model"][1]["prompt"]
    assert all(call["query"] == "What did delta win?" for name in ("local", "web") for call in CALLS.get(name, ()))
