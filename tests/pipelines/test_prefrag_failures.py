"""Failures in PrefRAG's loop, on the shipped YAML."""

import asyncio
from typing import Any

import pytest
from haystack.errors import FilterError

from prefrag import pipelines
from prefrag.pipelines import RunFailed
from tests.fakes import CALLS
from tests.pipelines.scripted import QUESTION, answer, kinds, retry_policy, run, scripted, search, verdict


async def test_a_failed_alternative_leaves_the_preferred_passages():
    result = await run(
        scripted(search("alpha"), search("beta"), answer(), verdicts=(verdict(False),), errors={"web": "rate limit"})
    )

    assert result["steps"][1]["searched"] == ["local", "web"]
    assert result["steps"][1]["source"] == "local"
    assert any("rate limit" in error for error in result["errors"])


@pytest.mark.parametrize(
    ("pipeline", "replies"),
    [("prefrag", (search("alpha"),)), ("react", (search("alpha", tool="Search_Local"),)), ("vanilla_local", ())],
)
async def test_a_failing_model_gives_a_clear_error_and_the_trace(pipeline: str, replies: tuple[str, ...]):
    with pytest.raises(RunFailed, match="the server is down") as failure:
        await run(scripted(*replies, "!the server is down", pipeline=pipeline))

    partial = failure.value.result
    assert partial["steps"][0]["documents"] == ["local-alpha"]
    assert "found" in kinds(partial)
    assert any("the server is down" in error for error in partial["errors"])


async def test_a_failing_judge_ends_the_run_and_nothing_leaves():
    with pytest.raises(RunFailed, match="judge's model failed: no judge today") as failure:
        await run(scripted(search("alpha"), search("beta"), answer(), verdicts=("!no judge today",)))

    assert CALLS.get("web") is None
    last = failure.value.result["trace"][-1]
    assert (last["kind"], last["caller"]) == ("error", "judge")


async def test_a_pipeline_with_a_missing_connection_is_reported():
    pipeline = scripted(search("alpha"), answer())
    pipeline.graph.remove_edge(*next((a, b, k) for a, b, k in pipeline.graph.edges if a == "finish"))

    with pytest.raises(RunFailed, match="leads nowhere"):
        await run(pipeline)


async def test_an_unfit_filter_ends_the_run():
    pipeline = scripted(search("alpha"), answer())

    async def refuse(**_: Any) -> dict[str, Any]:
        raise FilterError("Can't compare strings")

    pipeline.get_component("local").retriever.run_async = refuse
    filters = {"field": "meta.year", "operator": ">", "value": 1990}

    with pytest.raises(RunFailed, match=r"filters do not fit the documents of 'local'"):
        await run(pipeline, filters=filters)

    assert CALLS.get("web") is None


async def test_a_run_has_a_deadline_and_keeps_its_trace():
    pipeline = scripted(search("alpha"), search("beta"), answer(), verdicts=(verdict(True),))
    reasoner = pipeline.get_component("reasoner")
    calls: list[int] = []

    async def hang(messages: Any, generation_kwargs: Any = None) -> dict[str, Any]:
        calls.append(1)
        if len(calls) > 1:
            await asyncio.Event().wait()
        return reasoner.chat_generator.run(messages, generation_kwargs)

    reasoner.chat_generator.run_async = hang

    with pytest.raises(RunFailed, match=r"given up after 0\.5 s") as failure:
        async for _ in pipelines.stream(pipeline, QUESTION, deadline=0.5):
            pass

    assert failure.value.result["steps"][0]["documents"] == ["local-alpha"]


async def test_a_failed_run_counts_as_local_what_the_pipeline_prefers():
    pipeline = scripted(search("alpha"), "!the server is down", replace={"answer.local_source": "web"})

    with pytest.raises(RunFailed) as failure:
        await run(pipeline)

    assert failure.value.result["counts"]["total_local"] == 0
    assert failure.value.result["counts"]["total_web"] == 1


async def test_a_late_source_is_not_replaced_by_the_web():
    pipeline = scripted(search("alpha"), answer(), replace={"local.retry_policy": retry_policy(timeout=0.05)})
    source = pipeline.get_component("local")

    async def hang(**_: Any) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    source.retriever.run_async = hang

    with pytest.raises(RunFailed, match=r"'local' failed: ScriptedRetriever: no reply within 0\.05 s"):
        await run(pipeline)

    assert CALLS.get("web") is None
