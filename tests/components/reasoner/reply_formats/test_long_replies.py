"""If a model's reply never ends, reading it takes bounded work, and little of it is kept."""

import time
from typing import Any

import pytest
from haystack.dataclasses import ChatMessage
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.judge.model_judge import read_verdict
from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.reasoner.reply_formats import FORMATS, Tool, read_label
from prefrag.components.reasoner.reply_formats.fields import one_answer, plain_query, shorten
from prefrag.components.state.state import Action
from tests.components.samples import state
from tests.fakes import ScriptedReader
from tests.for_each import for_each
from tests.pipelines.replies import ReplyingChatGenerator

TOOLS = [Tool("Search_Engine", "Finds.")]
# If the time of reading grew with the square of the length, each would take seconds to minutes.
ENDLESS = {
    "citations": "[1]" * 33_000 + "x",
    "brackets": "[" * 100_000,
    "blanks": "a" + " " * 99_000 + "b",
    "tags": "<b>a " * 20_000,
    "answer tags": "<answer>" * 12_000,
    "boxes": "<answer>" + "\\boxed{" * 14_000,
    "braces": '{"a":' * 20_000,
    "quotes": '{"a":"' * 16_000,
    "fields": "Thought:\n" * 11_000,
    "no action": "Action: no " + "need " * 18_000 + "!",
    "announcements": "I need to " * 10_000,
    "marks": "* " * 50_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS.keys())
def test_reading_is_bounded_work(text: str):
    start = time.process_time()

    for form in FORMATS.values():
        for must_answer in (False, True):
            form().read(text, TOOLS, must_answer=must_answer)
        form().read_message(
            ChatMessage.from_assistant(text, meta={"finish_reason": "length"}), TOOLS, must_answer=False
        )
    read_verdict(text, "status")
    read_label(text)
    one_answer(text)
    plain_query(text)

    assert time.process_time() - start < 5, "quick on any machine, or else it grows with the square"


LONG = {
    "words": "word " * 20_000,
    "thought": f"Thought: {'word ' * 20_000}\nAction: Search_Engine\nAction Input: alpha",
    "query": f"Thought: a\nAction: Search_Engine\nAction Input: {'alpha ' * 20_000}",
    "answer": f"Final Answer: {'word ' * 20_000}",
    "object": '{"thought": "%s", "action": "Search_Engine", "query": "alpha"}' % ("word " * 18_000),
    "tagged": f"<think>{'word ' * 19_000}</think><search>alpha</search>",
    "tool": f"Thought: a\nAction: {'tool ' * 20_000}\nAction Input: x",
}


@for_each("form", *FORMATS)
@for_each("reply", *LONG.values())
def test_reply_that_is_too_long_leaves_room_for_the_next_prompt(form: str, reply: str):
    reasoner = Reasoner(ReplyingChatGenerator([{"text": reply}]), reader=ScriptedReader([[]]), reply_format=form)  # type: ignore[arg-type]

    step = reasoner.run(state())["state"].step

    assert len(step.reply) <= (2_000 if step.action is Action.UNREADABLE else 6_500)
    assert len(step.thought) <= 2_000
    assert len(step.query) <= 1_000


@pytest.mark.parametrize("form", FORMATS)
@given(st.sampled_from(["", "Final Answer: "]), st.text(st.characters(), max_size=60), st.booleans())
def test_any_text_gives_a_step_without_half_a_character(form: str, start: str, text: str, must_answer: bool):
    model = ReplyingChatGenerator([{"text": f"{start}{text}\ud800"}])

    step = (
        Reasoner(model, reader=ScriptedReader([[]]), reply_format=form, must_answer=must_answer)
        .run(state())["state"]
        .step
    )  # type: ignore[arg-type]

    for written in (step.reply, step.thought, step.answer, step.query, step.tool):
        written.encode("utf-8")


@for_each("shortened, most", (one_answer, 4_000), (plain_query, 1_000), (shorten, 2_000))
def test_what_is_kept_of_a_long_reply_ends_within_no_number(shortened: Any, most: int):
    for place in range(9):
        text = "w" * (most - 20 - place) + " it cost 1,250,000 francs" + " more" * 10

        assert shortened(text).split()[-1] in ("it", "cost", "1,250,000", "francs")
