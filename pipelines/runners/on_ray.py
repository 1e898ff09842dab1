"""Run items on the actors of a Ray cluster."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Lock
from typing import Any

from prefrag.pipelines.runners.processes import TRIES
from prefrag.pipelines.runners.runner import Build, Item, Result, Runner, WorkerLost, start

LOCAL = "local"
# In a run of days machines come and go; an actor that never gets to work has to end.
_RESTARTS = 20


class OnRay(Runner):
    """Runs items in actors, which Ray starts anew elsewhere when their process or their machine dies."""

    def __init__(self, address: str, workers: int | None = None, concurrency: int = 1) -> None:
        """Connect to the cluster.

        :param address: Its address.
        :param workers: The number of actors; by default one a processor of the cluster.
        :param concurrency: The items at a time in each.
        :raises ValueError: When it is `local`.
        :raises ImportError: When Ray is not installed.
        :raises ConnectionError: When no cluster answers there.
        """
        if address == LOCAL:
            # Ray's own local cluster listens on every address of the machine, and runs what anybody sends it.
            raise ValueError("Give the address of a running cluster; --workers N alone uses this machine.")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise ImportError("Running on Ray needs the extra `ray`: pip install 'prefrag[ray]'.") from error
        if not self._ray.is_initialized():
            try:
                self._ray.init(address=address, log_to_driver=False, logging_level="error")
            except (OSError, ValueError, RuntimeError) as error:
                raise ConnectionError(f"No Ray cluster answers at {address} ({error}): start it there.") from error
        self.workers = workers or int(self._ray.cluster_resources().get("CPU", 1))
        self.concurrency = concurrency
        self.room = self.workers * concurrency

    @contextmanager
    def open(self, build: Build[Item, Result]) -> Iterator[Callable[[Item], Future[Result]]]:
        """Start the actors."""
        # As Ray's default, an actor needs a processor to be placed and none to stay: after the loss of a machine those
        # that are left take its actors.
        actor = self._ray.remote(_Actor).options(
            max_concurrency=self.concurrency,
            max_restarts=_RESTARTS,
            max_task_retries=TRIES - 1,
            scheduling_strategy="SPREAD",
        )
        settings = {name: value for name, value in os.environ.items() if name.startswith("PREFRAG_")}
        actors = [actor.remote(build, settings) for _ in range(self.workers)]
        running: dict[Any, int] = dict.fromkeys(actors, 0)

        def submit(item: Item) -> Future[Result]:
            chosen = min(actors, key=lambda one: running[one])
            running[chosen] += 1
            ended = Future[Result]()

            def settle(done: Future[Any]) -> None:
                running[chosen] -= 1
                if ended.cancelled():
                    return
                if (error := done.exception()) is None:
                    ended.set_result(done.result())
                elif isinstance(error, self._ray.exceptions.RayTaskError):
                    ended.set_exception(error.cause)
                else:
                    ended.set_exception(
                        WorkerLost(f"Ray gave up an item after {TRIES} tries ({error}): run the same command again.")
                    )

            chosen.run.remote(item).future().add_done_callback(settle)
            return ended

        try:
            yield submit
        finally:
            for one in actors:
                self._ray.kill(one)


class _Actor:
    """Builds with the first item, so that an error of building is that of the item."""

    def __init__(self, build: Build[Any, Any], settings: dict[str, str]) -> None:
        os.environ.update(settings)
        self._build = build
        self._one_at_a_time = Lock()
        self._opened: Any = None
        self._run: Any = None

    def run(self, item: Any) -> Any:
        with self._one_at_a_time:
            if self._run is None:
                self._opened = self._build()
                self._run = self._opened.__enter__()
        return start(self._run, item).result()
