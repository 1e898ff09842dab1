"""Every shipped pipeline runs in both of Haystack's engines, from YAML that was saved and loaded again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import haystack
import pytest
from haystack import Document

from prefrag import pipelines
from prefrag.pipelines.blocks import blocks, class_of
from prefrag.pipelines.loading import Pipeline, find, read_block
from tests.fakes import CALLS
from tests.indexes import index_of
from tests.pipelines.scripted import LOCAL, WEB, answer, scripted, search, verdict

CRITIQUE = '{"relevance": "relevant", "answer": "1974", "support": "fully", "usefulness": 5}'
QUESTION = "alpha, beta, epsilon or delta?"


def run_long(name: str, folder: Path, **settings: Any) -> Any:
    """Load a pipeline with a script that takes a loop through a correction, a switch, a supplement and a forced answer."""
    components = read_block(find(name))["components"]
    tools = components["reasoner"]["init_parameters"].get("tools")
    tool = tools[0]["name"] if tools else "Search_Engine"
    parts = {}
    if any(class_of(block) == "TantivyDocumentStore" for block in blocks(components)):
        passages = [Document(id=key, content=text, meta={"title": key}) for key, text in LOCAL.items()]
        parts["TantivyDocumentStore"] = index_of(passages, folder)
    steps = (
        search("alpha", tool),
        "hm",
        search("beta epsilon delta", tool),
        answer("1812", "INCORRECT"),
        search("alpha", tool),
    )
    return scripted(
        # A method of one call only answers, as the branch that this question takes does: a search would be no answer.
        *(steps if "router" in components and "complexity" not in components else ()),
        *(CRITIQUE if "critic" in components else "1974",) * 3,
        verdicts=(verdict(False),),
        pipeline=name,
        documents={"local": LOCAL, "archive": {"epsilon": "Epsilon is in the archive."}, "web": WEB},
        replace=parts,
        **settings,
    )


def comparable(result: dict[str, Any]) -> dict[str, Any]:
    """Drop the times from a result, and the order of sources that are searched at the same time."""
    events = [str({key: value for key, value in event.items() if key != "seconds"}) for event in result["trace"]]
    usage = {key: value for key, value in result["usage"].items() if key != "seconds"}
    return {**result, "trace": sorted(events), "usage": usage}


@pytest.mark.parametrize("name", pipelines.names())
async def test_a_run_is_the_same_in_both_and_after_saving(name: str, tmp_path: Path):
    pipeline = run_long(name, tmp_path / "index")
    saved = Pipeline.loads(pipeline.dumps())
    results = [await pipelines.ask_async(pipeline, QUESTION)]
    CALLS.clear()
    results.append(await pipelines.ask_async(saved, QUESTION))
    CALLS.clear()
    synchronous = haystack.Pipeline.from_dict(saved.to_dict())
    results.append(synchronous.run({"start": {"question": QUESTION}})["answer"]["result"])

    assert results[0]["answer"]
    first, *others = map(comparable, results)
    assert all(other == first for other in others)


def test_a_loop_goes_every_way_in_the_synchronous_one(tmp_path: Path):
    pipeline = haystack.Pipeline.loads(run_long("prefrag_three_sources", tmp_path / "index").dumps())

    result = pipeline.run({"start": {"question": QUESTION}})["answer"]["result"]

    assert [step["source"] for step in result["steps"]] == ["local", None, "archive", "local+archive+web", None, None]
    assert (result["answer"], result["forced"]) == ("1974", True)


def test_a_source_that_fails_is_survived_in_the_synchronous_one():
    pipeline = scripted(search("delta"), answer(), errors={"web": "gone"})

    result = haystack.Pipeline.loads(pipeline.dumps()).run({"start": {"question": QUESTION}})["answer"]["result"]

    assert result["answer"] == "1974"
    assert result["errors"] == ["web: ScriptedRetriever: gone"]
