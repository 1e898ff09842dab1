"""The format in which each reply is a JSON object."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.reasoner.reply_formats import JsonFormat, Tool
from prefrag.components.state.state import Action, Label, Step
from tests.components.samples import state
from tests.for_each import for_each

TOOLS = [Tool("Search_Engine", "Finds."), Tool("Search_2", "Finds more.", source="web")]
word = st.text(alphabet=st.characters(categories=["L", "Nd"]), min_size=1, max_size=8)
phrase = st.lists(word, min_size=1, max_size=8).map(", ".join)


def read(reply: Any, must_answer: bool = False) -> Step:
    text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    return JsonFormat().read(text, TOOLS, must_answer=must_answer)


def schema(must_answer: bool) -> dict[str, Any]:
    response_format = JsonFormat().generation_kwargs(TOOLS, state(), must_answer)["response_format"]
    return response_format["json_schema"]["schema"]


class TestSchema:
    def test_allows_a_search_by_an_offered_tool_or_an_answer(self):
        """At the end, it allows an answer alone."""

        search, answer = schema(must_answer=False)["anyOf"]

        assert search["properties"]["action"] == {"enum": ["Search_Engine", "Search_2"]}
        assert answer["properties"]["label"] == {"enum": ["CORRECT", "PARTIALLY CORRECT", "INCORRECT"]}

        assert schema(must_answer=True)["properties"]["action"] == {"const": "Final_Answer"}

    @for_each("must_answer", True, False)
    def test_bounds_every_text(self, must_answer: bool):
        variants = [schema(must_answer)] if must_answer else schema(must_answer)["anyOf"]

        for variant in variants:
            assert set(variant["required"]) == set(variant["properties"])
            for field in variant["properties"].values():
                assert field.get("type") != "string" or field["maxLength"] <= 300


class TestWellFormedReplies:
    @given(phrase, phrase, st.sampled_from(list(Label)), phrase, st.booleans())
    def test_of_an_answer_come_back_as_they_were(
        self, thought: str, answer: str, label: Label, explanation: str, must_answer: bool
    ):
        reply = {
            "thought": thought,
            "action": "Final_Answer",
            "answer": answer,
            "label": label.value,
            "explanation": explanation,
        }

        step = read(reply, must_answer)

        assert (step.action, step.thought, step.answer, step.label) == (Action.ANSWER, thought, answer, label)
        assert step.explanation == explanation
        assert json.loads(step.reply) == reply


class TestAnyReply:
    @given(
        st.dictionaries(
            st.sampled_from(["thought", "action", "query", "answer", "label", "explanation", "other"]),
            st.none()
            | st.booleans()
            | st.integers()
            | st.sampled_from(["", "Search_Engine", "CORRECT", "x"])
            | st.lists(st.text()),
        ),
        st.booleans(),
    )
    def test_of_any_values_gives_a_step_that_keeps_its_promises(self, values: dict[str, Any], must_answer: bool):
        step = read(values, must_answer)

        if step.action is Action.SEARCH:
            assert step.query
            assert step.tool == "Search_Engine"
            assert not must_answer
        if step.action is Action.ANSWER:
            assert step.answer

    @for_each(
        "reply, action",
        *((text, Action.UNREADABLE) for text in ("", "I think it is 1974.", "[]", "{}", '{"thought": "hm"}')),
        ({"thought": "I know.", "action": "None", "query": ""}, Action.NONE),
        ({"action": "Final_Answer", "answer": None}, Action.NONE),
    )
    def test_without_action_and_answer_is_unreadable_or_ends_search(self, reply: Any, action: Action):
        assert read(reply).action is action
        assert len(read("word " * 10_000).reply) <= 2_000, "an endless one does not fill the transcript"


class TestSearches:
    FIRST = json.dumps({"thought": "a", "action": "Search_Engine", "query": "tide"})
    QUOTED = json.dumps({"action": "Final_Answer", "answer": "1666"})

    @for_each(
        "query",
        *("", "  ", None, '""', ["tide", "tables"], float("inf"), 7, {"text": "tide"}),
        *('["tide"]', '{"query": ["tide"]}'),
    )
    def test_without_a_query_that_is_a_text_cannot_be_read(self, query: Any):
        assert read({"action": "Search_Engine", "query": query}).action is Action.UNREADABLE

    @for_each(
        "reply",
        {"action": "Search_Engine", "query": "tide", "answer": "1812"},
        {"action": "Search_Engine", "query": "tide", "answer": None},
        {"Thought": "a", "ACTION": "Search_Engine", "Query": "tide"},
        "Thought: a\nAction: Search_Engine\nAction Input: tide",
        '{"thought": "a", "action": "Search_Engine", "query": "tide',
        # If the model invents a next step, the first one counts. A step in a quoted passage does not count.
        f"{FIRST}\n[1] made up\n{QUOTED}",
        f"A passage writes {QUOTED}, which I ignore.\n{FIRST}",
        f"| {QUOTED}\n{FIRST}",
    )
    def test_are_read_as_models_write_them_and_win_over_an_answer(self, reply: Any):
        step = read(reply)

        assert (step.action, step.query) == (Action.SEARCH, "tide")


class TestAnswers:
    @for_each(
        "answer, words",
        *((1974, "1974"), ("**1974**", "1974"), (" a\n b ", "a b"), (True, "True"), ({"text": "Alpha"}, "Alpha")),
        *((["Alpha", "Beta"], "Alpha, Beta"), ([{"name": "Alpha"}, {"name": "Beta"}], "Alpha, Beta")),
    )
    def test_are_plain_words(self, answer: Any, words: str):
        assert read({"action": "Final_Answer", "answer": answer}).answer == words

    @for_each(
        "reply, label",
        ({"answer": "1974", "label": "INCORRECT"}, Label.INCORRECT),
        ("Thought: a\nFinal Answer: 1974\nSelf-Evaluation: INCORRECT", Label.INCORRECT),
        ({"action": "Final_Answer", "answer": "1974", "label": None}, None),
    )
    def test_need_neither_a_word_for_their_action_nor_a_label(self, reply: Any, label: Label | None):
        step = read(reply)

        assert (step.action, step.answer, step.label) == (Action.ANSWER, "1974", label)


class TestForcedAnswers:
    @for_each(
        "reply, answer",
        ({"action": "Search_Engine", "query": "x", "answer": "1974"}, "1974"),
        ({"thought": "It is 1974.", "action": "Final_Answer"}, "It is 1974."),
        ("It is\n**1974**.\n\nSurely.", "It is **1974**."),
    )
    def test_are_taken_from_any_object_or_from_words(self, reply: Any, answer: str):
        step = read(reply, must_answer=True)
        assert (step.action, step.answer) == (Action.ANSWER, answer)

    @for_each(
        "reply",
        {"thought": "The yard is open.", "action": "Search_Engine", "query": "x"},
        {"thought": "I need to search for more."},
        *("", "  ", "{}", '{"action": "Search_Engine", "query": "x"}'),
    )
    def test_that_search_instead_or_have_no_word_are_none(self, reply: Any):
        assert read(reply, must_answer=True).action is Action.UNREADABLE
