"""A connection to a model server, which callers share, and what is reported if it fails."""

import asyncio
import gc
from typing import Any

import pytest
from haystack.dataclasses import ChatMessage

from prefrag.components.generators import model_requests
from prefrag.components.generators.model_server import ModelServer, ModelServerError
from tests.components.generators.fake_model_server import DRIP, HANG, QUESTION, FakeModelServer, both_ways, completion


def connection(server: FakeModelServer, **changes: Any) -> ModelServer:
    settings = {"api_key": "sk-secret", "prefix": "PREFRAG_LLM_", "timeout": 60.0, "max_retries": 0, **changes}
    return ModelServer(**{"base_url": server.url, "model": "tiny", **settings})


def call(connection: ModelServer, how: str = "sync", **kwargs: Any) -> ChatMessage:
    """Call the server in both ways, which must give the same."""
    if how == "async":
        return asyncio.run(connection.call_async(QUESTION, kwargs, None))[0]
    return connection.call(QUESTION, kwargs, None)[0]


class TestConnection:
    def test_serves_several_event_loops(self, server: FakeModelServer, recwarn: pytest.WarningsRecorder):
        model = connection(server)
        # Connections that earlier tests left open warn when they are collected, so they are collected first.
        gc.collect()
        recwarn.clear()
        before = set(model_requests._sessions)

        async def several() -> list[str | None]:
            replies = await asyncio.gather(*(model.call_async(QUESTION, {}, None) for _ in range(4)))
            replies.append(await model.call_async(QUESTION, {}, None))
            return [reply.text for (reply,) in replies]

        for _ in range(3):
            assert asyncio.run(several()) == ["Paris"] * 5
        assert set(model_requests._sessions) <= before
        assert len(server.connections) <= 12, "calls of one loop share its connections"
        gc.collect()
        assert not [warning for warning in recwarn if "unclosed" in str(warning.message)]

    async def test_equal_ones_share_a_connection_of_their_loop_and_key(self, server: FakeModelServer):
        for _ in range(5):
            assert (await connection(server).call_async(QUESTION, {}, None))[0].text == "Paris"
        assert len(server.connections) == 1
        await connection(server, api_key="sk-new").call_async(QUESTION, {}, None)
        assert [request["authorization"] for request in server.requests[4:]] == ["Bearer sk-secret", "Bearer sk-new"]

    @both_ways
    def test_takes_a_user_name_and_a_query_in_the_address(self, server: FakeModelServer, how: str):
        address = server.url.replace("http://", "http://me:p%40ss@") + "/?version=1"
        assert call(connection(server, base_url=address), how, extra_headers={"x-team": "a"}, top_p=1).text == "Paris"
        (request,) = server.requests
        assert request["path"] == "/v1/chat/completions?version=1"
        assert request["authorization"] == "Basic bWU6cEBzcw=="
        assert "extra_headers" not in request

    @both_ways
    def test_goes_through_the_proxy_of_the_environment(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, how: str
    ):
        monkeypatch.setenv("no_proxy", "")
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        assert call(connection(server, base_url=f"http://{how}.invalid/v1"), how).text == "Paris"
        assert server.requests[0]["path"] == f"http://{how}.invalid/v1/chat/completions"

    @pytest.mark.parametrize(
        ("proxy", "base_url", "expected"),
        [
            ("http://proxy:3128", "http://[::1]:8000/v1", None),
            ("http://proxy:3128", "http://localhost:8000/v1", None),
            ("http://proxy:3128", "http://gpu:8000/v1", "http://proxy:3128"),
            ("me:secret@proxy:3128", "http://other:8000/v1", "http://me:secret@proxy:3128"),
        ],
    )
    def test_knows_which_addresses_the_proxy_is_not_for(
        self, monkeypatch: pytest.MonkeyPatch, proxy: str, base_url: str, expected: str | None
    ):
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.setenv("no_proxy", "localhost,127.0.0.1,::1")
        model_requests._route.cache_clear()
        assert model_requests._route(base_url)[0] == expected

    def test_refuses_a_proxy_of_another_kind_without_its_password(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("no_proxy", "")
        monkeypatch.setenv("http_proxy", "socks5://me:secret@proxy:1080")
        with pytest.raises(ValueError, match="kind socks5") as refused:
            model_requests._route("http://behind.invalid/v1")
        assert "secret" not in str(refused.value)


class TestUnusualReplies:
    PARIS = {"token": "Paris", "logprob": -0.5, "bytes": [80, 97, 114, 105, 115]}
    ROME = {"token": "Rome", "logprob": -1.5}

    @both_ways
    @pytest.mark.parametrize(
        ("content", "text"),
        [
            ([{"type": "text", "text": "Pa"}, {"type": "text", "text": "ris"}], "Paris"),
            ([{"type": "image_url"}, "Paris", None], "Paris"),
            ({"text": "Paris"}, ""),
            (None, ""),
            ("caf\ud83d", "caf?"),
        ],
    )
    def test_are_read_as_far_as_they_can_be(self, server: FakeModelServer, how: str, content: Any, text: str):
        server.answers = [(200, completion(content))]
        assert call(connection(server), how).text == text

    @both_ways
    @pytest.mark.parametrize(
        "arguments", ['{"query": "alpha"}', {"query": "alpha"}, '{"query": "alpha"', "{'query': 'alpha'}"]
    )
    def test_of_a_tool_call_have_arguments_in_any_form(self, server: FakeModelServer, how: str, arguments: Any):
        tool_call = {"id": "a", "type": "function", "function": {"name": "search", "arguments": arguments}}
        server.answers = [(200, completion(None, tool_calls=[tool_call]))]
        assert call(connection(server), how).tool_call.arguments == {"query": "alpha"}

    @both_ways
    def test_of_a_tool_call_may_have_an_empty_text_for_no_arguments(self, server: FakeModelServer, how: str):
        tool_call = {"id": "a", "type": "function", "function": {"name": "finish", "arguments": " "}}
        server.answers = [(200, completion(None, tool_calls=[tool_call]))]
        assert call(connection(server), how).tool_call.arguments == {}

    @both_ways
    @pytest.mark.parametrize("function", [None, {}, {"name": "search", "arguments": "so"}])
    def test_with_unreadable_tool_calls_are_marked_odd_counts_left(
        self, server: FakeModelServer, how: str, function: Any
    ):
        cached = {"cached_tokens": 2, "audio_tokens": None}
        usage = {"prompt_tokens": float("nan"), "completion_tokens": 3, "prompt_tokens_details": cached}
        answer = completion("I look.", tool_calls=[{"id": 7, "function": function}])
        server.answers = [(200, {**answer, "usage": usage})]
        reply = call(connection(server), how)
        assert (reply.tool_calls, reply.meta["finish_reason"]) == ([], "tool_calls")
        assert reply.meta["usage"] == {"completion_tokens": 3, "cached_tokens": 2}

    @both_ways
    @pytest.mark.parametrize(
        ("logprobs", "kept"),
        [
            ({"content": [{**PARIS, "top_logprobs": []}], "refusal": None}, {"content": [PARIS]}),
            (
                {"content": [{**PARIS, "top_logprobs": [{**ROME, "rank": 1}]}]},
                {"content": [{**PARIS, "top_logprobs": [ROME]}]},
            ),
            *((unreadable, None) for unreadable in (None, {}, {"content": None}, {"content": [{"token": "x"}]}, "so")),
        ],
    )
    def test_have_the_log_probabilities_that_can_be_read(
        self, server: FakeModelServer, how: str, logprobs: Any, kept: Any
    ):
        answer = completion("Paris")
        answer["choices"][0]["logprobs"] = logprobs
        server.answers = [(200, answer)]
        meta = call(connection(server), how).meta
        assert meta.get("logprobs") == kept
        assert ("logprobs" in meta) is (kept is not None)

    @both_ways
    def test_that_are_too_long_are_cut_and_endless_ones_not_received(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, how: str
    ):
        server.answers = [(200, completion("word " * 100_000)), (200, completion("word " * 600_000))]
        assert len(call(connection(server), how).text or "") == 100_000
        monkeypatch.setattr(model_requests, "MAX_BODY_BYTES", 1_000_000)
        with pytest.raises(ModelServerError, match="more than 1 MB: see whether it obeys `max_tokens`"):
            call(connection(server, max_retries=2), how)
        assert len(server.requests) == 2, "a second reply would be as long"


class TestFailure:
    @both_ways
    @pytest.mark.parametrize(
        ("header", "seconds"),
        [
            ("3600", 3_600.0),
            ("59.5", 59.5),
            ("9999", 3_600.0),
            ("Tue, 01 Jan 2999 00:00:00 GMT", 3_600.0),
            ("-5", None),
            ("9" * 400, None),
            ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
            ("soon", None),
            (None, None),
        ],
    )
    def test_a_server_without_room_is_an_error_with_status_and_pause(
        self, server: FakeModelServer, how: str, header: str | None, seconds: float | None
    ):
        server.answers = [(429, {"error": {"message": "slow down"}})]
        server.headers = {"retry-after": header} if header else {}
        with pytest.raises(ModelServerError, match="after one attempt") as caught:
            call(connection(server), how)
        assert (caught.value.status, caught.value.retry_after) == (429, seconds)

    @both_ways
    def test_the_message_counts_the_attempts_that_were_made(self, server: FakeModelServer, how: str):
        server.answers = [(429, {"error": {"message": "slow down"}})]
        server.headers = {"retry-after": "3600"}
        with pytest.raises(ModelServerError, match="refused the call with status 429, after one attempt"):
            call(connection(server, max_retries=2), how)
        assert len(server.requests) == 1

        server.headers = {"retry-after-ms": "1", "x-should-retry": "false"}
        with pytest.raises(ModelServerError, match="after one attempt"):
            call(connection(server, max_retries=2), how)
        server.requests.clear()

        server.headers = {"retry-after-ms": "1"}
        with pytest.raises(ModelServerError, match="refused the call with status 429, after 3 attempts"):
            call(connection(server, max_retries=2), how)
        assert len(server.requests) == 3

    @both_ways
    @pytest.mark.parametrize(
        ("status", "answer", "advice"),
        [
            (307, {}, "sent a redirect, which is not followed: set PREFRAG_LLM_BASE_URL"),
            (401, {"error": {"message": "wrong key sk-secret"}}, "PREFRAG_LLM_API_KEY"),
            (403, {"error": {"message": "not yours"}}, "PREFRAG_LLM_API_KEY"),
            (404, {"error": {"message": "no model tiny"}}, "PREFRAG_LLM_MODEL"),
            (409, {"error": {"message": "locked for sk-secret"}}, r"status 409.*locked for \*\*\*"),
            (429, {"error": {"message": "slow down"}}, "send fewer at once"),
            (500, {"error": {"message": "out of memory"}}, "status 500, after one attempt.*out of memory"),
            (200, {**completion("Paris"), "choices": []}, "without choices"),
            (200, {**completion("Paris"), "choices": None}, "not a chat completion"),
            (200, {"hello": "world"}, "not a chat completion"),
            (200, "<html>Sign in</html>", "it begins with <html>Sign in</html>.*PREFRAG_LLM_BASE_URL"),
        ],
    )
    def test_message_names_server_model_and_what_to_do(
        self, server: FakeModelServer, how: str, status: int, answer: Any, advice: str
    ):
        server.answers = [(status, answer)]
        with pytest.raises(ModelServerError, match=advice) as caught:
            call(connection(server), how)
        message = str(caught.value)
        assert server.url in message
        assert "'tiny'" in message
        assert "sk-secret" not in message
        assert caught.value.status == (status if status != 200 else None)
        if answer != {**completion("Paris"), "choices": []}:
            assert caught.value.__cause__ is not None

    @both_ways
    @pytest.mark.parametrize(
        ("error", "status", "advice"),
        [
            (
                {"message": "overloaded, sk-secret", "code": 503},
                503,
                r"status 503, after one attempt.*overloaded, \*\*\*",
            ),
            ({"message": "quota", "code": "429"}, 429, "check your quota"),
            (
                {"message": "bad template", "code": "invalid_template"},
                200,
                "an error in place of a completion.*bad temp",
            ),
            ("no slot", 200, "an error in place of a completion.*no slot"),
        ],
    )
    def test_error_with_status_200_is_explained_like_any_other(
        self, server: FakeModelServer, how: str, error: Any, status: int, advice: str
    ):
        server.answers = [(200, {"error": error})]

        with pytest.raises(ModelServerError, match=advice) as caught:
            call(connection(server), how)

        assert caught.value.status == status
        assert "sk-secret" not in str(caught.value)

    @both_ways
    def test_one_that_says_that_the_server_is_busy_is_repeated(self, server: FakeModelServer, how: str):
        server.headers = {"retry-after-ms": "1"}
        server.answers = [(200, {"error": {"message": "overloaded", "code": 503}}), (200, completion("Paris"))]

        assert call(connection(server, max_retries=1), how).text == "Paris"

    @both_ways
    def test_unknown_parameter_is_the_callers_and_dead_server_named(self, server: FakeModelServer, how: str):
        with pytest.raises(ValueError, match=r"top_q.*extra_body"):
            call(connection(server), how, top_q=1)
        server.close()
        with pytest.raises(ModelServerError, match=r"cannot be reached.*whether it runs"):
            call(connection(server), how)

    @pytest.mark.parametrize(
        ("how", "answer", "retries"),
        [("sync", HANG, 0), ("async", HANG, 0), ("sync", DRIP, 0), ("async", DRIP, 0), ("async", HANG, 5)],
        ids=[
            "sync",
            "async",
            "sync, a server that only keeps the call alive",
            "a server that only keeps the call alive",
            "retries have no time of their own",
        ],
    )
    def test_no_reply_in_time(self, server: FakeModelServer, how: str, answer: Any, retries: int):
        server.answers = [(200, answer)]
        with pytest.raises(ModelServerError, match=r"within 0\.1 seconds"):
            call(connection(server, timeout=0.1, max_retries=retries), how)
        assert len(server.requests) <= 1

    @both_ways
    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    def test_a_redirect_is_not_followed(self, server: FakeModelServer, how: str, status: int):
        server.answers = [(status, {}), (200, completion("Elsewhere"))]
        server.headers = {"location": f"{server.url}/chat/completions"}

        with pytest.raises(ModelServerError, match="sent a redirect, which is not followed"):
            call(connection(server), how)

        assert (len(server.requests), server.looked_up) == (1, [])

    def test_secrets_in_the_address_stay_out_of_the_message(self, server: FakeModelServer):
        server.answers = [(500, {"error": "no route /v1/chat/completions?key=long-secret"})]
        with pytest.raises(ModelServerError) as caught:
            call(connection(server, base_url=server.url.replace("http://", "http://user:pass@") + "?key=long-secret"))
        assert "pass" not in str(caught.value)
        assert "long-secret" not in str(caught.value)

    async def test_cancelling_a_call_is_not_a_failure_of_the_server(self, server: FakeModelServer):
        server.answers = [(200, HANG)]
        task = asyncio.ensure_future(connection(server).call_async(QUESTION, {}, None))
        assert await asyncio.to_thread(server.called.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    @pytest.mark.parametrize("cut", [441, *range(470, 500, 7)])
    @pytest.mark.parametrize("key", ["sk-secret", "sk-secret-and-long"])
    def test_a_key_on_the_cut_of_a_long_answer_is_masked_whole(self, server: FakeModelServer, key: str, cut: int):
        server.answers = [(400, {"error": {"message": "x" * cut + f"{key} and more" + "y" * 90}})]

        with pytest.raises(ModelServerError) as failure:
            call(connection(server, api_key=key))

        assert "sk-" not in str(failure.value)
