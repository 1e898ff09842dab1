"""Follow-up questions are rewritten so that they stand alone."""

from typing import Any

from prefrag.components.loop.follow_up_rewriter import MAX_TURN_CHARACTERS, MAX_TURNS, FollowUpRewriter
from prefrag.components.state.state import State
from tests.components.samples import kinds, settings
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each

HISTORY = (("user", "Who built Aurora?"), ("assistant", "The yard in Beta."))
REWRITTEN = '{"question": "When did the yard in Beta win the prize?"}'


def rewriter(*script: str, **changes: Any) -> FollowUpRewriter:
    return FollowUpRewriter(ScriptedChatGenerator(list(script) or [REWRITTEN], **changes.pop("model", {})), **changes)


def follow_up(history: tuple[tuple[str, str], ...] = HISTORY) -> State:
    return State("And when did it win?", settings(), history=history)


async def test_a_first_question_passes_untouched_and_costs_nothing():
    first = follow_up(())

    assert rewriter().run(first)["state"] is first
    assert (await rewriter().run_async(first))["state"] is first
    assert "model" not in CALLS


@for_each("settings, sent", (None, 256), ({"max_tokens": 4_000}, 4_000))
def test_a_reply_is_short_unless_the_settings_say_otherwise(settings: dict[str, Any] | None, sent: int):
    rewriter(generation_kwargs=settings).run(follow_up())

    assert CALLS["model"][0]["generation_kwargs"]["max_tokens"] == sent


class TestRewriting:
    def test_rewriting_replaces_the_typed_question(self):
        reached = rewriter().run(follow_up())["state"]
        asked = "user: Who built Aurora?\nassistant: The yard in Beta.\n\nLast question: And when did it win?"
        assert CALLS["model"][0]["prompt"].endswith(asked)
        assert reached.question == "When did the yard in Beta win the prize?"
        assert reached.typed == "And when did it win?"
        assert kinds(reached) == ["rewritten"]
        assert reached.usage.llm_calls == {"rewriter": 1}

    @for_each(
        "reply",
        *("", "When did it win?", '{"question": ""}', '{"question": 1974}', "{}"),
        f'{{"question": "{"x" * 4_001}"}}',
    )
    def test_that_cannot_be_used_leaves_the_question(self, reply: str):
        reached = rewriter(reply).run(follow_up())["state"]

        assert (reached.question, reached.typed) == ("And when did it win?", "")
        assert reached.events[-1].to_dict() == {"kind": "rewritten", "step": 0, "question": None}


class TestLongConversations:
    def test_long_conversations_are_shortened(self):
        history = tuple(("user", f"Question {number}.") for number in range(9))

        reached = rewriter().run(follow_up(history))["state"]

        assert reached.history == history[-MAX_TURNS:]
        assert "Question 2." not in CALLS["model"][0]["prompt"]

        history = (("user", "a" * 9_000), ("assistant", "b" * 9_000))

        reached = rewriter().run(follow_up(history))["state"]

        assert [len(text) for _, text in reached.history] == [MAX_TURN_CHARACTERS] * 2

    @for_each("letter", "a", "ж", "京", "😀")
    @for_each("window", 1_024, 4_096)
    def test_fit_the_window_in_any_script(self, letter: str, window: int):
        history = tuple(("user", letter * 3_000) for _ in range(8))

        reached = rewriter(model={"context_window": window}).run(follow_up(history))["state"]

        assert reached.typed, "the question was rewritten"
        assert reached.history
        assert letter * 100 in CALLS["model"][0]["prompt"]

    @for_each("window", 800, 1_024, 4_096)
    def test_end_within_no_word_and_no_number(self, window: int):
        history = (("user", "It cost 1,250,000 euros there " * 300),)

        reached = rewriter(model={"context_window": window}).run(follow_up(history))["state"]

        assert reached.history[0][1].split()[-1] in ("It", "cost", "1,250,000", "euros", "there")
