"""Choosing the source of the next search."""

from typing import Any

from prefrag.components.mspr.preference_selector import PreferenceSelector
from prefrag.components.state.state import Action, State, Step, Verdict
from tests.components.samples import answer_step, document, found, kinds, observed_step, search_step, state
from tests.for_each import for_each

SOURCES = ["local", "archive", "web"]
KEPT = observed_step(document("alpha"), verdict=Verdict(True, "model"))
DOUBTED = observed_step(document("alpha"), verdict=Verdict(False, "model"))
ON_THE_WEB = observed_step(document("delta"), source="web")


def selected(*steps: Step, enabled: bool = True, **changes: Any) -> State:
    return PreferenceSelector(SOURCES, enabled).run(state(*steps, **{"sources": tuple(SOURCES), **changes}))["state"]


def search(named: str | None = None) -> Step:
    return search_step("beta", named_source=named)


@for_each("named", None, *SOURCES)
def test_the_first_search_goes_to_the_preferred_source(named: str | None):
    assert selected(search(named)).step.named_source == "local"
    assert selected(search(named), preferred="web").step.named_source == "web"
    assert selected(Step(Action.UNREADABLE), search(named)).step.named_source == "local"


@for_each("named", *SOURCES)
@for_each("last", KEPT, ON_THE_WEB, answer_step(searches=(found(source="web"),)))
def test_the_choice_is_free_after_a_true_or_another_source(last: Step, named: str):
    after = selected(DOUBTED, last, search(named))

    assert after.step.named_source == named
    assert kinds(after) == []


@for_each("named, source", (None, "archive"), ("local", "archive"), ("archive", "archive"), ("web", "web"))
def test_a_false_leads_to_another_source_the_named_if_possible(named: str | None, source: str):
    assert selected(DOUBTED, search(named)).step.named_source == source
    assert selected(DOUBTED, Step(Action.UNREADABLE), search(named)).step.named_source == source


@for_each("sources, source", (("local", "web"), "web"), (("local",), "local"))
def test_a_false_leads_to_no_source_that_is_not_allowed(sources: tuple[str, ...], source: str):
    assert selected(DOUBTED, search("archive"), sources=sources).step.named_source == source


@for_each("enabled", True, False)
@for_each("named", "web", "moon", None)
def test_a_source_not_allowed_gives_way_to_the_preferred(named: str | None, enabled: bool):
    after = selected(KEPT, search(named), enabled=enabled, sources=("local", "archive"))

    assert (after.step.named_source, after.events[-1].data["reason"]) == ("local", "not_allowed")


@for_each("steps", (), (DOUBTED,))
@for_each("named", *SOURCES)
def test_switched_off_it_leaves_the_choice_to_the_model(steps: tuple[Step, ...], named: str):
    assert selected(*steps, search(named), enabled=False).step.named_source == named


@for_each("step", answer_step(), Step(Action.UNREADABLE), Step(Action.UNKNOWN_ACTION))
def test_only_searches_are_steered_and_traced(step: Step):
    reached = state(DOUBTED, step)
    assert PreferenceSelector(SOURCES).run(reached)["state"] is reached
    sent = {"kind": "steered", "step": 2, "source": "archive", "named": "local", "reason": "verdict"}
    assert selected(DOUBTED, search("local")).events[-1].to_dict() == sent
