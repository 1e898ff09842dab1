"""Summarise the metrics of a whole run for ``metrics.json``."""

from collections.abc import Mapping, Sequence

from prefrag.evaluation.metrics.certainty import is_withheld
from prefrag.evaluation.metrics.counts import calls_by_caller, counts
from prefrag.evaluation.metrics.official import macro_f1_of_run
from prefrag.evaluation.metrics.scores import score
from prefrag.evaluation.question import PredictionLine, Question


def summarise(predictions: Sequence[PredictionLine]) -> dict[str, object]:
    """Summarise the predictions of a run.

    A question whose run failed (see :func:`has_failed`) has scores of 0, but its costs and queries up to the failure
    count. Questions without gold passages do not count in the averages of recall and precision. All scores are computed
    again from the results, and the ``scores`` in the predictions are ignored.

    :returns: ``n``, ``errors`` (questions whose run failed), every score in percent, every count as its mean per
        question, ``llm_calls_by_caller``, ``seconds_per_question`` and ``by_type`` (the same for each type of
        question). Nothing is rounded.
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
    """Check whether a question failed: an error ended its run, or it has no answer and none was withheld on purpose."""
    if prediction.get("error"):
        return True
    result = _result(prediction)
    has_answer = bool(str(result.get("answer") or "").strip())
    return not has_answer and not is_withheld(result)


def _summarise_questions(predictions: Sequence[PredictionLine], questions: Sequence[Question]) -> dict[str, object]:
    n = len(predictions)
    scores = [
        score(question, _result(prediction), has_failed(prediction))
        for prediction, question in zip(predictions, questions, strict=True)
    ]
    results = [_result(prediction) for prediction in predictions]
    calls = [calls_by_caller(result) for result in results]
    taken = [counts(result) for result in results]
    callers = sorted({caller for numbers in calls for caller in numbers})
    calls_of_callers = {}
    for caller in callers:
        calls_of_callers[caller] = sum(numbers.get(caller, 0.0) for numbers in calls) / n
    seconds = sum(float(prediction.get("seconds") or 0) for prediction in predictions)
    shares = {**_average(scores), **macro_f1_of_run(questions, scores)}
    failed = sum(has_failed(prediction) for prediction in predictions)
    return {
        "n": n,
        "errors": failed,
        **{name: 100 * share for name, share in shares.items()},
        **_average(taken),
        "llm_calls_by_caller": calls_of_callers,
        "seconds_per_question": seconds / n,
    }


def _average(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    gathered: dict[str, list[float]] = {}
    for scores in values:
        for name, value in scores.items():
            gathered.setdefault(name, []).append(value)
    return {name: sum(numbers) / len(numbers) for name, numbers in gathered.items()}


def _result(prediction: PredictionLine) -> Mapping[str, object]:
    return prediction.get("result") or {}


def _question(prediction: PredictionLine) -> Question:
    missing = [name for name in ("id", "question", "answers") if name not in prediction]
    if missing:
        raise ValueError(
            f"A prediction ({prediction.get('id', 'without an id')}) has no '{missing[0]}': give the lines of a "
            "predictions.jsonl that `prefrag evaluate` wrote."
        )
    return Question.of_prediction(prediction)
