"""The protocol of runners, and the runner in this process."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from threading import Timer

import pytest

from prefrag.pipelines.runners.in_process import InProcess
from prefrag.pipelines.runners.runner import Runner
from tests.for_each import for_each
from tests.pipelines.runners.work import open_nothing, open_work


class ByHand(Runner):
    """A runner whose items end when the test decides."""

    def __init__(self, room: int):
        self.room = room
        self.started: dict[str, Future[str]] = {}
        self.is_open = False

    @contextmanager
    def open(self, build: object) -> Iterator[Callable[[str], Future[str]]]:
        self.is_open = True
        yield lambda item: self.started.setdefault(item, Future())
        self.is_open = False


@for_each("ordered, expected", (False, "ba"), (True, "ab"))
def test_results_come_as_they_end_or_in_the_order_of_the_items(ordered: bool, expected: str):
    runner = ByHand(2)
    for item in expected:
        runner.started[item] = Future()
    runner.started["b"].set_result("done")
    results = runner.map(None, "ab", ordered=ordered)
    # If results come as they end, "a" ends only after "b" came: a timer was late or early on a busy machine.
    if ordered:
        Timer(0.01, runner.started["a"].set_result, ["done"]).start()
    came = next(results)[0]
    if not ordered:
        runner.started["a"].set_result("done")

    assert came + "".join(item for item, _ in results) == expected


def test_after_an_error_nothing_begins_and_what_runs_is_given(tmp_path: Path):
    read, items = list[str](), list[str]()
    names = (read.append(name) or name for name in ("a", "fails", "b"))
    results = InProcess().map(partial(open_work, tmp_path), names)

    with pytest.raises(ValueError, match="fails cannot be done"):
        items.extend(item for item, _ in results)

    assert (read, items) == (["a", "fails"], ["a"])


def test_work_that_cannot_be_built_is_reported(tmp_path: Path):
    with pytest.raises(ValueError, match="has no judge"):
        list(InProcess().map(partial(open_nothing, tmp_path), "a"))


def test_whoever_stops_closes_the_workers():
    runner = ByHand(1)
    results = runner.map(None, iter("ab"))
    with closing(results):
        assert not runner.is_open
        runner.started["a"] = Future()
        runner.started["a"].set_result("")
        next(results)
        assert runner.is_open
