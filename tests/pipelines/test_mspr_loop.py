"""All paths through MSPR's loop, on the shipped YAML."""

from pathlib import Path
from typing import Any

import pytest

from prefrag.pipelines import load
from tests.fakes import CALLS
from tests.marks import drop_codes
from tests.pipelines.scripted import QUESTION, events, local, run, verdict, web
from tests.pipelines.scripted_mspr import final, mspr, review

# Both sources have passages for this question.
KNOWN = "What have alpha and delta in common?"
LONG = "Alpha was built by Beta. " + "It is a very long story. " * 400


def sources(result: dict[str, Any]) -> list[str | None]:
    return [step["source"] for step in result["steps"]]


def test_the_settings_of_the_paper_are_the_defaults():
    blocks = {name: block["init_parameters"] for name, block in load("mspr").to_dict()["components"].items()}

    assert (blocks["start"]["max_steps"] + 1, blocks["start"]["max_supplements"], blocks["start"]["top_k"]) == (5, 1, 5)
    assert [tool["name"] for tool in blocks["reasoner"]["tools"]] == ["Search_Local", "Search_Web"]
    assert all(blocks[name]["enabled"] for name in ("selector", "judge", "refiner", "reviewer"))


def test_one_word_of_the_yaml_is_the_ablation_without_prs(tmp_path: Path):
    text = Path("yaml_pipelines/mspr.yaml").read_text(encoding="utf-8")
    (tmp_path / "own.yaml").write_text(text.replace("enabled: &prs true", "enabled: &prs false"))

    without = load("mspr", replace={"selector.enabled": False, "judge.enabled": False})
    assert load(tmp_path / "own.yaml").to_dict() == without.to_dict()


class TestAgent:
    async def test_the_agent_has_both_actions_and_may_answer_at_once(self):
        result = await run(mspr(final()))
        prompt = CALLS["model"][0]["prompt"]
        assert "Search_Local or Search_Web" in prompt
        assert "at most 4 times" in prompt
        assert "Self-Evaluation" not in prompt
        assert (result["answer"], result["label"], result["forced"]) == ("1974", "CORRECT", False)
        assert result["usage"]["calls"] == {"reasoner": 1, "reviewer": 1}
        assert result["counts"]["total"] == 0

    async def test_the_agent_searches_the_preferred_source_first(self):
        result = await run(mspr(web("alpha"), final()))

        assert sources(result) == ["local", None]
        assert CALLS.get("web") is None
        assert [(e["source"], e["named"], e["reason"]) for e in events(result, "steered")] == [
            ("local", "web", "first_search")
        ]


class TestPreference:
    async def test_a_true_leaves_the_choice_and_keeps_what_was_found(self):
        result = await run(mspr(local("alpha"), local("beta"), web("delta"), final()))

        assert sources(result) == ["local", "local", "web", None]
        assert events(result, "steered") == []
        assert events(result, "refined") == [], "short observations are left as they are"
        assert "refiner" not in CALLS

    async def test_a_false_verdict_sends_the_next_search_to_the_web(self):
        result = await run(mspr(local("alpha"), local("delta"), final(), verdicts=(verdict(False),)))

        assert sources(result) == ["local", "web", None]
        assert result["steps"][0]["verdict"]["status"] is False
        assert "Alpha was built by Beta." in CALLS["model"][1]["prompt"]
        assert [step["searched"] for step in result["steps"]] == [["local"], ["web"], []]
        assert [(e["source"], e["reason"]) for e in events(result, "steered")] == [("web", "verdict")]

    @pytest.mark.parametrize(("setting", "source"), [("keep", "local"), ("switch", "web")])
    async def test_an_unreadable_label_steers_as_it_is_set(self, setting: str, source: str):
        doubt = {"verdicts": ("Perhaps.",), "replace": {"judge.judge.on_doubt": setting}}

        result = await run(mspr(local("alpha"), local("beta delta"), final(), **doubt))

        assert sources(result) == ["local", source, None]
        assert result["steps"][0]["verdict"]["parsed"] is False

    async def test_an_empty_local_search_sends_the_next_to_the_web(self):
        result = await run(mspr(local("nothing"), local("delta"), final()))

        assert sources(result) == [None, "web", None]
        assert result["steps"][0]["verdict"]["judged_by"] == "nothing_found"
        assert "No passages were found" in CALLS["model"][1]["prompt"]
        assert result["errors"] == []
        assert "judge" not in CALLS


class TestWithoutTheWeb:
    async def test_without_the_web_local_documents_answer_every_search(self):
        script = (local("alpha"), web("beta"), final("1812"), final("1974"))

        result = await run(
            mspr(*script, verdicts=(verdict(False),), reviews=(review(False), review(True))), KNOWN, sources=["local"]
        )

        assert sources(result) == ["local", "local", "local", None]
        assert [call["query"] for call in CALLS["local"]] == ["alpha", "beta", KNOWN]
        assert CALLS.get("web") is None
        assert [event["reason"] for event in events(result, "steered")] == ["not_allowed"]
        assert "judge" not in CALLS, "with one source there is nothing to steer"


class TestRefinement:
    DOCUMENTS = {
        "local": {"alpha": LONG, "beta": LONG.replace("Alpha", "Gamma"), "gamma": "Gamma is a town."},
        "web": {"alpha": "Short."},
    }

    async def test_refines_the_previous_observation_never_the_current_one(self):
        result = await run(mspr(local("alpha"), local("beta"), final(), documents=self.DOCUMENTS))

        assert LONG.strip() in CALLS["model"][1]["prompt"], "it was the current one"
        last = CALLS["model"][2]["prompt"]
        assert "| Beta built Alpha [1]." in drop_codes(last)
        assert "Alpha was built by Beta. It is" not in last
        assert LONG.replace("Alpha", "Gamma").strip() in last
        (refined,) = events(result, "refined")
        assert (refined["step"], refined["of_step"], refined["used"]) == (2, 1, True)
        assert refined["tokens_before"] > 1_500 > refined["tokens_after"]
        assert result["usage"]["calls"]["refiner"] == 1

    async def test_refinement_is_read_by_judge_and_reviewer(self):
        result = await run(mspr(local("alpha"), local("gamma"), final(), documents=self.DOCUMENTS))

        prompt = CALLS["refiner"][0]["prompt"]
        assert f"Question: {QUESTION}" in prompt
        assert "New query: gamma" in prompt
        assert LONG.strip() in prompt
        assert "Gamma is a town" not in prompt
        for prompt in (CALLS["judge"][1]["prompt"], CALLS["reviewer"][0]["prompt"]):
            assert "| Beta built Alpha" in prompt
            assert "a very long story" not in prompt
            assert "Gamma is a town" in prompt
        assert [document["id"] for document in result["documents"]] == ["local-alpha", "local-gamma"]
        assert result["documents"][0]["content"] == LONG
        assert result["steps"][0]["documents"] == ["local-alpha"]


class TestReview:
    async def test_a_failed_review_searches_the_web_and_goes_on(self):
        script = (local("alpha"), final("1812"), local("beta"), final("1974"))

        result = await run(mspr(*script, reviews=(review(False), review(True))), KNOWN)

        assert (result["answer"], result["label"]) == ("1974", "CORRECT")
        assert sources(result) == ["local", "web", "local", None]
        assert [call["query"] for call in CALLS["web"]] == [KNOWN]
        prompt = CALLS["model"][2]["prompt"]
        assert "Alpha was built by Beta." in prompt
        assert "1812" in prompt, "the rejected answer stays in the context"
        assert "Delta won the prize" in prompt, "what the supplement found is added to the observations"
        assert [(event["status"], event["supplement"]) for event in events(result, "review")] == [
            (False, True),
            (True, False),
        ]


class TestNoFurtherSearch:
    @pytest.mark.parametrize("action", ["None", "[None]", "No further search needed", "N/A", "None needed."])
    async def test_moves_to_the_final_answer(self, action: str):
        script = (local("alpha"), f"Thought: That is all.\nAction: {action}\nAction Input: None", "Final Answer: 1974")

        result = await run(mspr(*script))

        assert (result["answer"], result["forced"], result["usage"]["calls"]["reasoner"]) == ("1974", False, 3)
        assert CALLS["model"][2]["prompt"].endswith("Final Answer:"), "the prompt of the final answer"
        assert len(events(result, "no_further_search")) == 1


class TestLimits:
    @pytest.mark.parametrize(
        ("late", "calls"),
        [
            # There are five iterations, one more for the supplement, and a forced answer, which is not reviewed.
            ([local("alpha"), "1974"], {"reasoner": 7, "judge": 4, "refiner": 4, "reviewer": 1}),
            # The reply after the supplement is an answer, which is reviewed.
            ([final("1974")], {"reasoner": 6, "judge": 4, "refiner": 4, "reviewer": 2}),
        ],
    )
    async def test_no_run_makes_over_sixteen_calls_and_five_retrievals(self, late: list[str], calls: dict[str, int]):
        documents = {"local": {"alpha": LONG}, "web": {"alpha": LONG}}
        script = (*[local("alpha")] * 4, final("1812"), *late)

        result = await run(mspr(*script, reviews=(review(False),), documents=documents), KNOWN)

        assert (result["answer"], result["usage"]["calls"]) == ("1974", calls)
        assert result["usage"]["llm_calls"] == 16
        assert (result["counts"]["total_local"], result["counts"]["total_web"]) == (4, 1)
