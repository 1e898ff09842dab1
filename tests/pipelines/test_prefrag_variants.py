"""PrefRAG-Direct and the two ablations, on the shipped YAML."""

from typing import Any

import pytest

from prefrag import pipelines
from prefrag.pipelines.loading import Pipeline
from tests.fakes import CALLS
from tests.pipelines.scripted import answer, kinds, local, scripted, search, verdict, web

QUESTION = "Who built alpha, and when did delta win the prize?"
CHOOSING = ["prefrag_direct", "prefrag_without_preference"]


async def run(pipeline: str, *replies: str, options: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    return await pipelines.ask_async(scripted(*replies, pipeline=pipeline, **settings), QUESTION, **(options or {}))


@pytest.mark.parametrize("pipeline", CHOOSING)
class TestTheModelNamesTheSource:
    async def test_and_a_source_changes_only_at_the_next_step(self, pipeline: str):
        result = await run(pipeline, local("nowhere"), web("delta"), answer())

        assert [step["searched"] for step in result["steps"]] == [["local"], ["web"], []]
        assert (result["steps"][0]["documents"], result["usage"]["calls"]) == ([], {"reasoner": 3})
        assert "verdict" not in kinds(result), "nobody judges"

    async def test_reflection_is_as_in_prefrag_over_all_sources(self, pipeline: str):
        result = await run(pipeline, web("delta"), answer("1812", "INCORRECT"), answer("1974"))
        assert "Self-Evaluation" in CALLS["model"][0]["prompt"]
        assert [call["query"] for call in CALLS["local"]] == [QUESTION]
        assert [call["query"] for call in CALLS["web"]] == ["delta", QUESTION]
        assert result["steps"][1]["source"] == "local+web"
        assert (result["answer"], result["label"]) == ("1974", "CORRECT")
        CALLS.clear()
        result = await run(pipeline, answer("1812", "INCORRECT"), answer("1974"), together=True)
        assert (result["errors"], result["steps"][0]["source"]) == ([], "local+web")

    async def test_and_no_run_makes_more_than_six_calls(self, pipeline: str):
        replies = [local("alpha"), web("delta"), local("beta"), answer("1812", "INCORRECT"), web("delta"), "1974"]

        result = await run(pipeline, *replies)

        assert result["usage"]["calls"] == {"reasoner": 6}
        assert result["forced"]
        assert result["counts"]["total"] == 5

    async def test_but_not_one_that_the_request_forbids(self, pipeline: str):
        result = await run(
            pipeline, web("delta"), answer("1812", "INCORRECT"), answer(), options={"sources": ["local"]}
        )

        assert CALLS.get("web") is None
        assert "Search_Web: " not in CALLS["model"][0]["prompt"]
        assert "Search_Web may not be used" in CALLS["model"][1]["prompt"]
        assert result["steps"][1]["searched"] == ["local"], "a supplement asks what is allowed"


async def test_direct_names_the_preferred_source_the_ablation_not():
    await run("prefrag_direct", answer())
    await run("prefrag_without_preference", answer())

    direct, without = (call["prompt"] for call in CALLS["model"])
    assert "preferred" in direct
    assert "prefer" not in without


class TestWithoutReflection:
    PIPELINE = "prefrag_without_reflection"

    async def test_the_first_answer_is_final_without_reflection(self):
        result = await run(self.PIPELINE, search("alpha"), answer("1812", "INCORRECT"), answer("1974"))

        assert (result["answer"], result["label"]) == ("1812", None)
        assert "Self-Evaluation" not in CALLS["model"][0]["prompt"]
        assert "reflection" not in kinds(result)

    async def test_the_judge_keeps_and_switches_as_in_prefrag(self):
        result = await run(
            self.PIPELINE, search("alpha"), search("beta"), search("beta delta"), answer(), verdicts=(verdict(True),)
        )

        assert [step["source"] for step in result["steps"]] == ["local", "local", "web", None]
        assert [step["verdict"] and step["verdict"]["judged_by"] for step in result["steps"]][1:] == [
            "model",
            "nothing_new",
            None,
        ]


class TestPatient:
    PIPELINE = "prefrag_patient"

    async def test_patient_asks_at_home_once_more_and_shows_both(self):
        # The first False comes from a search that found nothing.
        searches = (search("alpha"), search("gamma"), search("beta delta"))
        pipeline = scripted(*searches, answer(), verdicts=(verdict(False),), pipeline=self.PIPELINE)

        result = await pipelines.ask_async(Pipeline.loads(pipeline.dumps()), QUESTION)

        assert [step["source"] for step in result["steps"]] == ["local", None, "local+web", None]
        assert [call["query"] for call in CALLS["web"]] == ["beta delta"]
        assert "Beta is a yard" in CALLS["model"][-1]["prompt"]
        assert "Delta won the prize" in CALLS["model"][-1]["prompt"]

    @pytest.mark.parametrize(("sources", "looked_up"), [(None, "web"), (["local"], "local")])
    async def test_patient_looks_a_doubted_answer_up_elsewhere(self, sources: list[str] | None, looked_up: str):
        replies = (search("alpha"), answer("1812", "INCORRECT"), answer("1974"))
        result = await run(self.PIPELINE, *replies, options={"sources": sources})
        assert [step["searched"] for step in result["steps"]] == [["local"], [looked_up], []]
        assert len(CALLS["local"]) == (1 if looked_up == "web" else 2)
