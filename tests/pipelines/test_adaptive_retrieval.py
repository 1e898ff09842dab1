"""Adaptive Retrieval: one search for what is little known, none for what is well known (on the shipped YAML)."""

from typing import Any

import pytest

from prefrag.components.state.state import Event
from prefrag.pipelines.trace_text import trace_text
from tests.fakes import CALLS
from tests.pipelines.scripted import retriever, run, scripted

QUESTION = "Who built Alpha?"
NAMING = {"alpha": "Alpha was built by Beta."}


async def ask(threshold: int, **settings: Any) -> dict[str, Any]:
    replaced = {"popularity.retriever": retriever(NAMING, "counted"), "popularity.threshold": threshold}
    return await run(scripted("Beta", pipeline="adaptive_retrieval", replace=replaced, **settings), QUESTION)


@pytest.mark.parametrize(("threshold", "searches"), [(1, 0), (2, 1)], ids=["from the threshold on", "below it"])
async def test_the_threshold_decides_between_one_search_and_none(threshold: int, searches: int):
    result = await ask(threshold)

    assert (result["answer"], result["usage"]["calls"]) == ("Beta", {"reasoner": 1})
    assert (result["counts"]["total"], len(result["documents"]), len(CALLS.get("local", ()))) == (searches,) * 3
    said = {True: "(threshold 2), so passages are retrieved", False: "(threshold 1), so no passages are retrieved"}
    events = [trace_text(Event(event["kind"], event["step"], event)) for event in result["trace"]]
    assert f"Popularity: Alpha 1 {said[bool(searches)]}" in events


async def test_the_call_is_that_of_vanilla_rag_or_of_no_retrieval():
    await ask(1)
    await ask(2)

    without, with_one = (call["prompt"] for call in CALLS["model"])
    assert without.startswith("Answer the question below from what you know.")
    assert with_one.startswith("Answer the question below from the passages.")
