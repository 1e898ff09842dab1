"""Score an answer as the datasets' own evaluation scripts do, and as the code of PrefRAG's authors does.

The scripts are not packages, so their rules are implemented here. All of them normalise an answer as SQuAD does. They
differ in the steps after that. The tests compare the scores of this module with scores that the scripts computed.
"""

import re
from collections.abc import Mapping, Sequence

from prefrag.evaluation.metrics.answers import acc, em, normalise, overlap, yes_no
from prefrag.evaluation.question import Question

# HotpotQA's script gives no partial F1 if the answer or the gold answer is one of these words: they must be equal.
_CLOSED = ("yes", "no", "noanswer")


def official_scores(question: Question, answer: str) -> dict[str, float]:
    """Score an answer as the script of its dataset does.

    If the dataset has no script, the answer is scored as SQuAD 1.1 does.

    :param question: The question with its gold answers and the name of its dataset.
    :param answer: The answer of the pipeline.
    :returns: ``official_em`` and ``official_f1``, from 0 to 1. HotpotQA and 2WikiMultiHopQA also have
        ``official_precision`` and ``official_recall``. BioASQ has only ``official_accuracy``, and only for yes/no
        questions.
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
    """Score an answer as SQuAD 1.1 does.

    F1 is 0 if no word is shared, even if no words are left in both texts after normalisation.

    :param answer: The answer of the pipeline.
    :param golds: The gold answers, at least one.
    :returns: ``em`` and ``f1``: the highest that any gold answer gives, from 0 to 1.
    """
    f1_of_golds = []
    for gold in golds:
        f1, _, _ = overlap(answer, gold)
        f1_of_golds.append(f1)
    return {"em": em(answer, golds), "f1": max(f1_of_golds)}


def hotpotqa(answer: str, gold: str) -> dict[str, float]:
    """Score an answer as HotpotQA does.

    Two rules differ from SQuAD 1.1. There is only one gold answer. The words "yes", "no" and "noanswer" give no partial
    scores: they must match exactly. For example, ``hotpotqa("yes it is", "yes")["f1"]`` returns ``0.0``.

    :param answer: The answer of the pipeline.
    :param gold: The gold answer.
    :returns: ``em``, ``f1``, ``precision`` and ``recall``, from 0 to 1.
    """
    answer_text = normalise(answer)
    gold_text = normalise(gold)
    is_closed = answer_text in _CLOSED or gold_text in _CLOSED
    if is_closed and answer_text != gold_text:
        return {"em": 0.0, "f1": 0.0, "precision": 0.0, "recall": 0.0}
    f1, precision, recall = overlap(answer, gold)
    return {"em": float(answer_text == gold_text), "f1": f1, "precision": precision, "recall": recall}


def two_wiki(answer: str, golds: Sequence[str]) -> dict[str, float]:
    """Score an answer as version 1.1 of 2WikiMultiHopQA's script does.

    The rules are those of HotpotQA, but there may be several gold answers (aliases). Each score is the highest that any
    alias gives. So precision and recall may come from different aliases.

    :param answer: The answer of the pipeline.
    :param golds: The gold answers, at least one.
    :returns: ``em``, ``f1``, ``precision`` and ``recall``, from 0 to 1.
    """
    scores_of_golds = [hotpotqa(answer, gold) for gold in golds]
    best = {}
    for name in ("em", "f1", "precision", "recall"):
        best[name] = max(scores[name] for scores in scores_of_golds)
    return best


def musique(answer: str, golds: Sequence[str]) -> dict[str, float]:
    """Score an answer as version 1.0 of MuSiQue's script does.

    One rule differs from SQuAD 1.1 and follows SQuAD 2.0: F1 is 1 if no words are left in both texts after
    normalisation.

    :param answer: The answer of the pipeline.
    :param golds: The gold answers, at least one.
    :returns: ``em`` and ``f1``, from 0 to 1.
    """
    scores = squad(answer, golds)
    if any(not normalise(answer) and not normalise(gold) for gold in golds):
        scores["f1"] = 1.0
    return scores


def bioasq(answer: str, gold: str) -> dict[str, float]:
    """Score a yes/no answer as BioASQ does (task B, phase B), after reading yes or no from the answer.

    For example, ``bioasq("Yes, it does.", "yes")`` returns ``{"accuracy": 1.0}``.

    :param answer: The answer of the pipeline.
    :param gold: The gold answer, yes or no.
    :returns: ``accuracy``, which is 1 if the answer contains the gold word and not the other word, otherwise 0.
    """
    return {"accuracy": float(yes_no(answer) == gold.strip().lower())}


def bioasq_macro_f1(accuracies: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Compute BioASQ's measure of a whole run.

    The script only knows right and wrong answers. So every wrong or unreadable answer counts against both labels. The
    F1 of a label is 0 if none of its questions was answered correctly.

    :param accuracies: The gold answer and the accuracy of each question. An accuracy of 1 means that the answer is
        right.
    :returns: ``official_f1_yes`` and ``official_f1_no`` are the F1 of each label, from 0 to 1. ``official_macro_f1`` is
        the mean of the two. Without questions, the result is empty.
    """
    if not accuracies:
        return {}
    wrong = sum(accuracy != 1 for _, accuracy in accuracies)

    def label_f1(label: str) -> float:
        """Return the F1 of the label "yes" or "no"."""
        right = sum(accuracy == 1 for gold, accuracy in accuracies if gold.strip().lower() == label)
        return 2 * right / (2 * right + wrong) if right else 0.0

    f1_yes = label_f1("yes")
    f1_no = label_f1("no")
    return {"official_f1_yes": f1_yes, "official_f1_no": f1_no, "official_macro_f1": (f1_yes + f1_no) / 2}


def macro_f1_of_run(questions: Sequence[Question], scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Compute :func:`bioasq_macro_f1` from those questions of a run that have an ``official_accuracy``.

    :param questions: The questions of the run.
    :param scores: The scores of each question, in the same order.
    :returns: The three scores of :func:`bioasq_macro_f1`. Empty if no question has an ``official_accuracy``.
    """
    accuracies = []
    for question, scores_of_question in zip(questions, scores, strict=True):
        if "official_accuracy" in scores_of_question:
            accuracies.append((question.answers[0], scores_of_question["official_accuracy"]))
    return bioasq_macro_f1(accuracies)


def authors_scores(question: Question, answer: str) -> dict[str, float]:
    """Score an answer as the published code of PrefRAG does.

    EM and F1 are those of SQuAD 1.1 for every dataset. So a long answer that contains "yes" gets some F1 for a yes/no
    question. For BioASQ, the code only looks for the gold word as a whole word, whatever else the answer says.

    :param question: The question with its gold answers.
    :param answer: The answer of the pipeline.
    :returns: ``authors_acc``, ``authors_em`` and ``authors_f1``, from 0 to 1. BioASQ has only ``authors_acc``.
    """
    if question.dataset == "bioasq":
        # The gold word "no" is found in "There is no link" but not in "nowhere".
        is_named = any(re.search(rf"\b{re.escape(gold.lower())}\b", answer.lower()) for gold in question.answers)
        return {"authors_acc": float(is_named)}
    scores = squad(answer, question.answers)
    return {"authors_acc": acc(answer, question.answers), "authors_em": scores["em"], "authors_f1": scores["f1"]}
