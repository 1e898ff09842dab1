"""ReAct over two sources, on the shipped YAML."""

from typing import Any

import pytest

from prefrag import pipelines
from tests.fakes import CALLS
from tests.pipelines.scripted import answer, kinds, local, scripted, search, web

QUESTION = "In which year did the yard that built alpha win the prize?"


async def react(*replies: str, options: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    return await pipelines.ask_async(scripted(*replies, pipeline="react", **settings), QUESTION, **(options or {}))


async def mix(*replies: str, options: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    return await pipelines.ask_async(scripted(*replies, pipeline="react_mix", **settings), QUESTION, **(options or {}))


class TestReact:
    async def test_react_offers_both_sources_and_reflects_on_nothing(self):
        result = await react(answer("1812", "INCORRECT"), answer("1974"))
        prompt = CALLS["model"][0]["prompt"]
        assert "Search_Local or Search_Web" in prompt
        assert "Self-Evaluation" not in prompt
        assert (result["answer"], result["label"]) == ("1812", None)
        assert result["usage"]["llm_calls"] == 1
        assert "reflection" not in kinds(result)

    async def test_react_searches_only_the_source_that_the_model_picks(self):
        result = await react(web("delta"), local("alpha"), answer())

        assert [step["searched"] for step in result["steps"]] == [["web"], ["local"], []]
        assert [step["source"] for step in result["steps"]] == ["web", "local", None]
        assert result["counts"] | {"sources": None} == {
            "total_local": 1,
            "total_web": 1,
            "total": 2,
            "used_local": 1,
            "used": 2,
            "lookups": 2,
            "sources": None,
        }

    async def test_nobody_judges_what_was_found(self):
        result = await react(local("nowhere"), local("beta"), answer())

        assert result["usage"]["calls"] == {"reasoner": 3}
        assert "verdict" not in kinds(result)
        assert CALLS.get("web") is None, "a source that finds nothing is not left for the other"
        assert "No passages were found. Try other words." in CALLS["model"][1]["prompt"]


class TestReactMix:
    async def test_react_mix_searches_both_sources_at_once(self):
        result = await mix(search("alpha"), search("beta delta"), search("alpha beta"), answer(), together=True)
        prompt = CALLS["model"][0]["prompt"]
        assert "Search_Engine" in prompt
        assert "Search_Local" not in prompt
        assert "Self-Evaluation" not in prompt
        assert result["errors"] == [], "a source that was searched in turn would have failed"
        assert [sorted(step["searched"]) for step in result["steps"][:3]] == [["local", "web"]] * 3
        assert [step["source"] for step in result["steps"]] == ["local+web"] * 3 + [None]
        assert result["usage"]["calls"] == {"reasoner": 4}
        # See the rows of ReAct with both sources in PrefRAG's table 7.
        assert (result["counts"]["total_local"], result["counts"]["total_web"]) == (3, 3)
        assert result["counts"]["total"] == result["counts"]["used"] == 6

    @pytest.mark.parametrize(("failing", "left"), [("local", "web"), ("web", "local")])
    async def test_survives_a_source_that_fails(self, failing: str, left: str):
        result = await mix(search("alpha"), answer(), errors={failing: "gone"})

        assert result["steps"][0]["source"] == left
        assert result["errors"] == [f"{failing} could not be searched: ScriptedRetriever: gone"]
        assert result["answer"] == "1974"

    @pytest.mark.parametrize("source", ["local", "web"])
    async def test_a_request_narrows_it_to_one_source(self, source: str):
        result = await mix(search("alpha"), search("alpha"), answer(), options={"sources": [source]})

        assert [name for name in ("local", "web") if name in CALLS] == [source]
        assert [step["source"] for step in result["steps"]] == [source, source, None]
        assert [event["source"] for event in result["trace"] if event["kind"] == "search"] == [source, source]
