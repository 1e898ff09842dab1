"""Score an answer as the datasets' own evaluation scripts do.

The scripts are not packages, so their rules are implemented here. All of them normalise an answer as SQuAD does, and
differ in the later steps. The tests compare our scores with scores that the scripts computed.
"""

import re
from collections.abc import Mapping, Sequence

from prefrag.evaluation.metrics.answers import acc, em, normalise, overlap, yes_no
from prefrag.evaluation.question import Question

_CLOSED = ("yes", "no", "noanswer")


def official_scores(question: Question, answer: str) -> dict[str, float]:
    """Score an answer as its dataset's script does, or as SQuAD 1.1 does if the dataset has no script.

    :returns: ``official_em`` and ``official_f1``; for HotpotQA and 2Wiki also ``official_precision`` and
        ``official_recall``. BioASQ has only ``official_accuracy``, and only for yes/no questions.
    """
    if question.dataset == "bioasq":
        scores = bioasq(answer, question.answers[0]) if question.is_yes_no else {}
    elif question.dataset == "hotpotqa":
        scores = hotpotqa(answer, question.answers[0])
    elif question.dataset == "2wikimultihopqa":
        scores = two_wiki(answer, question.answers)
    elif question.dataset == "musique":
        scores = musique(answer, question.answers)
    else:
        scores = squad(answer, question.answers)
    return {f"official_{name}": value for name, value in scores.items()}


def squad(answer: str, golds: Sequence[str]) -> dict[str, float]:
    """Score as SQuAD 1.1: F1 is 0 if no word is shared, even if normalisation leaves no words on either side."""
    return {"em": em(answer, golds), "f1": max(overlap(answer, gold)[0] for gold in golds)}


def hotpotqa(answer: str, gold: str) -> dict[str, float]:
    """Score as HotpotQA: like SQuAD 1.1, but there are no aliases, and yes, no and noanswer must match exactly."""
    words, right = normalise(answer), normalise(gold)
    is_closed = words in _CLOSED or right in _CLOSED
    score, precision, recall = overlap(answer, gold)
    if is_closed and words != right:
        score, precision, recall = 0.0, 0.0, 0.0
    return {"em": float(words == right), "f1": score, "precision": precision, "recall": recall}


def two_wiki(answer: str, golds: Sequence[str]) -> dict[str, float]:
    """Score as 2WikiMultiHopQA 1.1: like HotpotQA, but with aliases. Each score is the highest that any alias gets."""
    scored = [hotpotqa(answer, gold) for gold in golds]
    best = {}
    for name in ("em", "f1", "precision", "recall"):
        best[name] = max(scores[name] for scores in scored)
    return best


def musique(answer: str, golds: Sequence[str]) -> dict[str, float]:
    """Score as MuSiQue 1.0: like SQuAD 1.1, but F1 is 1 if normalisation leaves no words on either side (SQuAD 2.0)."""
    both_empty = any(not normalise(answer) and not normalise(gold) for gold in golds)
    return {"em": em(answer, golds), "f1": 1.0 if both_empty else squad(answer, golds)["f1"]}


def bioasq(answer: str, gold: str) -> dict[str, float]:
    """Score as BioASQ (task B, phase B, yes/no), after reading yes or no from the answer."""
    return {"accuracy": float(yes_no(answer) == gold.strip().lower())}


def bioasq_macro_f1(accuracies: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Compute BioASQ's measure of a whole run, from the gold answer and accuracy of each question.

    ``official_f1_yes`` and ``official_f1_no`` are the F1 of each label, and ``official_macro_f1`` is their mean. The
    script only knows right and wrong answers, so every wrong or unreadable answer counts against both labels. The F1 of
    a label is 0 if none of its questions was answered correctly. Without questions, the result is empty.
    """
    if not accuracies:
        return {}
    wrong = sum(accuracy != 1 for _, accuracy in accuracies)

    def label_f1(label: str) -> float:
        right = sum(accuracy == 1 for gold, accuracy in accuracies if gold.strip().lower() == label)
        return 2 * right / (2 * right + wrong) if right else 0.0

    yes, no = label_f1("yes"), label_f1("no")
    return {"official_f1_yes": yes, "official_f1_no": no, "official_macro_f1": (yes + no) / 2}


def macro_f1_of_run(questions: Sequence[Question], scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Compute :func:`bioasq_macro_f1` from the questions of a run that have an ``official_accuracy``."""
    return bioasq_macro_f1(
        [
            (question.answers[0], score["official_accuracy"])
            for question, score in zip(questions, scores, strict=True)
            if "official_accuracy" in score
        ]
    )


def authors_scores(question: Question, answer: str) -> dict[str, float]:
    """Score an answer as the published code of PrefRAG does.

    :returns: ``authors_acc``, ``authors_em`` and ``authors_f1``. EM and F1 are those of SQuAD 1.1 for every dataset, so
        a long answer that contains "yes" gets some F1. BioASQ has only ``authors_acc``, which is 1 if the answer
        contains the gold word as a whole word, whatever else the answer says.
    """
    if question.dataset == "bioasq":
        is_named = any(re.search(rf"\b{re.escape(gold.lower())}\b", answer.lower()) for gold in question.answers)
        return {"authors_acc": float(is_named)}
    scores = squad(answer, question.answers)
    return {"authors_acc": acc(answer, question.answers), "authors_em": scores["em"], "authors_f1": scores["f1"]}
