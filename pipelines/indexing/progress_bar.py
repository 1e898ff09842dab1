"""How far an indexing is, on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from prefrag.pipelines import indexing


@contextmanager
def indexing_bar(console: Console) -> Iterator[Callable[[indexing.Progress], None]]:
    """
    Show a progress bar as long as an indexing runs; it goes when that is done.

    :param console: where to show it.
    :returns: what the indexing is to call with its progress.
    """
    columns = (
        TextColumn("{task.fields[name]}"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[passages]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, name="", passages="")

        def show(progress: indexing.Progress) -> None:
            bar.update(
                task,
                completed=progress.bytes_done,
                total=progress.bytes_total,
                name=Path(progress.path).name,
                passages=f"{progress.written + progress.unchanged:,} passages",
            )

        yield show
