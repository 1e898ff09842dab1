"""Run items in this process."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial

from prefrag.pipelines.runners.runner import Build, Item, Runner, start


class InProcess(Runner):
    """Run several items at a time on one event loop, or one by one if the function for an item is no coroutine."""

    def __init__(self, concurrency: int = 1) -> None:
        """Set the size.

        :param concurrency: The number of items that run at the same time.
        """
        self.room = concurrency

    @contextmanager
    def open(self, build: Build[Item]) -> Iterator[Callable[[Item], Future[object]]]:
        """Call ``build`` in this process, and yield the function that starts an item.

        :param build: The maker of the function that runs an item.
        :returns: A context manager with the function. It gets an item and returns a future with the result.
        """
        with build() as run:
            yield partial(start, run)
