"""The judge: keep or switch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.components.judge.switch_classifier import SwitchClassifier
from prefrag.components.state.state import Action, RunError, State, Step, Verdict
from tests.components.samples import answer_step, document, found, kinds, observed_step, search_step, state
from tests.fakes import CALLS, ScriptedChatGenerator

SOURCES = ["local", "archive", "web"]
FIRST = observed_step(document("alpha", content="Alpha was built by Beta."))
SECOND = search_step("beta", found(document("beta", content="Beta is a yard.")))
JUDGED = state(FIRST, SECOND)
TRUE, FALSE = '{"analysis": "New.", "status": "True"}', '{"analysis": "Old.", "status": "False"}'


def judge(*script: str, sources: list[str] | None = None, **changes: Any) -> SourceSwitchJudge:
    model = ScriptedChatGenerator(list(script), name="judge", **changes.pop("model", {})) if script else None
    return SourceSwitchJudge(sources or ["local", "web"], chat_generator=model, **changes)


def judged(reached: State, *script: str, **changes: Any) -> tuple[str, State, Verdict]:
    output = judge(*script, **changes).run(reached)
    assert len(output) == 1
    name, after = next(iter(output.items()))
    assert after.step.verdict is not None
    return name, after, after.step.verdict


class TestInit:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"judge": "oracle"}, "judge is 'oracle': set it to one of auto, model, coverage"),
            ({"judge": "model"}, "judge: model needs a `chat_generator`; or set judge to classifier"),
            ({"judge": "cascade"}, "judge: cascade needs a `chat_generator`; or set judge to classifier"),
            ({"classifier_threshold": 50}, "classifier_threshold is 50: set it between 0 and 1"),
            ({"unsure_from": 0.9}, "unsure_from is 0.9 and unsure_to 0.8"),
            ({"unsure_to": 1.1}, "unsure_from is 0.2 and unsure_to 1.1"),
            ({"coverage_threshold": 22}, "set it between 0 and 1"),
            ({"coverage_threshold": -0.1}, "set it between 0 and 1"),
            ({"on_unparsable": "ask"}, "set it to switch or keep"),
            ({"prompt": "nonsense"}, "No prompt 'nonsense'"),
            ({"switch_at": "once"}, "set it to this_step or next_step"),
        ],
    )
    def test_settings_that_make_no_sense_are_refused_in_words(self, changes: dict[str, Any], message: str):
        with pytest.raises(ValueError, match=message):
            judge(**changes)

    def test_needs_sources(self):
        with pytest.raises(ValueError, match="`sources` is empty"):
            SourceSwitchJudge([])

    def test_has_one_output_for_each_source(self):
        outputs = judge(sources=SOURCES).__haystack_output__._sockets_dict  # type: ignore[attr-defined]

        assert set(outputs) == {"kept", "switch_local", "switch_archive", "switch_web"}


def test_survives_serialisation(tmp_path: Any):
    whole = judge(
        TRUE,
        sources=SOURCES,
        term_statistics=TantivyDocumentStore(path=str(tmp_path / "index")),
        judge="model",
        coverage_threshold=0.5,
        judge_first_step=True,
        on_unparsable="keep",
        generation_kwargs={"temperature": 0.0},
        switch_at="next_step",
        enabled=False,
    )

    again = SourceSwitchJudge.from_dict(whole.to_dict())

    assert again.to_dict() == whole.to_dict()
    assert isinstance(again.term_statistics, TantivyDocumentStore)
    assert isinstance(again.chat_generator, ScriptedChatGenerator)


@pytest.mark.parametrize("script", [(TRUE,), (FALSE,), ()])
async def test_the_asynchronous_way_gives_the_same(script: tuple[str, ...]):
    assert await judge(*script).run_async(JUDGED) == judge(*script).run(JUDGED)


class TestWithoutComparing:
    def test_the_first_retrieval_is_kept(self):
        output, _, verdict = judged(state(search_step("a", found(document("alpha")))), FALSE)

        assert (output, verdict.judged_by) == ("kept", "first_step")
        assert "judge" not in CALLS

    @pytest.mark.parametrize("action", [Action.UNREADABLE, Action.UNKNOWN_ACTION])
    def test_the_first_retrieval_is_the_first_one_not_the_first_reply(self, action: Action):
        reached = state(Step(action, observed=True), search_step("a", found(document("alpha"))))

        assert judged(reached, FALSE)[2].judged_by == "first_step"

    def test_a_retrieval_after_a_supplement_is_not_the_first(self):
        supplement = answer_step(searches=(found(),), observed=True)

        assert judged(state(supplement, SECOND), FALSE)[2].judged_by == "model"

    def test_the_first_retrieval_is_judged_where_the_setting_says_so(self):
        reached = state(search_step("a", found(document("alpha"))))

        output, _, verdict = judged(reached, FALSE, judge_first_step=True)

        assert (output, verdict.judged_by) == ("switch_web", "model")
        assert "(nothing yet)" in CALLS["judge"][0]["prompt"]

    @pytest.mark.parametrize("steps", [(), (FIRST,)])
    def test_nothing_found_switches(self, steps: tuple[Step, ...]):
        output, _, verdict = judged(state(*steps, search_step("a", found())), TRUE)

        assert (output, verdict.judged_by, verdict.status) == ("switch_web", "nothing_found", False)

    def test_without_another_source_everything_is_kept(self):
        output, _, verdict = judged(state(FIRST, search_step("a", found()), sources=("local",)), FALSE)

        assert (output, verdict.judged_by) == ("kept", "no_other_source")

    def test_what_a_switch_brought_stands_whatever_it_is(self):
        switched = judged(JUDGED, FALSE)[1]
        arrived = switched.with_last(searches=(*switched.step.searches, found(source="web")))

        output, after, verdict = judged(arrived, FALSE)

        assert (output, after) == ("kept", arrived)
        assert not verdict.status
        assert len(CALLS["judge"]) == 1


class TestAlternative:
    def after(self, named: str | None = None, **changes: Any) -> str:
        step = search_step("beta", found(document("beta")), named_source=named)
        wish = {"sources": ("local", "archive", "web"), **changes}
        return judged(state(FIRST, step, **wish), FALSE, sources=SOURCES)[0]

    def test_is_the_next_source(self):
        assert self.after() == "switch_archive"

    def test_is_the_source_that_the_model_named(self):
        assert self.after("web") == "switch_web"

    def test_is_another_when_the_model_named_the_one_that_was_searched(self):
        assert self.after("local") == "switch_archive"

    def test_is_never_one_that_the_request_forbids(self):
        assert self.after("archive", sources=("local", "web")) == "switch_web"

    def test_is_told_with_the_query(self):
        after = judged(JUDGED, FALSE)[1]

        assert kinds(after) == ["verdict", "search"]
        assert after.events[-1].data == {"source": "web", "query": "beta"}


class TestSwitchAtTheNextStep:
    def judged(self, *script: str, reached: State = JUDGED) -> tuple[str, State]:
        output = judge(*script, switch_at="next_step").run(reached)
        return next(iter(output.items()))

    def test_has_nowhere_to_switch_to_now(self):
        outputs = judge(switch_at="next_step").__haystack_output__._sockets_dict  # type: ignore[attr-defined]

        assert set(outputs) == {"kept"}

    @pytest.mark.parametrize(("reply", "status"), [(TRUE, True), (FALSE, False)])
    def test_keeps_what_was_found_with_its_verdict(self, reply: str, status: bool):
        output, after = self.judged(reply)

        assert (output, after.step.verdict.status, kinds(after)) == ("kept", status, ["verdict"])  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        "step",
        [search_step("beta", found(document("beta"), source="web")), answer_step(searches=(found(document("beta")),))],
        ids=["another source", "a supplement"],
    )
    def test_does_not_judge_what_steers_nothing(self, step: Step):
        reached = state(FIRST, step)

        assert self.judged(FALSE, reached=reached) == ("kept", reached)
        assert "judge" not in CALLS

    def test_nothing_found_is_a_false(self):
        after = self.judged(TRUE, reached=state(FIRST, search_step("a", found())))[1]

        assert (after.step.verdict.status, after.step.verdict.judged_by) == (False, "nothing_found")  # type: ignore[union-attr]


def test_switched_off_everything_is_kept_without_a_verdict():
    assert judge(FALSE, enabled=False).run(JUDGED) == {"kept": JUDGED}
    assert "judge" not in CALLS


def test_compares_with_a_refined_observation_as_the_reasoner_is_shown_it():
    refined = replace(FIRST, refined=document("summary", content="Beta built it."))

    judge(TRUE).run(state(refined, SECOND))

    assert "Beta built it." in CALLS["judge"][0]["prompt"]
    assert "Alpha was built by Beta." not in CALLS["judge"][0]["prompt"]


class TestModel:
    def test_sees_question_observed_and_new_passages_apart(self):
        judged(JUDGED, TRUE)

        prompt = CALLS["judge"][0]["prompt"]
        known, new = prompt.split("New information:")
        assert JUDGED.question in known
        assert "Alpha was built" in known
        assert "Beta is a yard" in new
        assert CALLS["judge"][0]["generation_kwargs"]["response_format"]["type"] == "json_schema"

    @pytest.mark.parametrize(
        ("reply", "output"),
        [
            (TRUE, "kept"),
            (FALSE, "switch_web"),
            ('{"analysis": "x", "status": true}', "kept"),
            ('{"analysis": "x", "status": false}', "switch_web"),
            ("{'analysis': \"It doesn't\", 'status': False}", "switch_web"),
            ('```json\n{"status": "true"}\n```', "kept"),
            ('Here: {"status": "yes", "analysis": "cut of', "kept"),
            ("True", "kept"),
            ("**False**.", "switch_web"),
            ("<think>True</think>False", "switch_web"),
        ],
    )
    def test_is_understood_however_it_writes(self, reply: str, output: str):
        name, _, verdict = judged(JUDGED, reply)

        assert (name, verdict.judged_by, verdict.parsed) == (output, "model", True)

    @pytest.mark.parametrize(
        "reply", ["", "Perhaps.", '{"analysis": "true or not"}', '{"status": "maybe"}', "<think>True"]
    )
    @pytest.mark.parametrize(("setting", "output"), [("switch", "switch_web"), ("keep", "kept")])
    def test_that_is_not_understood_is_decided_by_the_setting(self, reply: str, setting: Any, output: str):
        name, after, verdict = judged(JUDGED, reply, on_unparsable=setting)

        assert (name, verdict.parsed) == (output, False)
        assert after.events[0].data["parsed"] is False

    def test_gives_its_analysis_or_what_it_said_instead(self):
        assert judged(JUDGED, TRUE)[2].analysis == "New."
        assert judged(JUDGED, "Perhaps.")[2].analysis == "Perhaps."
        assert judged(JUDGED, '{"analysis": null, "status": "True"}')[2].analysis == ""

    def test_is_counted(self):
        assert judged(JUDGED, TRUE)[1].usage.llm_calls == {"judge": 1}

    async def test_that_fails_ends_the_run_with_its_state(self):
        with pytest.raises(RunError, match="The judge's model failed: no judge") as failure:
            await judge("!no judge").run_async(JUDGED)

        assert failure.value.state.steps == JUDGED.steps

    def test_that_cannot_hold_all_is_shown_less_of_the_oldest(self):
        long = observed_step(document("old", content="Old. " * 2_000))

        after = judged(state(long, SECOND), TRUE, model={"context_window": 1_500})[1]

        assert "Old." not in CALLS["judge"][0]["prompt"]
        assert "Beta is a yard" in CALLS["judge"][0]["prompt"]
        assert kinds(after) == ["cut", "verdict"]


class TestCoverage:
    @pytest.mark.parametrize(("threshold", "output"), [(0.24, "kept"), (0.25, "kept"), (0.26, "switch_web")])
    def test_keeps_from_the_threshold_on(self, threshold: float, output: str):
        # "built" is covered, so four words are open, of which the new passage covers the yard.
        reached = state(FIRST, SECOND, question="Aurora, built: yard, prize, harbour?")

        name, _, verdict = judged(reached, judge="coverage", coverage_threshold=threshold)

        assert (name, verdict.judged_by, verdict.score) == (output, "coverage", 0.25)
        assert "25%" in verdict.analysis

    def test_may_be_chosen_over_a_model(self):
        assert judged(JUDGED, TRUE, judge="coverage")[2].judged_by == "coverage"

    def test_of_a_model_that_must_judge_is_not_asked(self):
        assert judged(JUDGED, TRUE, judge="model", model={"is_embedded": True})[2].judged_by == "model"

    async def test_takes_its_weights_from_the_index(self):
        class Statistics:
            def analyze(self, text: str) -> list[str]:
                return text.lower().split()

            def document_frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
                return 10, {word: 1 if word == "yard" else 10 for word in words}

        reached = state(FIRST, search_step("b", found(document("beta", content="The yard"))))

        weighted = judge(term_statistics=Statistics(), judge="coverage")
        for output in (weighted.run(reached), await weighted.run_async(reached)):
            verdict = output["kept"].step.verdict
            assert verdict is not None
            assert verdict.score is not None
            assert verdict.score > 0.8


class Trees(SwitchClassifier):
    """Trees that say what a test wants, and keep what they were asked."""

    def __init__(self, probability: float):
        super().__init__()
        self._probability = probability

    def probability(self, *asked: Any) -> float:
        CALLS.setdefault("trees", []).append(asked)
        return self._probability

    def warm_up(self) -> None:
        CALLS.setdefault("warmed", []).append("trees")


class TestClassifier:
    @pytest.mark.parametrize(("probability", "output"), [(0.6, "kept"), (0.5, "kept"), (0.49, "switch_web")])
    def test_keeps_from_the_threshold_on(self, probability: float, output: str):
        name, after, verdict = judged(JUDGED, judge="classifier", classifier=Trees(probability))

        assert (name, verdict.judged_by, verdict.score) == (output, "classifier", probability)
        assert f"{probability:.0%}" in verdict.analysis
        assert after.events[0].data["judged_by"] == "classifier"

    def test_has_a_threshold_of_its_own(self):
        assert judged(JUDGED, judge="classifier", classifier=Trees(0.6), classifier_threshold=0.7)[0] == "switch_web"

    def test_is_asked_about_the_new_passages_and_those_shown_before(self):
        corrected = Step(Action.UNREADABLE, reply="?")

        judged(state(FIRST, corrected, SECOND), judge="classifier", classifier=Trees(0.6))

        [(question, query, new, observed, step, _)] = CALLS["trees"]
        assert (question, query, step) == (JUDGED.question, SECOND.searches[0].query, 1)
        assert [document.id for document in (*new, *observed)] == ["beta", "alpha"]

    async def test_gives_the_same_without_blocking(self):
        output = await judge(judge="classifier", classifier=Trees(0.1)).run_async(JUDGED)

        assert set(output) == {"switch_web"}

    def test_of_auto_is_the_embedded_models_way(self):
        _, _, verdict = judged(JUDGED, TRUE, model={"is_embedded": True}, classifier=Trees(0.3))

        assert verdict.judged_by == "classifier"
        assert "judge" not in CALLS

    def test_of_auto_judges_where_there_is_no_model(self):
        assert judged(JUDGED, classifier=Trees(0.3))[2].judged_by == "classifier"

    def test_of_auto_leaves_it_to_the_model_of_a_server(self):
        assert judged(JUDGED, TRUE, classifier=Trees(0.3))[2].judged_by == "model"

    def test_that_is_shipped_needs_no_setting(self):
        pytest.importorskip("xgboost")

        verdict = judged(JUDGED, judge="classifier")[2]

        assert verdict.score is not None
        assert 0 < verdict.score < 1

    def test_of_ones_own_survives_serialisation(self):
        whole = judge(judge="classifier", classifier=SwitchClassifier("own.json"), classifier_threshold=0.6)

        loaded = SourceSwitchJudge.from_dict(whole.to_dict())

        assert loaded.to_dict() == whole.to_dict()
        assert isinstance(loaded.classifier, SwitchClassifier)
        assert loaded.classifier.model == "own.json"


class TestCascade:
    @pytest.mark.parametrize(("probability", "output"), [(0.8, "kept"), (0.95, "kept"), (0.2, "switch_web")])
    def test_asks_no_model_where_the_trees_are_sure(self, probability: float, output: str):
        name, _, verdict = judged(JUDGED, "!not to be asked", judge="cascade", classifier=Trees(probability))

        assert (name, verdict.judged_by) == (output, "classifier")

    @pytest.mark.parametrize(("reply", "output"), [(TRUE, "kept"), (FALSE, "switch_web")])
    async def test_asks_the_model_where_they_are_not(self, reply: str, output: str):
        unsure = judge(reply, judge="cascade", classifier=Trees(0.6))

        for name, after in [*unsure.run(JUDGED).items(), *(await unsure.run_async(JUDGED)).items()]:
            verdict = after.step.verdict
            assert verdict is not None
            assert (name, verdict.judged_by, verdict.score) == (output, "model", 0.6)

    def test_has_limits_of_its_own(self):
        narrow = {"unsure_from": 0.5, "unsure_to": 0.5}

        assert judged(JUDGED, TRUE, judge="cascade", classifier=Trees(0.6), **narrow)[2].judged_by == "classifier"


def test_warms_up_only_what_judges():
    class Cold(ScriptedChatGenerator):
        def warm_up(self) -> None:
            CALLS.setdefault("warmed", []).append(self.name)

    SourceSwitchJudge(["local"], chat_generator=Cold([TRUE], "coverage"), judge="coverage").warm_up()
    SourceSwitchJudge(["local"], chat_generator=Cold([TRUE], "model")).warm_up()
    SourceSwitchJudge(["local"], chat_generator=Cold([TRUE], "off"), enabled=False).warm_up()
    SourceSwitchJudge(["local"], classifier=Trees(0.5)).warm_up()
    SourceSwitchJudge(["local"], Cold([TRUE], "both"), judge="cascade", classifier=Trees(0.5)).warm_up()

    assert CALLS["warmed"] == ["model", "trees", "trees", "both"]
