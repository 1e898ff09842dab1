"""A model's replies are recorded and replayed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool

from prefrag.components.generators.model_call import ModelCall
from prefrag.components.generators.recorded_chat_generator import RecordedChatGenerator
from prefrag.components.recording import NotRecorded, Recording
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each
from tests.pipelines.replies import ReplyingChatGenerator

ASKED = [ChatMessage.from_user("What is the capital of France?")]
TOOL = Tool(name="look", description="Looks.", parameters={"type": "object", "properties": {}}, function=print)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept.jsonl"


def recorded(path: Path, *script: str, mode: str = "reuse", **settings: Any) -> Any:
    inner = ScriptedChatGenerator(list(script), **settings) if script else None
    return RecordedChatGenerator(Recording(str(path), mode), "llm", inner)  # type: ignore[arg-type]


def text(output: dict[str, Any]) -> str:
    return output["replies"][0].text


def test_needs_a_model_unless_it_replays(path: Path):
    with pytest.raises(ValueError, match="`chat_generator` is needed"):
        recorded(path)


class TestReplies:
    async def test_are_replayed_without_the_model_with_what_they_cost(self, path: Path):
        model = recorded(path, "Paris")
        model.warm_up()
        first = model.run(ASKED)
        again = recorded(path, mode="replay")
        again.warm_up()
        assert again.run(ASKED) == await again.run_async(ASKED) == first
        assert again.run(ASKED)["replies"][0].meta["usage"]["prompt_tokens"] == 10

    async def test_are_recorded_asynchronously_too_with_tool_calls(self, path: Path):
        await recorded(path, "Paris").run_async(ASKED)
        inner = ReplyingChatGenerator([{"text": "Looking.", "calls": [("look", {"at": "it"})]}])
        other = RecordedChatGenerator(Recording(str(path)), "other", inner)
        first = await other.run_async(ASKED, tools=[TOOL])
        assert text(first) == "Looking."
        assert text(recorded(path, "Lyon").run(ASKED)) == "Paris"
        again = RecordedChatGenerator(Recording(str(path), "replay"), "other").run(ASKED, tools=[TOOL])
        assert again == first
        assert again["replies"][0].tool_calls[0].arguments == {"at": "it"}

    @for_each(
        "changed",
        {"messages": [ChatMessage.from_user("And of Italy?")]},
        {"messages": [ChatMessage.from_system("Be brief."), *ASKED]},
        {"messages": [*ASKED, ChatMessage.from_assistant("It is")]},
        {"generation_kwargs": {"temperature": 0.7}},
        {"tools": [TOOL]},
    )
    def test_belong_to_messages_parameters_and_tools(self, path: Path, changed: dict[str, Any]):
        recorded(path, "Paris").run(ASKED, {"temperature": 0.1})

        with pytest.raises(NotRecorded, match="does not contain this reply of llm"):
            recorded(path, mode="replay").run(
                **{"messages": ASKED, "generation_kwargs": {"temperature": 0.1}, **changed}
            )

    def test_of_equal_calls_are_equal_in_a_run_and_safe_to_change(self, path: Path):
        model = recorded(path, "Paris", "Lyon")

        model.run(ASKED)["replies"][0].meta["usage"].clear()

        assert text(model.run(ASKED)) == "Paris"
        assert model.run(ASKED)["replies"][0].meta["usage"]
        assert len(CALLS["model"]) == 1

    async def test_of_the_same_call_at_the_same_time_are_the_same_too(self, path: Path):
        class Slow:
            scripted = ScriptedChatGenerator(["Paris", "Lyon"])

            def run(self, **arguments: Any) -> dict[str, Any]:
                return self.scripted.run(**arguments)

            async def run_async(self, **arguments: Any) -> dict[str, Any]:
                await asyncio.sleep(0)
                return self.run(**arguments)

        model = RecordedChatGenerator(Recording(str(path)), "llm", Slow())  # type: ignore[arg-type]

        outputs = await asyncio.gather(model.run_async(ASKED), model.run_async(ASKED))

        assert len(CALLS["model"]) == 2
        assert [text(output) for output in outputs] == ["Paris", "Paris"]


class TestFailures:
    async def test_are_replayed_as_failures_and_called_again_next_time(self, path: Path):
        model = recorded(path, "!server is down", "Paris")
        with pytest.raises(RuntimeError, match="server is down"):
            await model.run_async(ASKED)
        with pytest.raises(RuntimeError, match="server is down"):
            recorded(path, mode="replay").run(ASKED)

        assert text(await model.run_async(ASKED)) == "Paris"
        assert text(recorded(path, mode="replay").run(ASKED)) == "Paris"

    def test_no_reply_is_passed_on_and_not_kept(self, path: Path):
        class Silent:
            def run(self, **arguments: Any) -> dict[str, Any]:
                return {"replies": []}

        model = RecordedChatGenerator(Recording(str(path)), "llm", Silent())  # type: ignore[arg-type]

        assert model.run(ASKED) == {"replies": []}
        assert not path.exists()


class TestFacts:
    def test_of_each_model_are_known_without_it(self, path: Path):
        for name, flag in (("judge", True), ("llm", False)):
            model: Any = ScriptedChatGenerator(["Paris"], is_embedded=flag, context_window=999)
            model.reply_limit, model.is_named_for_judging, model.served_by = 4_000, flag, "one"
            first = RecordedChatGenerator(Recording(str(path), "record"), name, model)
            first.warm_up()
            assert (first.is_embedded, first.context_window) == (flag, 999)

        for name, flag in (("judge", True), ("llm", False)):
            replayed = RecordedChatGenerator(Recording(str(path), "replay"), name)
            assert (replayed.is_embedded, replayed.is_named_for_judging) == (flag, flag)
            assert (replayed.context_window, replayed.reply_limit, replayed.served_by) == (999, 4_000, "one")

    def test_its_own_parameters_are_among_them(self, path: Path):
        def call(mode: str) -> dict[str, Any]:
            model = ScriptedChatGenerator(["Paris"]) if mode == "record" else None
            if model is not None:
                model.generation_kwargs = {"temperature": 0.7, "max_tokens": 2000}  # type: ignore[attr-defined]
            wrapped = RecordedChatGenerator(Recording(str(path), mode), "llm", model)  # type: ignore[arg-type]
            return ModelCall("reasoner", wrapped).generation_kwargs

        assert call("record") == call("replay") == {"temperature": 0.7, "top_p": 0.9, "max_tokens": 2000}

    def test_of_another_model_end_a_replay_and_forbid_to_go_on(self, path: Path):
        path.touch()
        with pytest.raises(NotRecorded, match="does not contain this model of llm"):
            recorded(path, mode="replay").warm_up()

        recorded(path, "Paris", context_window=999).warm_up()
        with pytest.raises(ValueError, match=r"replies of another model .*context_window 999; now .*8192"):
            recorded(path, "Paris").warm_up()


def test_format_of_the_model_stays_that_of_the_begun_recording(path: Path):
    begun = recorded(path, "Paris")
    begun.chat_generator.reply_format = "steps"
    begun.run(ASKED)
    assert begun.reply_format == "steps"

    later = recorded(path, "Paris")
    later.chat_generator.reply_format = "text"

    assert later.reply_format == recorded(path, mode="replay").reply_format == "steps"
