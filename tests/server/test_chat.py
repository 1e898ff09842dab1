"""The OpenAI chat protocol, over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest
from hayhooks.server.pipelines.registry import registry
from starlette.testclient import TestClient

from tests.fakes import CALLS
from tests.for_each import for_each
from tests.server.chats import CONTENT, chat, deltas, streamed

Served = Callable[..., TestClient]


class TestWhole:
    def test_holds_answer_sources_and_result_and_counts_tokens(self, served: Served):
        completion = served().post("/v1/chat/completions", json=chat()).json()

        (choice,) = completion["choices"]
        assert completion["object"] == "chat.completion"
        assert choice["finish_reason"] == "stop"
        assert choice["message"] | {"role": "assistant"} == choice["message"]
        assert choice["message"]["content"] == CONTENT
        assert completion["prefrag"]["answer"] == "1974"
        assert completion["prefrag"]["steps"][1]["source"] == "web"
        # There are three replies to the reasoner and one to the judge.
        assert completion["usage"] == {"prompt_tokens": 40, "completion_tokens": 8, "total_tokens": 48}


class TestStream:
    def test_sends_the_steps_and_then_the_answer_marked_complete(self, served: Served):
        chunks = streamed(served())

        steps = "".join(deltas(chunks, "reasoning_content")).splitlines()
        reported = [line.partition(":")[0].partition(" (")[0] for line in steps]
        assert ", ".join(reported) == (
            "Thought, Search local, Found in local, Verdict, Observed from local, Thought, Search local, Found in local, "
            "Verdict, Search web, Found in web, Observed from web, Thought, Answer, Reflection"
        )
        assert deltas(chunks, "content") == [CONTENT]
        reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks]
        assert reasons == [None] * (len(chunks) - 1) + ["stop"]
        assert chunks[-1]["choices"][0]["delta"]["content"].startswith("1974")


class TestRequest:
    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"sources": ["attic"]}, "attic"),
            ({"prefrag": {"top_k": 0}}, "top_k"),
            ({"prefrag": {"sources": "local"}}, "sources"),
            ({"prefrag": {"surces": ["local"]}}, "surces"),
            ({"prefrag": {"prompts": "/etc"}}, "prompts"),
            ({"prefrag": "local"}, "object"),
            ({"max_steps": "many"}, "max_steps"),
        ],
    )
    def test_an_option_that_cannot_be_used_is_refused(
        self, served: Served, stream: bool, fields: dict[str, Any], message: str
    ):
        response = served().post("/v1/chat/completions", json=chat(stream=stream, **fields))

        assert response.status_code == 422
        assert message in response.json()["detail"]

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("messages", [[("user", "x" * 4001)], [("user", "")], [("system", "Be brief.")], []])
    def test_a_question_that_is_missing_or_too_long_is_refused(self, served: Served, stream: bool, messages: list):
        body = {**chat(stream=stream), "messages": [{"role": role, "content": text} for role, text in messages]}

        assert served().post("/v1/chat/completions", json=body).status_code == 422

    @for_each("fields", {"sources": ["local"]}, {"prefrag": {"sources": ["local"]}})
    def test_options_stand_in_the_body_or_under_their_own_name(self, served: Served, fields: dict[str, Any]):
        completion = served().post("/v1/chat/completions", json=chat(**fields)).json()

        assert completion["prefrag"]["counts"]["total_web"] == 0
        assert "web" not in CALLS

    def test_parameters_of_other_models_change_nothing(self, served: Served):
        """Usage comes when it is requested."""

        client = served()
        body = chat(temperature=2, max_tokens=1, user="u1")
        assert client.post("/v1/chat/completions", json=body).json()["prefrag"]["answer"] == "1974"
        CALLS.clear()
        chunks = streamed(client, stream_options={"include_usage": True})
        assert (chunks[-1]["choices"], chunks[-1]["usage"]["total_tokens"]) == ([], 48)
        response = client.post("/v1/chat/completions", json=chat(stream=True, stream_options="include_usage"))
        assert (response.status_code, "stream_options must be a JSON object" in response.text) == (422, True)

    def test_question_may_come_in_parts_and_no_field_sets_prompts(self, served: Served):
        parts = [{"type": "text", "text": "Who built"}, {"type": "image_url"}, {"type": "text", "text": "alpha?"}]
        response = served().post("/v1/chat/completions", json=chat(("user", parts), prompts="/nowhere"))
        assert response.json()["prefrag"]["question"] == "Who built\nalpha?"
        assert registry.get("prefrag").pipeline.get_component("start").prompts == "product"
