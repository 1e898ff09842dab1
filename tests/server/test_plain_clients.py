"""Clients that only know the plain protocol get the answer, the notes on it and the sources as text."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from prefrag.server.chat.open_webui import PREFIX
from tests.fakes import CALLS
from tests.server.chats import CONTENT, QUESTION

MESSAGES: Any = [{"role": "system", "content": "Answer in Dutch."}, {"role": "user", "content": QUESTION}]
# Other clients may also use Open WebUI's base URL.
BASES = pytest.mark.parametrize(
    ("base", "content"), [("/v1", CONTENT), (f"{PREFIX}/v1", CONTENT.split("\n\nSources")[0])]
)


class TestOpenAI:
    @pytest.fixture
    def client(self, address: str) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)

    @BASES
    def test_gets_it_as_a_stream_which_it_assembles_itself(self, address: str, base: str, content: str):
        client = openai.OpenAI(base_url=f"{address}{base}", api_key="none")

        chunks = list(client.chat.completions.create(model="prefrag", messages=MESSAGES, stream=True))
        CALLS.clear()
        with client.chat.completions.stream(model="prefrag", messages=MESSAGES) as stream:
            completion = stream.get_final_completion()

        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == content
        assert chunks[-1].choices[0].finish_reason == "stop"
        assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
        assert completion.choices[0].message.content == content


class TestLangChain:
    @pytest.fixture(params=["/v1", f"{PREFIX}/v1"])
    def model(self, request: pytest.FixtureRequest, address: str) -> Any:
        langchain = pytest.importorskip("langchain_openai", reason="needs the package langchain-openai")
        return langchain.ChatOpenAI(base_url=address + request.param, api_key="none", model="prefrag")

    def test_gets_the_answer_whole_and_its_system_prompt_counts(self, model: Any):
        reply = model.invoke([("system", "Answer in Dutch."), ("human", QUESTION)])

        assert (reply.content, reply.usage_metadata["total_tokens"]) == (CONTENT, 48)
        assert "Answer in Dutch." in CALLS["model"][0]["prompt"]

    def test_gets_it_as_a_stream(self, model: Any):
        parts = [part.content for part in model.stream([("system", "Answer in Dutch."), ("human", QUESTION)])]

        assert CONTENT.startswith("".join(parts))
        assert "".join(parts).startswith("1974\n\nNote: ")
