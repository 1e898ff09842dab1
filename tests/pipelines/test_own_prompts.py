"""A user's own folder of prompts, with every variable of PrefRAG's tables 19 and 21."""

from pathlib import Path

import pytest

from prefrag import pipelines
from prefrag.pipelines.loading import PipelineMissing
from tests.fakes import CALLS
from tests.own_prompts import write_prompts
from tests.pipelines.scripted import answer, run, scripted, search, verdict


@pytest.fixture
def own(tmp_path: Path) -> str:
    return write_prompts(tmp_path / "own")


async def test_own_prompts_are_read_from_the_first_step_to_the_last(own: str):
    steps = [search("alpha"), search("beta"), "Beta"]

    result = await run(
        scripted(*steps, verdicts=(verdict(True),), replace={"start.prompts": own, "start.max_steps": 1})
    )

    first, second, forced = (call["prompt"] for call in CALLS["model"])
    question = result["question"]
    tool = 'Search_Engine: {"name": "Search_Engine", "description": "A search engine over a knowledge base'
    assert first.startswith(f"Find the answer with these tools:\n{tool}")
    assert "of which there are 1 at most:" in first
    assert "Action: Search_Engine\n" in first
    assert "Final Answer: the most concise answer to the original question" in first
    assert first.endswith(f"Question: {question}")
    passage = "title: alpha content: Alpha was built by Beta."
    thought = f"Thought: I look it up.\nAction: Search_Engine\nAction Input: alpha\nObservation: {passage}"
    assert second.endswith(f"Question: {question}\n{thought}")
    assert forced.endswith("Final Answer:")
    assert result["answer"] == "Beta"


async def test_own_prompts_describe_tools_and_answers(tmp_path: Path):
    form = '{% if answer_type == "yes_no" %}only yes or no{% else %}as short as can be{% endif %}'
    own = write_prompts(tmp_path / "own", tool_description="{{ name }} looks things up.", answer_format=form)
    replaced = {"start.prompts": own, "start.max_steps": 1, "start.answer_type": "yes_no"}

    await run(scripted(search("alpha"), search("beta"), "yes", verdicts=(verdict(True),), replace=replaced))

    first, _, forced = (call["prompt"] for call in CALLS["model"])
    assert '"description": "Search_Engine looks things up."' in first
    assert "Final Answer: only yes or no" in first
    assert "Final Answer: only yes or no" in forced


async def test_are_what_the_judge_reads(own: str):
    await run(
        scripted(search("alpha"), search("beta"), answer(), verdicts=(verdict(True),), replace={"start.prompts": own})
    )

    [prompt] = [call["prompt"] for call in CALLS["judge"]]
    assert prompt.endswith(
        "Information already obtained: title: alpha content: Alpha was built by Beta.\n"
        "New information: title: beta content: Beta is a yard in Gamma."
    )


async def test_missing_own_prompts_are_the_plain_ones(own: str):
    replaced = {"start.prompts": own, "reflector.reflection": "call"}

    await run(scripted(search("alpha"), answer("Beta"), replace=replaced))

    reflecting = CALLS["model"][-1]["prompt"]
    assert reflecting.startswith("Check an answer against the passages")
    assert "Passages:\ntitle: alpha content: Alpha was built by Beta." in reflecting


def test_with_a_mistake_keep_the_pipeline_from_loading(own: str):
    Path(own, "reasoner_text.jinja").write_text("{{ quesiton }}")

    with pytest.raises(
        PipelineMissing, match=r"component 'start': .*reasoner_text.jinja, line 1: there is no variable"
    ):
        pipelines.load("prefrag", replace={"start.prompts": own})
