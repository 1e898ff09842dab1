"""The answers that a run gives, and the evidence where it withholds one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from prefrag.components.state.answer_composer import compose
from prefrag.components.state.state import Evidence
from prefrag.evaluation.metrics import has_failed, score, summarise
from prefrag.evaluation.metrics.certainty import is_withheld
from prefrag.evaluation.question import Question
from tests.components.samples import answer_step, document, observed_step, state
from tests.for_each import for_each

OSLO = Question("1", "Where was the yard?", ("Oslo",), supporting_ids=("alpha", "beta"), dataset="hotpotqa")


def withheld(guess: str = "Bergen", sentence: str = "The yard was in Oslo.", id: str = "alpha") -> dict[str, Any]:
    """Compose the result of a run whose reader withheld its guess."""
    found = document(id)
    step = replace(answer_step(guess), withheld=True, probability=0.2, evidence=(Evidence(found, sentence, "yard"),))
    return compose(state(observed_step(found), step))


def test_a_withheld_guess_scores_nothing_and_what_was_found_counts():
    scores = score(OSLO, withheld("Oslo"))

    assert (scores["em"], scores["f1"], scores["answered"], scores["recall"]) == (0, 0, 0, 0.5)
    assert scores["guess_em"] == 1
    assert "right_of_given" not in scores


def test_a_run_that_withholds_its_guess_has_not_failed():
    line = {"id": "1", "question": "Where?", "answers": ["Oslo"], "result": withheld()}

    assert is_withheld(line["result"])
    assert not has_failed(line)
    assert has_failed({**line, "error": "gone"})
    assert has_failed({**line, "result": compose(state(answer_step("")))})


@for_each(
    "gold, answer, right",
    ("Oslo", "in Oslo", 1),
    ("Oslo", "Oslofjord", 0),
    ("Oslo", "Bergen", 0),
    ("Yard of Gustav Ostermoor", "the yard Gustav Ostermoor", 1),
    ("Yard of Gustav Ostermoor", "Gustav", 0),
)
def test_an_answer_that_is_given_is_right_where_it_holds_a_gold_answer_as_words_or_nearly_all_of_them(
    gold: str, answer: str, right: int
):
    scores = score(replace(OSLO, answers=(gold,)), {"answer": answer})

    assert (scores["answered"], scores["right_of_given"]) == (1, right)
    assert "evidence_held" not in scores


@for_each(
    "sentence, id, held, gold",
    ("The yard was in Oslo.", "alpha", 1, 1),
    ("The yard was in Oslo.", "other", 1, 0),
    ("The yard was sold.", "beta", 0, 1),
    ("The Oslofjord is deep.", "other", 0, 0),
)
def test_evidence_holds_the_answer_as_words_or_is_of_a_gold_passage(sentence: str, id: str, held: int, gold: int):
    result = {
        "answer": "",
        "answered": False,
        "probability": 0.1,
        "evidence": [{"id": "x", "sentence": "It rained."}, {"id": id, "sentence": sentence}],
    }
    scores = score(OSLO, result)

    assert (scores["evidence_held"], scores["evidence_gold"]) == (held, gold)


def test_no_sentence_holds_yes_or_no():
    question = replace(OSLO, answers=("no",))

    assert "evidence_held" not in score(question, withheld(sentence="There was no yard."))
    assert score(question, withheld())["evidence_gold"] == 1


def test_shares_are_of_the_answers_that_were_given_and_of_the_questions_without_one():
    questions = {"question": "Where?", "answers": ["Oslo"], "supporting_ids": ["alpha"]}
    results = [
        {"answer": "Oslo"},
        {"answer": "Bergen"},
        withheld(),
        withheld(sentence="It rained.", id="gamma"),
        withheld(),
    ]
    summary = summarise([{"id": str(n), **questions, "result": one} for n, one in enumerate(results)])

    assert summary["answered"] == pytest.approx(40)
    assert summary["right_of_given"] == pytest.approx(50)
    assert summary["evidence_held"] == summary["evidence_gold"] == pytest.approx(200 / 3)
    assert (summary["errors"], summary["em"]) == (0, 20)
