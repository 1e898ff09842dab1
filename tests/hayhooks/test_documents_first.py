"""The wrapper that Hayhooks loads for PrefRAG."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hayhooks.server.utils.module_loader import create_pipeline_wrapper_instance, load_pipeline_module

from tests.fakes import CALLS
from tests.pipelines.scripted import answer, scripted_yaml, search

FOLDER = Path(__file__).resolve().parents[2] / "hayhooks" / "documents_first"
MESSAGES = [{"role": "user", "content": "In which year did the yard that built alpha win the prize?"}]


@pytest.fixture
def wrapper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Loads the wrapper as Hayhooks does, around a scripted pipeline of its name."""

    def load(*replies: str) -> Any:
        (tmp_path / "prefrag.yaml").write_text(scripted_yaml(*replies), encoding="utf-8")
        monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tmp_path))
        return create_pipeline_wrapper_instance(load_pipeline_module("documents_first", FOLDER))

    return load


async def test_answers_over_rest(wrapper: Callable[..., Any]):
    result = await wrapper(search("alpha"), answer("1974")).run_api_async(question=MESSAGES[0]["content"])

    assert result["answer"] == "1974"
    assert [document["id"] for document in result["documents"]] == ["local-alpha"]


async def test_each_step_is_told_before_the_next_one_is_taken(wrapper: Callable[..., Any]):
    served = wrapper(search("alpha"), answer("1974"))

    chunks = await served.run_chat_completion_async("prefrag", MESSAGES, {"stream": True})
    told = []
    async for chunk in chunks:
        told.append(chunk.reasoning.reasoning_text if chunk.reasoning else chunk.content)
        if told[-1].startswith("Observed"):
            assert len(CALLS["model"]) == 1

    assert len(CALLS["model"]) == 2
    assert told[-1] == "1974\n\nSources:\n[1] alpha (local)"


async def test_a_stream_that_nobody_reads_on_takes_no_further_step(wrapper: Callable[..., Any]):
    served = wrapper(search("alpha"), search("beta"), answer("1974"))

    chunks = await served.run_chat_completion_async("prefrag", MESSAGES, {"stream": True})
    async for chunk in chunks:
        if chunk.reasoning.reasoning_text.startswith("Observed"):
            break
    await chunks.aclose()

    assert len(CALLS["model"]) == 1
