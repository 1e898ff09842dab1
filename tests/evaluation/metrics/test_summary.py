"""The metrics of a run."""

import json
from typing import Any

import pytest

from prefrag.evaluation.metrics import has_failed, summarise
from tests.for_each import for_each

# The keys that metrics.json must have for any dataset.
KEYS = {
    *("n", "acc", "acc_word", "f1", "em", "recall", "recall_all", "documents_per_question", "llm_calls"),
    *("total_local", "total_web", "total", "used_local", "used", "lookups", "forced", "unparsable", "errors"),
    *("seconds_per_question", "prompt_tokens", "completion_tokens"),
}


def prediction(
    answer: str = "Oslo",
    *shown: str,
    golds: tuple[str, ...] = ("Oslo",),
    error: str | None = None,
    calls: int = 2,
    **more: Any,
) -> dict[str, Any]:
    usage = {"llm_calls": calls, "calls": {"reasoner": calls}, "prompt_tokens": 100 * calls, "completion_tokens": 10}
    return {
        "id": "1",
        "question": "Where?",
        "answers": list(golds),
        "type": "bridge",
        "supporting_ids": ["a", "b"],
        "dataset": "hotpotqa",
        "seconds": 3.0,
        "error": error,
        "scores": {},
        "result": {"answer": answer, "documents": [{"id": key} for key in shown], "usage": usage},
        **more,
    }


def test_scores_are_percent_and_counts_are_means_a_question():
    summary = summarise(
        [prediction("Oslo", "a", "b"), prediction("Bergen", "a", calls=5), prediction("Oslo city", "x")]
    )

    assert (summary["n"], summary["errors"]) == (3, 0)
    assert summary["em"] == pytest.approx(100 / 3)
    assert summary["acc"] == pytest.approx(200 / 3)
    assert summary["f1"] == pytest.approx(100 * (1 + 0 + 2 / 3) / 3)
    assert summary["recall"] == pytest.approx(50)
    assert summary["recall_all"] == pytest.approx(100 / 3)
    assert summary["documents_per_question"] == pytest.approx(4 / 3)
    assert (summary["llm_calls"], summary["llm_calls_by_caller"]) == (3, {"reasoner": 3})
    assert (summary["prompt_tokens"], summary["seconds_per_question"]) == (300, 3)
    assert set(summary) >= KEYS
    assert json.loads(json.dumps(summary)) == summary


def test_failed_questions_are_counted_and_in_the_denominator():
    broken = prediction("Oslo", "a", "b", error="The reasoner's model failed: gone", calls=4)
    lost = prediction(error="gone", result={})
    silent = prediction("", "a", "b")
    summary = summarise([prediction("Oslo", "a", "b"), broken, lost, silent])

    assert (summary["n"], summary["errors"]) == (4, 3)
    assert summary["acc"] == summary["em"] == summary["official_f1"] == summary["recall"] == 25
    # The calls made before the failure count.
    assert summary["llm_calls"] == (2 + 4 + 0 + 2) / 4


def test_a_run_that_breaks_off_counts_the_queries_it_sent():
    sent = {"queries_sent_out": [{"source": "web", "query": "Where is Ida?"}]}

    def summary_of(answerable: bool, **broken: Any) -> dict[str, Any]:
        answered = prediction(answerable=answerable)
        return summarise([{**answered, "result": {**answered["result"], **sent}, **broken}])

    for broken in ({}, {"error": "gone"}, {"error": "gone", "result": sent}, {"result": {**sent, "answer": ""}}):
        home, away = summary_of(True, **broken), summary_of(False, **broken)
        assert (home["needless_queries"], home["words_typed"]) == (100, pytest.approx(100 / 3))
        assert away["asked_as_typed"] == 0
    assert summary_of(True, error="gone")["acc"] == 0


def test_questions_without_gold_passages_are_left_out_of_recall():
    bare = prediction("Bergen", "x", supporting_ids=[], scores={"acc": 1.0})
    summary = summarise([prediction("Oslo", "a", "b"), bare])
    assert summary["recall"] == summary["recall_all"] == 100
    assert summary["acc"] == 50, "scores of the file are not read"
    assert "recall" not in summarise([bare])


def test_each_type_of_question_is_summed_up_apart():
    summary = summarise(
        [prediction("Oslo"), prediction("Bergen"), prediction("Oslo", type="comparison"), prediction("Oslo", type="")]
    )

    assert list(summary["by_type"]) == ["bridge", "comparison"]
    assert (summary["by_type"]["bridge"]["n"], summary["by_type"]["bridge"]["acc"]) == (2, 50)
    assert (summary["by_type"]["comparison"]["n"], summary["by_type"]["comparison"]["acc"]) == (1, 100)
    assert summary["n"] == 4


def test_bioasq_has_its_official_accuracy_and_macro_f1():
    run = [("yes", "Yes")] * 3 + [("yes", "no"), ("no", "No."), ("no", "yes and no")]
    summary = summarise([prediction(answer, golds=(gold,), dataset="bioasq", type="yesno") for gold, answer in run])

    assert summary["official_accuracy"] == pytest.approx(400 / 6)
    assert summary["acc"] == pytest.approx(400 / 6)
    assert summary["authors_acc"] == pytest.approx(500 / 6)
    assert summary["official_macro_f1"] == pytest.approx(62.5)
    assert "official_f1" not in summary


@for_each(
    "line, is_failed",
    (prediction(), False),
    (prediction(error="gone"), True),
    (prediction(" "), True),
    (prediction(result=None), True),
    (prediction(result={}), True),
)
def test_a_run_has_failed_when_it_broke_off_or_gave_no_answer(line: dict[str, Any], is_failed: bool):
    assert has_failed(line) is is_failed


def test_what_cannot_be_summed_up_is_refused_in_words():
    with pytest.raises(ValueError, match="no predictions to summarise"):
        summarise([])
    with pytest.raises(ValueError, match=r"\(7\) has no 'answers'"):
        summarise([{"id": "7", "question": "?"}])
