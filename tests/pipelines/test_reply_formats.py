"""In every reply format, the same script takes the same path through the loop."""

import json
from typing import Any

import pytest
from haystack.dataclasses import ChatMessage, ChatRole

from prefrag import pipelines
from prefrag.pipelines import RunFailed
from tests.fakes import CALLS
from tests.pipelines.replies import FORMATS, Answer, Forced, Search, replying
from tests.pipelines.scripted import verdict

QUESTION = "In which year did the yard that built alpha win the prize?"
every_format = pytest.mark.parametrize("form", FORMATS)

# For each path through the loop: the model's replies, and the replies of the rest of the pipeline.
PATHS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "keep local": ([Search("alpha"), Search("beta"), Answer()], {"verdicts": (verdict(True),)}),
    "switch": ([Search("alpha"), Search("beta delta"), Answer()], {"verdicts": (verdict(False),)}),
    "unknown action": ([Search("alpha", tool="Telephone"), Search("alpha"), Answer()], {}),
    "forced answer": (
        [Search("alpha"), Search("beta"), Search("alpha"), Search("beta"), Forced()],
        {"verdicts": (verdict(True),)},
    ),
    "supplement": (
        [Answer("1812"), Answer()],
        {
            "others": (
                '{"explanation": "No passage says so.", "label": "INCORRECT", "suggestions": "Search."}',
                '{"explanation": "Now one does.", "label": "CORRECT", "suggestions": ""}',
            ),
            "replace": {"reflector.reflection": "call"},
        },
    ),
}


async def run(form: str, *script: Any, question: str = QUESTION, **settings: Any) -> dict[str, Any]:
    return await pipelines.ask_async(replying(*script, form=form, **settings), question)


def timeless(value: Any) -> Any:
    """Remove from a result what differs between any two runs."""
    if isinstance(value, dict):
        return {key: timeless(part) for key, part in value.items() if key != "seconds"}
    return [timeless(part) for part in value] if isinstance(value, list) else value


def sent() -> list[list[ChatMessage]]:
    return [call["messages"] for call in CALLS["model"] if "messages" in call]


def all_text(messages: list[ChatMessage]) -> str:
    return "\n".join(json.dumps(message.to_openai_dict_format(), ensure_ascii=False) for message in messages)


@every_format
@pytest.mark.parametrize("path", PATHS)
async def test_the_same_script_gives_the_same_trace(form: str, path: str):
    script, settings = PATHS[path]
    question = "alpha or delta?" if path == "supplement" else QUESTION

    as_text = await run("text", *script, question=question, **with_own_model(settings))
    CALLS.clear()
    result = await run(form, *script, question=question, **with_own_model(settings))

    assert result["answer"] == "1974"
    assert timeless(result["trace"]) == timeless(as_text["trace"])
    assert timeless(result) == timeless(as_text)


def with_own_model(settings: dict[str, Any]) -> dict[str, Any]:
    """Add a script for the reflector, which replies in another format."""
    if "others" not in settings:
        return settings
    model = {
        "type": "tests.fakes.ScriptedChatGenerator",
        "init_parameters": {"script": list(settings["others"]), "name": "reflector"},
    }
    return {**settings, "replace": {"reflector.reflection": "call", "reflector.chat_generator": model}}


@every_format
async def test_thinking_stays_out_of_the_transcript_and_of_every_parse(form: str):
    thinking = "Final Answer: 1812, or Action: Telephone? <search>moon</search>"
    prefix = f"<think>{thinking}</think>"

    result = await run(form, Search("alpha"), Search("beta"), Answer(), prefix=prefix, verdicts=(verdict(True),))

    assert (result["answer"], result["steps"][1]["source"]) == ("1974", "local")
    assert not any("Telephone" in all_text(messages) for messages in sent())


@every_format
@pytest.mark.parametrize("too_long", ["question", "replies"])
async def test_a_prompt_too_long_without_documents_ends_the_run(form: str, too_long: str):
    words = "alpha " * 600
    question, query = (words.strip(), "alpha") if too_long == "question" else (QUESTION, words)

    with pytest.raises(RunFailed, match="reasoner cannot call its model: .*PREFRAG_LLM_CONTEXT.*max_steps") as failure:
        await run(form, *[Search(query)] * 3, Answer(), question=question, context_window=1_700)

    result = failure.value.result
    assert bool(result["steps"]) is (too_long == "replies"), "what was done is kept"
    assert "reasoner cannot call" in result["errors"][-1]


@every_format
async def test_what_does_not_fit_the_window_is_cut_oldest_first(form: str):
    documents = {"local": {"alpha": f"First. {'word ' * 1_500}", "beta": "Second and shorter. " * 60}, "web": {}}

    result = await run(
        form,
        Search("alpha"),
        Search("beta"),
        Answer(),
        verdicts=(verdict(True),),
        documents=documents,
        context_window=3_700,
    )

    assert "First." in all_text(sent()[1])
    assert "First." not in all_text(sent()[2])
    assert "Second and shorter." in all_text(sent()[2])
    assert [event["documents_cut"] for event in result["trace"] if event["kind"] == "cut"][-1] == 1


async def test_tools_go_back_as_calls_and_messages_of_the_tool():
    await run("tools", Search("alpha", tool="Telephone"), Search("alpha"), Search("beta"), Answer())

    messages = sent()[3]
    roles = [message.role for message in messages]
    assert roles == [ChatRole.USER, *[ChatRole.ASSISTANT, ChatRole.TOOL] * 3]
    assert [message.tool_call.tool_name for message in messages[1::2]] == [
        "Telephone",
        "Search_Engine",
        "Search_Engine",
    ]
    assert [message.tool_call_result.origin.id for message in messages[2::2]] == [
        message.tool_call.id for message in messages[1::2]
    ]
    assert "There is no action 'Telephone'" in messages[2].tool_call_result.result
    assert "Alpha was built by Beta." in messages[4].tool_call_result.result
    assert [tool.name for tool in CALLS["model"][0]["tools"]] == ["Search_Engine"]


async def test_a_forced_answer_calls_no_tool_and_calls_have_results():
    await run("tools", *[Search("alpha")] * 4, Forced(), verdicts=(verdict(True),))

    last = CALLS["model"][-1]
    assert last["generation_kwargs"]["tool_choice"] == "none"
    assert [message.role for message in last["messages"][1:]] == [ChatRole.ASSISTANT, ChatRole.TOOL] * 4
    assert "No further search" in last["messages"][-1].tool_call_result.result
    assert all("tool_choice" not in call["generation_kwargs"] for call in CALLS["model"][:-1])
