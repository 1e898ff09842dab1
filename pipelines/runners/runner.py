"""The protocol of the runners, and the choice of one."""

import asyncio
import inspect
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from contextlib import AbstractContextManager, suppress
from itertools import islice
from typing import Any, TypeVar

from prefrag.components.errors import PrefragError

Item = TypeVar("Item")
# Makes the function, or coroutine function, that runs one item. A `Build` must be picklable for other processes.
Build = Callable[[], AbstractContextManager[Callable[[Item], Any]]]

# How often an item is tried if its worker dies.
TRIES = 3
# Wake up now and then, because a signal that comes just before a wait begins does not end it.
_SIGNAL_SECONDS = 0.5
# Ordered results wait for a slow one before them; until then at most ``room`` times this many items are begun.
_AHEAD = 4


class WorkerLost(ConnectionError):
    """Report that every worker that was given an item has died."""


class Runner(ABC):
    """Runs items; only the caller, who takes the results, writes anything."""

    room = 1  # the items that run at the same time

    @abstractmethod
    def open(self, build: Build[Item]) -> AbstractContextManager[Callable[[Item], Future[Any]]]:
        """Start the workers, which each call ``build`` once, and give the function that starts an item."""

    def map(self, build: Build[Item], items: Iterable[Item], ordered: bool = False) -> Generator[tuple[Item, Any]]:
        """Run all items; the next one is only read when there is room for it.

        After an error nothing new is started; items in progress finish and are returned, and then the error is raised.
        The results come as they finish, or in the order of the items. Close the generator to end the workers.
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
        from prefrag.pipelines.asking import event_loop

        return asyncio.run_coroutine_threadsafe(run(item), event_loop())
    ended = Future[Any]()
    try:
        ended.set_result(run(item))
    except Exception as error:
        ended.set_exception(error)
    return ended


def settle(ended: Future[Any], result: Any, error: BaseException | None) -> None:
    """End an item, which may have been cancelled."""
    with suppress(InvalidStateError):
        if error is None:
            ended.set_result(result)
        else:
            ended.set_exception(error)


def as_sent(error: BaseException) -> BaseException:
    """Return an error in a form that another process can read; some errors do not survive being pickled."""
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return PrefragError(str(error) or type(error).__name__)


def make_runner(concurrency: int = 1, workers: int | None = None, ray: str | None = None) -> Runner:
    """Choose where items run.

    Without ``workers``, items run in this process alone. ``ray`` is the address of a cluster on which the workers run;
    it needs ``workers`` too.
    """
    from prefrag.pipelines.runners.in_process import InProcess
    from prefrag.pipelines.runners.processes import Processes

    if ray is not None:
        from prefrag.pipelines.runners.on_ray import OnRay

        if workers is None:
            raise ValueError("--ray needs --workers: the number of processes on the cluster.")
        return OnRay(ray, workers, concurrency)
    return InProcess(concurrency) if workers is None else Processes(workers, concurrency)
