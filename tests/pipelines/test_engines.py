"""Every shipped pipeline runs in both of Haystack's engines, after its YAML was saved and loaded again."""

from pathlib import Path
from typing import Any

import haystack
import pytest
from haystack import Document

from prefrag import pipelines
from prefrag.pipelines.blocks import blocks, class_of
from prefrag.pipelines.loading import find, read_block
from tests.fakes import CALLS
from tests.indexes import index_of
from tests.pipelines.comparing import comparable
from tests.pipelines.scripted import LOCAL, WEB, answer, scripted, search, verdict

CRITIQUE = '{"relevance": "relevant", "answer": "1974", "support": "fully", "usefulness": 5}'
QUESTION = "alpha, beta, epsilon or delta?"
# With scripted sources and judge, pipelines that differ only in their retriever or judge are the same.
METHODS = [
    name for name in pipelines.names() if not name.endswith(("_dense", "_hybrid", "_elasticsearch", "_classifier"))
]
UNSURE, SURE = ("1812", 0.1), ("Beta", 0.9)
READ = [
    *("prefrag", "prefrag_direct", "prefrag_without_reflection", "mspr", "react", "react_mix", "vanilla_mix"),
    *("self_rag", "crag"),
]


def run_long(name: str, folder: Path, **settings: Any) -> Any:
    """Load a pipeline with a script that goes through a correction, a switch, a supplement and a forced answer."""
    components = read_block(find(name))["components"]
    tools = components["reasoner"]["init_parameters"].get("tools")
    tool = tools[0]["name"] if tools else "Search_Engine"
    parts = {}
    if any(class_of(block) == "TantivyDocumentStore" for block in blocks(components)):
        passages = [Document(id=key, content=text, meta={"title": key}) for key, text in LOCAL.items()]
        parts["TantivyDocumentStore"] = index_of(passages, folder)
    has_analysis = components["reasoner"]["init_parameters"].get("prompt") == "answer_with_analysis"
    last = CRITIQUE if "critic" in components else "Final Answer: 1974" if has_analysis else "1974"
    steps = (
        search("alpha", tool),
        "hm",
        search("beta epsilon delta", tool),
        answer("1812", "INCORRECT"),
        search("alpha", tool),
    )
    return scripted(
        # A method with one call, or the branch that this question takes, only answers; it cannot read a search.
        *(steps if "router" in components and "complexity" not in components else ()),
        *(last,) * 3,
        verdicts=(verdict(False),),
        pipeline=name,
        documents={"local": LOCAL, "archive": {"epsilon": "Epsilon is in the archive."}, "web": WEB},
        replace=parts,
        **settings,
    )


@pytest.mark.parametrize(
    ("name", "has_model"), [*((name, True) for name in METHODS), *((name, False) for name in (*READ, "no_retrieval"))]
)
async def test_a_run_is_the_same_in_both_after_saving(name: str, has_model: bool, tmp_path: Path):
    reading = {"pipeline": name, "readings": [[], [UNSURE], [SURE]]}
    pipeline = run_long(name, tmp_path / "index") if has_model else scripted(**reading)
    asynchronous = await pipelines.ask_async(pipeline, QUESTION)
    CALLS.clear()
    saved = haystack.Pipeline.loads(pipeline.dumps())

    synchronous = saved.run({"start": {"question": QUESTION}})["answer"]["result"]

    assert synchronous["answer"] or synchronous["guess"] or not has_model
    assert comparable(synchronous) == comparable(asynchronous)


def test_a_loop_goes_every_way_in_the_synchronous_one(tmp_path: Path):
    pipeline = haystack.Pipeline.loads(run_long("prefrag_three_sources", tmp_path / "index").dumps())

    result = pipeline.run({"start": {"question": QUESTION}})["answer"]["result"]

    assert [step["source"] for step in result["steps"]] == ["local", None, "archive", "local+archive+web", None, None]
    assert (result["answer"], result["forced"]) == ("1974", True)
