"""Reading the tags of models trained by reinforcement to search."""

from __future__ import annotations

from typing import Any

import pytest
from haystack.dataclasses import ChatRole
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.reasoner.reply_formats import TagsFormat, Tool, Turn
from prefrag.components.state.state import Action, Step
from tests.components.samples import answer_step, search_step, state
from tests.for_each import for_each

ONE = [Tool("Search_Engine", "Finds.")]
TWO = [Tool("Search_1", "Finds.", source="local"), Tool("Search_2", "Finds more.", source="web")]
phrase = st.text(alphabet=st.characters(categories=["L", "Nd"]), min_size=1, max_size=12)


def read(text: str, must_answer: bool = False, tools: Any = ONE, **tags: str) -> Step:
    return TagsFormat(**tags).read(text, tools, must_answer=must_answer)


class TestTags:
    @for_each("name", "<search>", "two words", "", "1st")
    def test_that_are_no_names_or_two_of_one_name_are_refused(self, name: str):
        with pytest.raises(ValueError, match="is not the name of a tag"):
            TagsFormat(search=name)
        with pytest.raises(ValueError, match="same name"):
            TagsFormat(search="find", answer="Find")


class TestAsking:
    def test_stops_where_a_search_or_an_answer_ends(self):
        assert TagsFormat().generation_kwargs(ONE, state(), False) == {"stop": ["</search>", "</answer>"]}
        assert "</Search_2>" in TagsFormat().generation_kwargs(TWO, state(), False)["stop"]

    def test_continues_a_turn_once_there_is_one(self):
        flags = {"continue_final_message": True, "add_generation_prompt": False}

        assert TagsFormat().generation_kwargs(ONE, state(search_step()), False)["extra_body"] == flags
        assert TagsFormat().generation_kwargs(ONE, state(), True)["extra_body"] == flags
        assert "extra_body" not in TagsFormat(continue_turn=False).generation_kwargs(ONE, state(search_step()), True)

    def test_requests_to_continue_only_what_ends_with_the_model(self):
        for steps in ([], [search_step()], [Step(Action.UNKNOWN_ACTION, tool="x")], [Step(Action.UNREADABLE)]):
            for must_answer in (False, True):
                kwargs = TagsFormat().generation_kwargs(ONE, state(*steps), must_answer)
                turns = [Turn(step, None) for step in steps]
                last = TagsFormat().messages("Prompt.", turns, ONE, must_answer)[-1]
                assert last.is_from(ChatRole.ASSISTANT) is ("extra_body" in kwargs)


class TestSearches:
    @for_each(
        "reply",
        "<think>I look.</think>\n<search>tide tables</search>",
        "<think>I look.</think>\n<search> tide tables",
        "I look.</think><search>tide tables</search>",
        "<think>I look. <search>tide tables</search>",
        "<THINK>I look.</THINK><Search>tide tables</Search>",
        "I look. <search>\ntide tables\n</search>\n\n",
        "<think>I look.</think><search>tide tables</search><information>[1] x</information><answer>1812</answer>",
        "<think>I look.</think><search>tide tables</search><answer>1812</answer>",
    )
    def test_are_read_with_and_without_the_tag_that_the_server_stopped_at(self, reply: str):
        step = read(reply)

        assert (step.action, step.tool, step.query) == (Action.SEARCH, "Search_Engine", "tide tables")
        assert step.thought == "I look."
        assert step.reply.endswith("tide tables</search>") or step.reply.endswith("tide tables</Search>")
        assert "1812" not in step.reply

    @for_each("opening", "<think>", "")
    def test_that_are_only_thought_of_are_not_made(self, opening: str):
        thought = "Should I <search>moon</search>? No, <answer>1812</answer>!"

        step = read(f"{opening}{thought}</think><answer>1974</answer>")

        assert (step.action, step.answer) == (Action.ANSWER, "1974")

    def test_of_the_one_tool_leave_the_source_to_the_router_where_there_are_several(self):
        assert read("<search>x</search>", tools=TWO).named_source is None
        assert read("<Search_2>x</Search_2>", tools=TWO).named_source == "web"
        assert read("<search>x</search>", tools=[TWO[0]]).named_source == "local"

    def test_win_over_other_tags_before_them_and_go_back_with_a_thought_that_is_opened(self):
        assert read("<plan>first</plan><search>x</search>").query == "x"
        assert read("I look.</think><search>x").reply == "<think>I look.</think><search>x</search>"

    def test_follow_the_names_that_are_set(self):
        tags = {"think": "reason", "search": "find", "observation": "result"}

        step = read("<reason>a</reason><find>x</find><result>y</result>", **tags)

        assert (step.thought, step.query) == ("a", "x")


class TestAnswers:
    @for_each(
        "reply",
        "<think>I know.</think><answer>1974</answer>",
        "<think>I know.</think><answer> 1974",
        "<think>I know.</think><answer>**1974**\n\nAs the passages say.</answer>",
        r"<think>I know.</think><answer>It was \boxed{1974}.</answer>",
        r"<think>I know.</think><answer>\boxed{\text{1974}}</answer>",
    )
    def test_are_read_in_plain_words_and_have_no_label(self, reply: str):
        step = read(reply)

        assert (step.action, step.thought, step.answer, step.label) == (Action.ANSWER, "I know.", "1974", None)

    @for_each(
        "reply",
        *("", "I have no idea.", "<think>hm", "<answer></answer>", "</search>", "<search></search>"),
        "<think>a</think><information>invented</information><answer>1812</answer>",
    )
    def test_that_are_not_there_or_behind_an_invented_observation_are_unreadable(self, reply: str):
        assert read(reply).action is Action.UNREADABLE

    @for_each(
        "reply",
        *("1974", "1974</answer>", "<answer>1974</answer>", "<think>a</think>\n<answer>1974"),
        *("<think>a</think>1974", "a</think>1974"),
        "<search>x</search><answer>1974</answer>",
    )
    def test_that_are_forced_may_start_at_once(self, reply: str):
        step = read(reply, must_answer=True)

        assert (step.action, step.answer) == (Action.ANSWER, "1974")

    @for_each("reply", "", "<think>a</think>", "<search>x</search>", "<think>a", "Need it <search>x</search>")
    def test_that_are_forced_and_have_no_word_or_search_on_are_unreadable(self, reply: str):
        assert read(reply, must_answer=True).action is Action.UNREADABLE


PARTS = [
    *("<think>", "</think>", "<search>", "</search>", "<answer>", "</answer>", "<information>", "</b>", "<b>", "x", " ")
]


class TestAnyReply:
    @given(st.lists(st.sampled_from(PARTS) | st.text(max_size=6)).map("".join), st.booleans())
    def test_gives_a_step_that_keeps_its_promises(self, text: str, must_answer: bool):
        step = read(text, must_answer)

        if step.action is Action.SEARCH:
            assert step.query
            assert not must_answer
        if step.action is Action.ANSWER:
            assert step.answer
            assert "\n" not in step.answer
        assert "<information>" not in step.reply or "<think>" in text or "</think>" in text


class TestTranscript:
    def turn(self, *turns: Turn, **settings: Any) -> str:
        return TagsFormat(**settings).messages("The prompt.", turns, ONE, False)[-1].text or ""

    def test_is_one_turn(self):
        turns = [Turn(read("<think>a</think><search>x"), "[1] a"), Turn(read("<answer>1812"), "[1] b")]

        assert self.turn(*turns) == (
            "<think>a</think><search>x</search>\n\n<information>\n[1] a\n</information>\n\n"
            "<answer>1812</answer>\n\n<information>\n[1] b\n</information>\n\n"
        )

    def test_writes_a_search_of_no_model_or_of_another_format_in_tags_and_keeps_a_rejected_answer(self):
        unwritten = self.turn(Turn(Step(Action.SEARCH, query="the question"), "[1] a"))
        other = self.turn(Turn(search_step("x", thought="a"), None))

        assert unwritten.startswith("<search>the question</search>\n\n<information>")
        assert "Action Input" not in other
        assert other.startswith("<think>a</think>\n<search>x</search>")
        assert "1812" in self.turn(Turn(answer_step("1812"), "[1] more"))
        assert (self.turn(), self.turn(continue_turn=False)) == ("The prompt.", "The prompt.")

    @for_each("think, kept", ("think", True), ("Thinking", True), ("reason", False))
    def test_thinking_blocks_belong_to_it_only_under_their_usual_name(self, think: str, kept: bool):
        assert TagsFormat(think=think).keeps_thinking is kept
