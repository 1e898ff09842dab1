"""Compute what the answers to the questions say about *Stated* answers.

The main number is an upper bound of the share of documents with a wrong *Stated* answer. The module also chooses a
threshold for *Stated* answers and compares two reply formats of the model (its loops).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import ceil

import numpy as np

from prefrag.components.document_stores.proof import READER
from prefrag.components.text.counted import counted
from prefrag.evaluation.prove.records import BoundFigures, Case, Figures, LoopFigures, Rate, Threshold, WorldAnswer
from prefrag.evaluation.prove.verdict import Verdict
from prefrag.evaluation.prove.worlds import AS_IS, CHANGED, DENIED, SECOND, WITHOUT, WORLDS
from prefrag.evaluation.report.intervals import clopper_pearson
from prefrag.evaluation.report.significance import compute_p

# The share of documents with a wrong answer that a threshold is chosen for, from 0 to 1. The threshold is the lowest
# whose share is not larger.
_SHARE_AIMED_AT = 0.05
# The largest p-value with which one loop counts as better than the other.
_LARGEST_P = 0.05
# To choose a threshold, each half of the documents must have at least this many with a stated answer. One half chooses
# it, the other measures it.
_FEWEST_DOCUMENTS = 20


@dataclass(frozen=True)
class Bound:
    """The number of documents with a wrong stated answer, and an upper bound of their share.

    The answers in the worlds of one question depend on each other, but documents do not. So each document counts once.
    It counts as wrong if any of its answers is wrong. The average share of wrong answers in a document is never larger
    than the share of such documents. So the bound holds for this average too.

    :param wrong: The number of documents with a wrong answer that was given as stated.
    :param documents: The number of documents with any answer that was given as stated.
    :param answers: The number of answers that were given as stated.
    """

    wrong: int
    documents: int
    answers: int

    @property
    def most(self) -> float:
        """The upper bound of the share of such documents, from 0 to 1 (95%, one-sided)."""
        return clopper_pearson(self.wrong, self.documents)

    def to_dict(self) -> BoundFigures:
        """Return the numbers as plain values."""
        return {"wrong": self.wrong, "documents": self.documents, "answers": self.answers, "most": self.most}


def bound(cases: Sequence[Case], threshold: float = 0.0, strict: bool = False) -> Bound:
    """Count the documents in which a stated answer was wrong.

    :param cases: The records of the questions.
    :param threshold: Answers with a lower probability (0 to 1) count as not stated.
    :param strict: Whether an answer with the value that was taken out counts as wrong even if another sentence still
        has this value.
    :returns: The numbers with their upper bound.
    """
    counts_as_wrong = ("wrong", "unseen") if strict else ("wrong",)
    verdicts: defaultdict[str, list[str]] = defaultdict(list)
    for case in cases:
        for answer in case["worlds"].values():
            is_given = answer["probability"] is None or answer["probability"] >= threshold
            if is_given and answer["verdict"] in ("right", *counts_as_wrong):
                verdicts[case["document"]].append(answer["verdict"])

    wrong = 0
    answers = 0
    for verdicts_of_document in verdicts.values():
        answers += len(verdicts_of_document)
        if any(verdict in counts_as_wrong for verdict in verdicts_of_document):
            wrong += 1
    return Bound(wrong, len(verdicts), answers)


def hardest(cases: Sequence[Case]) -> list[Case]:
    """Select the third of the questions that have the fewest words of their sentence.

    :param cases: The records of the questions.
    :returns: The records of this third, rounded up.
    """
    ordered = sorted(cases, key=lambda case: (case["shared"], case["id"]))
    return ordered[: ceil(len(cases) / 3)]


def say_sentence(of: Bound, answerer: str) -> str:
    """Write the main sentence of the report, which says how many stated answers were wrong.

    :param of: The number of wrong documents.
    :param answerer: What answered, such as the name of a model.
    :returns: The sentence.
    """
    if not of.documents:
        return (
            f"No answer was given as Stated on this folder with {answerer}: nothing is known of how often it is wrong."
        )
    documents = counted(of.documents, "document")
    answers = counted(of.answers, "answer")
    were = "was wrong" if of.wrong == 1 else "were wrong"
    return (
        f"Of {documents} with answers given as Stated on this folder with {answerer} "
        f"{of.wrong} {were} at least once: at most {say_percent(of.most)} (95%; {answers})."
    )


def say_percent(share: float) -> str:
    """Write the share of a bound in percent. It is rounded up, so that no bound is written smaller than it is.

    For example, ``say_percent(0.0651)`` returns ``"6.6%"``.

    :param share: The share, from 0 to 1.
    :returns: The percentage with at most one decimal.
    """
    # Without the first rounding, an error of floating point numbers could add a tenth of a percent.
    tenths = ceil(round(share * 1000, 6))
    return f"{tenths / 10:g}%"


def measure(cases: Sequence[Case], answerer: str) -> Figures:
    """Compute everything that the report shows.

    :param cases: The records of the questions.
    :param answerer: What answered.
    :returns: Plain values: the main sentence, the bounds, the rates, the threshold and the comparison of the two loops.
    """
    bound_of_all = bound(cases)
    rates_of_kinds = {}
    for kind in sorted({case["kind"] for case in cases}):
        cases_of_kind = [case for case in cases if case["kind"] == kind]
        rates_of_kinds[kind] = _rates(cases_of_kind)

    shared_words = None
    if cases:
        shared_words = round(sum(case["shared"] for case in cases) / len(cases), 3)

    by_model = sum(case["written_by"] == "model" for case in cases)
    kind_of_answerer = "reader" if answerer == READER else "model"
    return {
        "sentence": say_sentence(bound_of_all, answerer),
        "bound": bound_of_all.to_dict(),
        "bound_if_unseen_were_wrong": bound(cases, strict=True).to_dict(),
        "hardest_third": bound(hardest(cases)).to_dict(),
        "shared_words": shared_words,
        "written_by_model": by_model,
        "rates": _rates(cases),
        "by_kind": rates_of_kinds,
        "threshold": choose_threshold(cases, kind_of_answerer),
        "loops": compare_loops(cases),
    }


def _rates(cases: Sequence[Case]) -> dict[str, Rate]:
    """Count how often each of several things happened. Each rate has ``events`` and the number of trials ``n``."""

    def count(world: str, *verdicts: Verdict) -> Rate:
        """Count the answers of a world that have one of these verdicts."""
        counts = Counter(case["worlds"][world]["verdict"] for case in cases if world in case["worlds"])
        return {"events": sum(counts[verdict] for verdict in verdicts), "n": counts.total()}

    def count_leaving(world: str) -> Rate:
        """Count the questions of a world for which a query would have been sent to the web."""
        leaving = [case["would_leave"][world] for case in cases if world in case["would_leave"]]
        return {"events": sum(leaving), "n": len(leaving)}

    rates = {
        "stated and right as it is": count(AS_IS, "right"),
        "withheld though its sentence is there": count(AS_IS, "withheld"),
        "followed the changed value": count(CHANGED, "right"),
        "gave way without the sentence": count(WITHOUT, "withheld"),
        "gave way to the denial": count(DENIED, "withheld"),
        "gave way in a second turn": count(SECOND, "withheld"),
        "a query would have left though its sentence is there": count_leaving(AS_IS),
        "a query would have left without its sentence": count_leaving(WITHOUT),
    }
    for world in WORLDS:
        rates[f"stated and wrong, {world}"] = count(world, "wrong")
    for world in WORLDS:
        rates[f"dropped after the answer, {world}"] = count(world, "unseen", "part")
    return rates


def choose_threshold(cases: Sequence[Case], by: str) -> Threshold | None:
    """Choose the lowest probability with which an answer is still stated.

    One half of the documents chooses the threshold, and the other half measures it. A hash of a document's name decides
    to which half the document belongs. The reader and the model have a threshold each. So only the answers of one of
    the two count (``by``).

    :param cases: The records of the questions.
    :param by: What is measured: ``reader`` or ``model``.
    :returns: ``from`` is the threshold. ``measured`` is the bound on the half that did not choose it. ``lost`` is the
        number of answers in this half that are no longer stated. The result is None if no threshold can be chosen.
        There are three reasons: too few documents, no probabilities, or at every threshold too many documents have a
        wrong answer.
    """
    own_cases = [_only_by(by, case) for case in cases]
    choosing = [case for case in own_cases if half_of(case["document"]) == 0]
    measuring = [case for case in own_cases if half_of(case["document"]) == 1]
    fewest_documents = min(bound(choosing).documents, bound(measuring).documents)

    # The candidates for the threshold: each probability plus 0.001.
    candidates = set()
    for case in choosing:
        for answer in case["worlds"].values():
            if answer["verdict"] in ("right", "wrong") and answer["probability"] is not None:
                candidates.add(round(answer["probability"] + 0.001, 3))
    if not candidates or fewest_documents < _FEWEST_DOCUMENTS:
        return None

    # The first candidate is 0, with which all answers stay stated.
    for threshold in [0.0, *sorted(candidates)]:
        remaining = bound(choosing, threshold)
        if remaining.documents and remaining.wrong <= _SHARE_AIMED_AT * remaining.documents:
            measured = bound(measuring, threshold)
            n_lost = bound(measuring).answers - measured.answers
            return {"from": threshold, "measured": measured.to_dict(), "lost": n_lost}
    return None


def _only_by(answerer: str, case: Case) -> Case:
    """Return a record with only the answers of the reader or of the model."""
    answers = {world: answer for world, answer in case["worlds"].items() if answer["by"] == answerer}
    return {**case, "worlds": answers}


def compare_loops(cases: Sequence[Case]) -> LoopFigures | None:
    """Compare the model's reply format (its loop) with the other one, on the questions that were asked in both.

    Each question was asked in two worlds: with its sentence and without it. A loop scores 1 if it states the right
    answer with the sentence. It scores -1 if it states a wrong answer in either world. Otherwise it scores 0. The other
    loop is chosen on two conditions. It scores higher on significantly more questions (exact sign test, two-sided, 5%).
    And it is not wrong more often.

    :param cases: The records of the questions.
    :returns: ``n`` is the number of questions. ``better`` and ``worse`` are the numbers of questions on which the other
        loop scored higher and lower. ``wrong`` and ``wrong_other`` are the numbers of wrong questions of both loops.
        ``chosen`` says whether the other loop is better. The result is None if no question was asked in both loops.
    """
    answers_of_both = [(case["worlds"], case["other_loop"]) for case in cases if case["other_loop"]]
    if not answers_of_both:
        return None
    scores = [(_score(own), _score(other)) for own, other in answers_of_both]
    better = sum(own < other for own, other in scores)
    worse = sum(own > other for own, other in scores)
    wrong = sum(own < 0 for own, _ in scores)
    wrong_other = sum(other < 0 for _, other in scores)

    # The sign test needs only the signs of the differences, in one column. Equal scores do not count.
    signs = np.array([1.0] * better + [-1.0] * worse).reshape(-1, 1)
    is_beyond_chance = better > worse and compute_p(signs)[0] <= _LARGEST_P
    return {
        "n": len(answers_of_both),
        "better": better,
        "worse": worse,
        "wrong": wrong,
        "wrong_other": wrong_other,
        "chosen": bool(is_beyond_chance and wrong_other <= wrong),
    }


def _score(worlds: dict[str, WorldAnswer]) -> int:
    """Return the score of a loop for one question, see :func:`compare_loops`."""
    with_sentence = worlds[AS_IS]["verdict"]
    without_sentence = worlds[WITHOUT]["verdict"]
    if "wrong" in (with_sentence, without_sentence):
        return -1
    return 1 if with_sentence == "right" else 0


def half_of(document: str) -> int:
    """Assign a document to one of two halves by a hash of its name.

    :param document: The name of the document.
    :returns: 0 or 1.
    """
    first_byte = sha256(document.encode(errors="backslashreplace")).digest()[0]
    return first_byte % 2


def worst(cases: Sequence[Case], number: int = 10) -> list[tuple[Case, str]]:
    """Find the worst answers: wrong ones first, then those whose value another sentence still has.

    Of both, those with the highest probability come first. An answer without a probability counts as certain.

    :param cases: The records of the questions.
    :param number: The maximum number of answers.
    :returns: The record and the name of the world of each answer.
    """
    bad_answers: list[tuple[Case, str]] = []
    for case in cases:
        for world, answer in case["worlds"].items():
            if answer["verdict"] in ("wrong", "unseen"):
                bad_answers.append((case, world))

    def rank(case_and_world: tuple[Case, str]) -> tuple[bool, float, str]:
        """Return the sort key of an answer."""
        case, world = case_and_world
        answer = case["worlds"][world]
        probability = answer["probability"] or 1.0
        return answer["verdict"] != "wrong", -probability, case["id"]

    return sorted(bad_answers, key=rank)[:number]
