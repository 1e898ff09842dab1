"""Whether the passages of a search are kept or the source is switched."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from haystack import Document

from prefrag.components.both_ways import as_async
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.components.state.state import Action, Search, State, Step, Verdict
from tests.components.judge.judges import FixedJudge
from tests.components.samples import answer_step, document, found, kinds, observed_step, search_step, state
from tests.fakes import CALLS
from tests.for_each import for_each

SOURCES = ["local", "archive", "web"]
FIRST = observed_step(document("alpha", content="Alpha was built by Beta."))
SECOND = search_step("beta", found(document("beta", content="Beta is a yard.")))
JUDGED = state(FIRST, SECOND)


def switch(status: bool = True, sources: list[str] | None = None, **changes: Any) -> SourceSwitchJudge:
    return SourceSwitchJudge(sources or ["local", "web"], FixedJudge(status), **changes)


def judged(reached: State, status: bool, **changes: Any) -> tuple[str, State, Verdict]:
    output = switch(status, **changes).run(reached)
    assert len(output) == 1
    name, after = next(iter(output.items()))
    assert after.step.verdict is not None
    return name, after, after.step.verdict


class TestVerdict:
    @pytest.mark.parametrize(("status", "output"), [(True, "kept"), (False, "switch_web")])
    async def test_of_the_judge_keeps_or_switches_and_is_in_the_trace(self, status: bool, output: str):
        told = {"status": status, "judged_by": "model", "analysis": "Compared.", "score": None, "parsed": True}
        searches = [] if status else [{"source": "web", "query": "beta"}]
        for name, after in [*switch(status).run(JUDGED).items(), *(await switch(status).run_async(JUDGED)).items()]:
            assert (name, after.usage.llm_calls) == (output, {"judge": 1})
            assert kinds(after) == ["verdict", *("search" for _ in searches)]
            assert [event.data for event in after.events] == [told, *searches]


class FixedSufficiency:
    """Estimates the same probability each time, and remembers the passages."""

    threshold = 0.6
    threshold_after_not_found = 0.8

    def __init__(self, probability: float):
        self.probability = probability
        self.titles: list[str] = []

    def warm_up(self) -> None:
        pass

    def estimate(self, question: str, passages: Sequence[Document]) -> float:
        self.titles = [passage.meta["title"] for passage in passages]
        return self.probability if passages else 0.0

    estimate_async = as_async(estimate)


def suffices(probability: float) -> Any:
    return FixedSufficiency(probability)


class TestSufficiency:
    ASKED = "who built alpha?"
    AGAIN = state(
        observed_step(document("alpha"), document("beta")),
        search_step("beta", found(document("alpha"))),
        question=ASKED,
    )
    NEW = state(*JUDGED.steps, question=ASKED)

    def test_what_was_found_at_home_stays_at_home_if_it_suffices(self):
        output, after, verdict = judged(self.AGAIN, True, sufficiency=suffices(0.7))

        assert (output, verdict.status, verdict.judged_by, verdict.score) == ("kept", True, "sufficient", 0.7)
        assert kinds(after) == ["verdict"]

    def test_what_does_not_suffice_switches(self):
        assert judged(self.AGAIN, True, sufficiency=suffices(0.5))[0] == "switch_web"

    def test_more_is_asked_of_what_a_model_has_read_in_vain(self):
        read_in_vain = self.AGAIN.with_last(certainty="not_found")

        assert judged(read_in_vain, True, sufficiency=suffices(0.7))[0] == "switch_web"
        assert judged(read_in_vain, True, sufficiency=suffices(0.8))[0] == "kept"

    @for_each(
        "reached",
        # The verdict of a model stands.
        NEW,
        # The prompts of the papers.
        state(*AGAIN.steps, prompts="plain", question=ASKED),
        state(FIRST, search_step("beta", found()), question=ASKED),
    )
    def test_no_other_verdict_is_overruled(self, reached: State):
        assert judged(reached, False, sufficiency=suffices(1.0))[0] == "switch_web"

    @for_each(
        "judged_by, status, probability, output",
        ("classifier", False, 1.0, "kept"),
        ("classifier", False, 0.0, "switch_web"),
        ("words", False, 1.0, "kept"),
        ("words", False, 0.0, "switch_web"),
        ("words", True, 1.0, "kept"),
        # The words say that home has enough, the trees only that a search was worth it.
        ("words", True, 0.0, "switch_web"),
        ("classifier", True, 0.0, "kept"),
    )
    def test_a_verdict_of_code_is_overruled(self, judged_by: str, status: bool, probability: float, output: str):
        judge = FixedJudge(status, judged_by)

        assert list(SourceSwitchJudge(["local", "web"], judge, sufficiency=suffices(probability)).run(self.NEW)) == [
            output
        ]

    @for_each("status", True, False)
    def test_a_verdict_of_the_words_is_shown_as_the_estimate(self, status: bool):
        asked = SourceSwitchJudge(["local", "web"], FixedJudge(status, "words"), sufficiency=suffices(0.3))

        [after] = asked.run(self.NEW).values()

        assert (after.step.verdict.judged_by, after.step.verdict.score) == ("insufficient", 0.3)

    def test_attached_documents_count_first(self):
        sufficiency = suffices(1.0)
        attached = replace(self.AGAIN, attached=(document("mine"),))

        judged(attached, True, sufficiency=sufficiency)

        assert sufficiency.titles == ["mine", "alpha", "beta"]

    def test_a_preferred_source_that_is_external_is_not_home(self):
        away = replace(self.AGAIN, settings=replace(self.AGAIN.settings, external=("local",)))

        assert judged(away, True, sufficiency=suffices(1.0))[0] == "switch_web"

    def test_passages_of_the_other_source_do_not_count(self):
        away = observed_step(document("w"), searches=(found(document("beta")), found(document("w2"), source="web")))
        again = search_step("beta", found(document("w")))

        sufficiency = suffices(1.0)
        judged(state(away, again, question=self.ASKED), False, sufficiency=sufficiency)

        # The newest first.
        assert sufficiency.titles == ["w", "beta"]


class TestWithoutComparing:
    @for_each("earlier", (), (Step(Action.UNREADABLE, observed=True),), (Step(Action.UNKNOWN_ACTION, observed=True),))
    def test_the_first_retrieval_is_kept_unless_set_to_be_judged(self, earlier: tuple[Step, ...]):
        reached = state(*earlier, search_step("a", found(document("alpha"))))
        output, _, verdict = judged(reached, False)
        assert (output, verdict.judged_by) == ("kept", "first_step")
        assert "judge" not in CALLS
        output, _, verdict = judged(reached, False, judge_first_step=True)
        assert (output, verdict.judged_by) == ("switch_web", "model")

    def test_a_retrieval_after_a_supplement_is_not_the_first(self):
        supplement = answer_step(searches=(found(),), observed=True)
        assert judged(state(supplement, SECOND), False)[2].judged_by == "model"

    @for_each("steps", (), (FIRST,))
    def test_nothing_found_switches_if_there_is_another_source(self, steps: tuple[Step, ...]):
        nothing = (*steps, search_step("a", found()))
        output, _, verdict = judged(state(*nothing), True)
        assert (output, verdict.judged_by, verdict.status) == ("switch_web", "nothing_found", False)
        output, _, verdict = judged(state(*nothing, sources=("local",)), False)
        assert (output, verdict.judged_by) == ("kept", "no_other_source")

    def test_passages_all_shown_before_switch_without_a_judge(self):
        again = search_step("beta", found(*FIRST.documents))

        output, _, verdict = judged(state(FIRST, again), True)

        assert (output, verdict.status, verdict.judged_by) == ("switch_web", False, "nothing_new")
        assert verdict.analysis == "Every passage of local had been shown before."
        assert "judge" not in CALLS
        assert judged(state(FIRST, again, sources=("local",)), True)[2].judged_by == "no_other_source"

    @for_each(
        "reached",
        state(FIRST, search_step("beta", found(*FIRST.documents)), prompts="plain"),
        state(FIRST, search_step("beta", found(*FIRST.documents, document("new")))),
        state(FIRST, search_step("beta", found(document("alpha", content="The id is old, the text is new.")))),
        # Found before, but replaced by the passages of the other source, so the model has not seen it.
        state(
            observed_step(document("w"), searches=(found(document("beta")), found(document("w"), source="web"))),
            search_step("beta", found(document("beta"))),
        ),
        state(FIRST, search_step("beta", found(*FIRST.documents)), typed_only=("web",)),
    )
    def test_the_judge_is_asked_about_passages_not_shown(self, reached: State):
        assert judged(reached, True)[2].judged_by == "model"

    def test_patience_counts_a_search_that_brought_nothing_new(self):
        again = search_step("beta", found(*FIRST.documents))
        waited = judged(state(FIRST, again), True, patience=1)[1]
        observed = waited.with_last(documents=FIRST.documents, observed=True)

        assert (waited.step.verdict.status, waited.events[0].data["again"]) == (False, True)  # type: ignore[union-attr]
        assert judged(observed.with_step(again), True, patience=1)[0] == "switch_web"

    def test_what_a_switch_brought_stands_whatever_it_is(self):
        switched = judged(JUDGED, False)[1]
        arrived = switched.with_last(searches=(*switched.step.searches, found(source="web")))

        output, after, verdict = judged(arrived, False)

        assert (output, after) == ("kept", arrived)
        assert not verdict.status
        assert len(CALLS["judge"]) == 1


class TestAlternative:
    def after(self, named: str | None = None, **changes: Any) -> str:
        step = search_step("beta", found(document("beta")), named_source=named)
        settings = {"sources": ("local", "archive", "web"), **changes}
        return judged(state(FIRST, step, **settings), False, sources=SOURCES)[0]

    def test_the_alternative_is_the_next_or_the_named_source(self):
        assert self.after() == "switch_archive"
        assert self.after("web") == "switch_web"
        assert self.after("local") == "switch_archive"
        assert self.after("archive", sources=("local", "web")) == "switch_web"


class TestASourceThatBringsNothing:
    def switched(self, *after: Search, **changes: Any) -> tuple[str, State]:
        """What follows in a step that has switched and searched these sources."""
        verdict = Verdict(False, "model", "Nothing new.")
        step = search_step("beta", found(document("beta")), *after, verdict=verdict)
        reached = state(FIRST, step, **{"sources": tuple(SOURCES), **changes})
        return next(iter(switch(True, sources=SOURCES).run(reached).items()))

    @for_each("nothing", found(source="archive"), found(source="archive", error="down"))
    def test_is_followed_by_the_next_one_and_the_verdict_stands(self, nothing: Search):
        output, after = self.switched(nothing)

        assert output == "switch_web"
        assert [event.to_dict() for event in after.events] == [
            {"kind": "search", "step": 2, "source": "web", "query": "beta"}
        ]
        assert "judge" not in CALLS

    def test_an_empty_source_is_kept_if_no_other_is_allowed(self):
        assert self.switched(found(source="archive"), found(source="web"))[0] == "kept"
        assert self.switched(found(source="archive"), sources=("local", "archive"))[0] == "kept"
        assert self.switched(found(document("a"), source="archive"))[0] == "kept"


class TestPatience:
    HOME = Verdict(False, "model", "Compared.")

    def judged(self, *earlier: Step, patience: int = 1, status: bool = False, **changes: Any) -> tuple[str, State]:
        reached = state(FIRST, *earlier, SECOND, **changes)
        return next(iter(switch(status, patience=patience).run(reached).items()))

    def test_keeps_a_first_false_at_home_and_the_trace_says_so(self):
        output, after = self.judged()

        assert (output, kinds(after), after.events[0].data["again"]) == ("kept", ["verdict"], True)
        assert not after.step.verdict.status  # type: ignore[union-attr]

    @for_each(
        "patience, falses, output", (1, 1, "switch_web"), (2, 1, "kept"), (2, 2, "switch_web"), (0, 0, "switch_web")
    )
    def test_ends_with_so_many_in_a_row(self, patience: int, falses: int, output: str):
        earlier = [observed_step(document(f"{number}"), verdict=self.HOME) for number in range(falses)]

        way, after = self.judged(*earlier, patience=patience)

        assert (way, "again" in after.events[0].data) == (output, output == "kept")

    def test_patience_begins_anew_after_a_true_and_a_switch(self):
        waited = observed_step(document("a"), verdict=self.HOME)
        other = observed_step(document("b"), verdict=Verdict(True, "model", "Compared."))
        switched = search_step("c", found(), found(source="web"), verdict=self.HOME, observed=True)

        assert self.judged(waited, other)[0] == "kept"
        assert self.judged(waited, switched)[0] == "kept"
        assert self.judged(waited, Step(Action.UNREADABLE, observed=True))[0] == "switch_web"

    def test_is_not_needed_where_nothing_is_left_for(self):
        for changes in ({"status": True}, {"sources": ("local",)}):
            output, after = self.judged(**changes)
            assert (output, "again" in after.events[0].data) == ("kept", False)


class TestSwitchAtTheNextStep:
    def judged(self, status: bool, reached: State = JUDGED) -> tuple[str, State]:
        output = switch(status, switch_at="next_step").run(reached)
        return next(iter(output.items()))

    @for_each(
        "status, reached, told",
        (True, JUDGED, (True, "model")),
        (False, JUDGED, (False, "model")),
        (True, state(FIRST, search_step("a", found())), (False, "nothing_found")),
        (True, state(FIRST, search_step("a", found(*FIRST.documents))), (True, "model")),
    )
    def test_a_switch_at_the_next_step_keeps_the_passages(self, status: bool, reached: State, told: tuple[bool, str]):
        output, after = self.judged(status, reached)
        assert (output, kinds(after)) == ("kept", ["verdict"])
        assert (after.step.verdict.status, after.step.verdict.judged_by) == told  # type: ignore[union-attr]
        assert set(switch(switch_at="next_step").__haystack_output__._sockets_dict) == {"kept"}  # type: ignore[attr-defined]

    @for_each(
        "step",
        search_step("beta", found(document("beta"), source="web")),
        answer_step(searches=(found(document("beta")),)),
    )
    def test_does_not_judge_what_steers_nothing(self, step: Step):
        reached = state(FIRST, step)

        assert self.judged(False, reached=reached) == ("kept", reached)
        assert "judge" not in CALLS


def test_a_judge_switched_off_keeps_everything_unjudged():
    off = switch(False, enabled=False)
    assert off.run(JUDGED) == {"kept": JUDGED}
    assert "judge" not in CALLS
    switch().warm_up()
    off.warm_up()
    assert CALLS["warmed"] == ["judge"]
