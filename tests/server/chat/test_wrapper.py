"""What the wrapper of a served pipeline does, without the application."""

from collections.abc import Callable
from typing import Any

import pytest
from fastapi import HTTPException

from prefrag.pipelines.loading import find
from prefrag.server.chat.served_pipelines import prepare_pipeline
from tests.fakes import CALLS
from tests.pipelines.scripted import answer, search
from tests.server.front_ends import TASKS

Wrapper = Callable[..., Any]
MESSAGES = [{"role": "user", "content": "In which year did the yard that built alpha win the prize?"}]


@pytest.fixture
def wrapper(script_pipeline: Callable[..., None]) -> Wrapper:
    """Prepare a scripted pipeline as the application does."""

    def prepare(*replies: str, **settings: Any) -> Any:
        script_pipeline(*replies, **settings)
        return prepare_pipeline("prefrag", find("prefrag")).wrapper

    return prepare


async def test_each_step_is_reported_before_the_next_one_is_taken(wrapper: Wrapper):
    served = wrapper(search("alpha"), answer("1974"))

    chunks = await served.run_chat_completion_async("prefrag", MESSAGES, {"stream": True})
    reported = []
    async for chunk in chunks:
        delta = chunk.choices[0].delta
        reported.append(delta.reasoning_content or delta.content)
        if reported[-1].startswith("Observed"):
            assert len(CALLS["model"]) == 1

    assert len(CALLS["model"]) == 2
    assert reported[-1].endswith("\n\nSources:\n[1] alpha (local): “Alpha was built by Beta.”")


async def test_a_stream_that_nobody_reads_on_takes_no_further_step(wrapper: Wrapper):
    served = wrapper(search("alpha"), search("beta"), answer("1974"))

    chunks = await served.run_chat_completion_async("prefrag", MESSAGES, {"stream": True})
    async for chunk in chunks:
        if chunk.choices[0].delta.reasoning_content.startswith("Observed"):
            break
    await chunks.aclose()

    assert len(CALLS["model"]) == 1


REMOTE = {"model_settings": {"model_host": "api.example.org"}}


async def test_result_counts_calls_of_remote_models_and_hides_hosts(wrapper: Wrapper):
    served = wrapper(search("alpha"), answer("1974"), **REMOTE)

    completion = await served.run_chat_completion_async("prefrag", MESSAGES, {})
    result = await served.run_api_async("Who built it?")

    counted = {"remote": True, "role": "llm", "calls": 2, "prompt_tokens": 20, "completion_tokens": 4}
    assert completion.prefrag["sent_to_models"] == [counted]
    assert result["sent_to_models"][0]["remote"]
    reported = completion.choices[0].message.reasoning_content
    assert reported == "Sent to a remote model: 2 calls, 24 tokens, with your passages."
    assert "api.example.org" not in f"{completion}{result}"

    CALLS.clear()
    chunks = await served.run_chat_completion_async("prefrag", MESSAGES, {"stream": True})
    deltas = [choice.delta async for chunk in chunks for choice in chunk.choices]
    lines = [getattr(delta, "reasoning_content", None) or delta.content or "" for delta in deltas]
    assert "Sent to a remote model: 2 calls, 24 tokens, with your passages.\n" in lines
    assert "api.example.org" not in "".join(lines)

    # A front end's task is a call too.
    title = [{"role": "user", "content": TASKS["title"][0]}]
    completion = await served.run_chat_completion_async("prefrag", title, {})
    assert completion.prefrag["usage"]["llm_calls"] == 1
    counted = {"remote": True, "role": "llm", "calls": 1, "prompt_tokens": 10, "completion_tokens": 2}
    assert completion.prefrag["sent_to_models"][0] == counted
    assert "api.example.org" not in f"{completion}"


async def test_the_result_of_a_run_that_broke_off_has_no_host_either(wrapper: Wrapper):
    served = wrapper("!down", **REMOTE)

    with pytest.raises(HTTPException) as refusal:
        await served.run_api_async("Who built it?")

    assert refusal.value.result["sent_to_models"][0]["calls"] == 1  # type: ignore[attr-defined]
    assert "api.example.org" not in str(refusal.value.result)  # type: ignore[attr-defined]
