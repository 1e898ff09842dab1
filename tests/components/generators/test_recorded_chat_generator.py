"""A model's replies, kept and played."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from haystack import default_from_dict
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool

from prefrag.components.generators.model_call import ModelCall
from prefrag.components.generators.recorded_chat_generator import RecordedChatGenerator
from prefrag.components.recording import NotRecorded, Recording
from tests.fakes import CALLS, ScriptedChatGenerator
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
    with pytest.raises(ValueError, match="takes a `chat_generator`"):
        recorded(path)


def test_survives_serialisation(path: Path):
    whole = recorded(path, "Paris")

    again = default_from_dict(RecordedChatGenerator, whole.to_dict())

    assert again.to_dict() == whole.to_dict()
    assert isinstance(again.chat_generator, ScriptedChatGenerator)


class TestReplies:
    async def test_are_replayed_without_the_model_with_what_they_cost(self, path: Path):
        model = recorded(path, "Paris")
        model.warm_up()
        first = model.run(ASKED)

        again = recorded(path, mode="replay")
        again.warm_up()

        assert again.run(ASKED) == await again.run_async(ASKED) == first
        assert again.run(ASKED)["replies"][0].meta["usage"]["prompt_tokens"] == 10

    async def test_are_recorded_the_asynchronous_way_too(self, path: Path):
        await recorded(path, "Paris").run_async(ASKED)

        model = ReplyingChatGenerator([{"text": "Rome"}])
        other = RecordedChatGenerator(Recording(str(path)), "other", model)
        assert text(await other.run_async(ASKED)) == "Rome"
        assert text(recorded(path, "Lyon").run(ASKED)) == "Paris"

    @pytest.mark.parametrize(
        "changed",
        [
            {"messages": [ChatMessage.from_user("And of Italy?")]},
            {"messages": [ChatMessage.from_system("Be brief."), *ASKED]},
            {"messages": [*ASKED, ChatMessage.from_assistant("It is")]},
            {"generation_kwargs": {"temperature": 0.7}},
            {"tools": [TOOL]},
        ],
    )
    def test_belong_to_messages_parameters_and_tools(self, path: Path, changed: dict[str, Any]):
        recorded(path, "Paris").run(ASKED, {"temperature": 0.1})

        with pytest.raises(NotRecorded, match="does not hold this reply of llm"):
            recorded(path, mode="replay").run(
                **{"messages": ASKED, "generation_kwargs": {"temperature": 0.1}, **changed}
            )

    def test_of_the_same_call_are_the_same_within_a_run(self, path: Path):
        model = recorded(path, "Paris", "Lyon")

        assert [text(model.run(ASKED)) for _ in range(2)] == ["Paris", "Paris"]
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

    def test_can_be_changed_by_whoever_gets_them(self, path: Path):
        model = recorded(path, "Paris")

        model.run(ASKED)["replies"][0].meta["usage"].clear()

        assert model.run(ASKED)["replies"][0].meta["usage"]

    def test_with_calls_of_tools_keep_them(self, path: Path):
        inner = ReplyingChatGenerator([{"text": "Looking.", "calls": [("look", {"at": "it"})]}])
        first = RecordedChatGenerator(Recording(str(path)), "llm", inner).run(ASKED, tools=[TOOL])

        again = recorded(path, mode="replay").run(ASKED, tools=[TOOL])

        assert again == first
        assert again["replies"][0].tool_calls[0].arguments == {"at": "it"}


class TestFailures:
    def test_are_replayed_as_failures(self, path: Path):
        with pytest.raises(RuntimeError, match="server is down"):
            recorded(path, "!server is down").run(ASKED)

        with pytest.raises(RuntimeError, match="server is down"):
            recorded(path, mode="replay").run(ASKED)

    async def test_are_called_again_by_the_next_call(self, path: Path):
        model = recorded(path, "!server is down", "Paris")
        with pytest.raises(RuntimeError, match="server is down"):
            await model.run_async(ASKED)

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
    @pytest.mark.parametrize("is_embedded", [True, False])
    def test_of_the_model_are_known_without_it(self, path: Path, is_embedded: bool):
        model = recorded(path, "Paris", is_embedded=is_embedded, context_window=999)
        assert (model.is_embedded, model.context_window) == (is_embedded, 999)

        replayed = recorded(path, mode="replay")

        assert (replayed.is_embedded, replayed.context_window) == (is_embedded, 999)

    def test_its_own_parameters_are_among_them(self, path: Path):
        def call(mode: str) -> dict[str, Any]:
            model = ScriptedChatGenerator(["Paris"]) if mode == "record" else None
            if model is not None:
                model.generation_kwargs = {"temperature": 0.7, "max_tokens": 2000}  # type: ignore[attr-defined]
            wrapped = RecordedChatGenerator(Recording(str(path), mode), "llm", model)  # type: ignore[arg-type]
            return ModelCall("reasoner", wrapped).generation_kwargs

        assert call("record") == call("replay") == {"temperature": 0.7, "top_p": 0.9, "max_tokens": 2000}

    def test_the_limit_of_a_reply_from_the_environment_is_among_them(self, path: Path):
        model = ScriptedChatGenerator(["Paris"])
        model.reply_limit = 4000  # type: ignore[attr-defined]
        RecordedChatGenerator(Recording(str(path), "record"), "llm", model).warm_up()

        assert recorded(path, mode="replay").reply_limit == 4_000

    def test_that_it_is_named_for_judging_is_among_them(self, path: Path):
        model = ScriptedChatGenerator(["Paris"])
        model.is_named_for_judging = True  # type: ignore[attr-defined]
        RecordedChatGenerator(Recording(str(path), "record"), "judge", model).warm_up()
        RecordedChatGenerator(Recording(str(path), "record"), "llm", ScriptedChatGenerator(["Paris"])).warm_up()

        def replayed(name: str) -> RecordedChatGenerator:
            return RecordedChatGenerator(Recording(str(path), "replay"), name)

        assert (replayed("judge").is_named_for_judging, replayed("llm").is_named_for_judging) == (True, False)

    def test_of_another_model_end_a_replay_at_once(self, path: Path):
        path.touch()

        with pytest.raises(NotRecorded, match="does not hold this model of llm"):
            recorded(path, mode="replay").warm_up()

    def test_of_another_model_forbid_to_go_on_with_a_recording(self, path: Path):
        recorded(path, "Paris", context_window=999).warm_up()

        with pytest.raises(ValueError, match=r"replies of another model .*context_window 999; now .*8192"):
            recorded(path, "Paris").warm_up()
