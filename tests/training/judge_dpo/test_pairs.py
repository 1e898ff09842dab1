"""Which pairs are kept: each step once, balanced by verdict, from all iterations."""

from collections import Counter

from prefrag.training.judge_dpo.candidates import GRID, Candidate, Gold, JudgedStep
from prefrag.training.judge_dpo.pairs import (
    NO_GOLD,
    UNREADABLE,
    Pair,
    SampledStep,
    balance,
    balance_held_out,
    drop_repeated,
    make_pair,
)
from tests.for_each import for_each


def step(question: str, number: int, status: bool | None, prompt: str = "", **fields: object) -> SampledStep:
    gold = None if status is None else Gold(status, ("Gold.",))
    candidates = [Candidate(*point, 1, f"reply {place}", None) for place, point in enumerate(GRID)]
    messages = [{"role": "user", "content": prompt or f"{question} {number}"}]
    judged = JudgedStep(number, messages, candidates, gold, **fields)  # type: ignore[arg-type]
    return SampledStep("data", question, question, 5, judged)


def pairs(status: bool, by_step: dict[int, int]) -> list[Pair]:
    return [
        Pair(step(f"{status}-{place}", number, status), "a", "b", status)
        for number, count in by_step.items()
        for place in range(count)
    ]


def statuses(sample: list[Pair]) -> Counter[bool]:
    return Counter(pair.status for pair in sample)


@for_each("false, expected", (40, {True: 60, False: 20}), (10, {True: 30, False: 10}))
def test_balance_keeps_the_proportion_where_a_verdict_is_rare(false: int, expected: dict):
    assert statuses(balance(pairs(True, {2: 90}) + pairs(False, {2: false}), 60, 20, 7)) == expected


@for_each("most_true, most_false, expected", (0, 20, {False: 11}), (20, 0, {}))
def test_pairs_of_one_verdict_alone_can_be_kept(most_true: int, most_false: int, expected: dict):
    assert statuses(balance(pairs(False, {2: 11}), most_true, most_false, 7)) == expected


def test_later_iterations_are_covered_though_they_are_rare():
    sample = balance(pairs(True, {2: 90, 3: 12, 4: 5}) + pairs(False, {2: 90}), 30, 30, 7)

    assert Counter(pair.sampled.judged.step for pair in sample if pair.status) == {2: 13, 3: 12, 4: 5}


def test_the_same_seed_gives_the_same_sample():
    every = pairs(True, {2: 50, 3: 50}) + pairs(False, {2: 50})

    assert balance(every, 20, 20, 7) == balance(every, 20, 20, 7) != balance(every, 20, 20, 8)


def test_a_step_of_a_question_and_a_prompt_are_taken_once():
    distinct = drop_repeated(
        [
            step("a", 2, True),
            step("a", 2, False),
            step("a", 3, True),
            step("b", 2, True, prompt="a 3"),
            step("c", 2, True),
        ]
    )

    assert [(step.question_id, step.judged.step) for step in distinct] == [("a", 2), ("a", 3), ("c", 2)]


def test_held_out_steps_need_no_pair():
    steps = [step(f"{place}", 2, place % 3 == 0) for place in range(30)]

    balanced = balance_held_out(steps, 12, 7)

    assert Counter(step.judged.gold.status for step in balanced if step.judged.gold) == {True: 6, False: 6}


@for_each("canonical", False, True)
def test_without_gold_or_without_any_verdict_there_is_no_pair(canonical: bool):
    assert make_pair(step("a", 2, None), canonical) == NO_GOLD
    assert make_pair(step("a", 2, True), canonical) == UNREADABLE


def test_a_step_survives_being_written_and_read():
    judged = step("a", 2, True, chosen=1, chosen_by="only", by_passages=False).judged

    assert JudgedStep.from_dict(judged.to_dict()) == judged
