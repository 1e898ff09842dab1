"""The run options of a request and the administrator's switch, on PrefRAG's shipped YAML."""

from tests.fakes import CALLS
from tests.pipelines.scripted import answer, run, scripted, search, verdict


class TestRunOptions:
    async def test_local_only_never_searches_the_web(self):
        result = await run(
            scripted(search("alpha"), search("beta"), answer("x", "INCORRECT"), answer(), verdicts=(verdict(False),)),
            sources=["local"],
        )

        assert CALLS.get("web") is None
        assert result["steps"][1]["verdict"]["judged_by"] == "no_other_source"
        assert "judge" not in CALLS, "with one source there is nothing to judge"
        assert result["steps"][2]["source"] in ("local", None)

    async def test_the_other_source_may_be_preferred_or_searched_alone(self):
        result = await run(
            scripted(search("alpha"), search("alpha"), answer(), verdicts=(verdict(False),)), preferred="web"
        )
        assert result["steps"][0]["source"] == "web"
        assert result["steps"][1]["searched"] == ["web", "local"]
        assert result["steps"][1]["source"] == "local"
        CALLS.clear()
        result = await run(scripted(search("delta"), answer("x", "INCORRECT"), answer()), "Of delta?", sources=["web"])
        assert CALLS.get("local") is None
        assert result["steps"][0]["source"] == "web"
        sent = {"source": "web", "provider": "ScriptedRetriever", "error": None}
        assert [{**query, "seconds": 0} for query in result["queries_sent_out"]] == [
            {"query": query, "seconds": 0, **sent} for query in ("delta", "Of delta?")
        ]

    async def test_top_k_max_steps_and_filters_reach_their_places(self):
        filters = {"field": "meta.year", "operator": ">", "value": 2000}
        pipeline = scripted(search("alpha"), search("alpha"), "1974", verdicts=(verdict(True),))

        result = await run(pipeline, top_k=2, max_steps=1, filters=filters)

        assert result["forced"]
        assert result["counts"]["total"] == 1
        assert CALLS["local"][0]["filters"] == filters
        assert "at most 1 times" in CALLS["model"][0]["prompt"]
