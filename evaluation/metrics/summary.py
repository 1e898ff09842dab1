"""Summarise the metrics of a whole run for ``metrics.json``.

A run is a list of predictions: each is a question with the result that the pipeline returned for it.
"""

from collections.abc import Mapping, Sequence

from prefrag.components.state.result import Result
from prefrag.evaluation.metrics.certainty import is_withheld
from prefrag.evaluation.metrics.counts import calls_by_caller, counts
from prefrag.evaluation.metrics.official import macro_f1_of_run
from prefrag.evaluation.metrics.scores import score
from prefrag.evaluation.question import PredictionLine, Question


def summarise(predictions: Sequence[PredictionLine]) -> dict[str, object]:
    """Summarise the predictions of a run.

    All scores are computed again from the results. The ``scores`` in the predictions are ignored. A question whose run
    failed (see :func:`has_failed`) has scores of 0. Its costs and its queries up to the failure still count. Questions
    without gold passages do not count in the averages of recall and precision.

    :param predictions: The lines of ``predictions.jsonl``.
    :returns: A dictionary whose numbers are not rounded. ``n`` is the number of questions, and ``errors`` the number of
        questions whose run failed. Every score is there as its mean in percent, and every count as its mean per
        question. ``llm_calls_by_caller`` and ``seconds_per_question`` are also means per question. ``by_type`` has the
        same numbers for each type of question.
    :raises ValueError: If there are no predictions, or a prediction lacks its id, question or answers.
    """
    if not predictions:
        raise ValueError("There are no predictions to summarise: run the evaluation first.")
    predictions_by_type: dict[str, list[PredictionLine]] = {}
    for prediction in predictions:
        question = _question(prediction)
        if question.type:
            predictions_by_type.setdefault(question.type, []).append(prediction)
    by_type = {type: _summarise_group(group) for type, group in sorted(predictions_by_type.items())}
    return {**_summarise_group(predictions), "by_type": by_type}


def has_failed(prediction: PredictionLine) -> bool:
    """Check whether the run of a question failed.

    A run has failed if an error ended it, or if it ended without an answer although none was withheld on purpose.

    :param prediction: A line of ``predictions.jsonl``.
    :returns: True if the run failed.
    """
    if prediction.get("error"):
        return True
    result = _result(prediction)
    has_answer = bool(str(result.get("answer") or "").strip())
    return not has_answer and not is_withheld(result)


def _summarise_group(predictions: Sequence[PredictionLine]) -> dict[str, object]:
    """Return the averages of a run, or of its questions of one type."""
    n = len(predictions)
    questions = [_question(prediction) for prediction in predictions]
    results = [_result(prediction) for prediction in predictions]
    scores = []
    for prediction, question, result in zip(predictions, questions, results, strict=True):
        scores.append(score(question, result, has_failed(prediction)))
    costs = [counts(result) for result in results]

    # A caller that a question has not called counts as 0 there, unlike a score or a cost that a question lacks.
    calls_of_callers: dict[str, float] = {}
    for result in results:
        for caller, calls in calls_by_caller(result).items():
            calls_of_callers[caller] = calls_of_callers.get(caller, 0.0) + calls

    seconds = sum(float(prediction.get("seconds") or 0) for prediction in predictions)
    mean_scores = {**_average(scores), **macro_f1_of_run(questions, scores)}
    failed = sum(has_failed(prediction) for prediction in predictions)
    return {
        "n": n,
        "errors": failed,
        **{name: 100 * mean for name, mean in mean_scores.items()},
        **_average(costs),
        "llm_calls_by_caller": {caller: calls / n for caller, calls in sorted(calls_of_callers.items())},
        "seconds_per_question": seconds / n,
    }


def _average(dictionaries: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each number, over those dictionaries that have the number.

    For example, ``_average([{"a": 1.0}, {"a": 0.0, "b": 1.0}])`` returns ``{"a": 0.5, "b": 1.0}``.
    """
    values_by_name: dict[str, list[float]] = {}
    for dictionary in dictionaries:
        for name, value in dictionary.items():
            values_by_name.setdefault(name, []).append(value)
    return {name: sum(values) / len(values) for name, values in values_by_name.items()}


def _result(prediction: PredictionLine) -> Result:
    """Return the result of a prediction. It is empty if the run broke off without a result."""
    return prediction.get("result") or {}


def _question(prediction: PredictionLine) -> Question:
    """Read the question of a prediction. Raise ValueError if it lacks its id, its text or its answers."""
    missing = [name for name in ("id", "question", "answers") if name not in prediction]
    if missing:
        raise ValueError(
            f"A prediction ({prediction.get('id', 'without an id')}) has no '{missing[0]}': give the lines of a "
            "predictions.jsonl that `prefrag evaluate` wrote."
        )
    return Question.of_prediction(prediction)
