"""The shipped YAML in Haystack's own synchronous pipeline, as a notebook would load it."""

from __future__ import annotations

from typing import Any

from haystack import Pipeline

from tests.fakes import CALLS
from tests.pipelines.scripted import LOCAL, WEB, answer, scripted_yaml, search, verdict


def run(*replies: str, question: str = "alpha, beta or delta?", **settings: Any) -> dict[str, Any]:
    pipeline = Pipeline.loads(scripted_yaml(*replies, **settings))
    return pipeline.run({"start": {"question": question}})["answer"]["result"]


def test_keeps_and_switches():
    result = run(search("alpha"), search("beta"), search("delta"), answer(), verdicts=(verdict(True), verdict(False)))

    assert [step["source"] for step in result["steps"]] == ["local", "local", "web", None]
    assert result["answer"] == "1974"


def test_waits_for_every_source_of_a_supplement():
    documents = {"local": LOCAL, "archive": {"delta": "The archive on Delta."}, "web": WEB}

    result = run(answer("1812", "INCORRECT"), answer("1974"), pipeline="prefrag_three_sources", documents=documents)

    assert result["steps"][0]["source"] == "local+archive+web"
    assert [len(CALLS[source]) for source in documents] == [1, 1, 1]


def test_ends_with_a_forced_answer():
    result = run(*["hm"] * 4, "1974")

    assert (result["answer"], result["forced"]) == ("1974", True)


def test_survives_sources_that_fail():
    result = run(search("alpha"), answer(), errors={"local": "gone", "web": "gone too"})

    assert result["answer"] == "1974"
    assert len(result["errors"]) == 2
