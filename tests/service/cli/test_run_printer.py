"""What is printed of a run: what `prefrag ask` shows, in the cases that a whole run seldom comes to."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from prefrag.components.state.state import Event
from prefrag.service.cli.run_printer import RunPrinter

RESULT = {"answer": "1974", "label": "CORRECT", "documents": [], "errors": []}


def printer(**settings: Any) -> RunPrinter:
    return RunPrinter(Console(file=io.StringIO(), highlight=False, **settings))


def lines(used: RunPrinter) -> list[str]:
    """What was printed, without empty lines and trailing blanks."""
    assert isinstance(used.console.file, io.StringIO)
    return [line.rstrip() for line in used.console.file.getvalue().splitlines() if line.strip()]


def result_lines(failure: str | None = None, **changes: Any) -> list[str]:
    used = printer(soft_wrap=True)
    used.print_result({**RESULT, **changes}, trace=False, failure=failure)
    return lines(used)


def test_an_answer_without_a_passage_is_the_models_own():
    assert result_lines() == [
        "Answer: 1974",
        "Label: CORRECT",
        "No passage was found: the answer is the model's own.",
    ]


def test_a_guess_stands_below_an_answer_that_is_none():
    assert result_lines(answer="Found, not answered", guess="1974")[:2] == [
        "Answer: Found, not answered",
        "The model's guess: 1974",
    ]


def test_what_failed_on_the_way_is_a_problem_but_not_why_the_run_broke_off():
    assert result_lines("down", answer="", errors=["web is slow", "down"]) == ["Problem: web is slow"]


def test_on_a_terminal_a_long_line_is_folded_within_its_indentation():
    used = printer(soft_wrap=False, width=20)

    used.print_event(Event("thought", 1, {"text": "I look up who built the alpha."}))

    heading, *thought = lines(used)
    assert heading == "Step 1"
    assert len(thought) > 1
    assert all(line.startswith("  ") and len(line) <= 20 for line in thought)


COUNTED = {
    "counts": {"total": 1, "sources": {"local": {"total": 1}}},
    "usage": {"llm_calls": 7, "prompt_tokens": 12_000, "completion_tokens": 340, "seconds": 1.0},
}


def sent(host: str, role: str, calls: int, tokens: int = 0, remote: bool = True) -> dict[str, Any]:
    numbers = {"calls": calls, "prompt_tokens": tokens, "completion_tokens": 0}
    return {"host": host, "remote": remote, "role": role, **numbers}


def test_what_went_to_a_remote_model_stands_in_the_last_lines():
    models = [
        sent("api.example.org", "llm", 5, 12_000),
        sent("api.example.org", "judge", 1, 340),
        sent("embed.example.org", "embedder", 1),
        sent("localhost", "ranker", 3, remote=False),
    ]

    assert result_lines(**COUNTED, sent_to_models=models)[-2:] == [
        "Sent to a remote model: 6 calls, 12,340 tokens, with your passages, to api.example.org.",
        "Sent to a remote model: 1 call, with your queries, to embed.example.org.",
    ]


def test_where_every_model_is_local_nothing_is_printed_about_them():
    models = [sent("localhost", "llm", 5, 12_000, remote=False)]

    assert result_lines(**COUNTED, sent_to_models=models)[-1] == "No query was sent to the web."
