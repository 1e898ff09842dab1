"""The protocol of the runners, and the choice of one."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, TypeVar

from prefrag.pipelines.asking import event_loop

Item = TypeVar("Item")
# Makes what runs one item, a function or a coroutine function; in another process it has to be pickled.
Build = Callable[[], AbstractContextManager[Callable[[Item], Any]]]

# Now and then, because a signal that comes just before a wait begins does not end it.
_SIGNAL_SECONDS = 0.5
# Results that are wanted in order wait for a slow one before them; this many times the room, nothing more begins.
_AHEAD = 4


class WorkerLost(ConnectionError):
    """Report that the workers which had an item have all died."""


class Runner(ABC):
    """Runs items; whoever takes the results is the only one that writes."""

    room = 1  # the items that run at the same time

    @abstractmethod
    def open(self, build: Build[Item]) -> AbstractContextManager[Callable[[Item], Future[Any]]]:
        """Start the workers, each of which builds once, and end them.

        :param build: Makes what runs one item.
        :returns: A context with the function that starts an item.
        """

    def map(self, build: Build[Item], items: Iterable[Item], ordered: bool = False) -> Generator[tuple[Item, Any]]:
        """Run all items; the next one is only read when there is room for it.

        After an error nothing new begins, what runs still ends and is given, and the error is raised last.

        :param build: Makes what runs one item.
        :param items: The items.
        :param ordered: Whether the results come in the order of the items; else as they end.
        :returns: Each item with its result. Close it, so that the workers end with it.
        """
        waiting = iter(items)
        running: dict[Future[Any], Item] = {}
        failed: list[BaseException] = []
        with self.open(build) as submit:
            try:
                while True:
                    room = min(self.room - sum(not one.done() for one in running), self.room * _AHEAD - len(running))
                    running |= {submit(item): item for item in islice(waiting, 0 if failed else room)}
                    if not running:
                        break
                    are_done = [one.done() for one in running]
                    if not (are_done[0] if ordered else any(are_done)):
                        undone = [one for one in running if not one.done()]
                        wait(undone, _SIGNAL_SECONDS, FIRST_COMPLETED)
                    for future in list(running):
                        if not future.done():
                            if ordered:
                                break
                            continue
                        item = running.pop(future)
                        if (error := future.exception()) is not None:
                            failed.append(error)
                        else:
                            yield item, future.result()
            finally:
                for future in running:
                    future.cancel()
        if failed:
            raise failed[0]


def start(run: Callable[[Item], Any], item: Item) -> Future[Any]:
    """Run an item here: a coroutine function on the event loop of all calls, any other at once."""
    if inspect.iscoroutinefunction(run):
        return asyncio.run_coroutine_threadsafe(run(item), event_loop())
    ended = Future[Any]()
    try:
        ended.set_result(run(item))
    except Exception as error:
        ended.set_exception(error)
    return ended


def make_runner(concurrency: int = 1, workers: int | None = None) -> Runner:
    """Choose where items run.

    :param concurrency: The items at a time in each worker.
    :param workers: The number of processes; None is this one alone.
    :returns: The runner.
    """
    from prefrag.pipelines.runners.in_process import InProcess
    from prefrag.pipelines.runners.processes import Processes

    return InProcess(concurrency) if workers is None else Processes(workers, concurrency)
