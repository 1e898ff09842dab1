"""Score what a run gives and what it withholds: the answers that it is sure of, and the evidence for the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prefrag.evaluation.metrics.answers import acc_word, answer_scores
from prefrag.evaluation.question import Question

# The F1 from which an answer is right though it does not hold a gold answer.
NEAR = 0.8


def is_withheld(result: Mapping[str, Any]) -> bool:
    """Check whether a run ended well and gave no answer, because a reader or the pipeline was not sure of one."""
    return bool(result.get("not_found"))


def is_right(question: Question, answer: str) -> bool:
    """Check whether an answer is right.

    :returns: Whether it holds a gold answer as words, or has an F1 of 0.8 and more.
    """
    scores = answer_scores(question, answer)
    return bool(scores["acc_word"]) or scores["f1"] >= NEAR


def certainty_scores(question: Question, result: Mapping[str, Any], answer: str) -> dict[str, float]:
    """Score whether an answer was given, whether it is right, and else what the evidence holds.

    :returns: ``answered``; ``right_of_given`` where an answer was given; else ``evidence_held`` (not for yes or no,
        which no sentence holds) and, for a question with gold passages, ``evidence_gold``; ``guess_em`` for every
        question, with the guess in place of an answer that was withheld. From 0 to 1.
    """
    given = str(result.get("guess") or "") or answer
    guess = {"guess_em": answer_scores(question, given)["em"] if given else 0.0}
    if answer:
        return {"answered": 1.0, "right_of_given": float(is_right(question, answer)), **guess}
    evidence = result.get("evidence") or ()
    held = any(acc_word(str(one.get("sentence") or ""), question.answers) for one in evidence)
    gold = any(one.get("id") in question.supporting_ids for one in evidence)
    return {
        "answered": 0.0,
        **guess,
        **({} if question.is_yes_no else {"evidence_held": float(held)}),
        **({"evidence_gold": float(gold)} if question.supporting_ids else {}),
    }
