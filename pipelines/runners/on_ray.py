"""Run items in actors on a Ray cluster."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from threading import Event, Lock, Thread
from typing import Any

from prefrag.pipelines.runners.runner import TRIES, Build, Item, Runner, WorkerLost, as_sent, settle, start

_SECONDS_TO_CONNECT = 30.0
# A cluster that grows starts a machine first.
_SECONDS_TO_ANSWER = 120.0
_SECONDS_TO_LOOK = 2.0
# What the settings, and the parts that pipelines name, read on the machine of a worker.
_VARIABLES = ("PREFRAG_", "HAYSTACK_", "OPENAI_", "ELASTIC_")


class OnRay(Runner):
    """Runs items in actors that each build once; one that dies, alone or with its machine, is started anew by Ray."""

    def __init__(self, address: str, workers: int, concurrency: int = 1) -> None:
        """Set the room.

        :param address: The address of the cluster, or `auto` for that of this machine.
        :param workers: The number of actors.
        :param concurrency: The items at a time in each.
        """
        self.address = address
        self.workers = workers
        self.room = workers * concurrency

    @contextmanager
    def open(self, build: Build[Item]) -> Iterator[Callable[[Item], Future[Any]]]:
        """Connect, and start the actors."""
        ray = _connect(self.address)
        closed = Event()
        running: list[set[Future[Any]]] = [set() for _ in range(self.workers)]
        # Actors hold no processor of Ray's account once they run, so that those of a lost machine find room on the
        # others. One item more than they have at a time leaves room for the question whether they are there.
        actor = ray.remote(_Worker).options(
            max_restarts=-1,
            max_task_retries=TRIES - 1,
            max_concurrency=self.room // self.workers + 1,
            scheduling_strategy="SPREAD",
        )
        variables = {name: value for name, value in os.environ.items() if name.startswith(_VARIABLES)}
        work = ray.cloudpickle.dumps(build)
        workers = [actor.remote(os.getcwd(), variables, work) for _ in running]
        watch = Thread(target=_watch, args=(ray, self.address, workers, running, closed), daemon=True)

        def submit(item: Item) -> Future[Any]:
            number = min(range(self.workers), key=lambda one: len(running[one]))
            ended = Future[Any]()
            running[number].add(ended)
            ended.add_done_callback(running[number].discard)
            workers[number].run.remote(item).future().add_done_callback(partial(_hand_on, ended))
            return ended

        try:
            watch.start()
            yield submit
        finally:
            closed.set()
            watch.join()
            ray.shutdown()


class _Worker:
    """What runs on a machine of the cluster; it builds with its first item, so that dying of that counts as a try."""

    def __init__(self, folder: str, variables: dict[str, str], work: bytes) -> None:
        os.environ.update(variables)
        with suppress(OSError):
            os.chdir(folder)
        self._work = work
        self._opened = ExitStack()
        self._run: Callable[[Any], Any] | None = None
        self._one_at_a_time = Lock()

    def is_there(self) -> None:
        """Answer."""

    def run(self, item: Any) -> tuple[Any, BaseException | None]:
        """Run an item to its result or its error, which Ray itself would wrap in the text of a traceback."""
        try:
            with self._one_at_a_time:
                if self._run is None:
                    from ray import cloudpickle

                    self._run = self._opened.enter_context(cloudpickle.loads(self._work)())
            return start(self._run, item).result(), None
        except Exception as error:
            return None, as_sent(error)


def _connect(address: str) -> Any:
    """Connect in a thread, because Ray itself waits for minutes, and with most settings for ever."""
    if "://" in address:
        raise ValueError(f"--ray is '{address}': give HOST:PORT of the cluster's head, or `auto`.")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError as error:
        raise ImportError("--ray needs the extra `ray`: make install EXTRAS=ray") from error
    # Ray warns that it handles no signals in a thread.
    logging.getLogger("ray").setLevel(logging.ERROR)
    failed: list[Exception] = []

    def connect() -> None:
        try:
            ray.init(address=address, log_to_driver=False, configure_logging=False)
        except Exception as error:
            failed.append(error)

    connecting = Thread(target=connect, daemon=True)
    connecting.start()
    connecting.join(_SECONDS_TO_CONNECT)
    if failed or connecting.is_alive():
        reason = str(failed[0]) if failed else f"no answer in {_SECONDS_TO_CONNECT:.0f} s"
        advice = "This machine has to be one of the cluster: ray start --address=HOST:PORT"
        raise ConnectionError(f"No Ray cluster was reached at {address} ({reason}). {advice}")
    return ray


def _watch(ray: Any, address: str, workers: list[Any], running: list[set[Future[Any]]], closed: Event) -> None:
    """End all items where no worker has answered for long; while one does, Ray replaces the others."""
    answers: list[Any] = []
    answered = time.monotonic()
    while not closed.wait(_SECONDS_TO_LOOK):
        if not answers or ray.wait(answers, num_returns=1, timeout=0)[0]:
            answers, answered = [worker.is_there.remote() for worker in workers], time.monotonic()
        elif time.monotonic() - answered > _SECONDS_TO_ANSWER:
            reason = f"No worker on the Ray cluster {address} has answered for {_SECONDS_TO_ANSWER:.0f} s"
            for one in [one for ofworker in running for one in list(ofworker)]:
                settle(one, None, WorkerLost(f"{reason}: look at `ray status`, then run the same command again."))


def _hand_on(ended: Future[Any], given: Future[Any]) -> None:
    try:
        settle(ended, *given.result())
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[-1]
        lost = f"A worker on the Ray cluster died {TRIES} times with the same item, or could not start ({reason})"
        advice = "every machine needs the same prefrag, and enough memory; then run the same command again."
        settle(ended, None, WorkerLost(f"{lost}; {advice}"))
