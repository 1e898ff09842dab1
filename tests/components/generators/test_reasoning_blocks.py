"""Removing the thinking from a reply."""

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.generators.reasoning_blocks import has_open_reasoning, strip_reasoning
from tests.for_each import for_each

TAGS = st.sampled_from(
    ["<think>", "</think>", "<THINK>", "<thinking>", "</thinking>", "<", ">", "/think>", "<thi", "nk>"]
)
TAGGED = st.lists(TAGS | st.text(max_size=6), max_size=12).map("".join)
WORDS = st.text(alphabet="abc \n.:{}", max_size=20)


@for_each(
    "reply, answer",
    ("Paris", "Paris"),
    ("<think>Is it Lyon?</think>Paris", "Paris"),
    ("<think>\n\n</think>\n\nFinal Answer: Paris\n", "Final Answer: Paris"),
    ("<think>one</think>Thought: a\n<think>two</think>\nAction: b", "Thought: a\n \nAction: b"),
    ("the prompt opened this block</think>Paris", "Paris"),
    ("<think>cut off by the token limit", ""),
    ("Paris <think>and then it began to doubt", "Paris"),
    ("<think>I must write <think> first</think>Paris", "Paris"),
    ("<think>a<think>b</think>c</think>Paris", "Paris"),
    ("<Thinking>Hm</THINKING> Paris", "Paris"),
    ("<thinkers> think", "<thinkers> think"),
    ("", ""),
)
def test_keeps_the_answer(reply: str, answer: str):
    assert strip_reasoning(reply) == answer


@given(thought=WORDS, answer=WORDS)
def test_text_loses_outer_blanks_first_block_and_an_unclosed_one(thought: str, answer: str):
    for text in (
        answer,
        f"<think>{thought}</think>{answer}",
        f"{thought}</think>{answer}",
        f"{answer}<think>{thought}",
    ):
        assert strip_reasoning(text) == answer.strip()


@given(TAGGED)
def test_no_tag_survives_and_a_second_pass_changes_nothing(text: str):
    once = strip_reasoning(text)
    assert "<think>" not in once.lower()
    assert "</think>" not in once.lower()
    assert strip_reasoning(once) == once


@for_each(
    "reply, is_open",
    ("Paris", False),
    ("<think>a</think>Paris", False),
    ("a</think>Paris", False),
    ("<think>a", True),
    ("Paris <think>a", True),
    ("<think>a</think><thinking>b", True),
)
def test_notices_that_a_reply_ends_within_its_thinking(reply: str, is_open: bool):
    assert has_open_reasoning(reply) is is_open
