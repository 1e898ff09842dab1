"""Adaptive-RAG: each class of question takes its branch (on the shipped YAML)."""

from __future__ import annotations

from typing import Any

import haystack
import pytest

from prefrag import pipelines
from prefrag.pipelines.trace_text import trace_text
from tests.fakes import CALLS, FixedQuestionClassifier
from tests.pipelines.comparing import comparable, graph, parameters
from tests.pipelines.scripted import scripted

QUESTION = "Who built alpha, and where is its yard?"
CHAIN = ("Alpha was built by Beta.", "Beta is a yard in Gamma.", "So the answer is: Gamma.")


def made(*replies: str, chosen: str, replace: dict[str, Any] | None = None, **settings: Any) -> Any:
    parts = {"complexity.classifier": FixedQuestionClassifier({chosen: 1.0}), **(replace or {})}
    return scripted(*replies, pipeline="adaptive_rag", replace=parts, **settings)


async def run(*replies: str, chosen: str, options: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    return await pipelines.ask_async(made(*replies, chosen=chosen, **settings), QUESTION, **(options or {}))


class TestNoRetrieval:
    async def test_the_model_answers_from_memory_in_one_call(self):
        result = await run("Gamma", chosen="no_retrieval")

        assert (result["answer"], result["counts"]["total"], result["usage"]["calls"]) == ("Gamma", 0, {"reasoner": 1})
        assert "local" not in CALLS
        assert "Answer the question below from what you know." in CALLS["model"][0]["prompt"]


class TestASingleStep:
    async def test_is_one_search_with_the_question_and_one_call(self):
        result = await run("Beta [[1]]", chosen="single_step")

        assert (result["answer"], result["usage"]["calls"]) == ("Beta", {"reasoner": 1})
        assert [call["query"] for call in CALLS["local"]] == [QUESTION]
        assert [citation["title"] for citation in result["citations"]] == ["alpha"]
        assert not result["forced"]


class TestSeveralSteps:
    async def test_several_steps_search_with_each_sentence(self):
        result = await run(*CHAIN, "Gamma", chosen="multi_step")

        assert (result["answer"], result["usage"]["calls"]) == ("Gamma", {"reasoner": 4})
        assert [call["query"] for call in CALLS["local"]] == [QUESTION, *CHAIN[:2]]
        prompt = CALLS["model"][-1]["prompt"]
        assert "Answer the question below from the passages." in prompt
        assert "Alpha was built by Beta." in prompt
        assert "Beta is a yard in Gamma." in prompt

    async def test_without_a_model_the_reader_searches_until_it_is_sure(self):
        result = await run(chosen="multi_step", readings=[[], [("1812", 0.1)], [("Gamma", 0.9)]])

        assert (result["answer"], result["usage"]["llm_calls"]) == ("Gamma", 0)
        assert len(CALLS["local"]) == 3


@pytest.mark.parametrize(
    ("chosen", "line"),
    [
        ("no_retrieval", "Class: no retrieval (100% likely; the likeliest class)"),
        ("single_step", "Class: one retrieval (100% likely; the likeliest class)"),
        ("multi_step", "Class: several retrievals (100% likely; the likeliest class)"),
    ],
)
async def test_the_class_is_the_first_event_and_stands_in_the_result(chosen: str, line: str):
    pipeline = made(*CHAIN, "Gamma", chosen=chosen)
    first, *_, result = [output async for output in pipelines.stream(pipeline, QUESTION)]

    assert trace_text(first) == line
    assert result["question_class"]["chosen"] == chosen
    assert result["question_class"]["probability"] == 1.0
    assert result["question_class"]["reason"] == "the likeliest class"


async def test_other_methods_have_no_class():
    result = await pipelines.ask_async(scripted("Beta", pipeline="vanilla_local"), QUESTION)

    assert result["question_class"] is None


@pytest.mark.parametrize("chosen", ["no_retrieval", "single_step", "multi_step"])
async def test_a_run_is_the_same_in_both_engines(chosen: str):
    asynchronous = await run(*CHAIN, "Gamma", chosen=chosen)
    CALLS.clear()

    synchronous = haystack.Pipeline.loads(made(*CHAIN, "Gamma", chosen=chosen).dumps())
    result = synchronous.run({"start": {"question": QUESTION}})["answer"]["result"]

    assert comparable(result) == comparable(asynchronous)


def test_the_branches_are_those_of_ircot_and_vanilla_rag():
    adaptive, ircot = parameters("adaptive_rag"), parameters("ircot")

    assert {name: adaptive[name] for name in ircot} == ircot
    lines, of_ircot = (set(graph(name)["connections"]) for name in ("adaptive_rag", "ircot"))
    assert of_ircot - lines == {("rewriter.state", "question.state"), ("router.exhausted", "answerer.state")}

    adaptive, vanilla = parameters("adaptive_rag"), parameters("vanilla_local")

    for name in ("local", "recorder"):
        assert adaptive[f"{name}_once"] == vanilla[name]
    assert adaptive["answerer"]["prompt"] == vanilla["reasoner"]["prompt"]
