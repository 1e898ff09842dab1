"""Step-back prompting, following the example's README."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from prefrag import pipelines
from prefrag.components.state.state import RunError, RunSettings, State
from tests.components.serialisation import rebuilt
from tests.docs.markdown import CHECKOUT
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.pipelines.scripted import model, retriever

HERE = CHECKOUT / "examples" / "new_method"
STATE = State("Who built alpha?", RunSettings(sources=("local",), preferred="local"))
GENERAL = json.dumps({"question": "What do the yards of beta build?"})


@pytest.fixture
def step_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    monkeypatch.syspath_prepend(str(HERE))
    from step_back_query import StepBackQuery

    return lambda *replies, **settings: StepBackQuery(ScriptedChatGenerator(list(replies)), **settings)


class TestStepBackQuery:
    async def test_searches_for_the_more_general_question(self, step_back: Callable[..., Any]):
        for state in (step_back(GENERAL).run(STATE)["state"], (await step_back(GENERAL).run_async(STATE))["state"]):
            assert state.query == "What do the yards of beta build?"
            assert (state.question, state.usage.llm_calls) == ("Who built alpha?", {"step_back": 1})
            assert [(event.kind, event.data["source"]) for event in state.events] == [("search", "local")]

    @pytest.mark.parametrize("reply", ["I cannot.", '{"question": 3}', '{"question": " "}', ""])
    def test_searches_for_the_question_if_the_reply_is_unreadable(self, step_back: Callable[..., Any], reply: str):
        assert step_back(reply).run(STATE)["state"].query == "Who built alpha?"

    def test_shows_the_model_the_question(self, step_back: Callable[..., Any]):
        step_back(GENERAL).run(STATE)

        assert CALLS["model"][0]["prompt"].endswith("Original question: Who built alpha?")

    def test_keeps_the_trace_when_the_model_fails(self, step_back: Callable[..., Any]):
        with pytest.raises(RunError, match="step_back's model failed: down") as error:
            step_back("!down").run(STATE)

        assert error.value.state.events[-1].kind == "error"

    def test_takes_a_prompt_of_ones_own(self, step_back: Callable[..., Any], tmp_path: Path):
        prompt = tmp_path / "own.jinja"
        prompt.write_text("Wider than {{ question }}")

        step_back(GENERAL, prompt=str(prompt)).run(STATE)

        assert CALLS["model"][0]["prompt"] == "Wider than Who built alpha?"
        with pytest.raises(ValueError, match="No prompt 'absent.jinja'"):
            step_back(GENERAL, prompt="absent.jinja")

    def test_is_saved_and_loaded_as_a_component(self, step_back: Callable[..., Any]):
        assert rebuilt(step_back(GENERAL)).prompt is None


async def test_the_answer_rests_on_what_both_questions_find(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(HERE))
    found = {"alpha": "Alpha was built by Beta.", "beta": "Beta is a yard in Gamma."}
    replace = {"ChatModel": model(GENERAL, "Gamma"), "RetrievalSource.retriever": retriever(found, "local")}

    result = await pipelines.ask_async(pipelines.load("step_back", replace), "Who built alpha?")

    assert result["answer"] == "Gamma"
    assert [document["title"] for document in result["documents"]] == ["alpha", "beta"]
    assert result["usage"]["calls"] == {"step_back": 1, "reasoner": 1}
    assert "Beta is a yard" in CALLS["model"][1]["prompt"]


@pytest.mark.slow
def test_the_commands_of_the_readme(
    run: Callable[..., str], reply: Callable[..., Any], commands_of: Callable[[str], list[str]], checkout: Path
):
    export, ask, evaluate = commands_of("new_method")
    run(export)
    reply(json.dumps({"question": "Who designed the meters of Tidewright?"}), "Tobias Greaves")

    printed = run(ask)

    assert "Search local: Who designed the Shearwater Current Meter?" in printed
    assert "Search local: Who designed the meters of Tidewright?" in printed
    assert "Answer: Tobias Greaves" in printed

    run(evaluate)
    metrics = json.loads((checkout / "runs" / "step_back" / "metrics.json").read_text())
    assert (metrics["n"], metrics["errors"], metrics["llm_calls"], metrics["total_local"]) == (60, 0, 2, 2)
    assert metrics["acc"] > 0
