"""Run folders as the runner writes them."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from prefrag.evaluation.metrics import score, summarise
from prefrag.evaluation.question import Question
from prefrag.evaluation.report.runs import Run, read_runs

SIMULATED = {"kind": "simulated", "judge_error": 0.0, "reflection_error": 0.0, "distraction": 0.0, "seed": 1}
SERVER = {"kind": "server", "base_url": "http://127.0.0.1:8000/v1", "model": "glm"}


def prediction(
    id: str,
    right: bool,
    *,
    question: str | None = None,
    local: int = 1,
    web: int = 0,
    seconds: float = 1.0,
    error: str | None = None,
    dataset: str = "musique",
    thought: str = "I look it up.",
) -> dict[str, Any]:
    """A line of predictions: a search that finds one of two gold passages, and an answer."""
    text = question or f"Who built {id}?"
    documents = [
        {"mark": "[1]", "id": f"{id}-gold", "title": f"Gold of {id}", "content": "It was Beta.", "source": "local"},
        {"mark": "[2]", "id": f"{id}-other", "title": f"Other of {id}", "content": "It was not.", "source": "local"},
    ]
    answer = "Beta" if right else "Gamma"
    verdict = {"status": True, "judged_by": "first_step", "analysis": "", "score": None, "parsed": True}
    search = {
        **{"step": 1, "thought": thought, "action": "search", "query": f"builder of {id}", "searched": ["local"]},
        **{"source": "local", "verdict": verdict, "documents": [document["id"] for document in documents]},
        **{"answer": "", "label": None, "forced": False},
    }
    last = {
        **{"step": 2, "thought": "I know it.", "action": "answer", "query": "", "searched": [], "source": None},
        **{"verdict": None, "documents": [], "answer": answer, "label": "CORRECT", "forced": False},
    }
    result = {
        "question": text,
        "answer": answer,
        "label": "CORRECT",
        "forced": False,
        "documents": documents,
        "steps": [search, last],
        "counts": {
            **{"total_local": local, "total_web": web, "total": local + web, "used_local": local, "used": local},
            "lookups": 4 * (local + web),
        },
        "usage": {"llm_calls": 2, "calls": {"reasoner": 2}, "prompt_tokens": 20, "completion_tokens": 4},
        "errors": [],
        "trace": [],
    }
    question = Question(id, text, ("Beta",), "2hop", (f"{id}-gold", f"{id}-missed"), dataset=dataset)
    if error:
        result = {}
    return {
        "id": id,
        "question": text,
        "answers": ["Beta"],
        "type": "2hop",
        "supporting_ids": list(question.supporting_ids),
        "dataset": dataset,
        "seconds": seconds,
        "error": error,
        "scores": score(question, result),
        "result": result,
    }


def predictions(right: int, n: int = 40, **of_each: Any) -> list[dict[str, Any]]:
    """Make the given number of questions; the first ``right`` ones are answered right."""
    made: list[dict[str, Any]] = json.loads(_predictions(right, n, *of_each.items()))
    return made


# Scoring takes longer than the rest of a test, and most tests use the same predictions.
@cache
def _predictions(right: int, n: int, *of_each: tuple[str, Any]) -> str:
    return json.dumps([prediction(f"q{number:03}", number < right, **dict(of_each)) for number in range(n)])


@cache
def _summary(predictions: str) -> str:
    return json.dumps(summarise(json.loads(predictions)))


def write_run(
    folder: Path,
    lines: Sequence[dict[str, Any]],
    *,
    pipeline: str = "prefrag",
    dataset: str = "musique",
    llm: dict[str, Any] | None = None,
    metrics: bool = True,
    **config: Any,
) -> Path:
    """Write a run folder."""
    folder.mkdir(parents=True)
    (folder / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if metrics:
        (folder / "metrics.json").write_text(_summary(json.dumps(lines)))
    llm = SIMULATED if llm is None else llm
    defaults = {
        **{"pipeline": pipeline, "dataset": dataset, "questions": "dev.jsonl", "corpus": "corpus.jsonl", "web": None},
        **{"split": True, "top_k": 5, "llm": llm, "simulated": llm["kind"] == "simulated", "retriever": "bm25"},
        **{"limit": None, "concurrency": 4, "haystack_version": "2.31.0", "started": "2025-01-01T00:00:00+00:00"},
    }
    (folder / "config.json").write_text(json.dumps({**defaults, **config}))
    return folder


def write_runs(folder: Path, right: int | list[dict[str, Any]] = 20, **runs: dict[str, Any]) -> list[Run]:
    """Write runs by their names, with the defaults of `write_run`, and read them.

    :param right: How many of 40 questions are right, or the lines; a run may have a value of its own.
    """
    for name, config in runs.items():
        lines = config.pop("right", right)
        write_run(folder / name, predictions(lines) if isinstance(lines, int) else lines, **config)
    return read_runs([folder])
