"""Run items in processes of this machine.

The parent sends each item through a pipe to a worker process, with a number. The worker sends back the number and the
result. If a worker dies, a new process gets the items that have no result yet.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from threading import Lock, Thread
from typing import Any

from prefrag.pipelines.runners.runner import TRIES, Build, Item, Runner, WorkerLost, make_picklable, settle, start

# At the end, the processes have this many seconds to end before they are killed.
_SECONDS_TO_END = 2.0
# The processes are spawned and not forked, because the stores and the event loop have threads.
_CONTEXT = multiprocessing.get_context("spawn")


class Processes(Runner):
    """Run items in processes, which each call ``build`` once. If a process dies, a new one runs its items again."""

    def __init__(self, workers: int, concurrency: int = 1) -> None:
        """Set the size.

        :param workers: The number of processes.
        :param concurrency: The number of items that each process runs at the same time.
        """
        self.workers = workers
        self.room = workers * concurrency

    @contextmanager
    def open(self, build: Build[Item]) -> Iterator[Callable[[Item], Future[object]]]:
        """Start the processes.

        :param build: The maker of the function that runs an item. Each process calls it once.
        :returns: A context manager with a function that gets an item and returns a future with the result.
        """
        workers: list[_Worker] = []
        try:
            workers += [_Worker(build) for _ in range(self.workers)]

            def submit(item: Item) -> Future[object]:
                """Send an item to the process with the fewest items."""
                least_busy = min(workers, key=lambda worker: len(worker.running))
                return least_busy.submit(item)

            yield submit
        finally:
            # All processes are told to end first, so that they end at the same time.
            deadline = time.monotonic() + _SECONDS_TO_END
            for worker in workers:
                worker.close()
            for worker in workers:
                worker.end(deadline)


@dataclass
class _Running:
    """An item that a process runs."""

    item: object
    # The future with the result of the item.
    ended: Future[object]
    # How many times the item was sent.
    tries: int = 1


class _Worker:
    """A process that runs items. If the process dies, a new process takes its place."""

    def __init__(self, build: Build[Any]) -> None:
        # The items without a result, by their numbers.
        self.running: dict[int, _Running] = {}
        self._build = build
        self._numbers = count()
        self._one_at_a_time = Lock()
        self._is_closed = False
        self._start()

    def submit(self, item: object) -> Future[object]:
        """Send an item to the process, and start a process if there is none."""
        task = _Running(item, Future())
        with self._one_at_a_time:
            number = next(self._numbers)
            self.running[number] = task
            if self._pipe is None:
                self._start()
            else:
                self._send(number, item)
        return task.ended

    def close(self) -> None:
        """Tell the process to end, and start no new one."""
        with self._one_at_a_time:
            self._is_closed = True
            with suppress(OSError):
                self._process.terminate()

    def end(self, deadline: float) -> None:
        """Wait for the process to end until a time of the monotonic clock, then kill it."""
        self._process.join(max(0.0, deadline - time.monotonic()))
        self._process.kill()
        self._process.join()

    def _start(self) -> None:
        """Start a process and a thread that receives its results, and send it all items without a result."""
        self._pipe: Connection | None
        self._pipe, other_end = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(self._build, other_end), daemon=True)
        self._process.start()
        other_end.close()
        Thread(target=self._receive, args=(self._pipe, self._process), daemon=True).start()
        for number, task in list(self.running.items()):
            self._send(number, task.item)

    def _send(self, number: int, item: object) -> None:
        """Send an item with its number through the pipe."""
        # If the process has died, `_receive` notices this and starts a new process with the item.
        with suppress(OSError):
            assert self._pipe is not None
            self._pipe.send((number, item))

    def _receive(self, pipe: Connection, process: Any) -> None:
        """Receive results until the process ends. Then start a new process if items have no result yet."""
        with suppress(EOFError, OSError):
            while True:
                number, result, error = pipe.recv()
                # Without a number, the error is of the whole process, and so of all its items.
                ended_numbers = list(self.running) if number is None else [number]
                for ended_number in ended_numbers:
                    settle(self.running.pop(ended_number).ended, result, error)

        with self._one_at_a_time:
            if self._is_closed:
                return
            self._pipe = None
            process.join()
            # All items that the process was running count as tried, because one of them may have killed it.
            for number, task in list(self.running.items()):
                task.tries += 1
                if task.tries > TRIES:
                    reason = f"A worker process died {TRIES} times with the same item (exit code {process.exitcode})"
                    advice = "It may need more memory: use fewer workers, and run the same command again."
                    settle(self.running.pop(number).ended, None, WorkerLost(f"{reason}. {advice}"))
            if self.running:
                self._start()


def _serve(build: Build[object], pipe: Connection) -> None:
    """Run the items that arrive through the pipe until it closes."""
    # Ctrl-C reaches every process of the terminal. It is ignored here, because the parent process ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    sending = Lock()

    def reply(number: int | None, ended: Future[object]) -> None:
        error = ended.exception()
        with sending, suppress(OSError):
            if error is None:
                pipe.send((number, ended.result(), None))
            else:
                pipe.send((number, None, make_picklable(error)))

    try:
        with build() as run:
            while True:
                number, item = pipe.recv()
                start(run, item).add_done_callback(partial(reply, number))
    except EOFError:
        pass
    except Exception as error:
        failed = Future[object]()
        failed.set_exception(error)
        reply(None, failed)
    # A normal exit would wait for threads that are still running.
    os._exit(0)


def _end_with_parent() -> None:
    """End this process when its parent process has ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
