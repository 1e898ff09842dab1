"""Work for the runners in the tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prefrag.pipelines.runners.processes import Processes


@contextmanager
def open_work(folder: Path) -> Iterator[Callable[[str], tuple[str, int]]]:
    """Work that records each attempt, and dies or fails if the item says so."""

    def work(item: str) -> tuple[str, int]:
        attempts = folder / item
        with attempts.open("a") as file:
            file.write(f"{os.getpid()}\n")
        times = len(attempts.read_text().splitlines())
        if item.startswith("dies-always") or (item.startswith("dies-once") and times == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if item.startswith("fails"):
            raise ValueError(f"{item} cannot be done")
        return item.upper(), os.getpid()

    yield work


@contextmanager
def open_nothing(folder: Path) -> Iterator[Callable[[str], str]]:
    """Work that cannot be started."""
    raise ValueError("the pipeline has no judge")
    yield str


@contextmanager
def open_endless(folder: Path) -> Iterator[Callable[[str], None]]:
    """Work that never ends."""

    def work(item: str) -> None:
        (folder / item).write_text(str(os.getpid()))
        signal.pause()

    yield work


def run_endlessly(folder: str) -> None:
    from functools import partial

    for _ in Processes(2).map(partial(open_endless, Path(folder)), ["a", "b"]):
        pass
