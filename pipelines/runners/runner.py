"""The base class of the runners, which run the same work on many items."""

import asyncio
import inspect
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from contextlib import AbstractContextManager, suppress
from itertools import islice
from typing import Any, TypeVar

from prefrag.errors import PrefragError
from prefrag.pipelines.event_loop import event_loop

Item = TypeVar("Item")
# A `Build` makes the function, or coroutine function, that runs one item. It must be picklable for other processes.
Build = Callable[[], AbstractContextManager[Callable[[Item], Any]]]

# How many times an item is tried in all if its workers die.
TRIES = 3
# Wait in steps of this length, because a signal that arrives just before a wait does not end the wait.
_SIGNAL_SECONDS = 0.5
# If results must be in order, they wait for a slow item. Meanwhile at most ``_AHEAD * room`` items are begun.
_AHEAD = 4


class WorkerLost(ConnectionError):
    """The error when an item is given up: a worker died at each try, or no worker answers any more."""


class Runner(ABC):
    """Runs items and returns their results. Workers write no files; that is left to the caller of :meth:`map`."""

    room = 1  # how many items run at the same time

    @abstractmethod
    def open(self, build: Build[Item]) -> AbstractContextManager[Callable[[Item], Future[Any]]]:
        """Start the workers, which each call ``build`` once, and return the function that starts an item."""

    def map(self, build: Build[Item], items: Iterable[Item], ordered: bool = False) -> Generator[tuple[Item, Any]]:
        """Run all items. The next item is read only when it can start.

        After an error, no further item starts. The running items finish and are returned, then the error is raised.
        With ``ordered``, the results come in the order of the items. Close the generator to end the workers.
        """
        waiting = iter(items)
        running: dict[Future[Any], Item] = {}
        failed: list[BaseException] = []
        with self.open(build) as submit:
            try:
                while True:
                    # Results that wait for their turn take no room of the workers, but only so many may wait.
                    at_work = sum(not future.done() for future in running)
                    room = min(self.room - at_work, self.room * _AHEAD - len(running))
                    running |= {submit(item): item for item in islice(waiting, 0 if failed else room)}
                    if not running:
                        break
                    are_done = [future.done() for future in running]
                    has_result = are_done[0] if ordered else any(are_done)
                    if not has_result:
                        undone = [future for future in running if not future.done()]
                        wait(undone, _SIGNAL_SECONDS, FIRST_COMPLETED)
                    for future in list(running):
                        if not future.done():
                            if ordered:
                                break
                            continue
                        item = running.pop(future)
                        error = future.exception()
                        if error is not None:
                            failed.append(error)
                        else:
                            yield item, future.result()
            finally:
                for future in running:
                    future.cancel()
        if failed:
            raise failed[0]


def start(run: Callable[[Item], Any], item: Item) -> Future[Any]:
    """Run an item in this process. A coroutine function runs on the event loop that all calls share."""
    if inspect.iscoroutinefunction(run):
        return asyncio.run_coroutine_threadsafe(run(item), event_loop())
    ended = Future[Any]()
    try:
        ended.set_result(run(item))
    except Exception as error:
        ended.set_exception(error)
    return ended


def settle(ended: Future[object], result: object, error: BaseException | None) -> None:
    """Set the result or error of an item, unless the item was cancelled."""
    with suppress(InvalidStateError):
        if error is None:
            ended.set_result(result)
        else:
            ended.set_exception(error)


def make_picklable(error: BaseException) -> BaseException:
    """Return an error in a form that another process can read, because some errors cannot be pickled and restored."""
    try:
        restored: BaseException = pickle.loads(pickle.dumps(error))
        return restored
    except Exception:
        return PrefragError(str(error) or type(error).__name__)
