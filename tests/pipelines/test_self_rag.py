"""Self-RAG by prompting, on the shipped YAML."""

import json
from pathlib import Path
from typing import Any

from prefrag import pipelines
from prefrag.pipelines.loading import YAML_PIPELINES, read_block
from prefrag.pipelines.trace_text import trace_text
from tests.fakes import CALLS
from tests.pipelines.scripted import retriever, scripted, write_yaml

QUESTION = "Who built alpha, and what did delta win?"
LOCAL = {"alpha": "Alpha was built by Beta.", "delta": "Delta won the prize in 1974."}
ADAPTIVE = {"critic.retrieval": "adaptive"}


def critique(answer: str = "1974", relevance: str = "relevant", support: str = "fully", usefulness: int = 5) -> str:
    return json.dumps({"relevance": relevance, "answer": answer, "support": support, "usefulness": usefulness})


def decision(retrieve: str) -> str:
    return json.dumps({"explanation": "It is a sum.", "retrieve": retrieve})


POOR = critique("a boat", "irrelevant", "none", 1)


async def run(*replies: str, options: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    settings = {"documents": {"local": LOCAL}, **settings}
    return await pipelines.ask_async(scripted(*replies, pipeline="self_rag", **settings), QUESTION, **(options or {}))


async def test_the_best_answer_of_one_search_has_its_passage():
    result = await run(POOR, critique("1974"))

    assert [call["query"] for call in CALLS["local"]] == [QUESTION]
    assert (result["answer"], result["answer_with_citations"], result["label"]) == ("1974", "1974 [2]", "CORRECT")
    assert [cited["id"] for cited in result["citations"]] == ["local-delta"]
    assert (result["forced"], result["uncited"], result["errors"]) == (False, False, [])
    assert result["usage"]["calls"] == {"critic": 2}
    assert (result["counts"]["total"], result["counts"]["used"]) == (1, 1)


async def test_the_trace_has_each_critique_with_its_score():
    pipeline = scripted(POOR, critique("1974"), pipeline="self_rag", documents={"local": LOCAL})

    items = [item async for item in pipelines.stream(pipeline, QUESTION)]

    lines = [trace_text(item) for item in items if getattr(item, "kind", "") == "critique"]
    assert lines == [
        "From alpha: a boat (irrelevant, no support, usefulness 1, score -0.5)",
        "From delta: 1974 (relevant, fully supported, usefulness 5, score 2.5)",
    ]


class TestTheDecisionToRetrieve:
    async def test_that_is_negative_has_the_model_answer_without_a_search(self):
        result = await run(decision("no"), "Final Answer: 4", replace=ADAPTIVE)

        assert (result["answer"], result["forced"], result["documents"]) == ("4", False, [])
        assert result["usage"]["calls"] == {"critic": 1, "reasoner": 1}
        assert "local" not in CALLS
        assert "from what you know" in CALLS["model"][-1]["prompt"]


class TestTheEnd:
    async def test_without_a_passage_is_that_of_a_method_of_one_step(self):
        result = await run("Final Answer: 1974", documents={"local": {}})

        assert (result["answer"], result["usage"]["calls"]) == ("1974", {"reasoner": 1})
        assert "No passages were found." in CALLS["model"][0]["prompt"]


async def test_an_attached_document_is_criticised_too():
    attached = [{"title": "Note", "content": "Delta won in 1974."}]

    result = await run(critique("1974"), POOR, options={"documents": attached})

    assert result["answer_with_citations"] == "1974 [A1]"
    assert result["usage"]["calls"] == {"critic": 3}


async def test_passages_of_two_sources_compete_in_the_mix(tmp_path: Path):
    mix = read_block(YAML_PIPELINES / "vanilla_mix.yaml")
    block = read_block(YAML_PIPELINES / "self_rag.yaml")
    block["components"]["start"], block["components"]["web"] = mix["components"]["start"], mix["components"]["web"]
    block["connections"] += [line for line in mix["connections"] if "web." in line["sender"] + line["receiver"]]
    parts = {"local.retriever": retriever(LOCAL, "local"), "web.retriever": retriever({"delta": "It won."}, "web")}
    model = {"type": "tests.fakes.ScriptedChatGenerator", "init_parameters": {"script": [POOR, POOR, critique("1974")]}}

    file = tmp_path / "self_rag_mix.yaml"
    file.write_text(write_yaml(block))

    pipeline = pipelines.load(file, {**parts, "ChatModel": model, "RetryPolicy.fallback": None})
    result = await pipelines.ask_async(pipeline, QUESTION)

    assert result["answer_with_citations"] == "1974 [W1]"
    assert [query["query"] for query in result["queries_sent_out"]] == [QUESTION]
