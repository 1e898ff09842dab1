"""A run that is asked for without its model: the reader answers, and the model is not called."""

import asyncio
from typing import Any

import pytest

from prefrag import pipelines
from prefrag.errors import BadInput
from prefrag.pipelines import RunFailed
from tests.fakes import CALLS
from tests.pipelines.scripted import QUESTION, answer, reader, scripted
from tests.pipelines.shipped_names import LOOPS, ONE_STEP

# In the script of `crag`, a model judges alone.
METHODS = [method for method in (*LOOPS, *ONE_STEP) if method != "crag"]


def with_both(method: str = "prefrag", **settings: Any) -> Any:
    """Load a method that has a model, and a reader that is sure of ``Beta``."""
    sure = {"ExtractiveReader": reader([[("Beta", 0.9)]])}
    return scripted(answer("Gamma"), pipeline=method, checked=True, replace=sure, **settings)


@pytest.mark.parametrize("method", METHODS)
async def test_the_reader_answers_and_no_model_is_called(method: str):
    result = await pipelines.ask_async(with_both(method), QUESTION, model=False)

    assert (result["answer"], result["answered_by"]) == ("Beta", "reader")
    assert result["usage"]["llm_calls"] == 0
    assert result["sent_to_models"] == []
    assert "model" not in CALLS


async def test_otherwise_the_model_is_called():
    result = await pipelines.ask_async(with_both(), QUESTION, model=True)

    assert result["usage"]["llm_calls"] > 0
    assert CALLS["model"]


async def test_a_follow_up_is_read_by_rules():
    turns = [{"role": "user", "content": "Who built alpha?"}, {"role": "assistant", "content": "Beta."}]

    result = await pipelines.ask_async(with_both(), "And when?", history=turns, model=False)

    assert result["usage"]["llm_calls"] == 0
    assert "model" not in CALLS


async def test_a_judge_that_is_a_model_is_not_called_either():
    with pytest.raises(RunFailed, match="cannot answer without its model: its judge calls one") as failure:
        await pipelines.ask_async(with_both("crag"), QUESTION, model=False)

    assert failure.value.http_status == BadInput.http_status
    assert "model" not in CALLS


async def test_a_method_without_a_reader_says_that_it_cannot():
    with pytest.raises(RunFailed, match="cannot answer without its model: its reasoner calls one") as failure:
        await pipelines.ask_async(scripted(answer()), QUESTION, model=False)

    assert failure.value.http_status == BadInput.http_status
    assert "model" not in CALLS


async def test_a_run_beside_it_keeps_its_model():
    without, with_model = await asyncio.gather(
        pipelines.ask_async(with_both(), QUESTION, model=False), pipelines.ask_async(with_both(), QUESTION)
    )

    assert without["usage"]["llm_calls"] == 0
    assert with_model["usage"]["llm_calls"] > 0
