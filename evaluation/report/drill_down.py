"""Collect the questions that only one of two runs answers correctly, with the traces of both runs."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from prefrag.components.state.state import Event
from prefrag.evaluation.question import PredictionLine, Question
from prefrag.evaluation.report.comparison import Comparison, paired_ids
from prefrag.evaluation.report.runs import Run
from prefrag.pipelines.trace_text import trace_text

# The maximum size in bytes of all traces together, as JSON. A browser opens a page of this size without delay.
LIMIT = 6_000_000
# The maximum number of characters shown of a thought, an analysis or an answer: enough to see a mistake.
_LONGEST = 600
# The position of each question in its dataset's list.
_Numbers = dict[Question, int]


def drill_down(runs: Sequence[Run], comparisons: Sequence[Comparison], limit: int = LIMIT) -> dict[str, Any]:
    """Collect the data that the page needs to show two runs side by side."""
    # If a run has repetitions, the first repetition is shown.
    runs = [run.runs[0] for run in runs]
    comparisons = [
        replace(comparison, run=comparison.run.runs[0], other=comparison.other.runs[0]) for comparison in comparisons
    ]
    datasets: dict[str, _Numbers] = {}
    questions: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        numbers = datasets.setdefault(run.dataset, {})
        listed = questions.setdefault(run.dataset, [])
        for prediction in run.predictions.values():
            asked = prediction.asked
            if asked not in numbers:
                numbers[asked] = len(listed)
                listed.append({"id": asked.id, "q": asked.question, "gold": list(asked.answers)})
    of_run = {run.name: number for number, run in enumerate(runs)}
    traces, left_out = _collect_traces(comparisons, of_run, datasets, limit)
    described = []
    for run in runs:
        right = _mark_right(run, datasets[run.dataset])
        described.append({"name": run.name, "method": run.method, "dataset": run.dataset, "right": right})
    pairs = [[of_run[comparison.run.name], of_run[comparison.other.name]] for comparison in comparisons]
    return {"datasets": questions, "runs": described, "pairs": pairs, "traces": traces, "left_out": left_out}


def differing_ids(comparison: Comparison) -> list[str]:
    """List the questions that one of two runs gets right and the other wrong."""
    run, other = comparison.run.predictions, comparison.other.predictions
    ids = paired_ids(comparison.run, comparison.other)
    return [id for id in ids if {run[id].right, other[id].right} == {True, False}]


def _mark_right(run: Run, numbers: _Numbers) -> str:
    marks = ["-"] * len(numbers)
    for prediction in run.predictions.values():
        if prediction.right is not None:
            marks[numbers[prediction.asked]] = "1" if prediction.right else "0"
    return "".join(marks)


def _collect_traces(
    comparisons: Sequence[Comparison], of_run: Mapping[str, int], datasets: Mapping[str, _Numbers], limit: int
) -> tuple[dict[int, dict[int, Any]], int]:
    by_question: dict[int, dict[int, Any]] = {}
    room = limit
    left_out = set[tuple[str, str]]()
    for pair, id in _take_turns(comparisons):
        number = datasets[pair.run.dataset][pair.run.predictions[id].asked]
        wanted = [run for run in (pair.run, pair.other) if number not in by_question.get(of_run[run.name], {})]
        traces = []
        if room > 0:
            traces = [(run, _trace(next(run.full([id])))) for run in wanted]
        size = sum(len(json.dumps(trace, ensure_ascii=False).encode()) for _, trace in traces)
        if not room or size > room:
            # Add no more traces. A pair with only one trace is useless, and the remaining questions matter less.
            room = 0
            left_out.update((run.name, id) for run in wanted)
            continue
        room -= size
        for run, trace in traces:
            by_question.setdefault(of_run[run.name], {})[number] = trace
    return by_question, len(left_out)


def _take_turns(comparisons: Sequence[Comparison]) -> Iterator[tuple[Comparison, str]]:
    """Yield the first question of every comparison, then the second of every comparison, and so on."""
    ids: Iterable[list[str]] = [differing_ids(comparison) for comparison in comparisons]
    for row in itertools.zip_longest(*ids):
        for comparison, id in zip(comparisons, row, strict=True):
            if id is not None:
                yield comparison, id


def _trace(prediction: PredictionLine) -> dict[str, Any]:
    result = prediction.get("result") or {}
    gold = set(prediction.get("supporting_ids") or ())
    documents = {document["id"]: document for document in result.get("documents") or ()}
    shown = [_step(step, documents, gold) for step in result.get("steps") or ()]
    errors = [prediction.get("error"), *(result.get("errors") or ())]
    trace = {
        "answer": _shorten(result.get("answer")),
        "label": result.get("label") or "",
        "forced": bool(result.get("forced")),
        "gold": [len(gold & set(documents)), len(gold)],
        "steps": shown,
        "errors": [_shorten(error) for error in errors if error],
    }
    return {key: value for key, value in trace.items() if value}


def _step(step: Mapping[str, Any], documents: Mapping[str, Mapping[str, Any]], gold: set[str]) -> dict[str, Any]:
    # An action is named only if it could not be performed. The other fields show what was performed.
    action = step.get("action")
    verdict = step.get("verdict")
    words = trace_text(Event("verdict", 0, verdict)).removeprefix("Verdict: ") if verdict else ""
    titles = []
    for id in step.get("documents") or ():
        title = documents.get(id, {}).get("title") or id
        titles.append([_shorten(title, 90), int(id in gold)])
    parts = {
        "thought": _shorten(step.get("thought")),
        "action": action if action in ("unknown_action", "unreadable") else "",
        "query": _shorten(step.get("query")),
        "searched": ", ".join(step.get("searched") or ()),
        "kept": step.get("source") or "",
        "verdict": _shorten(words),
        "documents": titles,
        "answer": _shorten(step.get("answer")),
        "label": step.get("label") or "",
        "forced": bool(step.get("forced")),
    }
    return {key: value for key, value in parts.items() if value}


def _shorten(text: object, longest: int = _LONGEST) -> str:
    words = " ".join(str(text or "").split())
    return words if len(words) <= longest else words[: longest - 1].rstrip() + "…"
