"""Reading tool calls, and sending the transcript back as calls and their results."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from haystack.dataclasses import ChatMessage, ChatRole, ToolCall
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.reasoner.reply_formats import Tool, ToolsFormat, Turn
from prefrag.components.state.state import Action, Label, Step
from tests.components.samples import answer_step, search_step, state
from tests.for_each import for_each

TOOLS = [Tool("Search_Engine", "Finds."), Tool("Search Web", "Finds more.", source="web")]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def called(*calls: tuple[str, Any], text: str | None = None, **meta: Any) -> ChatMessage:
    return ChatMessage.from_assistant(
        text, tool_calls=[ToolCall(name, arguments, id="x") for name, arguments in calls], meta=meta
    )


def read(message: ChatMessage | str, must_answer: bool = False) -> Step:
    if isinstance(message, str):
        message = ChatMessage.from_assistant(message)
    return ToolsFormat().read_message(message, TOOLS, must_answer=must_answer)


def messages(*turns: Turn, must_answer: bool = False) -> list[ChatMessage]:
    return ToolsFormat().messages("The prompt.", turns, TOOLS, must_answer)


class TestAsking:
    def test_hands_over_every_tool_with_its_one_parameter(self):
        specs = [tool.tool_spec for tool in ToolsFormat().callable_tools(TOOLS)]

        assert [(spec["name"], spec["description"]) for spec in specs] == [
            ("Search_Engine", "Finds."),
            ("Search_Web", "Finds more."),
        ]
        assert all(spec["parameters"]["required"] == ["query"] for spec in specs)

    def test_leaves_the_choice_to_the_model_until_it_must_answer(self):
        assert ToolsFormat().generation_kwargs(TOOLS, state(), must_answer=False) == {"parallel_tool_calls": False}
        assert ToolsFormat().generation_kwargs(TOOLS, state(), must_answer=True) == {"tool_choice": "none"}


class TestCalls:
    def test_are_searches_of_which_the_first_counts_with_a_thought(self):
        """The thought is the text beside the calls."""

        calls = ("Search_Web", {"query": "tide tables"}), ("Search_Engine", {"query": "second"})
        step = read(called(*calls, text="Thought: I look\nit up."))
        assert (step.action, step.tool, step.named_source) == (Action.SEARCH, "Search Web", "web")
        assert (step.query, step.thought) == ("tide tables", "I look it up.")
        assert "second" not in step.reply

    @for_each("arguments", {"query": "tide"}, {"q": "tide"}, "tide", '{"query": "tide"}')
    def test_are_read_with_arguments_as_models_write_them(self, arguments: Any):
        assert read(called(("Search_Engine", arguments))).query == "tide"

    @for_each(
        "arguments",
        *({}, {"query": ""}, {"query": None}, {"query": 7}, []),
        *({"query": ["tide", "tables"]}, ["tide"], {"query": float("inf")}, '["tide"]', '{"query": ["tide"]}'),
    )
    def test_without_a_query_cannot_be_read(self, arguments: Any):
        step = read(called(("Search_Engine", arguments)))

        assert (step.action, step.tool) == (Action.UNREADABLE, "Search_Engine")

    @for_each(
        "text",
        '{"name": "Search_Engine", "arguments": {"query": "tide"}}',
        '<tool_call>\n{"name": "Search_Engine", "arguments": {"query": "tide"}}\n</tool_call>',
        '{"name": "Search_Engine", "parameters": {"query": "tide"}}',
        "Thought: hm\nAction: Search_Engine\nAction Input: tide",
        '<function=Search_Engine>{"query": "tide"}</function>',
        "<function=Search_Engine>\n<parameter=query>\ntide\n</parameter>\n</function>",
        '{"name": "Search_Engine", "arguments": {"query": "tide"',
    )
    def test_that_stand_in_the_text_are_no_answers(self, text: str):
        step = read(text)

        assert (step.action, step.query) == (Action.SEARCH, "tide")

    def test_that_are_quoted_within_a_line_are_not_made(self):
        quotation = 'A passage says "{"name": "Search_Engine", "arguments": {"query": "evil"}}", which I leave aside.'

        assert read(f"{quotation}\nFinal Answer: 1974").answer == "1974"
        assert read(quotation).action is Action.UNREADABLE


class TestAnswers:
    def test_have_the_trailer_of_the_text_format(self):
        step = read("I know.\n\nFinal Answer: 1974\nSelf-Evaluation: PARTIALLY CORRECT\nExplanation: Half of it.")

        assert (step.action, step.thought, step.answer) == (Action.ANSWER, "I know.", "1974")
        assert (step.label, step.explanation) == (Label.PARTIALLY_CORRECT, "Half of it.")

    @for_each("text", "1974", "**1974**", "1974\n\nI hope that helps!", "1974\nSelf-Evaluation: CORRECT")
    def test_may_come_without_a_field(self, text: str):
        step = read(text)

        assert (step.action, step.answer) == (Action.ANSWER, "1974")

    @for_each(
        "text",
        "I need to look for Beatrix Ollard first. Let me search.",
        '{"name": "Search_Engine", "arg',
        "<tool_call>Search_Engine",
        "Observation: [1] Fake\nFinal Answer: 1800",
    )
    def test_that_only_announce_a_search_are_none(self, text: str):
        assert read(text).action is Action.UNREADABLE

    @for_each("text", "The year of the prize is still open to us.", "Need it", "1974")
    def test_that_are_forced_are_the_called_answer_not_its_text(self, text: str):
        beside = [called(("Search_Engine", {"query": "x"}), text=f"{start}{text}") for start in ("", "Final Answer: ")]

        actions = [read(call, must_answer=True).action for call in beside]
        assert actions == [Action.UNREADABLE, Action.ANSWER]

    @for_each("must_answer", False, True)
    @for_each("reply", *("", "  \n", "Final Answer:"), called(text="I look it up.", finish_reason="tool_calls"))
    def test_without_a_word_or_with_a_dropped_call_are_unreadable(self, reply: Any, must_answer: bool):
        step = read(reply, must_answer)
        assert (step.action, step.answer) == (Action.UNREADABLE, "")


@given(st.text(max_size=60), st.lists(st.tuples(st.text(max_size=10), values), max_size=2), st.booleans())
def test_any_reply_gives_a_step_that_can_be_sent_back(text: str, calls: list[tuple[str, Any]], must_answer: bool):
    step = read(called(*calls, text=text), must_answer)

    conversation = messages(Turn(step, "[1] found"), must_answer=must_answer)
    for message in conversation:
        json.dumps(message.to_openai_dict_format())
    if step.action is Action.SEARCH:
        assert step.query
    assert all(message.role != other.role for message, other in pairwise(conversation))


class TestTranscript:
    def test_is_a_call_and_its_result_for_each_step(self):
        turns = [Turn(search_step("first", thought="I look."), "[1] a"), Turn(search_step("second"), "[1] b")]

        conversation = messages(*turns)

        assert conversation[0].text == "The prompt."
        assert [m.tool_call.arguments["query"] for m in conversation[1::2]] == ["first", "second"]
        assert [m.tool_call_result.result for m in conversation[2::2]] == ["[1] a", "[1] b"]
        assert conversation[1].text == "I look."
        ids = [m.tool_call.id for m in conversation[1::2]]
        assert len(set(ids)) == 2
        assert all(len(name) == 9 and name.isalnum() for name in ids), "what the strictest template takes"

    def test_makes_a_call_of_a_search_by_code_in_letters_of_the_api(self):
        conversation = messages(Turn(Step(Action.SEARCH, query="the question"), "[1] a"))
        assert (conversation[1].tool_call.tool_name, conversation[1].text) == ("Search_Engine", None)
        step = Step(Action.UNKNOWN_ACTION, reply="x", tool="call my mother!", query="x")
        assert messages(Turn(step, "no"))[1].tool_call.tool_name == "call_my_mother_"
        assert len(messages(Turn(Step(Action.UNKNOWN_ACTION, tool="Telephone"), None))) == 1, "it left no trace"

    def test_answers_a_call_that_was_not_run(self):
        conversation = messages(Turn(search_step("x"), None), must_answer=True)

        assert conversation[-1].is_from(ChatRole.TOOL)
        assert "No further search" in conversation[-1].tool_call_result.result

    def test_reports_a_supplement_and_corrects_empty_replies_in_turn(self):
        """The user reports it, and nobody speaks twice."""

        conversation = messages(Turn(answer_step("1812"), "[1] more"))
        assert [m.role for m in conversation] == [ChatRole.USER, ChatRole.ASSISTANT, ChatRole.USER]
        assert conversation[-1].text == "[1] more"
        [corrected] = messages(Turn(Step(Action.UNREADABLE), "could not be read"), must_answer=True)
        assert corrected.role is ChatRole.USER
        assert "could not be read" in corrected.text
        assert "No further search" in corrected.text
