"""Observations that are too long are summarised."""

from typing import Any

from prefrag.components.mspr.observation_refiner import ObservationRefiner
from prefrag.components.state.citations import prompt_marks
from prefrag.components.state.passages import passages
from prefrag.components.state.state import Action, State, Step
from tests.components.samples import answer_step, document, found, kinds, observed_step, search_step, state
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each
from tests.marks import drop_codes, put_codes

LONG = observed_step(document("alpha", content="Alpha was built by Beta. " * 50), document("beta", content="Beta."))
SHORT = observed_step(document("gamma", content="Gamma."))
NOW = search_step("delta", found(document("delta", content="Delta. " * 200)))
SUMMARY = "Beta built Alpha."


def refiner(*script: str, **changes: Any) -> ObservationRefiner:
    model = ScriptedChatGenerator(list(script or [SUMMARY]), name="refiner", **changes.pop("model", {}))
    return ObservationRefiner(model, **{"threshold": 100, **changes})


def refined(*steps: Step, script: str = SUMMARY, **changes: Any) -> State:
    return refiner(script, **changes).run(state(*steps))["state"]


class TestWhich:
    def test_the_previous_observation_is_shortened(self):
        after = refined(LONG, NOW)
        [summary] = after.steps[0].shown
        assert summary.content == SUMMARY
        assert summary.meta == {"title": "Summary of the passages", "source": "local", "step": 1, "_summary": True}
        assert (after.steps[0].documents, after.observed) == (LONG.documents, LONG.documents)

    def test_the_current_and_the_first_observation_stay_whole(self):
        for steps in ((SHORT, NOW), (NOW,)):
            assert refined(*steps).steps == steps
        assert refined(SHORT, LONG).steps == (SHORT, LONG), "not even when it has been observed already"
        assert refined(LONG, NOW, enabled=False).steps == (LONG, NOW)
        assert "refiner" not in CALLS

    @for_each("between", Step(Action.UNREADABLE, observed=True), answer_step())
    def test_replies_without_passages_do_not_count(self, between: Step):
        assert refined(LONG, between, NOW).steps[0].refined is not None

    def test_over_long_is_above_the_threshold(self):
        assert [step.refined is not None for step in refined(LONG, LONG, NOW).steps] == [False, True, False]
        assert refined(LONG, SHORT, NOW).steps == (LONG, SHORT, NOW)
        before = refined(LONG, NOW).events[0].data["tokens_before"]
        assert refined(LONG, NOW, threshold=before).steps[0].refined is None
        assert refined(LONG, NOW, threshold=before - 1).steps[0].refined is not None

    def test_none_is_shortened_twice_even_if_its_summary_is_long(self):
        again = refiner(threshold=5).run(refined(LONG, NOW, threshold=5))["state"]

        assert len(CALLS["refiner"]) == 1
        assert kinds(again) == ["refined"]


class TestSummary:
    def test_a_summary_for_a_supplement_has_no_query(self):
        refined(LONG, answer_step(searches=(found(document("delta")),)))
        refiner().run(state(LONG, NOW, prompts="plain"))

        supplement, plain = (call["prompt"] for call in CALLS["refiner"])
        assert "New query" not in supplement
        assert "square brackets" not in plain

    def test_a_summary_keeps_the_numbers_of_its_passages(self):
        after = refined(SHORT, LONG, NOW)

        prompt = drop_codes(CALLS["refiner"][0]["prompt"])
        assert "[2] alpha" in prompt
        assert "[3] beta" in prompt
        assert passages(after.steps[1].shown) == f"Summary of earlier passages\n| {SUMMARY}"

        after = refined(LONG, NOW, script="Beta built Alpha [[1]], says [1] and [1zz].")
        mark = put_codes("[[1]]", after)

        shown = passages(after.steps[0].shown, marks=prompt_marks(after))

        assert shown.endswith(f"| Beta built Alpha {mark}, says (1) and (1zz).")

    @for_each("text", "", "  ", "<think>all of it</think>", "Alpha was built by Beta. " * 51)
    def test_that_saves_nothing_is_not_used(self, text: str):
        after = refined(LONG, NOW, script=text)

        assert after.steps == (LONG, NOW)
        assert after.events[0].data["used"] is False

    def test_a_summary_of_too_many_passages_is_made_in_parts(self):
        keys = ["alpha", "beta", "gamma", "delta"]
        many = observed_step(*(document(key, content=f"{key} was built by Beta. " * 90) for key in keys))
        script = [f"Beta built {key}." for key in keys]

        after = refiner(*script, model={"context_window": 2_000}).run(state(many, NOW))["state"]

        asked = [[key for key in keys if f"{key} was built" in call["prompt"]] for call in CALLS["refiner"]]
        assert [key for part in asked for key in part] == keys
        assert 1 < len(asked) <= 4
        assert all(
            call["prompt"].count("was built by Beta") == 90 * len(part)
            for call, part in zip(CALLS["refiner"], asked, strict=True)
        )
        assert after.steps[0].refined.content == "\n".join(script[: len(asked)])
        assert kinds(after) == ["refined"]

    def test_replaces_nothing_that_the_model_did_not_read(self):
        longer = observed_step(document("alpha", content="Alpha was built by Beta. " * 500), document("beta"))

        after = refined(longer, NOW, model={"context_window": 1_500})

        assert after.steps == (longer, NOW)
        assert after.events[-1].data["used"] is False

    def test_replaces_nothing_if_a_part_came_out_empty(self):
        many = observed_step(*(document(key, content="It was built by Beta. " * 90) for key in ("alpha", "beta")))

        after = refiner("Beta built it.", "", model={"context_window": 1_700}).run(state(many, NOW))["state"]

        assert len(CALLS["refiner"]) == 2
        assert after.steps == (many, NOW)
