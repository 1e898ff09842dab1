"""Show the progress of an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class ScoreBar:
    """A progress bar with the scores so far."""

    def __init__(self, bar: Progress, total: int, done: Sequence[Mapping[str, Any]]):
        self._bar = bar
        self._values: dict[str, list[float]] = {}
        self._errors = 0
        self._task = bar.add_task("", total=total, scores="")
        self._failure_shown = False
        for prediction in done:
            self._count(prediction)

    def show(self, prediction: Mapping[str, Any]) -> None:
        """Count one more prediction, and print the first error."""
        if prediction.get("error") and not self._failure_shown and not self._bar.disable:
            self._failure_shown = True
            message = f"Question '{prediction['id']}' failed: {prediction['error']}"
            self._bar.console.print(message, style="red", markup=False, highlight=False)
        self._count(prediction)

    def _count(self, prediction: Mapping[str, Any]) -> None:
        from prefrag.evaluation.metrics import has_failed

        scores = prediction.get("scores") or {}
        counts = (prediction.get("result") or {}).get("counts") or {}
        shown = {name: 100 * scores[name] for name in ("acc", "f1", "recall") if name in scores}
        for name, value in {**shown, "retrievals": counts.get("total", 0)}.items():
            self._values.setdefault(name, []).append(value)
        self._errors += has_failed(prediction)
        means = [f"{name} {sum(values) / len(values):.1f}" for name, values in self._values.items()]
        text = ", ".join([*means, *([f"errors {self._errors}"] if self._errors else [])])
        self._bar.update(self._task, advance=1, scores=text)


@contextmanager
def open_score_bar(total: int, done: Sequence[Mapping[str, Any]], shown: bool) -> Iterator[ScoreBar]:
    """Open a progress bar on the error stream."""
    columns = (
        TextColumn("evaluating"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[scores]}"),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        yield ScoreBar(bar, total, done)
