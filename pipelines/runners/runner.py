"""The base class of the runners, which run the same work on many items.

A runner gets a function that builds the work, such as loading a pipeline, and the items, such as questions. A worker is
what runs items: this process, another process, or an actor on a cluster. Each worker builds the work once.
"""

import asyncio
import inspect
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from contextlib import AbstractContextManager, suppress
from itertools import islice, takewhile
from typing import Any, TypeVar

from prefrag.errors import PrefragError
from prefrag.pipelines.event_loop import event_loop

Item = TypeVar("Item")
# A function that makes the work: a context manager with the function, or coroutine function, that runs an item. It must
# be picklable for other processes.
Build = Callable[[], AbstractContextManager[Callable[[Item], object]]]

# An item is tried at most this many times if its workers die.
TRIES = 3
# A wait has steps of this many seconds, because a signal that arrives just before a wait does not end the wait.
_SIGNAL_SECONDS = 0.5
# If results must be in order, they wait for a slow item. At most this many times `room` items may then be without a
# returned result.
_AHEAD = 4


class WorkerLost(ConnectionError):
    """The error when an item is given up, because a worker died at each try or no worker answers any more."""


class Runner(ABC):
    """Run items and return their results. Workers write no files. The caller of :meth:`map` may write the results."""

    # The number of items that run at the same time.
    room = 1

    @abstractmethod
    def open(self, build: Build[Item]) -> AbstractContextManager[Callable[[Item], Future[object]]]:
        """Start the workers, which each call ``build`` once.

        :param build: The maker of the function that runs an item.
        :returns: A context manager with a function that gets an item and returns a future with the result. The workers
            end when the context manager is left.
        """

    def map(self, build: Build[Item], items: Iterable[Item], ordered: bool = False) -> Generator[tuple[Item, Any]]:
        """Run all items. The next item is read only when it can start.

        After an error, no further item starts. The running items finish and are returned, then the error is raised.
        Close the generator to end the workers.

        :param build: The maker of the function that runs an item.
        :param items: The items.
        :param ordered: Whether the results come in the order of the items. Otherwise, each result comes when its item
            has finished.
        :returns: Pairs of an item and its result.
        """
        waiting = iter(items)
        running: dict[Future[object], Item] = {}
        failed: list[BaseException] = []
        with self.open(build) as submit:
            try:
                while True:
                    # Results that wait for their turn take no room of the workers, but their number is limited.
                    at_work = sum(not future.done() for future in running)
                    room = min(self.room - at_work, self.room * _AHEAD - len(running))
                    # After an error, no further item starts.
                    number_to_start = 0 if failed else room
                    running |= {submit(item): item for item in islice(waiting, number_to_start)}
                    if not running:
                        break

                    if not _list_ended(running, ordered):
                        undone = [future for future in running if not future.done()]
                        wait(undone, _SIGNAL_SECONDS, FIRST_COMPLETED)
                    for future in _list_ended(running, ordered):
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


def _list_ended(futures: Iterable[Future[object]], ordered: bool) -> list[Future[object]]:
    """List the futures that are done. If their order matters, only those before the first that is not done."""
    are_next = takewhile(lambda future: future.done(), futures) if ordered else futures
    return [future for future in are_next if future.done()]


def start(run: Callable[[Item], object], item: Item) -> Future[object]:
    """Run an item in this process.

    :param run: The function for an item. A coroutine function runs on the event loop that all calls share.
    :param item: The item.
    :returns: A future with the result or the error.
    """
    if inspect.iscoroutinefunction(run):
        return asyncio.run_coroutine_threadsafe(run(item), event_loop())
    ended = Future[object]()
    try:
        ended.set_result(run(item))
    except Exception as error:
        ended.set_exception(error)
    return ended


def settle(ended: Future[object], result: object, error: BaseException | None) -> None:
    """Set the result or the error of an item, unless the item was cancelled.

    :param ended: The future of the item.
    :param result: The result.
    :param error: The error. None if the item has a result.
    """
    with suppress(InvalidStateError):
        if error is None:
            ended.set_result(result)
        else:
            ended.set_exception(error)


def make_picklable(error: BaseException) -> BaseException:
    """Return an error in a form that another process can read.

    :param error: The error.
    :returns: The error as another process restores it. If it cannot be pickled and restored, a PrefragError with the
        same message.
    """
    try:
        restored: BaseException = pickle.loads(pickle.dumps(error))
        return restored
    except Exception:
        return PrefragError(str(error) or type(error).__name__)
