"""The reasoner's settings for native tool calls."""

from typing import Any

from prefrag.components.reasoner.reasoner import Reasoner
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
