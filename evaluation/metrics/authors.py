"""Score an answer as the code of the PrefRAG authors does, for comparison with the tables of the paper."""

from __future__ import annotations

import re

from prefrag.evaluation.metrics.answers import acc
from prefrag.evaluation.metrics.official import squad
from prefrag.evaluation.question import Question


def authors_scores(question: Question, answer: str) -> dict[str, float]:
    """Score an answer as the published code of PrefRAG does.

    :returns: ``authors_acc``, ``authors_em`` and ``authors_f1``. Their EM and F1 are SQuAD 1.1's for every dataset, so
        a yes/no answer may share a word with a longer one. BioASQ has only ``authors_acc``: the answer contains
        the gold word as a whole word, whatever else it contains.
    """
    if question.dataset == "bioasq":
        found = any(re.search(rf"\b{re.escape(gold.lower())}\b", answer.lower()) for gold in question.answers)
        return {"authors_acc": float(found)}
    scores = squad(answer, question.answers)
    return {"authors_acc": acc(answer, question.answers), "authors_em": scores["em"], "authors_f1": scores["f1"]}
