"""Counts of one run, from results that the components wrote."""

from typing import Any

from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.components.loop.self_reflector import SelfReflector
from prefrag.components.mspr.answer_reviewer import AnswerReviewer
from prefrag.components.self_rag.passage_critic import PassageCritic
from prefrag.components.state.answer_composer import compose
from prefrag.components.state.state import Action, Label, State, Step
from prefrag.evaluation.metrics.counts import calls_by_caller, count_unparsable, counts
from tests.components.samples import answer_step, document, found, observed_step, search_step, state
from tests.fakes import ScriptedChatGenerator
from tests.for_each import for_each

ALPHA, BETA, GAMMA = document("alpha"), document("beta"), document("gamma")


def model(reply: str) -> ScriptedChatGenerator:
    return ScriptedChatGenerator([reply], name="counted")


def after(output: dict[str, Any]) -> State:
    reached = next(iter(output.values()))
    assert isinstance(reached, State)
    return reached


def judged(reply: str) -> State:
    before = state(observed_step(ALPHA), search_step("beta", found(BETA, query="beta")))
    return after(SourceSwitchJudge(["local", "web"], ModelJudge(model(reply))).run(before))


def test_counts_the_retrievals_of_a_run_that_switched_once():
    switched = observed_step(BETA, GAMMA, source="web", searches=(found(ALPHA), found(BETA, GAMMA, source="web")))
    reached = state(observed_step(ALPHA), switched, answer_step(label=Label.CORRECT))
    for caller in ("reasoner", "judge", "reasoner", "reasoner"):
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 50}
        reached = reached.with_call(caller, {"usage": usage})

    result = compose(reached)

    assert counts(result) == {
        "documents_per_question": 3,
        "llm_calls": 4,
        "total_local": 2,
        "total_web": 1,
        "total": 3,
        "used_local": 1,
        "used": 2,
        "lookups": 3,
        "prompt_tokens": 400,
        "completion_tokens": 40,
        "cached_tokens": 200,
        **dict.fromkeys(("forced", "not_found", "unparsable", "unknown_actions", "failed_searches"), 0),
    }
    assert calls_by_caller(result) == {"reasoner": 3, "judge": 1}


def test_forced_and_missing_answers_and_failed_searches_count():
    """A document that was shown twice counts once."""

    doubted = state(observed_step(ALPHA, BETA), observed_step(ALPHA), answer_step("1974", forced=True))
    doubted = doubted.with_event("found", source="web", error="timed out").with_event(
        "found", source="local", error=None
    )
    counted = counts(compose(doubted))
    assert (counted["forced"], counted["not_found"]) == (1, 0)
    assert (counted["failed_searches"], counted["documents_per_question"]) == (1, 2)
    assert counts(compose(doubted, when_unsure="say_so"))["not_found"] == 1
    assert (set(counts({}).values()), calls_by_caller({})) == ({0}, {}), "a run of which nothing is left"


def reflector(chat_generator: ScriptedChatGenerator) -> SelfReflector:
    return SelfReflector("call", chat_generator)


def reviewer(chat_generator: ScriptedChatGenerator) -> AnswerReviewer:
    return AnswerReviewer(sources=["local", "web"], supplement_source="web", chat_generator=chat_generator)


class TestUnparsable:
    @for_each(
        "part, reply, count",
        (reflector, "Hm.", 2),
        (reflector, '{"label": "CORRECT", "explanation": "", "suggestions": ""}', 0),
        (reviewer, "Hm.", 2),
        (reviewer, '{"effectiveness": "", "completeness": "", "correctness": "", "label": "True"}', 0),
        (PassageCritic, "Hm.", 2),
        (PassageCritic, '{"answer": "1974", "relevance": "relevant"}', 1),
        (PassageCritic, '{"relevance": "relevant", "answer": "1974", "support": "fully", "usefulness": 5}', 0),
    )
    def test_label_of_reflector_review_and_critique_counts(self, part: Any, reply: str, count: int):
        steps = [observed_step(ALPHA)] if part is PassageCritic else [observed_step(ALPHA), answer_step()]
        assert count_unparsable(compose(after(part(model(reply)).run(state(*steps))))) == count

    def test_verdict_of_the_judge_and_unrewritten_follow_up_count(self):
        assert count_unparsable(compose(judged("Well, it depends."))) == 2, "the judge is called once more"
        assert count_unparsable(compose(judged('{"analysis": "New.", "status": "True"}'))) == 0
        for question, count in ((None, 1), ("Which prize?", 0)):
            reached = state(observed_step(ALPHA), answer_step()).with_event("rewritten", question=question)
            assert count_unparsable(compose(reached)) == count

    def test_reply_of_the_reasoner_counts_once_but_no_unknown_action(self):
        traced = state(Step(Action.UNREADABLE, reply="Er."), answer_step()).with_event("unreadable", tool="")
        untraced = state(Step(Action.UNREADABLE, reply="Er."), answer_step()).with_event("exhausted", replies=4)
        assert count_unparsable(compose(traced)) == count_unparsable(compose(untraced)) == 1
        unknown = counts(compose(state(Step(Action.UNKNOWN_ACTION, tool="Calculator"), answer_step())))
        assert (unknown["unknown_actions"], unknown["unparsable"]) == (1, 0)
