"""Run items in actors on a Ray cluster.

An actor is an object of Ray that lives in a process on a machine of the cluster. Each actor here is a worker that runs
items. Ray starts an actor again if it dies, and the items that it was running are sent again.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Event, Lock, Thread
from typing import Any

from prefrag.pipelines.runners.runner import TRIES, Build, Item, Runner, WorkerLost, make_picklable, settle, start

# The maximum time to connect to the cluster, in seconds.
_SECONDS_TO_CONNECT = 30.0
# If no worker has answered for this many seconds, all items are given up. The time is long, because an autoscaling
# cluster may have to start a machine first.
_SECONDS_TO_ANSWER = 120.0
# The time between two checks of lost items and of the workers, in seconds.
_SECONDS_BETWEEN_CHECKS = 1.0
# Environment variables with these prefixes are copied to the workers, where settings and components read them.
_VARIABLES = ("PREFRAG_", "HAYSTACK_", "OPENAI_", "ELASTIC_")


class OnRay(Runner):
    """Run items in Ray actors, which each call ``build`` once. Ray restarts an actor if it or its machine dies."""

    def __init__(self, address: str, workers: int, concurrency: int = 1) -> None:
        """Set the cluster and the size.

        :param address: The address of the cluster, ``HOST:PORT`` or ``auto``.
        :param workers: The number of actors.
        :param concurrency: The number of items that each actor runs at the same time.
        """
        self.address = address
        self.workers = workers
        self.room = workers * concurrency

    @contextmanager
    def open(self, build: Build[Item]) -> Iterator[Callable[[Item], Future[object]]]:
        """Connect to the cluster, and start the actors.

        :param build: The maker of the function that runs an item. Each actor calls it once.
        :returns: A context manager with a function that gets an item and returns a future with the result.
        :raises ValueError: When the address is not one that Ray accepts.
        :raises ImportError: When Ray is not installed.
        :raises ConnectionError: When the cluster is not reached.
        """
        ray = _connect(self.address)
        concurrency = self.room // self.workers
        actors = _Actors(ray, self.address, self.workers, concurrency, build)
        watch = Thread(target=actors.watch, daemon=True)
        try:
            watch.start()
            yield actors.submit
        finally:
            actors.closed.set()
            watch.join()
            ray.shutdown()


@dataclass
class _Running:
    """An item that runs or waits to be sent again."""

    item: object
    # The future with the result of the item.
    ended: Future[object]
    # The number of the actor that runs the item.
    number: int
    # How many times the item was sent.
    tries: int = 0


class _Actors:
    """The actors on the cluster, and the items that they run."""

    def __init__(self, ray: Any, address: str, workers: int, concurrency: int, build: Build[Any]) -> None:
        self.closed = Event()
        self._ray = ray
        self._address = address
        # The items of each actor that have no result yet.
        self._running: list[set[Future[object]]] = [set() for _ in range(workers)]
        # The items to send again.
        self._lost: list[_Running] = []
        # The actors reserve no processor, so that actors of a lost machine find room on other machines. Each actor
        # accepts one call more than `concurrency`, so that it can always be asked whether it is alive.
        options = {"max_restarts": -1, "max_concurrency": concurrency + 1, "scheduling_strategy": "SPREAD"}
        variables = {name: value for name, value in os.environ.items() if name.startswith(_VARIABLES)}
        work = ray.cloudpickle.dumps(build)
        self._workers: list[Any] = []
        for _ in range(workers):
            actor_class = ray.remote(_Worker).options(**options)
            self._workers.append(actor_class.remote(os.getcwd(), variables, work))

    def submit(self, item: object) -> Future[object]:
        """Send an item to the actor with the fewest items."""
        numbers_of_items = [len(items) for items in self._running]
        number = numbers_of_items.index(min(numbers_of_items))
        task = _Running(item, Future(), number)
        self._running[number].add(task.ended)
        task.ended.add_done_callback(self._running[number].discard)
        self._send(task)
        return task.ended

    def watch(self) -> None:
        """Send lost items again, and give up if no worker has answered for a long time."""
        # The answers of all workers to the last question whether they are alive, as far as they have come.
        answers: list[object] = []
        last_answer = time.monotonic()
        while not self.closed.wait(_SECONDS_BETWEEN_CHECKS):
            while self._lost:
                self._send(self._lost.pop())
            if not answers or self._has_answer(answers):
                answers = [self._ask(number) for number in range(len(self._workers))]
                last_answer = time.monotonic()
            elif time.monotonic() - last_answer > _SECONDS_TO_ANSWER:
                reason = f"No worker on the Ray cluster {self._address} has answered for {_SECONDS_TO_ANSWER:.0f} s"
                self._give_up(WorkerLost(f"{reason}: look at `ray status`, then run the same command again."))

    def _has_answer(self, answers: list[object]) -> bool:
        """Check whether a worker has answered, without waiting."""
        arrived, _ = self._ray.wait(answers, num_returns=1, timeout=0)
        return bool(arrived)

    def _give_up(self, error: WorkerLost) -> None:
        """End all items that have no result yet with an error."""
        # An item that ends is removed from its set. So list all items first.
        unfinished: list[Future[object]] = []
        for items in self._running:
            unfinished += items
        for ended in unfinished:
            settle(ended, None, error)

    def _ask(self, number: int) -> object:
        """Ask a worker whether it is alive. A worker that has died answers after its restart."""
        return self._workers[number].is_there.options(max_task_retries=-1).remote()

    def _send(self, task: _Running) -> None:
        """Send an item to its worker when the worker has started."""
        # Ray counts a call to a starting worker as a try. So the call gets the answer of `_ask` as an argument, for
        # which Ray waits.
        task.tries += 1
        sent = self._workers[task.number].run.remote(task.item, self._ask(task.number))
        sent.future().add_done_callback(partial(self._receive, task))

    def _receive(self, task: _Running, reply: Future[tuple[object, BaseException | None]]) -> None:
        """Set the result of an item, or mark the item as lost if its worker has died."""
        error = reply.exception()
        if error is None:
            settle(task.ended, *reply.result())
        elif task.tries < TRIES:
            # `watch` sends the item again, because Ray is waiting for this callback to return.
            self._lost.append(task)
        else:
            # The last line of a traceback says what went wrong.
            *_, reason = (str(error).strip() or type(error).__name__).splitlines()
            lost = f"A worker on the Ray cluster died {TRIES} times with the same item, or could not start ({reason})"
            advice = "check that all machines have the same prefrag and enough memory, then run the same command again."
            settle(task.ended, None, WorkerLost(f"{lost}: {advice}"))


class _Worker:
    """A worker on the cluster. It calls ``build`` at its first item, so a crash there counts as a try of the item."""

    def __init__(self, folder: str, variables: dict[str, str], work: bytes) -> None:
        os.environ.update(variables)
        with suppress(OSError):
            os.chdir(folder)
        self._work = work
        self._opened = ExitStack()
        self._run: Callable[[object], object] | None = None
        self._one_at_a_time = Lock()

    def is_there(self) -> None:
        """Answer, to show that the worker is alive."""

    def run(self, item: object, _: None) -> tuple[object, BaseException | None]:
        """Return the result or the error of an item. If the error were raised, Ray would replace it by its traceback.

        The second argument is the answer of :meth:`is_there`.
        """
        try:
            with self._one_at_a_time:
                if self._run is None:
                    from ray import cloudpickle

                    self._run = self._opened.enter_context(cloudpickle.loads(self._work)())
            return start(self._run, item).result(), None
        except Exception as error:
            return None, make_picklable(error)


def _connect(address: str) -> Any:
    """Connect to a cluster in a thread and with a time limit, because Ray itself waits for minutes or for ever."""
    if "://" in address:
        raise ValueError(f"--ray is '{address}': give HOST:PORT of the cluster's head, or `auto`.")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError as error:
        raise ImportError('--ray needs more packages: run pip install "prefrag[ray]".') from error

    # This hides the warning of Ray that it handles no signals in a thread.
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
        advice = "This machine must belong to the cluster: run `ray start --address=HOST:PORT` on it"
        raise ConnectionError(f"No Ray cluster was reached at {address} ({reason}). {advice}")
    return ray
