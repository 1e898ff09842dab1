"""Scores of the answers that a run gives, and of the evidence if it gives none."""

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
    """The result of a run whose reader withheld its guess."""
    passage = document(id)
    step = replace(
        answer_step(guess), certainty="not_found", probability=0.2, evidence=(Evidence(passage, sentence, "yard"),)
    )
    return compose(state(observed_step(passage), step))


def test_withheld_guess_scores_nothing_but_what_was_found_counts():
    """The run has not failed."""

    scores = score(OSLO, withheld("Oslo"))

    assert (scores["em"], scores["f1"], scores["answered"], scores["recall"]) == (0, 0, 0, 0.5)
    assert scores["guess_em"] == 1
    assert "right_of_given" not in scores

    line = {"id": "1", "question": "Where?", "answers": ["Oslo"], "result": withheld()}

    assert is_withheld(line["result"])
    assert is_withheld({"certainty": "probably", "answered": False})
    assert not is_withheld({"certainty": "probably", "answered": True}), "a model's answer is given"
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
def test_answer_is_right_where_it_holds_gold_words_or_most(gold: str, answer: str, right: int):
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
def test_evidence_holds_the_answer_or_is_of_a_gold_passage(sentence: str, id: str, held: int, gold: int):
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


def test_shares_are_of_given_answers_and_unanswered_questions():
    questions = {"question": "Where?", "answers": ["Oslo"], "supporting_ids": ["alpha"]}
    results = [
        {"answer": "Oslo"},
        {"answer": "Bergen"},
        withheld(),
        withheld(sentence="It rained.", id="gamma"),
        withheld(),
    ]
    summary = summarise([{"id": str(n), **questions, "result": result} for n, result in enumerate(results)])

    assert summary["answered"] == pytest.approx(40)
    assert summary["right_of_given"] == pytest.approx(50)
    assert summary["evidence_held"] == summary["evidence_gold"] == pytest.approx(200 / 3)
    assert (summary["errors"], summary["em"]) == (0, 20)


def test_unknown_is_right_for_a_question_without_an_answer():
    nobody = replace(OSLO, answers=(), supporting_ids=(), answerable=False)
    results = {"withheld": withheld(), "probable": {"certainty": "probably"}, "given": {"answer": "Oslo"}, "failed": {}}

    assert {name: score(nobody, result) for name, result in results.items()} == {
        "withheld": {"said_unknown": 1},
        "probable": {"said_unknown": 0},
        "given": {"said_unknown": 0, "right_of_given": 0, "fair_of_given": 0},
        "failed": {"said_unknown": 0},
    }
    both = [{**question.to_prediction(), "result": {"answer": "Oslo"}} for question in (OSLO, replace(nobody, id="2"))]
    assert summarise(both)["right_of_given"] == 50
    assert summarise(both)["answered"] == 100


def test_right_sentence_is_looked_for_in_the_order_of_display():
    gold = "The yard of the Ostermoor brothers was in Oslo until 1931."
    question = replace(OSLO, sentences=(gold,))
    other, line = {"sentence": "It rained."}, {"sentence": "yard of the Ostermoor brothers was in"}
    cited = {"answer": "Oslo", "citations": [{"mark": "2"}]}
    place = {"content": f"It rained. {gold}", "sentence": {"start": 11, "end": 11 + len(gold)}}
    documents = [{"mark": "1", "sentence": None, "id": "x"}, {"mark": "2", "id": "y", **place}]
    results = [
        {"not_found": True, "evidence": [line, other]},
        {"not_found": True, "evidence": [other, other, {"sentence": gold}]},
        {"not_found": True, "evidence": [other, other, other, {"sentence": gold}]},
        {**cited, "documents": documents},
        {},
    ]

    measured = [score(question, result) for result in results]

    assert [(scores["sentence_1"], scores["sentence_3"]) for scores in measured] == [
        (1, 1),
        (0, 1),
        (0, 0),
        (1, 1),
        (0, 0),
    ]
    assert "sentence_1" not in score(OSLO, results[0])


def test_queries_that_left_are_needless_if_the_answer_is_local():
    """Elsewhere, they should be the question."""

    home = replace(OSLO, answerable=True, history=(("user", "Who is Ostermoor?"), ("assistant", "A builder.")))
    away = replace(OSLO, answers=(), answerable=False)

    def sent(*queries: str) -> dict[str, Any]:
        return {"not_found": True, "queries_sent_out": [{"source": "web", "query": query} for query in queries]}

    wanted = {
        "nothing left": (home, sent(), {"needless_queries": 0}),
        "its words": (home, sent("Ostermoor yard"), {"needless_queries": 1, "words_typed": 1}),
        "a name of a document": (home, sent("yard", "Petrel"), {"needless_queries": 1, "words_typed": 0.5}),
        "as typed": (away, sent("where was the yard"), {"asked_as_typed": 1, "words_typed": 1}),
        "as typed and another": (away, sent("Where was the yard?", "yard"), {"asked_as_typed": 0, "words_typed": 1}),
        "not known": (OSLO, sent("yard"), {}),
    }
    measured = ("needless_queries", "asked_as_typed", "words_typed")
    by_name = {name: score(question, result) for name, (question, result, _) in wanted.items()}
    assert {name: {key: scores[key] for key in measured if key in scores} for name, scores in by_name.items()} == {
        name: scores for name, (_, _, scores) in wanted.items()
    }
