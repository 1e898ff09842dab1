"""The reasoner's settings for native tool calls and for the tags of search models."""

from typing import Any

from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.reasoner.reply_formats import TagsFormat
from tests.components.samples import QUESTION, state
from tests.fakes import CALLS
from tests.pipelines.replies import ReplyingChatGenerator

TOOLS = [
    {"name": "Search_1", "description": "The curated documents.", "source": "local"},
    {"name": "Search_2", "description": "The web.", "source": "web"},
]


def reasoner(*replies: Any, **changes: Any) -> Reasoner:
    script = [{"text": reply} if isinstance(reply, str) else reply for reply in replies or ("1974",)]
    return Reasoner(ReplyingChatGenerator(script), **changes)


def prompt(**changes: Any) -> str:
    reasoner(**changes).run(state())
    return CALLS["model"][-1]["messages"][0].text or ""


class TestPrompt:
    def test_of_tools_holds_the_question_and_the_trailer(self):
        text = prompt(reply_format="tools", tools=TOOLS)

        assert text.endswith(f"Question: {QUESTION}")
        assert "calling Search_1 or Search_2" in text
        assert "Self-Evaluation" in text
        assert "Self-Evaluation" not in prompt(reply_format="tools", self_evaluation=False)

    def test_of_tags_holds_the_question_and_the_tags(self):
        text = prompt(reply_format="tags")

        assert text.endswith(f"Question: {QUESTION}")
        for name in ("think", "search", "information", "answer"):
            assert f"<{name}> and </{name}>" in text

    def test_of_tags_gives_each_of_several_tools_a_tag_of_its_own(self):
        text = prompt(reply_format="tags", tools=TOOLS)

        assert "<Search_1> and </Search_1>" in text
        assert "Search_2: The web." in text


class TestReply:
    def test_leaves_thinking_in_a_block_alone_when_the_format_has_another_tag_for_it(self):
        reply = "<think>Final.</think><reason>Hm.</reason><answer>1974</answer>"

        step = reasoner(reply, reply_format=TagsFormat(think="reason")).run(state())["state"].step

        assert (step.thought, step.answer) == ("Hm.", "1974")
        assert "Final." not in step.reply
