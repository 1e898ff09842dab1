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
    questions = [_question(prediction) for prediction in predictions]
    summary = _summarise_questions(predictions, questions)

    types = sorted({question.type for question in questions if question.type})
    by_type: dict[str, object] = {}
    for type in types:
        places = [place for place, question in enumerate(questions) if question.type == type]
        predictions_of_type = [predictions[place] for place in places]
        questions_of_type = [questions[place] for place in places]
        by_type[type] = _summarise_questions(predictions_of_type, questions_of_type)
    summary["by_type"] = by_type
    return summary


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


def _summarise_questions(predictions: Sequence[PredictionLine], questions: Sequence[Question]) -> dict[str, object]:
    """Return the averages of a run, or of the questions of one type.

    ``predictions`` and ``questions`` have the same order.
    """
    n = len(predictions)
    scores = []
    for prediction, question in zip(predictions, questions, strict=True):
        scores.append(score(question, _result(prediction), has_failed(prediction)))
    results = [_result(prediction) for prediction in predictions]
    calls = [calls_by_caller(result) for result in results]
    costs = [counts(result) for result in results]

    callers: set[str] = set()
    for numbers in calls:
        callers.update(numbers)
    calls_of_callers = {}
    for caller in sorted(callers):
        calls_of_callers[caller] = sum(numbers.get(caller, 0.0) for numbers in calls) / n

    seconds = sum(float(prediction.get("seconds") or 0) for prediction in predictions)
    mean_scores = {**_average(scores), **macro_f1_of_run(questions, scores)}
    failed = sum(has_failed(prediction) for prediction in predictions)
    return {
        "n": n,
        "errors": failed,
        **{name: 100 * mean for name, mean in mean_scores.items()},
        **_average(costs),
        "llm_calls_by_caller": calls_of_callers,
        "seconds_per_question": seconds / n,
    }


def _average(dictionaries: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each number, over those dictionaries that have the number.

    For example, ``_average([{"a": 1.0}, {"a": 0.0, "b": 1.0}])`` returns ``{"a": 0.5, "b": 1.0}``.
    """
    values_by_name: dict[str, list[float]] = {}
    for numbers_by_name in dictionaries:
        for name, value in numbers_by_name.items():
            values_by_name.setdefault(name, []).append(value)
    return {name: sum(numbers) / len(numbers) for name, numbers in values_by_name.items()}


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
