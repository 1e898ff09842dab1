"""Documents that come with a question: every model is shown them, and no source is."""

from __future__ import annotations

from typing import Any

import pytest

from prefrag import pipelines
from tests.fakes import CALLS
from tests.pipelines.replies import FORMATS, Answer, Forced, Search, replying
from tests.pipelines.scripted import answer, scripted, search, verdict

QUESTION = "Who keeps the crane of alpha?"
DOCUMENTS = [{"title": "jn_board.txt", "content": "Ada Quill keeps the crane."}]


async def run(pipeline: Any, **options: Any) -> dict[str, Any]:
    return await pipelines.ask_async(pipeline, QUESTION, documents=DOCUMENTS, **options)


@pytest.mark.parametrize("form", FORMATS)
async def test_the_reasoner_reads_them_before_its_first_step_in_every_format(form: str):
    await run(replying(Search("alpha"), Answer("Ada Quill [[A1]]"), form=form))

    for call in CALLS["model"]:
        prompt = call["messages"][0].text
        assert prompt.count(" jn_board.txt\n| Ada Quill keeps the crane.") == 1


async def test_a_forced_answer_and_a_method_of_one_call_read_them_too():
    await run(replying(Search("alpha"), Search("beta"), Forced("Ada Quill"), form="text"), max_steps=1)
    await run(scripted("Ada Quill", pipeline="no_retrieval"))

    assert "Ada Quill keeps the crane." in CALLS["model"][-2]["messages"][0].text
    assert "Ada Quill keeps the crane." in CALLS["model"][-1]["prompt"]


async def test_the_judge_and_the_reflector_know_them():
    reflection = '{"explanation": "As the file says.", "label": "CORRECT", "suggestions": ""}'
    script = (search("alpha"), search("beta"), answer("Ada Quill [[A1]]"), reflection)

    await run(scripted(*script, verdicts=(verdict(True),), replace={"reflector.reflection": "call"}))

    assert "Ada Quill keeps the crane." in CALLS["judge"][0]["prompt"].partition("New information")[0]
    assert "Ada Quill keeps the crane." in CALLS["model"][-1]["prompt"]


async def test_the_reviewer_of_mspr_knows_them():
    review = '{"effectiveness": "Yes.", "completeness": "Yes.", "correctness": "Yes.", "label": "True"}'

    await run(scripted(search("alpha", "Local_Search"), answer("Ada Quill", None), review, pipeline="mspr"))

    assert any("Review an answer" in call["prompt"] and "Ada Quill keeps" in call["prompt"] for call in CALLS["model"])


async def test_the_result_lists_and_cites_them_under_marks_of_their_own():
    result = await run(scripted(search("alpha"), answer("Ada Quill [[A1]]")))

    assert [(each["mark"], each["source"]) for each in result["documents"]] == [("A1", "attached"), ("1", "local")]
    assert [(each["mark"], each["title"]) for each in result["citations"]] == [("A1", "jn_board.txt")]


async def test_no_query_is_made_of_them():
    settings = {"is_embedded": True}
    replies = (
        '{"thought": "t", "action": "Search_Engine", "query": "alpha"}',
        '{"action": "Final_Answer", "answer": "x"}',
    )

    await run(scripted(*replies, model_settings=settings))

    (choices, *_) = [call["generation_kwargs"]["response_format"] for call in CALLS["model"]]
    assert "jn_board" not in str(choices)
    assert not any("crane." in query["query"] for source in ("local", "web") for query in CALLS.get(source, ()))


async def test_a_small_window_holds_a_part_of_a_long_one():
    long = [{"title": "long.txt", "content": "Ada Quill keeps the crane. " * 1_000}]
    pipeline = scripted(search("alpha"), answer("Ada Quill"), model_settings={"context_window": 3_000})

    result = await pipelines.ask_async(pipeline, QUESTION, documents=long)

    assert all("Ada Quill keeps" in call["prompt"] for call in CALLS["model"])
    assert any(event["kind"] == "cut" for event in result["trace"])


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([{"title": "t", "content": "x" * 60_001}], "60001 characters.*prefrag index"),
        ([{"content": "x"}] * 51, "51 documents"),
        ([{"title": "t", "content": 7}], "two texts"),
        (["text"], "two texts"),
    ],
)
async def test_too_many_or_too_long_ones_are_refused(documents: Any, message: str):
    with pytest.raises(ValueError, match=message):
        await pipelines.ask_async(scripted("never"), QUESTION, documents=documents)
