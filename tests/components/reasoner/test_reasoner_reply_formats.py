"""The reasoner's settings for native tool calls and for the tags of search models."""

from typing import Any

import pytest

from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.reasoner.reply_formats import TagsFormat
from prefrag.components.state.state import Action, RunError
from tests.components.samples import QUESTION, document, observed_step, state
from tests.fakes import CALLS
from tests.for_each import for_each
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


class TestSettings:
    def test_of_tools_do_not_go_with_a_model_in_this_process(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_LLM_GGUF", "model.gguf")
        with pytest.raises(RunError, match="The model in this process cannot call tools"):
            Reasoner(ChatModel(), reply_format="tools").run(state())


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

    @for_each("form", "tools", "tags")
    def test_leaves_the_passages_to_the_messages_behind_it(self, form: str):
        reasoner(reply_format=form).run(state(observed_step(document("alpha"))))

        first, *others = CALLS["model"][0]["messages"]
        assert "About alpha." not in first.text
        assert "About alpha." in str(others)


class TestReply:
    @pytest.mark.parametrize(
        ("form", "reply"),
        [
            ("tools", {"text": "Hm.", "calls": [("Search_2", {"query": "alpha"})]}),
            ("tags", "<think>Hm.</think><Search_2>alpha</Search_2>"),
        ],
    )
    async def test_names_the_source_of_the_tool(self, form: str, reply: Any):
        step = (await reasoner(reply, reply_format=form, tools=TOOLS).run_async(state()))["state"].step

        assert (step.action, step.query, step.named_source) == (Action.SEARCH, "alpha", "web")
        assert step.thought == "Hm."

    @for_each("form", "tools", "tags")
    def test_is_forced_to_be_an_answer(self, form: str):
        before = state(observed_step(document("alpha")))

        step = reasoner("1974", reply_format=form, must_answer=True).run(before)["state"].step

        assert (step.action, step.answer, step.forced) == (Action.ANSWER, "1974", True)

    def test_leaves_thinking_in_a_block_alone_when_the_format_has_another_tag_for_it(self):
        reply = "<think>Final.</think><reason>Hm.</reason><answer>1974</answer>"

        step = reasoner(reply, reply_format=TagsFormat(think="reason")).run(state())["state"].step

        assert (step.thought, step.answer) == ("Hm.", "1974")
        assert "Final." not in step.reply
