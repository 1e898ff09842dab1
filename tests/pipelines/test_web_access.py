"""Web searches in a loaded pipeline that are not in an external source."""

from typing import Any

import pytest
from haystack import Pipeline
from haystack.components.builders import PromptBuilder
from haystack.core.super_component import SuperComponent
from haystack_integrations.components.websearch.ddgs import DDGSWebSearch

from prefrag import pipelines
from prefrag.components.parts import walk_parts
from prefrag.components.retrievers.hybrid_retriever import HybridRetriever
from prefrag.components.retrievers.provider import is_web_search
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.retry_policy import RetryPolicy
from prefrag.pipelines.loading import PipelineMissing, build, find, guard_web, read_block
from tests.fakes import CALLS, ScriptedRetriever
from tests.for_each import for_each
from tests.pipelines.scripted import answer, retriever, scripted, search

QUESTION = "In which year did the yard that built alpha win the prize?"
DDGS = {"type": "haystack_integrations.components.websearch.ddgs.ddgs_websearch.DDGSWebSearch", "init_parameters": {}}


def nested() -> SuperComponent:
    """A nested pipeline that holds a web search."""
    pipeline = Pipeline()
    pipeline.add_component("search", DDGSWebSearch())
    return SuperComponent(
        pipeline=pipeline, input_mapping={"query": ["search.query"]}, output_mapping={"search.documents": "documents"}
    )


class Searching(DDGSWebSearch):
    """A web search with another name, in another module."""


class Holding:
    """Holds a web search in an unusual place."""

    def __init__(self) -> None:
        self.tools = {"first": [("ddgs", DDGSWebSearch())]}

    def run(self, query: str) -> dict[str, Any]:
        return {"documents": []}


class TestARetrieverThatHoldsAWebSearch:
    @for_each(
        "part",
        DDGSWebSearch(),
        Searching(),
        nested(),
        HybridRetriever([ScriptedRetriever({}, "a"), nested()]),
        HybridRetriever([ScriptedRetriever({}, "a"), DDGSWebSearch()]),
        Holding(),
    )
    def test_makes_its_source_external_however_deep_it_is(self, part: Any):
        assert is_web_search(part)
        assert RetrievalSource("local", part).external
        assert RetrievalSource("local", ScriptedRetriever({}, "a"), retry_policy=RetryPolicy(fallback=part)).external

    def test_differs_from_one_that_holds_none(self):
        assert not is_web_search(HybridRetriever([ScriptedRetriever({}, "a"), ScriptedRetriever({}, "b")]))
        assert not is_web_search(None)

    @for_each("ranker", DDGSWebSearch(), nested())
    def test_is_refused_as_a_ranker(self, ranker: Any):
        with pytest.raises(ValueError, match="The ranker of source 'local' searches the web"):
            RetrievalSource("local", ScriptedRetriever({}, "a"), ranker=ranker)

    async def test_is_closed_in_a_loaded_pipeline_that_does_not_mark_it(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_WEB", "off")
        hybrid = {
            "type": "prefrag.components.retrievers.hybrid_retriever.HybridRetriever",
            "init_parameters": {"retrievers": [retriever({}, "part"), DDGS]},
        }
        replace = {"web.retriever": hybrid, "web.external": False, "start.external_sources": []}
        pipeline = scripted(search("delta"), answer(), replace=replace)

        result = await pipelines.ask_async(pipeline, QUESTION)

        assert pipeline.get_component("start").external_sources == ["web"]
        assert "part" not in CALLS
        assert result["queries_sent_out"] == []


class TestALoosePart:
    def test_that_searches_the_web_is_refused_at_load(self):
        block = read_block(find("prefrag"))
        block["components"]["loose"] = DDGS
        with pytest.raises(PipelineMissing, match="component 'loose' is a DDGSWebSearch, .* make it the retriever of"):
            build(block, "mine")

    @for_each(
        "kind, name",
        ("haystack.components.fetchers.link_content.LinkContentFetcher", "LinkContentFetcher"),
        ("duckduckgo_api_haystack.duckduckgoapi.DuckduckgoApiWebSearch", "DuckduckgoApiWebSearch"),
    )
    def test_that_fetches_from_the_web_is_refused_at_load(self, kind: str, name: str):
        block = read_block(find("vanilla_local"))
        block["components"]["loose"] = {"type": kind, "init_parameters": {}}

        with pytest.raises(PipelineMissing, match=f"component 'loose' is a {name}"):
            build(block, "mine")

    def test_inside_another_component_is_named_by_its_path(self):
        pipeline = scripted(answer())
        pipeline.add_component("prompt", PromptBuilder("{{ query }}"))
        pipeline.add_component("nested", nested())

        with pytest.raises(ValueError, match=r"component 'nested\.pipeline\.search' is a DDGSWebSearch"):
            guard_web(pipeline)


def test_a_walk_through_parts_that_hold_each_other_ends():
    first, second = Holding(), Holding()
    first.other, second.other = second, first  # type: ignore[attr-defined]

    assert sum(isinstance(part, Holding) for _, part in walk_parts(first)) == 2
