"""Run items in this process."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any

from prefrag.pipelines.runners.runner import Build, Item, Runner, start


class InProcess(Runner):
    """Runs several items at a time on one event loop, or one by one if the function for an item is no coroutine."""

    def __init__(self, concurrency: int = 1) -> None:
        """Set how many items run at the same time."""
        self.room = concurrency

    @contextmanager
    def open(self, build: Build[Item]) -> Iterator[Callable[[Item], Future[Any]]]:
        """Call ``build`` in this process, and yield the function that starts an item."""
        with build() as run:
            yield partial(start, run)
