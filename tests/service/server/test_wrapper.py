"""What a served pipeline does by itself, without the application around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from prefrag.pipelines.loading import find
from prefrag.service.server.served_pipelines import prepare_pipeline
from tests.fakes import CALLS
from tests.pipelines.scripted import answer, search

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
    assert reported[-1].endswith("\n\nSources:\n[1] alpha (local)")


async def test_a_stream_that_nobody_reads_on_takes_no_further_step(wrapper: Wrapper):
    served = wrapper(search("alpha"), search("beta"), answer("1974"))

    chunks = await served.run_chat_completion_async("prefrag", MESSAGES, {"stream": True})
    async for chunk in chunks:
        if chunk.choices[0].delta.reasoning_content.startswith("Observed"):
            break
    await chunks.aclose()

    assert len(CALLS["model"]) == 1
