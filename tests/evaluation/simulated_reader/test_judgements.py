"""The simulated reader as judge, reviewer and refiner."""

from dataclasses import replace
from typing import Any

import pytest

from prefrag.components.crag.corrective_evaluator import CorrectiveEvaluator
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.components.loop.follow_up_rewriter import FollowUpRewriter
from prefrag.components.loop.self_reflector import SelfReflector
from prefrag.components.mspr.answer_reviewer import AnswerReviewer
from prefrag.components.mspr.observation_refiner import ObservationRefiner
from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.self_rag.passage_critic import PassageCritic
from prefrag.components.state.state import WHOLE_TEXT, Action, Label, Search, Step
from tests.evaluation.simulated_reader.trees_and_towns import (
    AT_A_RATE,
    BARE,
    FACTS,
    HOPS,
    YES,
    document,
    read_step,
    state,
)
from tests.for_each import for_each
from tests.marks import put_codes


def criticise(reader: Any, question: str, *shown: str) -> list[dict[str, Any]]:
    reached = next(iter(PassageCritic(reader).run(state=state(question, list(shown))).values()))
    return [dict(event.data) for event in reached.events if event.kind == "critique"]


class TestAsJudgeAndReviewer:
    @for_each(
        "known, new, status",
        (["p5"], ["p1", "p6"], True),
        (["p1"], ["p2"], True),
        (["p1"], ["p1", "p5"], False),
        (["p1"], ["p4"], False),
        ([], ["p5", "p6"], False),
    )
    def test_a_verdict_is_true_exactly_when_a_gold_passage_is_new(self, reader, known, new, status: bool):
        judge = SourceSwitchJudge(["local", "web"], ModelJudge(reader()), judge_first_step=True)
        at = state(HOPS, known, new).with_last(documents=(), source=None, observed=False)
        verdict = next(iter(judge.run(state=at).values())).step.verdict

        assert (verdict.status, verdict.parsed, verdict.judged_by) == (status, True, "model")

    @for_each("form", "text", "json", "tools")
    @for_each("new, status", (["p2"], True), (["p1", "p4"], False))
    def test_so_is_one_at_the_end_of_the_conversation(self, reader, form: str, new: list[str], status: bool):
        before = state(HOPS, ["p1"])
        searched = Reasoner(reader(), reply_format=form).run(state=before)["state"]
        at = searched.with_last(searches=state(HOPS, ["p1"], new).step.searches)
        judge = ModelJudge(reader())

        assert judge._continue(at) is not None
        assert judge.judge(at)[0].status is status

    @AT_A_RATE
    def test_verdicts_err_at_the_rate_that_is_set(self, reader, seeds: int, off: float):
        at = state(HOPS, ["p5"], ["p1"]).with_last(documents=(), source=None, observed=False)
        wrong = 0
        for seed in range(seeds):
            judge = SourceSwitchJudge(["local", "web"], ModelJudge(reader(judge_error=0.3, seed=seed)))
            wrong += not next(iter(judge.run(state=at).values())).step.verdict.status

        assert wrong / seeds == pytest.approx(0.3, abs=off)

    @for_each("answer, label", ("Dora Stern", Label.CORRECT), ("qqq", Label.INCORRECT))
    def test_an_answer_is_labelled_by_whether_it_is_right(self, reader, answer: str, label: Label):
        at = state(HOPS, ["p1"]).with_step(Step(Action.ANSWER, f"Final Answer: {answer}", answer=answer))
        reflected = next(iter(SelfReflector("call", reader()).run(state=at).values()))
        reviewed = next(iter(AnswerReviewer(["local", "web"], reader(), "web").run(state=at).values()))

        assert reflected.step.label is reviewed.step.label is label

    @AT_A_RATE
    def test_labels_of_reply_reflection_review_err_at_the_set_rate(self, reader, seeds: int, off: float):
        at = state(BARE, ["p5", "p6"])
        wrong = 0
        for seed in range(seeds):
            doubting = reader(reflection_error=0.2, seed=seed)
            answered = Reasoner(doubting).run(state=at)["state"]
            unlabelled = answered.with_last(label=None)
            reflected = next(iter(SelfReflector("call", doubting).run(state=unlabelled).values()))
            reviewed = next(iter(AnswerReviewer(["local", "web"], doubting, "web").run(state=unlabelled).values()))
            assert answered.step.label is reflected.step.label is reviewed.step.label
            wrong += answered.step.label is Label.INCORRECT

        assert wrong / seeds == pytest.approx(0.2, abs=off)

    def test_summary_keeps_the_passages_that_matter_and_they_count(self, reader):
        at = state(BARE, ["p5", "p1", "p2", "p3", "p4"], ["p6"])
        refined = ObservationRefiner(reader(), threshold=1).run(state=at)["state"]
        summary = refined.steps[0].refined

        assert summary is not None
        assert put_codes("Elms are trees. [[1]]", at) in summary.content
        assert "Aurora" not in summary.content
        assert read_step(reader(distraction=1.0), refined).answer == "trees"

    @for_each(
        "question, shown, support, answer",
        (YES, "p5", "fully", "yes"),
        (BARE, "p5", "partially", None),
        (BARE, "p1", "none", None),
        (YES, "p4", "none", "no"),
    )
    def test_passage_supports_an_answer_as_it_is_gold_and_enough(
        self, reader, question: str, shown: str, support: str, answer: str | None
    ):
        (critique,) = criticise(reader(), question, shown)

        assert (critique["support"], critique["relevant"]) == (support, support != "none")
        assert critique["usefulness"] == {"fully": 5, "partially": 3, "none": 1}[support]
        assert critique["answer"] == answer or (answer is None and "trees" not in critique["answer"])

    @AT_A_RATE
    def test_critiques_err_at_the_rate_that_is_set_each_for_itself(self, reader, seeds: int, off: float):
        wrong = [0, 0]
        for seed in range(seeds):
            for place, critique in enumerate(criticise(reader(judge_error=0.3, seed=seed), YES, "p5", "p1")):
                wrong[place] += critique["relevant"] is not (place == 0)

        assert [number / seeds for number in wrong] == pytest.approx([0.3, 0.3], abs=off)

    def test_passage_alone_is_not_spoiled_and_a_follow_up_comes_back(self, reader):
        """It always retrieves."""

        critiques = criticise(reader(distraction=1.0), YES, "p1", "p2", "p5")

        assert [critique["answer"] for critique in critiques] == ["no", "no", "yes"]

        at = replace(state(HOPS), steps=())

        assert set(PassageCritic(reader(), retrieval="adaptive").run(state=at)) == {"search"}

        at = replace(state(HOPS), history=(("user", "What is the Aurora?"), ("assistant", "A log.")))
        assert FollowUpRewriter(reader()).run(state=at)["state"].question == HOPS


class TestAsTheEvaluatorOfCrag:
    def found(self, *keys: str, question: str = HOPS):
        documents = tuple(document(key) for key in keys)
        step = Step(Action.SEARCH, query=question, searches=(Search("local", question, documents),))
        return state(question).with_step(step)

    def test_gold_passages_and_parts_score_best_and_others_lowest(self, reader):
        at = self.found("p3", "p4", "p5")
        part = replace(document("p3"), content="Its mayor is Dora Stern.")
        other = replace(document("p4"), content="Its mayor is Dora Stern and so on.")

        relevance, _ = ModelJudge(reader()).score(at, [*at.step.searches[-1].documents, part, other])

        assert relevance.scores == (1.0, -1.0, -1.0, 1.0, -1.0)

    @AT_A_RATE
    def test_scores_err_at_the_rate_that_is_set(self, reader, seeds: int, off: float):
        at = self.found("p1", "p5")
        wrong = 0
        for seed in range(seeds):
            relevance, _ = ModelJudge(reader(judge_error=0.3, seed=seed)).score(at, at.step.searches[-1].documents)
            wrong += (relevance.scores[0] < 0) + (relevance.scores[1] > 0)

        assert wrong / (2 * seeds) == pytest.approx(0.3, abs=off)

    def test_the_query_of_the_web_is_the_words_of_the_question(self, reader):
        evaluator = CorrectiveEvaluator(ModelJudge(reader()), reader(), "web")

        at = evaluator.run(state=self.found("p5"))["incorrect"]

        assert at.step.query == "mayor Aurora built"

    @pytest.mark.parametrize(
        ("content", "answer"),
        [
            ("The Aurora is a log\n...", "Corvo"),
            ("...\nthe yard Borealis.", "Corvo"),
            ("...", None),
            ("The Aurora is a ship.\n...", None),
            ("The Aurora is a log", None),
        ],
    )
    @pytest.mark.parametrize("prompts", ["product", "plain"])
    def test_strip_shows_its_passage_and_another_part_does_not(self, reader, content, answer, prompts):
        at = state(FACTS, ["p1", "p2"])
        first, second = at.step.documents
        cut = replace(first, content=content, meta={**first.meta, WHOLE_TEXT: first.content})
        at = replace(at.with_last(documents=(cut, second)), settings=replace(at.settings, prompts=prompts))

        written = read_step(reader(distraction=1.0), at, must_answer=True, prompt="answer_once").answer

        assert (written == "Corvo") == (answer == "Corvo")
