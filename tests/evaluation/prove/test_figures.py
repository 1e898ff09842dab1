"""The sentence and what stands beside it: what is counted once, and that no bound says more than is known."""

from collections import Counter
from typing import Any

import pytest

from prefrag.evaluation.prove.figures import (
    bound,
    choose_threshold,
    compare_loops,
    half_of,
    hardest,
    measure,
    say_percent,
    worst,
)
from prefrag.evaluation.report.intervals import clopper_pearson
from tests.evaluation.prove.cases import answer, case, compared
from tests.for_each import for_each


def cases(right: int, wrong: int = 0) -> list[dict[str, Any]]:
    made = [case(number, as_it_is="right", without="withheld") for number in range(right)]
    return made + [case(right + number, as_it_is="right", without="wrong") for number in range(wrong)]


@for_each(
    "events, n, percent",
    (3, 16, 41.7),
    (0, 59, 4.95),
    (1, 71, 6.5),
    (0, 1, 95.0),
    (5, 5, 100.0),
    (0, 0, 100.0),
    (600, 1200, 52.41),
)
def test_the_bound_is_exact_and_one_sided(events: int, n: int, percent: float):
    assert 100 * clopper_pearson(events, n) == pytest.approx(percent, abs=0.06)


@for_each("events, n", (2, 1), (-1, 3))
def test_more_events_than_trials_are_refused(events: int, n: int):
    with pytest.raises(ValueError, match="trials"):
        clopper_pearson(events, n)


def test_the_bound_agrees_with_the_beta_distribution():
    stats = pytest.importorskip("scipy.stats")

    for events, n in ((0, 7), (2, 30), (11, 40), (1, 400), (600, 1200), (4990, 5000)):
        assert clopper_pearson(events, n) == pytest.approx(stats.beta.ppf(0.95, events + 1, n - events), abs=1e-9)


def test_document_counts_once_and_as_wrong_if_any_answer_is():
    limit = bound([case(1, as_it_is="right", without="wrong", denied="wrong"), case(2, as_it_is="right")])

    assert (limit.wrong, limit.documents, limit.answers) == (1, 2, 4)


def test_what_was_withheld_or_dropped_is_no_trial():
    limit = bound([case(1, as_it_is="withheld", without="unseen"), case(2, as_it_is="part", changed="part")])

    assert (limit.wrong, limit.documents, limit.most) == (0, 0, 1.0)


def test_the_strict_bound_counts_unseen_copies_as_wrong():
    assert bound([case(1, as_it_is="right", without="unseen")], strict=True).wrong == 1


def test_the_sentence_tells_documents_wrong_ones_and_bound():
    told = measure(cases(70, 1), "the model qwen-4b")["sentence"]

    assert told == (
        "Of 71 documents with answers given as Stated on this folder with the model qwen-4b 1 was wrong at least once: "
        "at most 6.6% (95%; 72 answers)."
    )


def test_without_a_stated_answer_the_sentence_claims_nothing():
    told = measure([case(1, as_it_is="withheld")], "the reader")["sentence"]

    assert told.startswith("No answer was given as Stated")


@for_each("share, text", (0.0651, "6.6%"), (0.065, "6.5%"), (0.0, "0%"), (1.0, "100%"))
def test_a_bound_is_rounded_up(share: float, text: str):
    assert say_percent(share) == text


def test_the_hardest_third_has_the_fewest_common_words():
    own = [case(number, shared=share, as_it_is="right") for number, share in enumerate((0.9, 0.1, 0.5, 0.2))]

    assert [entry["shared"] for entry in hardest(own)] == [0.1, 0.2]


def test_certainty_is_chosen_by_a_half_measured_by_the_other():
    sure = [case(number, probability=0.95, as_it_is="right") for number in range(50)]
    unsure = [case(50 + number, probability=0.7, without="wrong") for number in range(20)]
    chosen = choose_threshold(sure + unsure, "reader")

    assert chosen is not None
    assert 0.7 < chosen["from"] <= 0.951
    halves = Counter((entry["worlds"].keys() == {"without"}, half_of(entry["document"])) for entry in sure + unsure)
    documents = halves[False, 1]
    assert chosen["measured"] == bound(sure[:documents]).to_dict()
    assert chosen["lost"] == halves[True, 1]


def test_documents_that_take_turns_do_not_decide_their_half():
    # Folders and kinds take turns, so here one of two kinds would choose and the other measure.
    turns = [
        case(number, probability=0.95, as_it_is="right")
        if number % 2
        else case(number, probability=0.7, without="wrong")
        for number in range(100)
    ]
    chosen = choose_threshold(turns, "reader")

    assert chosen is not None
    assert chosen["lost"] > 10


def test_the_certainty_of_a_model_is_chosen_by_its_own_answers():
    own = [case(number, probability=0.8, as_it_is="right") for number in range(100)]
    for of_reader in own[:30]:
        of_reader["worlds"]["without"] = answer("wrong", 0.99)
    for asked in own:
        asked["worlds"]["as it is"]["by"] = "model"
    chosen = choose_threshold(own, "model")

    assert chosen is not None
    assert (chosen["from"], chosen["measured"]["wrong"]) == (0.0, 0)


def test_no_certainty_is_chosen_from_too_few_documents():
    assert choose_threshold(cases(30), "reader") is None
    able = cases(60)
    for measured in able:
        for given_up in measured["worlds"].values():
            given_up["probability"] = None

    assert choose_threshold(able, "reader") is None


class TestTheOtherLoop:
    def test_it_is_chosen_if_it_is_better_beyond_chance(self):
        assert compare_loops(compared("withheld", "right", 6)) == {
            "n": 6,
            "better": 6,
            "worse": 0,
            "wrong": 0,
            "wrong_other": 0,
            "chosen": True,
        }

    def test_five_questions_are_within_chance(self):
        loops = compare_loops(compared("withheld", "right", 5))

        assert loops is not None
        assert (loops["better"], loops["chosen"]) == (5, False)

    def test_a_worse_one_is_never_chosen(self):
        loops = compare_loops(compared("right", "withheld", 30))

        assert loops is not None
        assert (loops["worse"], loops["chosen"]) == (30, False)

    def test_more_wrong_answers_are_no_price_for_more_right_ones(self):
        loops = compare_loops([*compared("withheld", "right", 30), *compared("withheld", "wrong", 1)])

        assert loops is not None
        assert (loops["better"], loops["wrong_other"], loops["chosen"]) == (30, 1, False)

    def test_without_a_model_there_is_none(self):
        assert compare_loops(cases(3)) is None


def test_queries_that_would_leave_are_counted_by_world():
    asked = [
        case(number, as_it_is="right") | {"would_leave": {"as it is": number == 0, "without": True}}
        for number in range(3)
    ]
    rates = measure(asked, "the reader")["rates"]

    assert rates["a query would have left though its sentence is there"] == {"events": 1, "n": 3}
    assert rates["a query would have left without its sentence"] == {"events": 3, "n": 3}


def test_the_worst_answers_are_the_surest_wrong_ones():
    own = [case(1, probability=0.8, without="wrong"), case(2, probability=0.99, without="wrong")]
    own.append(case(3, probability=1.0, without="unseen"))

    assert [entry["id"] for entry, _ in worst(own)] == ["002", "001", "003"]
