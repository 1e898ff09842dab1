import logging
import threading
from typing import Any

import pytest
from haystack import Document, component
from haystack.errors import FilterError

from prefrag.components.retrievers.hybrid_retriever import HybridRetriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.retry_policy import RetryPolicy
from tests.components.samples import search_step, state
from tests.components.two_ways import both_fail
from tests.fakes import ScriptedRetriever

FILTERS = {"field": "meta.x", "operator": "==", "value": 1}


@component
class Ranked:
    """Finds documents in a fixed order."""

    def __init__(self, ids: str, error: Exception | None = None):
        self.ids = ids
        self.error = error
        self.calls: list[dict[str, Any]] = []

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int = 10, filters: dict[str, Any] | None = None) -> dict[str, Any]:
        self.calls.append({"query": query, "top_k": top_k, "filters": filters})
        if self.error:
            raise self.error
        return {"documents": [Document(id=letter, content=letter, score=1.0) for letter in self.ids][:top_k]}


@component
class QueryOnly:
    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        return {"documents": [Document(id="q", content=query)]}


@component
class Meeting:
    """Replies only when the barrier's number of calls are waiting."""

    def __init__(self, barrier: threading.Barrier):
        self.barrier = barrier

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        self.barrier.wait(timeout=5)
        return {"documents": [Document(id="m", content="m")]}


@component
class Hanging:
    def __init__(self) -> None:
        self.released = threading.Event()

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        self.released.wait(timeout=10)
        return {"documents": []}


async def both(retriever: HybridRetriever, **wanted: Any) -> dict[str, Any]:
    """Run the retriever in both ways, which must give the same."""
    output = retriever.run(**wanted)
    again = await retriever.run_async(**wanted)
    assert ids(output) == ids(again)
    assert output["errors"] == again["errors"]
    return output


def ids(output: dict[str, Any]) -> str:
    return "".join(document.id for document in output["documents"])


async def test_documents_that_several_rank_high_come_first():
    # By rank (from 1) and k 60, b has 1/62 + 1/61, a 1/61, c 1/62, d 1/63.
    output = await both(HybridRetriever([Ranked("abd"), Ranked("bc")]), query="x")

    assert ids(output) == "bacd"
    ratio = output["documents"][0].score / output["documents"][1].score
    assert ratio == pytest.approx((1 / 62 + 1 / 61) / (1 / 61))

    assert ids(await both(HybridRetriever([Ranked("a"), Ranked("b")], weights=[1, 3]), query="x")) == "ba"
    assert ids(await both(HybridRetriever([QueryOnly(), Ranked("a")]), query="x", top_k=3)) == "qa"


async def test_the_retrievers_are_called_at_the_same_time():
    barrier = threading.Barrier(2)

    assert ids(await both(HybridRetriever([Meeting(barrier), Meeting(barrier)]), query="x")) == "m"


async def test_each_is_called_for_candidates_and_the_fused_list_is_cut():
    retrievers = [Ranked("abcdef"), Ranked("fedcba")]
    output = await both(HybridRetriever(retrievers, candidates=4, top_k=9), query="x", top_k=2, filters=FILTERS)

    assert len(output["documents"]) == 2
    assert retrievers[0].calls == retrievers[1].calls == [{"query": "x", "top_k": 4, "filters": FILTERS}] * 2


async def test_a_failing_retriever_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture):
    class Counting(Ranked):
        def run(self, *arguments: Any, **named: Any) -> dict[str, Any]:
            return {**super().run(*arguments, **named), "lookups": 3}

    with caplog.at_level(logging.WARNING):
        retriever = HybridRetriever([Counting("a"), Ranked("b"), Ranked("", ConnectionError("gone"))])
        output = await both(retriever, query="x")

    assert (ids(output), output["lookups"]) == ("ab", 5)
    assert output["errors"] == ["Ranked: gone"]
    assert "gone" in caplog.text


async def test_one_that_does_not_reply_in_time_is_left_out():
    hanging = Hanging()
    try:
        output = await both(HybridRetriever([hanging, Ranked("a")], timeout=0.05), query="x")
    finally:
        hanging.released.set()

    assert ids(output) == "a"
    assert output["errors"] == ["Hanging: no reply within 0.05 s"]


async def test_a_source_keeps_documents_and_records_failures():
    retriever = HybridRetriever([Ranked("ab"), Ranked("", ConnectionError("gone"))])
    source = RetrievalSource("local", retriever, retry_policy=RetryPolicy(retries=0))
    searching = state(search_step())

    for output in (source.run(searching), await source.run_async(searching)):
        [search] = output["state"].step.searches
        assert [document.id for document in search.documents] == ["a", "b"]
        assert search.error == "Ranked: gone"


async def test_failure_of_all_or_of_a_filter_has_the_reasons():
    failed = HybridRetriever([Ranked("", ValueError("one")), Ranked("", ValueError("two"))])
    unfiltered = HybridRetriever([Ranked("a"), Ranked("", FilterError("no such field"))])

    await both_fail(failed, RuntimeError, "Ranked: one; Ranked: two", "x")
    await both_fail(unfiltered, FilterError, "no such field", "x", filters=FILTERS)


def test_a_top_k_under_one_is_refused():
    with pytest.raises(ValueError, match="top_k"):
        HybridRetriever([ScriptedRetriever({"a": "A"}, "one"), ScriptedRetriever({}, "two")]).run("x", top_k=0)


def test_a_web_search_among_retrievers_makes_them_external(monkeypatch: pytest.MonkeyPatch):
    from haystack_integrations.components.websearch.ddgs import DDGSWebSearch

    monkeypatch.setenv("PREFRAG_WEB", "off")
    mixed = RetrievalSource("local", HybridRetriever([ScriptedRetriever({"alpha": "A."}, "bm25"), DDGSWebSearch()]))

    assert mixed.external
    assert mixed.run(query="alpha")["documents"] == []
    assert not RetrievalSource(
        "local", HybridRetriever([ScriptedRetriever({}, "a"), ScriptedRetriever({}, "b")])
    ).external


async def test_filters_apply_to_a_retriever_that_takes_none():
    @component
    class Unfiltered:
        @component.output_types(documents=list[Document])
        def run(self, query: str) -> dict[str, Any]:
            return {"documents": [Document(id=key, content=key, meta={"x": x}) for key, x in (("o", 0), ("i", 1))]}

    hybrid = HybridRetriever([Ranked(""), Unfiltered()])

    assert ids(await both(hybrid, query="q")) == "oi"
    assert ids(await both(hybrid, query="q", filters=FILTERS)) == "i"
