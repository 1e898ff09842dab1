"""A call to a model fits the window and is counted, and a failure loses no counts."""

from pathlib import Path
from typing import Any

import pytest
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import Tool

from prefrag.components.generators.model_call import DEFAULT_CONTEXT_WINDOW, ModelCall, PreparedCall, with_parameters
from prefrag.components.state.state import RunError, State
from tests.components.samples import document, kinds, search_step, state
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each

REACHED = state(search_step())
SEARCH = Tool("search", "Finds. " * 40, {"type": "object", "properties": {}}, lambda: "")


@pytest.fixture(params=["send", "send_async"])
def send(request: pytest.FixtureRequest) -> Any:
    async def sent(call: ModelCall, prepared: PreparedCall) -> tuple[str, State]:
        if request.param == "send":
            return call.send(prepared)
        return await call.send_async(prepared)

    return sent


@pytest.fixture
def prompt(tmp_path: Path) -> str:
    file = tmp_path / "own.jinja"
    file.write_text(
        "{{ question }}{% for document in documents %} [{{ document.id }}] {{ document.content }}{% endfor %}"
    )
    return str(file)


def prepared(call: ModelCall, prompt: str, *documents: Any, **kwargs: Any) -> PreparedCall:
    def values(observations: Any) -> dict[str, Any]:
        return {"question": "Who?", "documents": [shown for step in observations for shown in step]}

    return call.prepare(REACHED, prompt, [documents], values, **kwargs)


class Model:
    """Gives this reply."""

    def __init__(self, output: Any, **attributes: Any):
        self.output = output
        self.__dict__.update(attributes)

    def run(self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None) -> Any:
        if isinstance(self.output, Exception):
            raise self.output
        return self.output


class TestPreparing:
    def test_sends_one_message_with_the_sampling_of_the_paper(self, prompt: str):
        call = prepared(ModelCall("judge", Model({})), prompt, document("a"))

        assert [message.text for message in call.messages] == ["Who? [a] About a."]
        assert call.generation_kwargs == {"temperature": 0.1, "top_p": 0.9, "max_tokens": 512}
        assert call.state is REACHED

    def test_takes_parameters_of_call_then_own_model_and_defaults(self, prompt: str):
        own = ModelCall("judge", Model({}), {"temperature": 0.7, "max_tokens": 9})
        model = Model({}, context_window=4_000, generation_kwargs={"temperature": 0.7, "max_tokens": 1_500, "seed": 1})

        call = prepared(own, prompt, max_tokens=5, stop=["x"])
        of_the_model = prepared(ModelCall("judge", model, {"top_p": 0.5}), prompt)

        assert call.generation_kwargs == {"temperature": 0.7, "top_p": 0.9, "max_tokens": 5, "stop": ["x"]}
        assert own.generation_kwargs["max_tokens"] == 9
        # The model's own settings stay as they are.
        assert of_the_model.generation_kwargs == {"temperature": 0.7, "top_p": 0.5, "max_tokens": 1_500}

    @pytest.mark.parametrize("own", [{"max_completion_tokens": 9}, {"max_completion_tokens": 9, "max_tokens": 5}])
    def test_a_reply_is_limited_by_one_parameter(self, prompt: str, own: dict[str, int]):
        by_call = prepared(ModelCall("judge", Model({}), own), prompt).generation_kwargs
        by_model = prepared(ModelCall("judge", Model({}, generation_kwargs=own)), prompt).generation_kwargs

        assert by_call == by_model == {"temperature": 0.1, "top_p": 0.9, "max_completion_tokens": 9}

    def test_limit_of_the_environment_wins_and_keeps_its_room_free(self, prompt: str):
        model = Model({}, context_window=2_000, reply_limit=900)

        call = prepared(ModelCall("judge", model, {"max_tokens": 9}), prompt, document("a", "word " * 700))

        assert call.generation_kwargs["max_tokens"] == 900
        assert kinds(call.state) == ["cut"]

    def test_what_is_cut_stands_in_the_trace(self, prompt: str):
        call = prepared(ModelCall("judge", Model({}, context_window=400)), prompt, document("a", "word " * 900))

        assert call.state.events[-1].to_dict() == {
            "kind": "cut",
            "step": 1,
            "caller": "judge",
            "documents_cut": 0,
            "documents_shortened": 1,
            "context_window": 400,
        }

    @for_each("attributes", {}, {"context_window": None})
    def test_model_without_facts_has_a_usual_window_and_no_warm_up(self, attributes: dict[str, Any]):
        """It is not embedded either."""

        silent = ModelCall("judge", Model({}, **attributes))
        silent.warm_up()
        assert (silent.context_window, silent.is_embedded) == (DEFAULT_CONTEXT_WINDOW, False)
        assert ModelCall("judge", Model({}, is_embedded=True)).is_embedded

        warmed: list[bool] = []
        ModelCall("judge", Model({}, warm_up=lambda: warmed.append(True))).warm_up()
        assert warmed

    def test_a_long_reply_takes_at_most_half_the_window(self, prompt: str):
        model_call = ModelCall("judge", Model({}, context_window=1_000), {"max_tokens": 4_096})

        assert prepared(model_call, prompt, document("a", "x" * 900)).state is REACHED

    def test_prompt_that_cannot_fit_or_be_filled_fails_the_run(self, prompt: str, tmp_path: Path):
        with pytest.raises(RunError, match="The judge cannot call its model: .*PREFRAG_LLM_CONTEXT") as failure:
            prepared(ModelCall("judge", Model({}, context_window=50)), prompt)
        assert failure.value.state is REACHED

        own = tmp_path / "own.jinja"
        own.write_text("{{ quesiton }}")
        with pytest.raises(RunError, match="own.jinja cannot be filled: 'quesiton' is undefined"):
            prepared(ModelCall("judge", Model({})), str(own))


class TestConversations:
    """A prompt of several messages must fit the window too."""

    def laid_out(self, text: str, observations: Any) -> list[ChatMessage]:
        call = ToolCall("search", {"query": "alpha"}, id="search001")
        text_found = " ".join(document.content for step in observations for document in step)
        return [
            ChatMessage.from_user(text),
            ChatMessage.from_assistant("I look.", tool_calls=[call]),
            ChatMessage.from_tool(text_found, origin=call),
        ]

    @pytest.fixture
    def question(self, tmp_path: Path) -> str:
        file = tmp_path / "question.jinja"
        file.write_text("{{ question }}")
        return str(file)

    def fitted(self, question: str, window: int, tools: Any = ()) -> PreparedCall:
        call = ModelCall("judge", Model({}, context_window=window), {"max_tokens": 20})
        observations = [[document("a", "one " * 100)], [document("b", "two " * 100)]]
        return call.prepare(
            REACHED, question, observations, lambda steps: {"question": "Who?"}, messages=self.laid_out, tools=tools
        )

    def test_begin_with_the_prompt_and_lose_oldest_documents_first(self, question: str):
        whole, cut = self.fitted(question, 1_000), self.fitted(question, 260)

        assert (whole.messages[0].text, whole.state) == ("Who?", REACHED)
        assert whole.messages[2].tool_call_result.result.count("one") == 100
        assert "one" not in cut.messages[2].tool_call_result.result
        assert cut.messages[2].tool_call_result.result.count("two") == 100
        assert cut.state.events[-1].data["documents_cut"] == 1
        with pytest.raises(RunError, match="cannot call its model"):
            self.fitted(question, 70)

    def test_make_room_for_the_descriptions_of_tools(self, question: str):
        assert self.fitted(question, 400).state is REACHED
        assert self.fitted(question, 400, [SEARCH]).state.events[-1].data["documents_cut"] == 1

    async def test_hand_tools_to_a_generator_and_give_back_its_calls(self, question: str):
        seen: dict[str, Any] = {}
        reply = ChatMessage.from_assistant("<think>a</think>b", tool_calls=[ToolCall("search", {})], reasoning="c")

        class Caller:
            def run(self, **arguments: Any) -> Any:
                seen.update(arguments)
                return {"replies": [reply]}

        call = ModelCall("judge", Caller())
        message, _ = await call.send_for_message_async(self.fitted(question, 1_000, [SEARCH]))

        assert seen["tools"] == [SEARCH]
        assert (message.text, message.tool_call.tool_name, message.reasoning) == ("b", "search", None)


def test_parameters_of_a_single_server_are_joined_by_key():
    joined = with_parameters(
        {"temperature": 0.1, "extra_body": {"top_k": 5, "seed": 1}}, {"temperature": 0.5, "extra_body": {"seed": 2}}
    )

    assert joined == {"temperature": 0.5, "extra_body": {"top_k": 5, "seed": 2}}


@for_each("stop", "###", ["###"], ["###", "Observation:"])
def test_a_reply_stops_at_the_words_of_both(stop: Any):
    assert with_parameters({"stop": stop}, {"stop": ["Observation:"]}) == {"stop": ["###", "Observation:"]}
    assert with_parameters({"stop": stop}, {"seed": 1})["stop"][0] == "###"
    assert "stop" not in with_parameters({"seed": 1}, {})


class TestSending:
    async def test_gives_the_text_without_the_thinking_and_counts_the_call(self, send: Any, prompt: str):
        call = ModelCall("judge", ScriptedChatGenerator(["<think>True or False?</think>False"]))

        text, reached = await send(call, prepared(call, prompt))

        assert text == "False"
        assert reached.usage.llm_calls == {"judge": 1}
        assert (reached.usage.prompt_tokens, reached.usage.completion_tokens) == (10, 2)
        assert CALLS["model"][0]["generation_kwargs"]["top_p"] == 0.9

    @pytest.mark.parametrize(
        "reply",
        [
            ChatMessage.from_assistant(""),
            ChatMessage.from_assistant("<think>I wonder"),
            ChatMessage.from_assistant(reasoning="I wonder"),
        ],
    )
    async def test_a_reply_without_words_is_an_empty_text(self, send: Any, prompt: str, reply: ChatMessage):
        call = ModelCall("judge", Model({"replies": [reply]}))

        text, reached = await send(call, prepared(call, prompt))

        assert text == ""
        assert reached.usage.llm_calls == {"judge": 1}

    @pytest.mark.parametrize(
        ("output", "message"),
        [
            (ConnectionError("connection refused"), "The judge's model failed: connection refused"),
            ({"replies": []}, "it sent no reply"),
            ({}, "it sent no reply"),
        ],
    )
    async def test_a_failure_keeps_the_state_and_is_reported_in_the_trace(
        self, send: Any, prompt: str, output: Any, message: str
    ):
        call = ModelCall("judge", Model(output))

        with pytest.raises(RunError, match=message) as failure:
            await send(call, prepared(call, prompt))

        assert failure.value.state.steps == REACHED.steps
        assert kinds(failure.value.state) == ["error"]
        assert failure.value.state.events[-1].data["caller"] == "judge"


def reply(text: str, **meta: Any) -> dict[str, Any]:
    return {"replies": [ChatMessage.from_assistant(text, meta=meta)]}


class TestReplies:
    async def test_that_were_cut_off_are_empty_and_named_in_the_trace(self, prompt: str, send: Any):
        for output in (reply("half of", finish_reason="length"), reply("all <think>of it")):
            call = ModelCall("refiner", Model(output, limit_setting="PREFRAG_LLM_MAX_TOKENS"))

            text, after = await send(call, prepared(call, prompt))

            assert text == ""
            cut = {"caller": "refiner", "limit": 512, "setting": "PREFRAG_LLM_MAX_TOKENS"}
            assert after.events[-1].data == cut

    async def test_end_at_the_stop_that_a_server_ignored(self, prompt: str, send: Any):
        call = ModelCall("reasoner", Model(reply("Action: x\nObservation: made up", finish_reason="length")))

        text, after = await send(call, prepared(call, prompt, stop=["Observation:"]))

        assert text == "Action: x\n"
        assert "cut_off" not in kinds(after)


class Refused(Exception):
    status = 400


class CountingModel:
    """Counts a token for each of so many characters, and refuses what is above its window."""

    def __init__(self, message: str, window: int = 4_000, characters: float = 1.0, **attributes: Any):
        self.message, self.window, self.characters = message, window, characters
        self.replies = ["Paris"]
        self.calls: list[tuple[str, int, bool]] = []  # each prompt, its limit, and whether it was accepted
        self.__dict__.update({"context_window": window, **attributes})

    def run(self, messages: list[ChatMessage], generation_kwargs: dict[str, Any]) -> Any:
        text, limit = messages[-1].text or "", generation_kwargs["max_tokens"]
        counted = int(len(text) / self.characters)
        accepted = counted + limit <= self.window
        self.calls.append((text, limit, accepted))
        if not accepted:
            raise Refused(self.message.format(window=self.window, total=counted + limit, prompt=counted))
        told = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply(told, finish_reason="stop", usage={"prompt_tokens": counted, "completion_tokens": 2})


OPENAI = "This model's maximum context length is {window} tokens. However, you requested {total} tokens."
VLLM = f"{OPENAI[:-1]} ({{prompt}} in the messages, 512 in the completion)."
LLAMA = "{{'type': 'exceed_context_size_error', 'n_prompt_tokens': {prompt}, 'n_ctx': {window}}}"
BARE = "context_length_exceeded"
QUOTING = (
    "context_length_exceeded: 'founded in 1931 with 5,200 members, 99999999 francs', you requested {total:,} tokens"
)
# The estimate of these words is a third of what the model counts.
PASSAGES = [document(key, f"The {key} was built. " * 120) for key in ("tower", "bridge", "hall")]


class TestRefusedPrompts:
    @for_each("message, most", (OPENAI, 3), (VLLM, 3), (LLAMA, 3), (QUOTING, 4), (BARE, 8))
    def test_shrink_by_the_number_of_the_server_until_they_fit(self, prompt: str, message: str, most: int):
        model = CountingModel(message)
        call = ModelCall("judge", model)

        text, reached = call.send(prepared(call, prompt, *PASSAGES))

        assert text == "Paris"
        assert 2 <= len(model.calls) <= most
        assert len(model.calls[-1][0]) > 1_700, "no more than needed is cut"
        assert reached.usage.models[0].calls == len(model.calls), "what was refused has left as well"
        assert kinds(reached)[-1] == "cut"

    def test_teach_how_the_server_counts(self, prompt: str):
        model = CountingModel(OPENAI)
        call = ModelCall("judge", model)
        for _ in range(2):
            call.send(prepared(call, prompt, *PASSAGES))

        assert [accepted for _, _, accepted in model.calls].count(False) == 1

    def test_need_not_be_refused_where_a_reply_was_counted(self, prompt: str):
        model = CountingModel(OPENAI)
        call = ModelCall("judge", model)
        call.send(prepared(call, prompt, PASSAGES[0]))
        call.send(prepared(call, prompt, *PASSAGES))

        assert [accepted for _, _, accepted in model.calls] == [True, True]

    @for_each("message", OPENAI, BARE)
    def test_with_nothing_left_end_with_the_words_of_the_server(self, prompt: str, message: str):
        model = CountingModel(message, context_window=8_192, window=500)
        call = ModelCall("judge", model)

        with pytest.raises(RunError, match="The judge's model failed: .*context.length") as failure:
            call.send(prepared(call, prompt, *PASSAGES))

        assert model.calls[-1][0] == "Who?"
        assert len(model.calls) < 20
        assert kinds(failure.value.state)[-1] == "error"


class TestLimits:
    def test_of_a_reply_leave_the_prompt_whole_in_a_stated_window(self, prompt: str):
        model = CountingModel(OPENAI, 4_000, characters=3.5, knows_window=True, reply_limit=3_600)
        call = ModelCall("judge", model)

        _, reached = call.send(prepared(call, prompt, PASSAGES[0]))

        [(text, limit, accepted)] = model.calls
        assert accepted
        assert (PASSAGES[0].content or "").strip() in text
        assert 3_000 < limit < 3_600
        assert kinds(reached) == []

    def test_of_a_reply_fall_after_a_refusal_in_a_guessed_window(self, prompt: str):
        model = CountingModel(BARE, 4_000, characters=3.5, reply_limit=3_500)
        call = ModelCall("judge", model)

        call.send(prepared(call, prompt, PASSAGES[0]))

        (first, sent, accepted), (second, lowered, repeated) = model.calls
        assert (first, sent, accepted, repeated) == (second, 3_500, False, True)
        assert 2_500 < lowered < 3_500

    def test_below_the_reserve_stay_as_they_are(self, prompt: str):
        model = CountingModel(OPENAI, 4_000, characters=3.5, knows_window=True, reply_limit=300)
        call = ModelCall("judge", model)

        call.send(prepared(call, prompt, *PASSAGES, *PASSAGES))

        assert [limit for _, limit, _ in model.calls] == [300]


class TestRepeatedCalls:
    ASKED = "Your last reply to this could not be read. Reply with one short JSON object and nothing else."

    def test_are_built_on_the_prompt_that_was_accepted(self, prompt: str):
        model = CountingModel(OPENAI)
        model.replies = ["Hm.", "yes"]
        call = ModelCall("judge", model)

        is_read, _, reached = call.send_until_read(
            prepared(call, prompt, *PASSAGES), lambda text: True if text == "yes" else None
        )

        assert is_read
        assert [accepted for _, _, accepted in model.calls] == [False, True, True]
        _, accepted, repeated = model.calls
        assert repeated[0] == f"{accepted[0]}\n\n{self.ASKED}"
        assert kinds(reached) == ["cut", "unreadable"]

    def test_still_ask_for_json_when_they_themselves_are_too_long(self, prompt: str):
        model = CountingModel(OPENAI)
        model.replies = ["Hm.", "yes"]
        call = ModelCall("judge", model)
        ready = prepared(call, prompt, PASSAGES[0])
        # The prompt fills the window to the last token.
        model.window = model.context_window = len(ready.messages[0].text or "") + 512

        is_read, _, _ = call.send_until_read(ready, lambda text: True if text == "yes" else None)

        assert is_read
        assert [accepted for _, _, accepted in model.calls] == [True, False, True]
        assert model.calls[-1][0].endswith(self.ASKED)
