"""The Elasticsearch pipeline over a real server and real data."""

import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from prefrag import pipelines
from prefrag.collections import indexing
from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.local_collection import LocalCollection
from tests.pipelines.scripted import MODEL_JUDGE, answer, model, search, verdict

QUESTION_COUNT = 100


@pytest.fixture
def index(hotpotqa: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """HotpotQA's corpus in an Elasticsearch index and in an embedded one of the same name."""
    monkeypatch.setenv("PREFRAG_INDEX", name)
    corpus = hotpotqa / "corpus.jsonl"
    indexing.index([corpus], ElasticCollection(name))
    indexing.index([corpus], LocalCollection(name))
    return name


def with_script(pipeline: str, *replies: str, verdicts: tuple[str, ...]) -> Any:
    """The shipped pipeline with its own sources; only its models are scripted."""
    judge = {"type": MODEL_JUDGE, "init_parameters": {"chat_generator": model(*verdicts, name="judge")}}
    return pipelines.load(pipeline, {"ChatModel": model(*replies), "judge.judge": judge})


@pytest.mark.usefixtures("index")
async def test_answers_from_a_real_server():
    question = "Which Hells Angel member stabbed an attendant of the 1969 rock concert at Altamont?"
    pipeline = with_script(
        "prefrag_elasticsearch",
        search("Altamont Free Concert 1969 Hells Angels stabbing"),
        search("Alan Passaro Hells Angels"),
        answer("Alan Passaro"),
        verdicts=(verdict(True),),
    )

    result = await pipelines.ask_async(pipeline, question)

    assert (result["answer"], result["errors"]) == ("Alan Passaro", [])
    assert result["counts"]["total_local"] == 3, "the question itself, and the two queries of the model"
    assert {"hp-01375", "hp-01381"} <= {document["id"] for document in result["documents"]}


@pytest.mark.usefixtures("index")
async def test_finds_as_much_gold_as_the_embedded_index(hotpotqa: Path):
    with (hotpotqa / "dev.jsonl").open(encoding="utf-8") as lines:
        questions = [json.loads(line) for line in lines][:QUESTION_COUNT]

    async def recall(name: str) -> float:
        source = pipelines.load(name).get_component("local")
        shares = []
        for question in questions:
            ids = {document.id for document in (await source.run_async(question["question"]))["documents"]}
            gold = set(question["supporting_ids"])
            shares.append(len(ids & gold) / len(gold))
        return 100 * mean(shares)

    elasticsearch, embedded = await recall("prefrag_elasticsearch"), await recall("prefrag")

    assert embedded > 75
    assert abs(elasticsearch - embedded) <= 3
