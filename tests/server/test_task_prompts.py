"""Tasks of front ends: none of their private words leaves, and the model beside a pipeline does them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from string import Template
from typing import Any

import httpx
import pytest
import yaml
from starlette.testclient import TestClient

from prefrag.components.state.state_builder import StateBuilder
from prefrag.components.web.query_origin import reason_to_withhold
from prefrag.server.chat.conversation import split_conversation
from tests.components.generators.fake_model_server import FakeModelServer
from tests.fakes import CALLS
from tests.for_each import for_each
from tests.pipelines.scripted import answer, sent
from tests.server.chats import chat
from tests.server.conftest import CHAT_MODEL
from tests.server.front_ends import TASKS
from tests.server.serving import listening

_FILES = [Path(__file__).parents[1] / "task_prompts" / f"{name}.yaml" for name in ("invented", "clients")]
INVENTED, CLIENTS = (yaml.safe_load(file.read_text("utf-8")) for file in _FILES)


def read_prompts() -> Iterator[tuple[str, list[dict[str, str]], str, list[str]]]:
    """For each prompt, by either role: its name and messages, the private sentence, and the words to keep."""
    for case in INVENTED["cases"] + CLIENTS["cases"]:
        private: dict[str, Any] = INVENTED["private"][case.get("language", "en")]
        text = private["text"]
        for speaker, said in {"user": (text, "Noted."), "assistant": ("When?", text)}.items():
            texts = {"private": text, "user": said[0], "assistant": said[1]}
            turns = [turn for message in case["messages"] for turn in message.items()]
            messages = [{"role": role, "content": Template(form).safe_substitute(texts)} for role, form in turns]
            last = max(number for number, (role, _) in enumerate(turns) if role == "user")
            # Text after the question is not read.
            if any(text in message["content"] for message in messages[: last + 1]):
                yield f"{case['name']}, by the {speaker}", messages, text, [str(word) for word in private["words"]]


PROMPTS = list(read_prompts())
QUESTION = "Who built alpha?"
Served = Callable[..., TestClient]


def ask(client: TestClient, *messages: tuple[str, str], **fields: Any) -> dict[str, Any]:
    return client.post("/v1/chat/completions", json=chat(*messages) | fields).json()


@for_each("name, messages, private, words", *PROMPTS)
def test_no_query_with_a_private_word_passes(name: str, messages: list[dict[str, str]], private: str, words: list[str]):
    question, history, attached, instructions = split_conversation(messages)
    documents = [{"title": each.title, "content": each.content} for each in attached]
    state = StateBuilder(["local", "web"], "local", ["web"]).run(
        question, history=history, documents=documents, instructions=instructions
    )["state"]

    for query in (" ".join(question.split()), private, " ".join(words), " ".join(words[:2])):
        assert reason_to_withhold(query, state) or not any(word in query for word in words)


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", ["prefrag", "vanilla_mix"])
def test_no_private_word_leaves_over_http(pipeline: str, script_pipeline: Callable[..., None]):
    model, leaked = FakeModelServer(), []
    model.answers = [(200, lambda body: answer("Merger", "PARTIALLY CORRECT"))]
    script_pipeline(name=pipeline, pipeline=pipeline, replace={"ChatModel": CHAT_MODEL})
    variables = {"PREFRAG_SERVE": pipeline, "PREFRAG_LLM_BASE_URL": model.url, "PREFRAG_LLM_MODEL": "scripted"}
    with listening(**variables) as (_, address), httpx.Client(base_url=address, timeout=60) as client:
        for name, messages, _, words in PROMPTS:
            CALLS.clear()
            body = {"model": pipeline, "messages": messages}
            client.post("/v1/chat/completions", json=body).raise_for_status()
            leaked += [name for call in CALLS.get("web", ()) if any(word in call["query"] for word in words)]
        assert sent(client.post(f"/{pipeline}/run", json={"question": QUESTION}).json()["result"]), "the web is open"
    model.close()

    assert leaked == []


class TestTheModelBesideAPipeline:
    @for_each("prefix", "", "/open-webui")
    def test_does_with_the_model_alone_whatever_it_is_asked(self, served: Served, prefix: str):
        body = chat() | {"model": "prefrag-tasks"}

        completion = served("Plans").post(f"{prefix}/v1/chat/completions", json=body).json()

        assert completion["choices"][0]["message"]["content"] == "Plans"
        assert CALLS.keys() == {"model"}

    @for_each(
        "prompt, reply",
        (TASKS["title"][0], '{"title": "What do we plan?"}'),
        (TASKS["tags"][0], '{"tags": []}'),
        ('Name it.\n[{"role": "user", "content": "What do we plan for May 1974?"}]', "What do we plan for May"),
        (QUESTION, "This model only does tasks of front ends, such as titles. Ask prefrag, which searches your"),
    )
    def test_answers_without_a_model_too(self, served: Served, prompt: str, reply: str):
        completion = ask(served(model_settings={"is_embedded": True}), ("user", prompt), model="prefrag-tasks")

        assert completion["choices"][0]["message"]["content"].startswith(reply)
        assert not CALLS

    def test_is_no_route_nor_pipeline_of_the_page(self, served: Served):
        """It knows collections."""

        client = served()

        assert client.post("/prefrag-tasks/run", json={"question": QUESTION}).status_code == 404
        assert [one["name"] for one in client.get("/pipelines").json()["pipelines"]] == ["prefrag"]
        assert ask(client, ("user", QUESTION), model="prefrag-tasks", index="nowhere")["error"]["message"]


def test_follow_up_with_earlier_turns_is_no_task_and_goes_out(served: Served):
    client = served('{"question": "Who built alpha?"}', answer("Beta", "INCORRECT"), answer("Beta"))
    turns = [("user", "What is alpha?"), ("assistant", "A boat that Quill designed."), ("user", "Who built it?")]

    assert sent(ask(client, *turns)["prefrag"]) == ["Who built alpha?"]


def test_an_answer_says_that_the_web_was_left_out_and_why(served: Served):
    message = "Shorten this, please.\n\nThe board of Ostermoor met on Monday."

    completion = ask(served(answer("It met.", "INCORRECT"), answer("It met.")), ("user", message))

    assert "not searched: the message holds a conversation or a text" in completion["choices"][0]["message"]["content"]
    assert [held["source"] for held in completion["prefrag"]["queries_held_back"]] == ["web"]
