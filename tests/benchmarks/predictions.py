"""Predictions of a run, made by hand."""

from typing import Any

ASKED = "Who keeps the lock at Vessel?"


def found(source: str, query: str, error: str | None = None) -> dict[str, Any]:
    return {"kind": "found", "step": 1, "source": source, "query": query, "error": error}


def answered(text: str) -> dict[str, Any]:
    return {"kind": "answer", "step": 1, "text": text}


def prediction(answer: str = "", *golds: str, calls: Any = (), trace: Any = None, **more: Any) -> dict[str, Any]:
    trace = [found("local", ASKED), answered(answer)] if trace is None else trace
    usage = {"llm_calls": len(calls), "prompt_tokens": 500, "completion_tokens": 40, "cached_tokens": 300}
    counts = {"total_local": sum(event.get("source") == "local" for event in trace)}
    result = {"answer": answer, "answered": bool(answer), "usage": usage, "counts": counts, "trace": trace}
    result |= {"steps": more.pop("steps", [])}
    known = {"id": "q", "question": ASKED, "answers": list(golds), "answerable": bool(golds), "error": None}
    return {**known, "seconds": 9.0, "calls": list(calls), "result": result, **more}
