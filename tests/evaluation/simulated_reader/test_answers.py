"""What the simulated reader answers."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.state.state import Action, Label, Step
from prefrag.evaluation.datasets import load_questions
from prefrag.evaluation.metrics import score
from prefrag.evaluation.question import Question
from prefrag.evaluation.simulated_reader import SimulatedReader
from prefrag.evaluation.simulated_reader.gold import GoldQuestion, Shown, YesNo
from prefrag.evaluation.simulated_reader.policy import is_right, wrong_answer
from tests.benchmark_data import DATA, DATASETS, with_data
from tests.evaluation.simulated_reader.trees_and_towns import (
    AT_A_RATE,
    BARE,
    FACTS,
    FORMATS,
    HOPS,
    YES,
    document,
    filler,
    question,
    read_step,
    state,
)
from tests.for_each import for_each

RULES: tuple[YesNo, ...] = ("one", "half", "all")


class TestWhatItAnswers:
    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("must_answer", [True, False])
    def test_rightly_when_all_gold_passages_have_been_shown(self, reader, form: str, must_answer: bool):
        step = read_step(reader(), state(HOPS, ["p2", "p5"], ["p3", "p1"]), form, must_answer=must_answer)

        assert (step.action, step.answer) == (Action.ANSWER, "Dora Stern")
        assert bool(step.thought) is not must_answer, "a forced answer continues the end of the prompt, in every format"
        assert step.label is Label.CORRECT

    @for_each("form", *FORMATS)
    def test_wrongly_when_one_is_missing_and_labels_it_so(self, reader, form: str):
        at = state(HOPS, ["p1", "p2"])
        step = read_step(reader(), at, form, must_answer=True)
        scores = score(question(0), {"answer": step.answer})

        assert step.action is Action.ANSWER
        assert [scores[name] for name in ("acc", "acc_word", "em", "f1")] == [0, 0, 0, 0]
        assert step.label is Label.INCORRECT

    @for_each(
        "third",
        document("p4"),
        replace(document("p3"), content=""),
        Document(id="y", content=document("p3").content, meta={"title": "Dishonoured"}),
    )
    def test_title_alone_or_an_equal_title_or_text_is_no_passage(self, reader, third: Document):
        at = state(HOPS, ["p1", "p2"], ["p3"]).with_last(documents=(third,))
        assert read_step(reader(), at, must_answer=True).answer != "Dora Stern"

    def test_yes_or_no_is_right_by_the_rule_and_else_the_opposite(self, reader):
        assert read_step(reader(), state(YES, ["p6"])).answer == "yes"
        assert read_step(reader(), state(YES, ["p1"]), must_answer=True).answer == "no"
        assert read_step(reader(yes_no="half"), state(YES, ["p6"])).answer == "yes"
        assert read_step(reader(yes_no="all"), state(YES, ["p6"])).action is Action.SEARCH
        assert read_step(reader(yes_no="all"), state(YES, ["p6"]), must_answer=True).answer == "no"
        assert read_step(reader(yes_no="all"), state(YES, ["p6"], ["p5"])).answer == "yes"

    def test_nothing_shown_is_never_enough_also_without_gold(self, files):
        with Path(files["questions"]).open("a") as lines:
            lines.write('\n{"id": "q", "question": "Why?", "answers": ["so"], "supporting_ids": []}')
        assert read_step(SimulatedReader(**files), state("Why?"), must_answer=True).answer != "so"

    @pytest.mark.parametrize("prompt", ["answer_once", "answer_with_analysis"])
    @pytest.mark.parametrize("form", ["text", "json"])
    def test_the_prompts_that_answer_at_once_are_answered(self, reader, form: str, prompt: str):
        once = {"must_answer": True, "prompt": prompt, "self_evaluation": False}
        item = Step(Action.SEARCH, query=BARE, documents=(document("p5"), document("p6")), observed=True)
        at = replace(state(BARE), steps=(item,))

        assert read_step(reader(), at, form, **once).answer == "trees"
        assert read_step(reader(), state(BARE), form, **once).answer != "trees"

    @AT_A_RATE
    def test_irrelevant_passages_spoil_answers_at_the_set_rate(self, reader, seeds: int, off: float):
        at = state(BARE, ["p5", "p6"])
        noisy = at.with_last(documents=(*at.step.documents, *map(filler, range(3))))
        right = [read_step(reader(distraction=0.2, seed=seed), noisy).answer == "trees" for seed in range(seeds)]

        assert sum(right) / len(right) == pytest.approx(0.8**3, abs=off)
        assert all(read_step(reader(distraction=1.0, seed=seed), at).answer == "trees" for seed in range(5))
        assert read_step(reader(distraction=1.0), noisy).answer != "trees"

    @AT_A_RATE
    def test_answers_with_enough_shown_are_wrong_at_the_set_rate(self, reader, seeds: int, off: float):
        at = state(BARE, ["p5", "p6"])
        right = [read_step(reader(answer_error=0.3, seed=seed), at).answer == "trees" for seed in range(seeds)]

        assert sum(right) / len(right) == pytest.approx(0.7, abs=off)
        for seed, was_right in enumerate(right):
            again = state(BARE, ["p5"], ["p6", "p1"], ["p5", "p6"])
            assert (read_step(reader(answer_error=0.3, seed=seed), again).answer == "trees") is was_right

    @AT_A_RATE
    def test_remembered_answer_is_right_and_comes_at_once(self, reader, seeds: int, off: float):
        settings = {"memory": 0.4, "distraction": 1.0, "answer_error": 1.0}
        steps = [read_step(reader(seed=seed, **settings), state(BARE, ["p1"])) for seed in range(seeds)]
        remembered = [step.action is Action.ANSWER for step in steps]

        assert sum(remembered) / len(remembered) == pytest.approx(0.4, abs=off)
        assert {step.answer for step in steps if step.action is Action.ANSWER} == {"trees"}
        forced = [read_step(reader(seed=s, **settings), state(BARE), must_answer=True).answer for s in range(seeds)]
        assert [answer == "trees" for answer in forced] == remembered

    @for_each("form", *FORMATS)
    def test_irrelevant_passage_counts_anywhere_in_every_format(self, reader, form: str):
        for shown in ((["p5", "p1"], ["p2"]), (["p1", "p5"], ["p2"]), (["p1"], ["p5", "p2"]), (["p1"], ["p2", "p5"])):
            assert read_step(reader(distraction=1.0), state(FACTS, *shown), form, must_answer=True).answer != "Corvo"

    def test_spoiled_answer_stays_so_however_much_more_is_shown(self, reader):
        def right(seed: int, gold: list[str], noise: int) -> bool:
            at = state(BARE, gold)
            shown = at.with_last(documents=(*at.step.documents, *map(filler, range(noise))))
            return read_step(reader(distraction=0.2, seed=seed), shown, must_answer=True).answer == "trees"

        for seed in range(6):
            by_noise = [right(seed, ["p5", "p6"], noise) for noise in range(0, 8, 2)]
            assert by_noise == sorted(by_noise, reverse=True)
        assert len({right(seed, ["p5", "p6"], 3) for seed in range(6)}) == 2

    def test_methods_that_show_equal_noise_get_the_same_answer(self, reader):
        def answers(*shown: Sequence[str]) -> list[str]:
            at = state(FACTS, *shown)
            return [read_step(reader(distraction=0.4, seed=seed), at, must_answer=True).answer for seed in range(10)]

        one_after_another = answers(["p1", "p5"], ["p2", "p6"])

        assert one_after_another == answers(["p4", "p2", "p1", "p3"])
        assert len(set(one_after_another)) > 1

    @given(
        st.lists(st.text(max_size=30).filter(lambda text: any(map(str.isalnum, text))), min_size=1, max_size=6)
        | st.sampled_from([["yes"], ["no"], ["Yes"], ["NO"]]),
        st.integers(0, 9),
    )
    def test_wrong_answer_scores_nowhere_whatever_the_right_ones_are(self, answers: list[str], seed: int):
        item = Question("q", "Who?", tuple(answers))
        wrong = wrong_answer(item, seed)
        scores = score(item, {"answer": wrong})
        assert [name for name, value in scores.items() if value] == ["answered"]
        assert wrong
        assert not is_right(item, wrong)
        assert is_right(item, answers[0])

    @given(many=st.integers(1, 14), shown=st.integers(0, 14), answer=st.sampled_from(["yes", "No", "Corvo"]))
    def test_enough_for_all_is_enough_for_half_and_that_for_one(self, many: int, shown: int, answer: str):
        ids = tuple(f"p{number}" for number in range(many))
        item = Question("q", "Is it?", (answer,), supporting_ids=ids)
        seen = Shown(dict.fromkeys(ids[:shown], ""), 0)

        least, half, every = (GoldQuestion(item, (), yes_no=rule).is_enough(seen) for rule in RULES)

        assert least >= half >= every
        if item.is_yes_no:
            assert (least, half) == (shown >= 1, min(shown, many) >= min(5, (many + 1) // 2))
        else:
            assert least == half == every
        assert every == (shown >= many)

    @with_data
    @pytest.mark.parametrize("dataset", DATASETS)
    def test_questions_of_the_dev_sets_are_not_answered_from_nothing(self, dataset: str):
        folder = DATA / dataset
        reader = SimulatedReader(str(folder / "dev.jsonl"), str(folder / "corpus.jsonl"))
        for item in load_questions(folder / "dev.jsonl"):
            answer = read_step(reader, state(item.question, []), must_answer=True).answer
            scores = score(item, {"answer": answer})
            assert not any(scores[name] for name in ("acc", "acc_word", "em", "f1")), (item.question, answer)
