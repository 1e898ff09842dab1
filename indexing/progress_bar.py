"""Show the progress of an indexing on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich import progress as bars
from rich.console import Console

from prefrag.indexing.report import OnProgress, Progress
from prefrag.pipelines.trace_text import one_line


@contextmanager
def indexing_bar(console: Console) -> Iterator[OnProgress]:
    """Show a progress bar while an indexing runs."""
    columns = (
        bars.TextColumn("{task.fields[name]}", markup=False),
        bars.BarColumn(),
        bars.DownloadColumn(),
        bars.TextColumn("{task.fields[passages]}"),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, name="", passages="")

        def show(progress: Progress) -> None:
            bar.update(
                task,
                completed=progress.bytes_done,
                total=progress.bytes_total,
                name=one_line(Path(progress.path).name),
                passages=f"{progress.written + progress.unchanged:,} passages",
            )

        yield show
