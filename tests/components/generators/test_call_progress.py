"""How far a model's call is, and the reply that was streamed."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.generators import call_progress
from prefrag.components.generators.call_progress import CallProgress, followed, join_chunks
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.generators.model_requests import RefusedByServer
from prefrag.components.generators.model_server import ModelServerError, read_completion
from tests.components.generators.fake_model_server import QUESTION, FakeModelServer, both_ways, completion

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
TOKEN = {"token": "Paris", "logprob": -0.5, "bytes": [80, 97, 114, 105, 115]}


def chunk(delta: dict[str, Any], finish_reason: str | None = None, **fields: Any) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, **fields.pop("choice", {})}
    written = json.dumps({"model": "served", "choices": [choice], **fields}, ensure_ascii=False, separators=(",", ":"))
    return f"data: {written}\n\n"


def reading(read: Any, total: Any) -> str:
    return chunk({"role": "assistant", "content": None}, prompt_progress={"processed": read, "total": total})


def stream(*pieces: str) -> str:
    end = f"data: {json.dumps({'model': 'served', 'choices': [], 'usage': USAGE})}\n\ndata: [DONE]\n\n"
    return "".join([*(chunk({"content": piece}) for piece in pieces), chunk({}, "stop"), end])


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, int]]]:
    monkeypatch.setattr(call_progress, "_LEAST_SECONDS", 0.0)
    counts: list[dict[str, int]] = []
    with following(CallProgress(counts.append)):
        yield counts


@contextmanager
def following(progress: CallProgress) -> Iterator[None]:
    token = followed.set(progress)
    yield
    followed.reset(token)


def tell(*bodies: str) -> list[dict[str, int]]:
    counts: list[dict[str, int]] = []
    progress = CallProgress(counts.append)
    for body in bodies:
        progress.read(bytearray(body.encode()))
    return counts


class TestCallProgress:
    def test_is_the_tokens_of_the_prompt_that_were_read(self):
        assert tell(f"{reading(0, 3_400)}{reading(1_200, 3_400)}:\n\n") == [{"read": 1_200, "total": 3_400}]

    def test_is_the_tokens_of_the_reply_once_the_prompt_was_read(self):
        said = chunk({"content": 'a "content":"b'}) + chunk({"reasoning_content": "c"})

        assert tell(reading(9, 9) + chunk({"role": "assistant", "content": None}) + said) == [{"written": 2}]

    def test_is_told_at_most_once_a_second(self):
        assert len(tell(*[reading(number, 9) for number in range(9)])) == 1

    @pytest.mark.parametrize("body", ["", "data: {", "data: {]}\n\n", ":\n\n", reading(5, 4), reading("5", 9)])
    def test_that_cannot_be_read_is_not_told(self, body: str):
        assert tell(body) == []


class TestAStreamedReply:
    @given(st.lists(st.text(), max_size=5))
    def test_says_what_it_would_have_said_in_one_piece(self, pieces: list[str]):
        [streamed], [whole] = (
            read_completion(body.encode("utf-8", "replace"))
            for body in (stream(*pieces), json.dumps(completion("".join(pieces)), ensure_ascii=False))
        )

        assert (streamed.text, streamed.meta) == (whole.text, whole.meta)

    def test_keeps_log_probabilities_and_says_that_all_was_reasoning(self):
        said = chunk({"content": "Paris"}, "stop", choice={"logprobs": {"content": [TOKEN]}})
        thought = chunk({"reasoning_content": "Where?"}, "stop")

        assert read_completion(said.encode())[0].meta["logprobs"] == {"content": [TOKEN]}
        assert read_completion(thought.encode())[0].meta["filed_as_reasoning"]

    def test_needs_no_blank_behind_the_colon(self):
        streamed = stream("Par", "is")

        assert join_chunks(streamed.replace("data: ", "data:").encode()) == join_chunks(streamed.encode())

    def test_that_breaks_off_or_ends_in_an_error_is_no_reply(self):
        with pytest.raises(ValueError, match="ended before"):
            join_chunks(chunk({"content": "Par"}).encode())
        with pytest.raises(RefusedByServer, match="out of memory"):
            join_chunks(b'data: {"error": {"code": 500, "message": "out of memory"}}\n\n')


class TestOfAModel:
    @both_ways
    def test_on_llama_cpp_is_told_and_the_reply_is_the_same(self, server: FakeModelServer, told: list[Any], how: str):
        llama_cpp(server)
        server.answers = [(200, f":\n\n{reading(3, 7)}{stream('Par', 'is')}")]

        model = ChatModel()
        output = asyncio.run(model.run_async(QUESTION)) if how == "async" else model.run(QUESTION)
        reply = output["replies"][0]

        assert (reply.text, reply.meta["usage"]) == ("Paris", USAGE)
        assert server.requests[0]["return_progress"] is server.requests[0]["stream"] is True
        assert told

    def test_is_not_asked_for_without_followers_or_on_other_servers(self, server: FakeModelServer):
        llama_cpp(server)
        ChatModel().run(QUESTION)
        with following(CallProgress(print)):
            model = ChatModel()
            model.record.keep(build="")
            model.run(QUESTION)

        assert len(server.requests) == 2
        assert not any(sent.keys() & {"stream", "return_progress"} for sent in server.requests)

    def test_that_a_server_refuses_is_not_asked_for_again(self, server: FakeModelServer, told: list[Any]):
        llama_cpp(server)
        refusal = (400, {"error": {"message": "Unknown field 'return_progress'"}})
        server.answers = [refusal, (200, stream("Paris"))]

        replies = [ChatModel().run(QUESTION)["replies"][0].text for _ in range(2)]

        assert replies == ["Paris", "Paris"]
        assert ["return_progress" in sent for sent in server.requests] == [True, False, False]

    def test_that_ends_in_an_error_is_reported_with_the_reason(self, server: FakeModelServer, told: list[Any]):
        llama_cpp(server)
        server.answers = [(200, 'data: {"error": {"code": 500, "message": "out of memory"}}\n\n')]

        with pytest.raises(ModelServerError, match="status 500.*out of memory"):
            ChatModel().run(QUESTION)


def llama_cpp(server: FakeModelServer) -> None:
    server.listed = {"data": [{"id": "tiny", "meta": {"n_ctx_train": 8_192, "n_params": 1_000}}]}
    server.pages["/props"] = {"default_generation_settings": {"n_ctx": 6_144}, "build_info": "b6000"}
