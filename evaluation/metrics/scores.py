"""Compute all scores of one question."""

from collections.abc import Mapping
from typing import Any

from prefrag.evaluation.metrics.answers import answer_scores
from prefrag.evaluation.metrics.certainty import certainty_scores, is_withheld, query_scores, sentence_scores
from prefrag.evaluation.metrics.official import authors_scores, official_scores
from prefrag.evaluation.metrics.passages import passage_scores
from prefrag.evaluation.question import Question


def score(question: Question, result: Mapping[str, Any], failed: bool = False) -> dict[str, float]:
    """Compute all scores of a result. Each score is explained in the function that computes it.

    A run that ends with an empty answer has failed, so all scores are 0, even the scores of the retrieval. If the
    reader or the pipeline withholds the answer on purpose, the answer scores 0, but the retrieval is scored. The
    queries that were sent count in any case: a run that breaks off cannot take them back.

    :param failed: Whether an error ended the run, so that nothing but the queries is scored.
    :returns: Scores from 0 to 1. A question without gold answers has no answer scores, and a question without gold
        passages has no retrieval scores. Such questions do not count in the averages of these scores. If a question is
        known to have no answer, only :func:`certainty_scores` scores the answer.
    """
    queries = query_scores(question, result)
    if failed:
        result = {}
    text = str(result.get("answer") or "").strip()
    shown: list[str] = []
    if text or is_withheld(result):
        shown = [str(document.get("id")) for document in result.get("documents") or ()]
    source_scores = {**passage_scores(shown, question.supporting_ids), **sentence_scores(question, result), **queries}
    answer = "" if result.get("not_found") else text
    if question.answerable is False:
        return {**certainty_scores(question, result, answer), **source_scores}
    if not question.answers:
        return source_scores
    answered = {
        **answer_scores(question, answer),
        **official_scores(question, answer),
        **authors_scores(question, answer),
    }
    if not answer:
        # A gold answer such as "A" is empty after normalisation, so an empty answer would equal it.
        answered = dict.fromkeys(answered, 0.0)
    return {**answered, **certainty_scores(question, result, answer), **source_scores}
