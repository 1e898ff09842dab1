"""The model that the environment names, and how it is called."""

import asyncio
import copy
import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.dataclasses import ChatMessage, StreamingChunk, ToolCall
from haystack.tools import Tool, Toolset

from prefrag.components.both_ways import as_blocking
from prefrag.components.generators import chat_model, context_window, embedded_chat_generator, model_record
from prefrag.components.generators.chat_model import ChatModel, ModelMissing
from prefrag.components.generators.embedded_chat_generator import CONTEXT_WINDOW, EmbeddedChatGenerator
from prefrag.components.generators.model_call import ModelCall
from prefrag.components.generators.model_server import ModelServer, ModelServerError
from prefrag.components.state.state import RunError
from tests.components.generators.fake_model_server import QUESTION, FakeModelServer, both_ways, completion
from tests.components.samples import state
from tests.for_each import for_each

SEARCH = Tool("search", "Finds.", {"type": "object", "properties": {"query": {"type": "string"}}}, lambda query: query)
FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "schema": {"type": "object"}}}


def call(model: ChatModel, how: str, messages: list[ChatMessage] = QUESTION, **kwargs: Any) -> ChatMessage:
    """Call the model in both ways, which must give the same."""
    if how == "async":
        return asyncio.run(model.run_async(messages, **kwargs))["replies"][0]
    return model.run(messages, **kwargs)["replies"][0]


class TestChoice:
    def test_is_none_without_variables_a_file_or_a_server(self, monkeypatch: pytest.MonkeyPatch):
        """With a base URL it is a server, also beside a file."""

        model = ChatModel()
        assert (model.is_absent, model.is_embedded) == (True, False)
        with pytest.raises(ModelMissing, match="PREFRAG_LLM_BASE_URL.*PREFRAG_LLM_GGUF"):
            model.warm_up()
        monkeypatch.setenv("PREFRAG_LLM_GGUF", "model.gguf")
        model = ChatModel()
        assert (model.is_absent, model.is_embedded, model.model_host) == (False, True, "localhost")
        assert model.context_window == CONTEXT_WINDOW
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", "http://gpu/v1")
        model = ChatModel()
        assert (model.is_absent, model.is_embedded, model.context_window) == (False, False, 8_192)

    def test_of_a_file_for_the_judge_leaves_the_reasoners_server(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        monkeypatch.setenv("PREFRAG_JUDGE_GGUF", str(tmp_path / "judge.gguf"))
        monkeypatch.setenv("PREFRAG_JUDGE_CONTEXT", "2000")
        judge = ChatModel(role="judge")
        assert (judge.is_absent, judge.is_embedded, judge.context_window) == (False, True, 2_000)
        with pytest.raises(FileNotFoundError, match=r"judge\.gguf"):
            judge.warm_up()
        assert ChatModel().is_absent
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", "http://gpu/v1")
        assert (ChatModel().is_embedded, ChatModel(role="judge").is_embedded) == (False, True)
        assert (ChatModel().is_named_for_judging, ChatModel(role="judge").is_named_for_judging) == (False, True)

    @pytest.mark.parametrize("judge_url", [None, "", "http://judge/v1"])
    def test_the_judge_has_a_server_of_its_own_only_with_a_base_url(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, judge_url: str | None
    ):
        monkeypatch.setenv("PREFRAG_LLM_CONTEXT", "1000")
        monkeypatch.setenv("PREFRAG_JUDGE_CONTEXT", "2000")
        monkeypatch.setenv("PREFRAG_JUDGE_STRUCTURED", "off")
        if judge_url is not None:
            monkeypatch.setenv("PREFRAG_JUDGE_BASE_URL", judge_url)
        judge = ChatModel(role="judge")
        assert judge.context_window == (2_000 if judge_url else 1_000)
        assert judge.structured_output == ("off" if judge_url else "json_schema")

    @both_ways
    def test_the_judge_calls_its_own_server(self, monkeypatch: pytest.MonkeyPatch, server: FakeModelServer, how: str):
        monkeypatch.setenv("PREFRAG_JUDGE_BASE_URL", server.url)
        monkeypatch.setenv("PREFRAG_JUDGE_MODEL", "tuned")
        call(ChatModel(role="judge"), how)
        assert server.requests[0]["model"] == "tuned"
        assert "sk-secret" not in (server.requests[0]["authorization"] or "")

    def test_no_call_is_made_to_choose_and_the_choice_stays(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
    ):
        model = ChatModel()
        model.warm_up()
        assert server.requests == []
        monkeypatch.delenv("PREFRAG_LLM_BASE_URL")
        assert not model.is_embedded
        assert model.run(QUESTION)["replies"][0].text == "Paris"

    @pytest.mark.parametrize(
        ("variable", "value"),
        [("PREFRAG_LLM_BASE_URL", "localhost:8000"), ("PREFRAG_LLM_MODEL", ""), ("PREFRAG_LLM_STRUCTURED", "yaml")],
    )
    def test_unusable_variables_are_named(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
    ):
        monkeypatch.setenv(variable, value)
        with pytest.raises(ValueError, match=variable):
            ChatModel().run(QUESTION, {"response_format": FORMAT})

    def test_the_embedded_model_gets_window_timeout_and_parameters(self, monkeypatch: pytest.MonkeyPatch):
        seen: dict[str, Any] = {}

        class Embedded:
            def __init__(self, model_path: str, **settings: Any):
                seen.update(model_path=model_path, **settings)

            def run(self, messages: list[ChatMessage], generation_kwargs: dict[str, Any]) -> Any:
                seen.update(generation_kwargs)
                return {"replies": [ChatMessage.from_assistant("Paris")]}

        monkeypatch.setattr(chat_model, "EmbeddedChatGenerator", Embedded)
        monkeypatch.setenv("PREFRAG_LLM_GGUF", "m.gguf")
        monkeypatch.setenv("PREFRAG_LLM_ADAPTER", "a.gguf")
        monkeypatch.setenv("PREFRAG_LLM_CONTEXT", "99")
        monkeypatch.setenv("PREFRAG_LLM_THREADS", "3")
        monkeypatch.setenv("PREFRAG_LLM_STRUCTURED", "off")
        model = ChatModel(generation_kwargs={"seed": 1}, timeout=9)
        assert model.run(QUESTION, {"response_format": FORMAT})["replies"][0].text == "Paris"
        assert seen == {
            "model_path": "m.gguf",
            "adapter_path": "a.gguf",
            "context_window": 99,
            "timeout": 9,
            "threads": 3,
            "seed": 1,
            "response_format": FORMAT,
        }

    @both_ways
    def test_a_failing_embedded_model_raises_the_same_error(self, monkeypatch: pytest.MonkeyPatch, how: str):
        def fail(*args: Any, **kwargs: Any) -> Any:
            raise FileNotFoundError("There is no model")

        async def fail_async(*args: Any, **kwargs: Any) -> Any:
            fail()

        monkeypatch.setenv("PREFRAG_LLM_GGUF", "m.gguf")
        monkeypatch.setattr(EmbeddedChatGenerator, "run", fail)
        monkeypatch.setattr(EmbeddedChatGenerator, "run_async", fail_async)
        with pytest.raises(ModelServerError, match="There is no model"):
            call(ChatModel(), how)


class TestCall:
    @both_ways
    def test_model_key_and_parameters_reach_the_server(self, server: FakeModelServer, how: str):
        model = ChatModel(generation_kwargs={"temperature": 0.1, "seed": 1, "extra_body": {"top_k": 5}})
        reply = call(model, how, generation_kwargs={"temperature": 0.7, "stop": ["Observation:"]})
        assert (reply.text, reply.meta["usage"]["prompt_tokens"]) == ("Paris", 7)
        assert reply.meta["finish_reason"] == "stop"
        request = server.requests[0]
        assert request["path"] == "/v1/chat/completions"
        assert (request["authorization"], request["model"]) == ("Bearer sk-secret", "tiny")
        assert (request["temperature"], request["seed"], request["top_k"]) == (0.7, 1, 5)
        assert request["stop"] == ["Observation:"]
        assert "response_format" not in request

    @pytest.mark.parametrize(
        ("name", "value"), [("API_KEY", "sk-one\nsk-two"), ("API_KEY", "sk-\u00fc"), ("BASE_URL", "http://[::1/v1")]
    )
    def test_with_an_unusable_key_or_address_is_refused_at_once(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, name: str, value: str
    ):
        monkeypatch.setenv(f"PREFRAG_LLM_{name}", value)
        with pytest.raises(ValueError, match=f"PREFRAG_LLM_{name}") as refused:
            ChatModel().run(QUESTION)
        assert value not in str(refused.value)

    def test_that_is_plain_sends_no_openai_key_nor_word_on_thinking(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.delenv("PREFRAG_LLM_API_KEY")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
        ChatModel().run(QUESTION)
        assert server.requests[0]["authorization"] is None
        assert "chat_template_kwargs" not in server.requests[0]

    @both_ways
    @pytest.mark.parametrize("beside", [{"reasoning_content": "Lyon? No."}, {"reasoning": "Lyon? No."}])
    @pytest.mark.parametrize(("text", "kept"), [("Paris", "Paris"), (None, ""), ("<think>Hm</think>Oslo",) * 2])
    def test_with_reasoning_beside_the_text_keeps_it_apart(
        self, server: FakeModelServer, how: str, text: str | None, kept: str, beside: dict[str, str]
    ):
        """Reasoning within the text is left there."""

        server.answers = [(200, completion(text, **beside))]
        reply = call(ChatModel(), how)
        assert reply.text == kept
        assert "Lyon" not in str(reply)

    @both_ways
    def test_a_structured_reply_that_is_cut_off_is_kept(self, server: FakeModelServer, how: str):
        answer = completion('{"place": "Par')
        answer["choices"][0]["finish_reason"] = "length"
        server.answers = [(200, answer)]
        reply = call(ChatModel(), how, generation_kwargs={"response_format": FORMAT})
        assert (reply.text, reply.meta["finish_reason"]) == ('{"place": "Par', "length")

    @both_ways
    @pytest.mark.parametrize(
        ("setting", "sent"), [("json_schema", FORMAT), ("json_object", {"type": "json_object"}), ("off", None)]
    )
    def test_structured_output_as_the_server_understands_it(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, how: str, setting: str, sent: Any
    ):
        monkeypatch.setenv("PREFRAG_LLM_STRUCTURED", setting)
        call(ChatModel(), how, generation_kwargs={"response_format": FORMAT, "extra_body": {"top_k": 5}})
        assert (server.requests[0].get("response_format"), server.requests[0]["top_k"]) == (sent, 5)

    @both_ways
    @pytest.mark.parametrize("status", [400, 422])
    def test_with_a_refused_schema_omits_it_and_logs_the_setting(
        self, server: FakeModelServer, caplog: pytest.LogCaptureFixture, how: str, status: int
    ):
        server.answers = [(status, {"error": {"message": "no such response_format"}}), (200, completion("Paris"))]
        kwargs = {"response_format": FORMAT, "extra_body": {"top_k": 5}}

        with caplog.at_level(logging.WARNING, logger="prefrag.components.generators.chat_model"):
            assert call(ChatModel(), how, generation_kwargs=kwargs).text == "Paris"

        assert ["response_format" in request for request in server.requests] == [True, False]
        assert [request["top_k"] for request in server.requests] == [5, 5]
        assert "PREFRAG_LLM_STRUCTURED" in caplog.text

    @both_ways
    @pytest.mark.parametrize("status", [400, 422])
    @pytest.mark.parametrize("name", ["temperature", "top_p", "stop", "parallel_tool_calls", "response_format"])
    def test_with_a_parameter_refused_by_name_omits_it_from_then_on(
        self, server: FakeModelServer, how: str, status: int, name: str
    ):
        values = {
            "temperature": 0.1,
            "top_p": 0.9,
            "stop": ["x"],
            "parallel_tool_calls": False,
            "response_format": FORMAT,
        }
        refusal = {"error": {"message": f"Unsupported parameter: '{name}' is not supported with this model."}}
        server.answers = [(status, refusal), (200, completion("Paris"))]

        for _ in range(2):
            assert call(ChatModel(), how, generation_kwargs=values).text == "Paris"

        first, second, third = (set(request) & set(values) for request in server.requests)
        assert first == set(values)
        assert second == third == set(values) - {name}

    @both_ways
    def test_sends_a_limit_by_its_new_name_where_the_server_wants_it(self, server: FakeModelServer, how: str):
        refusal = {"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}
        also = {"error": {"message": "Unsupported value: 'temperature' does not support 0.1 with this model."}}
        server.answers = [(400, refusal), (400, also), (200, completion("Paris"))]

        for _ in range(2):
            call(ChatModel(), how, generation_kwargs={"max_tokens": 9, "temperature": 0.1})

        limits = [(request.get("max_tokens"), request.get("max_completion_tokens")) for request in server.requests]
        assert limits == [(9, None), (None, 9), (None, 9), (None, 9)]
        assert "temperature" not in server.requests[3]

    def test_what_did_not_help_is_not_remembered(self, server: FakeModelServer):
        refusal = {"error": {"message": "'max_tokens' is too large: the context has 8192 tokens."}}
        server.answers = [(400, refusal)]

        for _ in range(2):
            with pytest.raises(ModelServerError, match="too large"):
                ChatModel().run(QUESTION, {"max_tokens": 9})

        assert [request.get("max_tokens") for request in server.requests] == [9, None, 9, None]

    @both_ways
    @pytest.mark.parametrize(("value", "sent"), [("on", True), ("off", False)])
    def test_the_environment_limits_a_reply_and_switches_thinking(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, how: str, value: str, sent: bool
    ):
        monkeypatch.setenv("PREFRAG_LLM_THINKING", value)
        monkeypatch.setenv("PREFRAG_LLM_MAX_TOKENS", "4000")
        body = {"top_k": 5, "chat_template_kwargs": {"style": "short"}}
        call(ChatModel(generation_kwargs={"max_tokens": 512}), how, generation_kwargs={"extra_body": body})
        call(ChatModel(generation_kwargs={"max_tokens": 512, "max_completion_tokens": 9}), how)
        limits = [(request.get("max_tokens"), request.get("max_completion_tokens")) for request in server.requests]
        assert limits == [(4_000, None), (None, 4_000)]
        request = server.requests[0]
        assert request["chat_template_kwargs"] == {"style": "short", "enable_thinking": sent}
        assert request["top_k"] == 5

    @both_ways
    def test_sends_a_limit_above_half_the_window_as_what_is_left(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, how: str, tmp_path: Path
    ):
        monkeypatch.setenv("PREFRAG_LLM_MAX_TOKENS", "6000")
        server.listed = {"data": [{"id": "tiny", "max_model_len": 8192}]}
        file = tmp_path / "own.jinja"
        file.write_text("{{ text }}")
        caller = ModelCall("judge", ChatModel())
        caller.warm_up()
        ready = caller.prepare(state(), str(file), [], lambda _: {"text": "word " * 2_000})

        asyncio.run(caller.send_async(ready)) if how == "async" else caller.send(ready)

        assert 4_700 < server.requests[0]["max_tokens"] < 8_192 - 10_000 / 3

    @both_ways
    def test_a_refused_call_is_not_repeated_without_a_schema(self, server: FakeModelServer, how: str):
        server.answers = [(400, {"error": {"message": "the prompt is too long"}}), (200, completion("x"))]
        with pytest.raises(ModelServerError, match="the prompt is too long"):
            call(ChatModel(), how)
        assert len(server.requests) == 1

    @both_ways
    def test_omits_log_probabilities_for_a_server_without_them(self, server: FakeModelServer, how: str):
        server.answers = [(400, {"error": {"message": "Unsupported parameter: 'logprobs'."}}), (200, completion("x"))]

        assert call(ChatModel(), how, generation_kwargs={"logprobs": True}).text == "x"
        assert "logprobs" not in server.requests[1]

    @both_ways
    def test_tools_reach_the_server_and_their_calls_come_back(self, server: FakeModelServer, how: str):
        tool_call = {"id": "a", "type": "function", "function": {"name": "search", "arguments": '{"query": "Paris"}'}}
        server.answers = [(200, completion(None, tool_calls=[tool_call]))]
        earlier = ToolCall("search", {"query": "Lyon"}, id="search001")
        messages = [
            *QUESTION,
            ChatMessage.from_assistant(tool_calls=[earlier]),
            ChatMessage.from_tool("nothing", origin=earlier),
        ]

        reply = call(ChatModel(), how, messages, tools=[SEARCH], generation_kwargs={"tool_choice": "none"})

        assert (reply.text, reply.tool_call.tool_name, reply.tool_call.arguments) == ("", "search", {"query": "Paris"})
        request = server.requests[0]
        assert request["tools"][0]["function"]["name"] == "search"
        assert request["tool_choice"] == "none"
        assert [message["role"] for message in request["messages"]] == ["user", "assistant", "tool"]
        assert request["messages"][2]["tool_call_id"] == request["messages"][1]["tool_calls"][0]["id"]

    @both_ways
    def test_a_toolset_is_as_good_as_its_tools(self, server: FakeModelServer, how: str):
        server.answers = [(200, completion("No tool is needed."))]

        call(ChatModel(), how, tools=Toolset([SEARCH]))

        assert [tool["function"]["name"] for tool in server.requests[-1]["tools"]] == ["search"]

    @both_ways
    def test_a_streaming_callback_gets_the_reply_in_one_chunk(self, server: FakeModelServer, how: str):
        server.answers = [(200, completion("Vienna"))]
        chunks: list[str] = []

        async def take(chunk: StreamingChunk) -> None:
            chunks.append(chunk.content)

        def take_at_once(chunk: StreamingChunk) -> None:
            chunks.append(chunk.content)

        call(ChatModel(), how, streaming_callback=take if how == "async" else take_at_once)

        assert chunks == ["Vienna"]

    @both_ways
    def test_tools_are_more_than_a_model_in_this_process_can_do(self, monkeypatch: pytest.MonkeyPatch, how: str):
        monkeypatch.setenv("PREFRAG_LLM_GGUF", "model.gguf")
        with pytest.raises(ValueError, match="cannot call tools: either set reply_format to auto"):
            call(ChatModel(), how, tools=[SEARCH])


class TestWindow:
    @for_each(
        "listed, window",
        ({"data": [{"id": "tiny", "max_model_len": 2048}]}, 2_048),
        ({"data": [{"id": "tiny", "parent": "base"}, {"id": "base", "max_model_len": 4096}]}, 4_096),
        ({"data": [{"id": "tiny", "meta": {"n_ctx_train": 9}}], "default_generation_settings": {"n_ctx": 7}}, 7),
        ({"data": [{"id": "tiny", "max_model_len": "many"}]}, 8_192),
        ([], 8_192),
    )
    def test_is_read_from_the_server_where_it_states_one(self, server: FakeModelServer, listed: Any, window: int):
        model_record._records.clear()
        server.listed = listed
        model = ChatModel()
        model.warm_up()
        assert model.context_window == window

    @both_ways
    def test_cuts_and_sends_again_a_prompt_refused_as_too_long(self, server: FakeModelServer, how: str, tmp_path: Path):
        refusal = {"error": {"message": "This model's maximum context length is 700 tokens.", "code": 400}}
        server.answers = [(400, refusal), (200, completion("Paris")), (400, refusal)]
        file = tmp_path / "own.jinja"
        file.write_text("{{ text }}")
        call = ModelCall("judge", ChatModel())
        documents = [[Document(content="word " * 1_000)]]
        prepared = call.prepare(
            state(),
            str(file),
            documents,
            lambda observations: {"text": [document.content for document in observations[0]]},
            response_format=FORMAT,
        )

        text, reached = asyncio.run(call.send_async(prepared)) if how == "async" else call.send(prepared)

        assert text == "Paris"
        assert [len(request["messages"][0]["content"]) < 2_100 for request in server.requests] == [False, True]
        assert server.requests[1]["response_format"] == FORMAT
        assert reached.events[-1].data["context_window"] == 700
        assert reached.usage.models[0].calls == 2, "what was refused has left as well"
        with pytest.raises(RunError, match="maximum context length"):
            call.send(prepared)
        sent = [len(request["messages"][0]["content"]) for request in server.requests[2:]]
        assert sorted(set(sent), reverse=True) == sent, "each time less, until nothing is left"

    @both_ways
    def test_is_read_again_after_a_refusal(self, server: FakeModelServer, how: str):
        server.listed = {"data": [{"id": "tiny", "max_model_len": 8192}]}
        model = ChatModel()
        call(model, how)
        assert model.context_window == 8_192
        server.listed = {"data": [{"id": "tiny", "max_model_len": 4096}]}
        server.answers = [(400, {"error": {"message": "context_length_exceeded"}}), (200, completion("Paris"))]
        server.requests.clear()

        with pytest.raises(ModelServerError):
            call(model, how)

        assert model.context_window == 4_096

    def test_that_was_read_stays_if_the_server_states_it_no_more(self, server: FakeModelServer):
        server.listed = {"data": [{"id": "tiny", "max_model_len": 2048}]}
        server.answers = [(400, {"error": {"message": "context_length_exceeded"}})]
        model = ChatModel()
        model.warm_up()
        server.health = 503

        with pytest.raises(ModelServerError):
            model.run(QUESTION)

        assert model.context_window == 2_048

    @for_each("listed, setting, known", ([], None, False), ([], "3000", True))
    def test_is_a_guess_until_it_is_set_or_stated(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, listed: Any, setting: str | None, known: bool
    ):
        monkeypatch.delenv("PREFRAG_LLM_CONTEXT", raising=False)
        if setting:
            monkeypatch.setenv("PREFRAG_LLM_CONTEXT", setting)
        model = ChatModel()
        assert model.knows_window is known
        model.record.window = 8_192
        assert model.knows_window

    @both_ways
    def test_of_a_model_in_this_process_shortens_long_prompts(
        self, monkeypatch: pytest.MonkeyPatch, how: str, tmp_path: Path
    ):
        prompts: list[str] = []

        async def run_async(
            generator: EmbeddedChatGenerator, messages: list[ChatMessage], generation_kwargs: Any = None
        ) -> dict[str, Any]:
            prompts.append(messages[0].text or "")
            if (counted := len(prompts[-1])) > 4_096:
                error = {"type": "exceed_context_size_error", "n_prompt_tokens": counted, "n_ctx": 4_096}
                raise embedded_chat_generator._refusal(error)
            return {"replies": [ChatMessage.from_assistant("Paris")]}

        monkeypatch.setenv("PREFRAG_LLM_GGUF", str(tmp_path / "m.gguf"))
        monkeypatch.setattr(EmbeddedChatGenerator, "run_async", run_async)
        monkeypatch.setattr(EmbeddedChatGenerator, "run", as_blocking(run_async))
        monkeypatch.setattr(model_record, "_records", {})
        file = tmp_path / "own.jinja"
        file.write_text("{{ text }}")
        caller = ModelCall("judge", ChatModel())
        documents = [[Document(content="word " * 1_500)]]
        ready = caller.prepare(state(), str(file), documents, lambda observations: {"text": observations[0][0].content})

        text, _ = asyncio.run(caller.send_async(ready)) if how == "async" else caller.send(ready)

        assert text == "Paris"
        assert [len(prompt) > 4_096 for prompt in prompts] == [True, False]

    def test_that_the_server_states_is_not_that_of_a_quoted_passage(self, server: FakeModelServer):
        """A refusal repeats the passage."""

        server.listed = {"data": [{"id": "tiny", "max_model_len": 2048}]}
        refusal = {"error": {"message": "maximum context length exceeded: The maximum context length is 5 tokens."}}
        server.answers = [(400, refusal)]
        model = ChatModel()

        with pytest.raises(ModelServerError):
            model.run(QUESTION)

        assert model.context_window == 2_048

    def test_is_asked_for_beside_the_loop_and_rarely_if_it_hangs(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
    ):
        asked: list[threading.Thread] = []

        def hang(asked_one: ModelServer) -> None:
            asked.append(threading.current_thread())
            raise TimeoutError

        monkeypatch.setattr(context_window, "_find_facts", hang)
        model = ChatModel()
        for _ in range(2):
            asyncio.run(model.run_async(QUESTION))
        assert [thread is threading.current_thread() for thread in asked] == [False]
        model.record.silent_until = 0.5
        model.warm_up()
        assert len(asked) == 1, "an engine warms up in its event loop"
        model.run(QUESTION)
        assert len(asked) == 2


class TestSerialisation:
    def test_a_copy_of_a_warm_model_works(self, server: FakeModelServer):
        model = ChatModel()
        assert call(model, "async").text == "Paris"
        assert call(copy.deepcopy(model), "async").text == "Paris"
        assert "sk-secret" not in repr(vars(model))
