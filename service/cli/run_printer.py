"""Print a run for `prefrag ask`."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from prefrag.components.state.state import Event
from prefrag.components.text.one_line import one_line
from prefrag.pipelines.references import reference_text, references
from prefrag.pipelines.sent_to_models import write_sent_to_models
from prefrag.pipelines.trace_text import trace_text


class RunPrinter:
    """Print a run for people.

    :param console: The terminal.
    """

    STYLES = {
        "thought": "italic",
        "search": "cyan",
        "found": "dim",
        "observation": "dim",
        "answer": "bold",
        "unreadable": "yellow",
        "cut_off": "yellow",
        "unknown_action": "yellow",
        "exhausted": "yellow",
        "held_back": "yellow",
        "closed": "yellow",
        "cut": "yellow",
        "error": "red",
    }

    def __init__(self, console: Console):
        self.console = console
        self._step = 0

    def print_question(self, question: str, embedded: bool) -> None:
        """Print the beginning of a run.

        :param question: The question.
        :param embedded: Whether the small embedded model answers, which gets a notice.
        """
        self._print(f"Question: {one_line(question)}", "bold")
        if embedded:
            self._print(
                "The small embedded model answers: it proves the wiring, not the quality. "
                "Set PREFRAG_LLM_BASE_URL, PREFRAG_LLM_MODEL and PREFRAG_LLM_API_KEY to use a model server.",
                "dim",
            )

    def print_event(self, event: Event) -> None:
        """Print one event, below the heading of its step.

        :param event: An event of the trace, in its order.
        """
        if event.step > self._step:
            self._step = event.step
            self.console.print()
            self._print(f"Step {event.step}", "bold blue")
        self._print(trace_text(event), self._choose_style(event), indent=2)

    def print_result(self, result: dict[str, Any], trace: bool, failure: str | None) -> None:
        """Print the end of a run: the answer, its documents, what failed on the way, and the counts.

        :param result: The result, as far as the run came.
        :param trace: Whether to print the whole trace as well.
        :param failure: Why the run broke off; it is left out of the problems, because it is printed last.
        """
        self.console.print()
        self._print_answer(result)
        self._print_documents(result)
        for error in [error for error in result.get("errors") or () if error != failure]:
            self._print(f"Problem: {one_line(error)}", "yellow")
        self.console.print()
        if "counts" in result:
            self._print(_write_counts(result), "dim")
            self._print(_write_queries_sent_out(result), "dim")
            for held in result.get("queries_held_back") or ():
                self._print(trace_text(Event("held_back", 0, held)), "yellow")
            for line in write_sent_to_models(result):
                self._print(line, "yellow")
        if trace:
            self._print_heading("Trace")
            for event in result.get("trace") or ():
                self._print(json.dumps(event, ensure_ascii=False))

    def _print_answer(self, result: dict[str, Any]) -> None:
        if answer := result.get("answer_with_citations") or result.get("answer"):
            self._print(f"Answer: {one_line(answer)}", "bold green")
            if guess := result.get("guess"):
                self._print(f"The model's guess: {one_line(guess)}", "dim")
            label = result.get("label") or "no label"
            self._print(f"Label: {label}{' (forced: the steps were used up)' if result.get('forced') else ''}")

    def _print_documents(self, result: dict[str, Any]) -> None:
        numbered = references(result)
        if result.get("answer") and not numbered:
            self._print("No passage was found: the answer is the model's own.", "yellow")
        if numbered:
            self._print_heading("Documents")
            for mark, document in numbered:
                self._print(reference_text(mark, document), "magenta" if mark.startswith("W") else "", indent=2)
            if result.get("uncited"):
                self._print("The answer cites no passage.", "dim", indent=2)

    def _choose_style(self, event: Event) -> str:
        if event.kind == "verdict":
            return "green" if event.data.get("status") else "yellow"
        if event.kind == "reflection":
            return "yellow" if event.data.get("supplement") else "green"
        if event.kind == "found" and event.data.get("error"):
            return "red"
        return self.STYLES.get(event.kind, "")

    def _print_heading(self, text: str) -> None:
        self.console.print()
        self._print(text, "bold blue")

    def _print(self, text: str, style: str = "", indent: int = 0) -> None:
        line = Text(text, style)
        if self.console.soft_wrap:
            self.console.print(Text(" " * indent) + line)
        else:
            # Padding indents every line that is wrapped.
            self.console.print(Padding(line, (0, 0, 0, indent), expand=False))


def _write_counts(result: dict[str, Any]) -> str:
    counts, usage = result["counts"], result["usage"]
    searches = ", ".join(f"{number['total']} {source}" for source, number in counts["sources"].items())
    return (
        f"{counts['total']} retrievals ({searches}), {usage['llm_calls']} model calls, "
        f"{usage['prompt_tokens']:,} tokens read and {usage['completion_tokens']:,} written, {usage['seconds']:.1f} s."
    )


def _write_queries_sent_out(result: dict[str, Any]) -> str:
    sent = [f"{query['source']}: {one_line(query['query'])}" for query in result.get("queries_sent_out") or ()]
    return f"Queries sent to the web: {'; '.join(sent)}" if sent else "No query was sent to the web."
