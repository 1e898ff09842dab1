"""The state of a run, whose values are never changed in place."""

import copy
from dataclasses import FrozenInstanceError

import pytest

from prefrag.components.state.state import Action, Event, Label, Step, Verdict
from tests.components.samples import QUESTION, answer_step, document, found, observed_step, search_step, state
from tests.for_each import for_each


class TestImmutability:
    @for_each(
        "value",
        state(),
        state().settings,
        search_step(),
        found(),
        Verdict(True, "model"),
        Event("thought", 1),
        state().usage,
    )
    def test_every_value_is_its_own_copy_and_cannot_be_changed(self, value: object):
        assert copy.copy(value) is value
        assert copy.deepcopy(value) is value
        assert copy.deepcopy([value])[0] is value
        with pytest.raises(FrozenInstanceError):
            value.step = 1  # type: ignore[attr-defined]

    def test_what_makes_a_new_state_leaves_the_old_one_alone(self):
        before = state(search_step())

        before.with_step(answer_step())
        before.with_last(note="changed")
        before.with_event("thought", text="x")
        before.with_call("judge", {"usage": {"prompt_tokens": 5}})

        assert before == state(search_step())


class TestSteps:
    def test_search_has_its_query_and_a_supplement_the_question(self):
        """Only the last is changed."""

        with pytest.raises(ValueError, match="a Reasoner must come before"):
            _ = state().step

        assert state(search_step("aurora")).query == "aurora"
        assert state(search_step("aurora"), answer_step()).query == QUESTION

        reached = state(search_step("a"), search_step("b")).with_last(note="here")

        assert [step.note for step in reached.steps] == ["", "here"]

    def test_replies_all_count_and_searches_come_in_their_order(self):
        first, second, third = found(query="a"), found(query="b"), found(query="c")
        searched = state(Step(Action.UNREADABLE), search_step("a", first, second), search_step("c", third))

        assert (searched.replies, searched.searches) == (3, (first, second, third))

    def test_observed_are_documents_once_by_source_and_id(self):
        alpha, beta, again = document("alpha"), document("beta"), document("alpha", source="web")
        local, archive = document("1", content="About alpha."), document("1", content="About delta.")

        assert state(observed_step(alpha), observed_step(beta, again)).observed == (alpha, beta)
        assert state(observed_step(local), observed_step(archive)).observed == (local, archive)
        assert state(search_step("a", found(document("alpha")))).observed == ()

    def test_an_event_carries_the_number_of_its_step(self):
        reached = state().with_event("rewritten").with_step(search_step()).with_event("thought", text="hm")

        assert [event.step for event in reached.events] == [0, 1]
        assert reached.events[-1].to_dict() == {"kind": "thought", "step": 1, "text": "hm"}


class TestCounting:
    @for_each("meta", {}, {"usage": None}, {"usage": {}}, {"usage": {"prompt_tokens": None}})
    def test_calls_and_tokens_add_up_by_caller_also_without_counts(self, meta: dict):
        usage = {"usage": {"prompt_tokens": 10, "completion_tokens": 2}}

        counted = state().with_call("reasoner", usage).with_call("judge", usage).with_call("reasoner", meta).usage

        assert counted.llm_calls == {"reasoner": 2, "judge": 1}
        assert (counted.prompt_tokens, counted.completion_tokens) == (20, 4)


class TestMerging:
    def test_ways_from_a_step_come_together_and_a_state_with_itself(self):
        start = state(answer_step()).with_event("reflection")
        local = start.with_last(searches=(found(source="local"),)).with_event("found", source="local")
        web = start.with_last(searches=(found(source="web"),)).with_event("found", source="web")

        merged = local.merge(web)

        assert [search.source for search in merged.step.searches] == ["local", "web"]
        assert [event.data.get("source") for event in merged.events] == [None, "local", "web"]
        assert merged.merge(merged) == merged


def test_labels_and_actions_are_written_as_their_words():
    assert f"{Label.PARTIALLY_CORRECT} {Action.SEARCH}" == "PARTIALLY CORRECT search"
