"""What a sentence of the look-ahead becomes: a kept sentence, a search, or the answer."""

from typing import Any

import pytest

from prefrag.components.flare.look_ahead import LookAhead
from prefrag.components.state.state import Action, RunError, State, Step
from tests.components.samples import document, observed_step, state
from tests.for_each import for_each

FIRST = observed_step(document("alpha"), reply="", tool="", query="Who?")
SURE = (("Alpha", 0.9), (" was", 0.99), (" built", 0.95), (" by", 0.99), (" Beta", 0.81), (".", 0.9))


def sentence(*tokens: tuple[str, float], action: Action = Action.SEARCH, **changes: Any) -> Step:
    reply = "".join(token for token, _ in tokens)
    query = {"query": reply, "tool": "Search_Engine"} if action is Action.SEARCH else {"thought": reply}
    return Step(action, reply=reply, tokens=tokens, **{**query, **changes})


def doubting(**likely: float) -> Step:
    return sentence(*((token, likely.get(token.strip(" ."), 0.95)) for token, _ in SURE))


def check(*steps: Step, **settings: Any) -> tuple[str, State]:
    ((way, reached),) = LookAhead(**settings).run(state(FIRST, *steps, max_steps=8)).items()
    return way, reached


def event(reached: State) -> dict[str, Any]:
    return next(dict(event.data) for event in reached.events if event.kind == "look_ahead")


class TestASureSentence:
    def test_is_kept_and_searches_for_nothing(self):
        way, reached = check(sentence(*SURE))

        assert way == "kept"
        assert (reached.step.action, reached.step.reply, reached.step.query) == (
            Action.NONE,
            "Alpha was built by Beta.",
            "",
        )
        assert event(reached) == {
            "text": "Alpha was built by Beta.",
            "lowest": 0.81,
            "token": "Beta",
            "masked": [],
            "query": "",
            "again": False,
        }

    def test_a_sure_sentence_with_the_answer_ends_the_chain(self):
        way, reached = check(sentence(("So the answer is:", 0.9), (" Gamma", 0.9), (".", 0.9), action=Action.NONE))

        assert way == "state"
        assert (reached.step.action, reached.step.answer) == (Action.ANSWER, "Gamma")
        assert [event.kind for event in reached.events] == ["look_ahead", "answer"]

        way, reached = check(sentence(("So the answer is:", 0.9), action=Action.NONE))

        assert (way, reached.step.action) == ("state", Action.NONE)

        ((way, reached),) = LookAhead().run(state(FIRST, sentence(*SURE), max_steps=1)).items()

        assert (way, reached.step.action) == ("state", Action.SEARCH)


class TestAnUnsureSentence:
    def test_an_unsure_sentence_is_masked_and_searched_for(self):
        way, reached = check(doubting(Beta=0.3))
        assert way == "state"
        assert (reached.step.action, reached.step.reply) == (Action.SEARCH, "")
        assert reached.step.query == "Alpha was built by ."
        assert reached.step.thought == "Alpha was built by Beta."
        assert (event(reached)["masked"], event(reached)["lowest"]) == (["Beta"], 0.3)

    @for_each(
        "likely, settings, way, query",
        (0.4, {}, "state", "Alpha was built by ."),
        (0.4, {"mask": 0.0}, "state", "Alpha was built by Beta."),
        (0.5, {}, "state", "Alpha was built by Beta."),
        (0.79, {}, "state", "Alpha was built by Beta."),
        (0.8, {}, "state", "Alpha was built by Beta."),
        (0.81, {}, "kept", ""),
    )
    def test_an_unsure_sentence_has_a_token_at_the_threshold(self, likely: float, settings: Any, way: str, query: str):
        output, reached = check(doubting(Beta=likely), **settings)
        assert (output, reached.step.query) == (way, query)
        assert event(reached)["masked"] == (["Beta"] if query == "Alpha was built by ." else [])

    def test_an_unlikely_sentence_is_kept(self):
        way, reached = check(sentence(*((token, 0.1) for token, _ in SURE[:5]), (".", 0.9)))

        assert way == "kept"
        assert event(reached)["query"] == ""
        assert len(event(reached)["masked"]) == 5

        way, reached = check(sentence(("So the answer is:", 0.9), (" Gamma", 0.5), action=Action.NONE))

        assert (way, reached.step.action, reached.step.answer) == ("state", Action.SEARCH, "")


class TestASentenceThatIsWrittenAgain:
    def searched(self) -> Step:
        return observed_step(document("beta"), reply="", thought="Alpha was built by Beta.", query="Alpha was built by")

    def test_a_sentence_written_again_is_kept_however_unlikely(self):
        way, reached = check(self.searched(), doubting(Beta=0.1))
        assert (way, event(reached)["again"]) == ("kept", True)

        way, reached = check(self.searched(), Step(Action.SEARCH, reply="Alpha is big.", query="Alpha is big."))
        assert (way, event(reached)["lowest"]) == ("kept", None)

    def test_a_sentence_is_written_again_after_an_unreadable_reply(self):
        assert check(self.searched(), Step(Action.UNREADABLE, reply="Al"), doubting(Beta=0.1))[0] == "kept"
        assert check(doubting(Beta=0.1))[0] == "state"


class TestWhatIsNoSentence:
    @for_each(
        "step",
        Step(Action.NONE),
        Step(Action.SEARCH, query="alpha Gamma", tool="Search_Engine"),
        Step(Action.ANSWER, answer="Gamma", probability=0.9),
        Step(Action.UNREADABLE, reply="Alpha, which", cut_at=200),
    )
    def test_goes_to_the_router_unchanged(self, step: Step):
        before = state(FIRST, step)

        assert LookAhead().run(before) == {"state": before}


def test_a_model_without_log_probabilities_ends_the_run():
    with pytest.raises(RunError, match=r"no log probabilities.*logprobs.*ircot") as raised:
        check(Step(Action.SEARCH, reply="Alpha was built by Beta.", query="Alpha was built by Beta."))

    assert raised.value.state.events[-1].kind == "error"
