"""Compute all scores of one question. Each score is explained in the function that computes it."""

from prefrag.components.state.result import Result
from prefrag.evaluation.metrics.answers import answer_scores
from prefrag.evaluation.metrics.certainty import certainty_scores, is_withheld, query_scores, sentence_scores
from prefrag.evaluation.metrics.official import authors_scores, official_scores
from prefrag.evaluation.metrics.passages import passage_scores
from prefrag.evaluation.question import Question


def score(question: Question, result: Result, failed: bool = False) -> dict[str, float]:
    """Compute all scores of the result of one question.

    Three rules say what an empty answer means:

    - A run that ends with an empty answer has failed. All its scores are 0, even the scores of the retrieval.
    - If the reader or the pipeline withholds the answer on purpose, the answer scores 0, but the retrieval is scored.
    - The queries that were sent to the web are always scored. A failed run cannot take them back.

    :param question: The question with its gold answers and gold passages.
    :param result: The result of the pipeline. It may be empty.
    :param failed: Whether an error ended the run. Then the queries are scored as usual, and everything else as an empty
        result.
    :returns: Scores from 0 to 1. A question without gold answers has no scores of the answer. A question without gold
        passages has no scores of the retrieval. Such questions do not count in the averages of these scores. If a
        question is known to have no answer, only :func:`certainty_scores` scores the answer.
    """
    queries = query_scores(question, result)
    if failed:
        result = {}

    answer_text = str(result.get("answer") or "").strip()
    ids: list[str] = []
    if answer_text or is_withheld(result):
        ids = [str(document.get("id")) for document in result.get("documents") or ()]
    source_scores = {**passage_scores(ids, question.supporting_ids), **sentence_scores(question, result), **queries}

    answer = "" if result.get("not_found") else answer_text
    if question.answerable is False:
        return {**certainty_scores(question, result, answer), **source_scores}
    if not question.answers:
        return source_scores

    scores_of_answer = {
        **answer_scores(question, answer),
        **official_scores(question, answer),
        **authors_scores(question, answer),
    }
    if not answer:
        # A gold answer such as "A" is an article, so that nothing is left of it after normalisation. An empty answer
        # would equal it.
        scores_of_answer = dict.fromkeys(scores_of_answer, 0.0)
    return {**scores_of_answer, **certainty_scores(question, result, answer), **source_scores}
