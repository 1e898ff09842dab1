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
