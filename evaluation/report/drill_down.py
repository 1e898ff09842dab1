"""Collect the data with which the page shows two runs side by side.

The page lists the questions that only one of two runs answers correctly. It shows the steps (the trace) of both runs.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from prefrag.components.state.result import FoundDocument
from prefrag.components.state.state import Event
from prefrag.evaluation.question import PredictionLine, Question
from prefrag.evaluation.report.comparison import Comparison, paired_ids
from prefrag.evaluation.report.runs import Run
from prefrag.pipelines.trace_text import trace_text

# The maximum size of all traces together, in bytes of JSON. A browser opens a page of this size without delay. Further
# traces are left out.
LIMIT = 6_000_000
# The maximum number of characters that are shown of a thought, an analysis or an answer. This is enough to see a
# mistake.
_LONGEST = 600
# The position of each question in the list of its dataset.
_Numbers = dict[Question, int]


def drill_down(runs: Sequence[Run], comparisons: Sequence[Comparison], limit: int = LIMIT) -> dict[str, object]:
    """Collect the data that the page needs to show two runs side by side.

    :param runs: All runs of the report.
    :param comparisons: The pairs of runs that were compared, the most important first.
    :param limit: The maximum size of all traces in bytes.
    :returns: Values for JSON: the questions of each dataset, the runs, the pairs of runs, the traces, and the number of
        traces that were left out.
    """
    # If a run has repetitions, the first repetition is shown.
    runs = [run.runs[0] for run in runs]
    comparisons = [
        replace(comparison, run=comparison.run.runs[0], other=comparison.other.runs[0]) for comparison in comparisons
    ]

    datasets: dict[str, _Numbers] = {}
    questions: dict[str, list[dict[str, object]]] = {}
    for run in runs:
        numbers = datasets.setdefault(run.dataset, {})
        questions_of_dataset = questions.setdefault(run.dataset, [])
        for prediction in run.predictions.values():
            question = prediction.asked
            if question not in numbers:
                numbers[question] = len(questions_of_dataset)
                questions_of_dataset.append({"id": question.id, "q": question.question, "gold": list(question.answers)})

    run_numbers = {run.name: number for number, run in enumerate(runs)}
    traces, left_out = _collect_traces(comparisons, run_numbers, datasets, limit)

    described_runs = []
    for run in runs:
        right = _mark_right(run, datasets[run.dataset])
        described_runs.append({"name": run.name, "method": run.method, "dataset": run.dataset, "right": right})
    pairs = [[run_numbers[comparison.run.name], run_numbers[comparison.other.name]] for comparison in comparisons]
    return {"datasets": questions, "runs": described_runs, "pairs": pairs, "traces": traces, "left_out": left_out}


def differing_ids(comparison: Comparison) -> list[str]:
    """List the questions that one of two runs answers correctly and the other not.

    :param comparison: The comparison of the two runs.
    :returns: The ids of the questions, in order.
    """
    ids = []
    for id in paired_ids(comparison.run, comparison.other):
        right = comparison.run.predictions[id].right
        other_right = comparison.other.predictions[id].right
        # Accuracy may not have been measured. Then one of the two is None.
        if right is not None and other_right is not None and right != other_right:
            ids.append(id)
    return ids


def _mark_right(run: Run, numbers: _Numbers) -> str:
    """Return a text with one character for each question of the dataset.

    The character is "1" for a right answer, "0" for a wrong one, and "-" if the run did not measure the question.
    """
    marks = ["-"] * len(numbers)
    for prediction in run.predictions.values():
        if prediction.right is not None:
            marks[numbers[prediction.asked]] = "1" if prediction.right else "0"
    return "".join(marks)


def _collect_traces(
    comparisons: Sequence[Comparison], numbers: Mapping[str, int], datasets: Mapping[str, _Numbers], limit: int
) -> tuple[dict[int, dict[int, object]], int]:
    """Collect the traces of the questions that only one of two runs answers correctly, until the limit is reached.

    Return the traces by the numbers of the run and the question, and the number of traces that were left out.
    """
    by_question: dict[int, dict[int, object]] = {}
    # The number of bytes that are left.
    room = limit
    # The names of the runs and the ids of the questions whose traces are left out.
    left_out: set[tuple[str, str]] = set()
    for pair, id in _take_turns(comparisons):
        number = datasets[pair.run.dataset][pair.run.predictions[id].asked]
        # A trace may already be there, because its run is in several pairs.
        wanted = [run for run in (pair.run, pair.other) if number not in by_question.get(numbers[run.name], {})]
        traces = []
        size = 0
        if room > 0:
            for run in wanted:
                trace = _trace(next(run.full([id])))
                traces.append((run, trace))
                size += len(json.dumps(trace, ensure_ascii=False).encode())

        if room != 0 and size <= room:
            room -= size
            for run, trace in traces:
                by_question.setdefault(numbers[run.name], {})[number] = trace
        else:
            # From now on no trace is added. A pair with only one trace is useless, and the remaining questions matter
            # less.
            room = 0
            left_out.update((run.name, id) for run in wanted)
    return by_question, len(left_out)


def _take_turns(comparisons: Sequence[Comparison]) -> Iterator[tuple[Comparison, str]]:
    """Yield the first question of every comparison, then the second of every comparison, and so on."""
    ids: Iterable[list[str]] = [differing_ids(comparison) for comparison in comparisons]
    for row in itertools.zip_longest(*ids):
        for comparison, id in zip(comparisons, row, strict=True):
            if id is not None:
                yield comparison, id


def _trace(prediction: PredictionLine) -> dict[str, object]:
    """Return what the page shows of a run's steps for one question. Empty values are left out."""
    result = prediction.get("result") or {}
    gold = set(prediction.get("supporting_ids") or ())
    documents = {document["id"]: document for document in result.get("documents") or ()}
    steps = [_step(step, documents, gold) for step in result.get("steps") or ()]
    errors = [prediction.get("error"), *(result.get("errors") or ())]
    trace = {
        "answer": _shorten(result.get("answer")),
        "label": result.get("label") or "",
        "forced": bool(result.get("forced")),
        "gold": [len(gold & set(documents)), len(gold)],
        "steps": steps,
        "errors": [_shorten(error) for error in errors if error],
    }
    return {key: value for key, value in trace.items() if value}


def _step(step: Mapping[str, Any], documents: Mapping[str, FoundDocument], gold: set[str]) -> dict[str, object]:
    """Return what the page shows of one step. Empty values are left out."""
    # An action is named only if it could not be performed. The other fields show what was performed.
    action = step.get("action")
    verdict = step.get("verdict")
    verdict_text = ""
    if verdict:
        verdict_text = trace_text(Event("verdict", 0, verdict)).removeprefix("Verdict: ")
    # The title of each document, and whether it is a gold passage.
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
        "verdict": _shorten(verdict_text),
        "documents": titles,
        "answer": _shorten(step.get("answer")),
        "label": step.get("label") or "",
        "forced": bool(step.get("forced")),
    }
    return {key: value for key, value in parts.items() if value}


def _shorten(text: object, longest: int = _LONGEST) -> str:
    """Put a text on one line and cut it to at most ``longest`` characters.

    For example, ``_shorten("one two three", 8)`` returns ``"one two…"``.
    """
    line = " ".join(str(text or "").split())
    if len(line) <= longest:
        return line
    return line[: longest - 1].rstrip() + "…"
