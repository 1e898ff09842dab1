"""The trial of a model: what counts as able, what is kept of it, and when it is made."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from haystack import component
from haystack.dataclasses import ChatMessage

from prefrag.components.generators.ability_probe import AbilityProbe, find_untried, try_models
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.reasoner.reply_formats import FORMATS
from tests.components.generators.fake_model_server import FakeModelServer, completion
from tests.for_each import for_each

SEARCH = "Thought: I need her birthplace.\nAction: Search_Engine\nAction Input: Hedda Brink birthplace"
ANSWER = "Thought: The second passage says it.\nFinal Answer: Ilse Norrby [2]"
GAP = "Thought: Only the other ferry has a price.\nFinal Answer: NOT FOUND"
VERDICT = '{"analysis": "It is the same passage.", "status": "False"}'
ABLE = (SEARCH, ANSWER, GAP, VERDICT)


@pytest.fixture(autouse=True)
def _guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFRAG_LLM_FORMAT")


def reply(server: FakeModelServer, *texts: str) -> None:
    server.requests.clear()
    server.answers = [(200, completion(text)) for text in texts]


def tried(model: ChatModel) -> str:
    return asyncio.run(AbilityProbe(model).try_async())


def test_model_that_does_all_four_tasks_is_able_by_short_calls(server: FakeModelServer):
    reply(server, *ABLE)
    model = ChatModel()

    reason = tried(model)

    assert reason == model.format_reason == "4 of 4 tasks right"
    assert model.reply_format == "text"
    assert [request.get("stop") for request in server.requests] == [["\nObservation:"]] * 3 + [None], "as in a run"
    assert {(request["max_tokens"], request["temperature"]) for request in server.requests} == {(80, 0.0)}
    assert max(len(request["messages"][0]["content"]) for request in server.requests) < 1_000, "about 250 tokens"


@for_each(
    "task, text",
    (0, SEARCH.replace("Hedda Brink birthplace", "Marlow Lift engineer")),
    (0, SEARCH.replace("Hedda Brink birthplace", "the words to search for")),
    (0, "I would search for the birthplace of Hedda Brink."),
    (0, "Thought: I know.\nFinal Answer: Brinkholm"),
    (1, "Final Answer: Tomas Reike"),
    (1, "Norrby"),
    (1, SEARCH),
    (2, "Final Answer: 24 million crowns"),
    (2, "Final Answer: It carries 85 cars."),
    (2, "Action: Search_Engine\nAction Input: ferry Kestrel cost"),
    (2, ""),
    (3, VERDICT.replace("False", "True")),
    (3, "No, nothing is new."),
)
def test_model_that_fails_at_a_task_is_small_and_the_task_named(server: FakeModelServer, task: int, text: str):
    reply(server, *ABLE[:task], text, *ABLE[task + 1 :])
    model = ChatModel()

    reason = tried(model)

    assert model.reply_format == "steps"
    aims = ("search for the next fact", "answer from a passage", "admit what no passage states", "see that nothing")
    assert reason.startswith(f"3 of 4 tasks right (it did not {aims[task]}")


@for_each(
    "task, text",
    (0, "**Thought:** Who?\n**Action:** Search Engine\n**Action Input:** Where was Hedda Brink born?\nObservation: x"),
    (1, "<think>Which one?</think>\nFinal Answer: **Ilse Norrby**"),
    (2, "Action: Search_Engine\nAction Input: price of the ferry Kestrel"),
    (2, "Final Answer: The passages do not say."),
    (3, f"```json\n{VERDICT}\n```"),
)
def test_the_dress_of_a_reply_does_not_matter(server: FakeModelServer, task: int, text: str):
    reply(server, *ABLE[:task], text, *ABLE[task + 1 :])
    model = ChatModel()

    tried(model)

    assert model.reply_format == "text"


def test_model_that_thinks_long_is_not_judged_by_a_cut_reply(server: FakeModelServer):
    cut = completion("<think>The user asks")
    cut["choices"][0]["finish_reason"] = "length"
    server.answers = [(200, cut)]
    model = ChatModel()

    assert "thinks before it replies" in tried(model)
    assert model.reply_format == "text", "the first guess for a server that does not state the size"
    assert not model.is_format_guessed
    assert len(server.requests) == 1


def pipeline(reply_format: Any = "auto") -> dict[str, Reasoner]:
    return {"reasoner": Reasoner(ChatModel(), reply_format=reply_format)}


def test_a_model_is_tried_once_and_only_where_the_result_matters(
    server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
):
    reply(server, *ABLE)
    try_models(pipeline("json"))
    monkeypatch.setenv("PREFRAG_LLM_FORMAT", "steps")
    try_models(pipeline())
    monkeypatch.delenv("PREFRAG_LLM_FORMAT")
    assert server.requests == []

    for _ in range(2):
        try_models([pipeline(), pipeline()])

    assert len(server.requests) == 4
    assert find_untried(pipeline()) == []


def test_a_failure_leaves_the_guess_and_the_model_is_tried_again(server: FakeModelServer):
    server.answers = [(400, {})]
    try_models(pipeline())
    assert [model.reply_format for model in find_untried(pipeline())] == ["text"]

    reply(server, SEARCH)
    try_models(pipeline())

    assert ChatModel().reply_format == "steps"


def test_data_folder_that_is_read_only_does_not_prevent_it(
    server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "file"))
    reply(server, *ABLE)

    try_models(pipeline())

    assert ChatModel().format_reason == "4 of 4 tasks right"


def test_call_to_another_machine_is_audited_or_forbidden(
    server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(tmp_path / "log"))
    monkeypatch.setattr(AbilityProbe, "model_host", "models.example")
    monkeypatch.setenv("PREFRAG_REMOTE_MODEL", "off")
    try_models(pipeline())
    assert server.requests == []

    monkeypatch.setenv("PREFRAG_REMOTE_MODEL", "on")
    reply(server, *ABLE)
    try_models(pipeline())

    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(line["event"], line["caller"], line["host"]) for line in lines] == [
        ("model_call", "ability_probe", "models.example")
    ] * 4


class TestReasoner:
    def test_takes_the_format_of_the_model_or_of_the_pipeline_first(self, server: FakeModelServer):
        model = ChatModel()
        model.keep(reply_format="steps")

        small = Reasoner(model, reader=ExtractiveReader())._choose_format()

        assert type(small) is FORMATS["steps"]
        assert type(Reasoner(model, reply_format="text")._choose_format()) is FORMATS["text"]

    def test_gives_the_text_format_to_a_generator_without_facts(self):
        assert type(Reasoner(Silent())._choose_format()) is FORMATS["text"]


@component
class Silent:
    """A chat generator without a record."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict[str, list[ChatMessage]]:
        return {"replies": []}
