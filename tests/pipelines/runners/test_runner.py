"""The protocol of the runners, and the one in this process."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from prefrag.pipelines.runners.in_process import InProcess
from prefrag.pipelines.runners.runner import Runner, make_runner
from tests.pipelines.runners.work import open_nothing, open_work


class ByHand(Runner):
    """A runner whose items end when the test says so."""

    def __init__(self, room: int):
        self.room = room
        self.started: dict[str, Future[str]] = {}
        self.is_open = False

    @contextmanager
    def open(self, build: object) -> Iterator[Callable[[str], Future[str]]]:
        self.is_open = True
        yield lambda item: self.started.setdefault(item, Future())
        self.is_open = False


def endings(runner: ByHand, order: str) -> Iterator[str]:
    """Items that end, one after another, whenever one more is asked for."""
    for number, item in enumerate("abcdef"):
        if number >= 2:
            runner.started[order[number - 2]].set_result("done")
        yield item
    for item in order[4:]:
        runner.started[item].set_result("done")


def test_results_come_as_they_end_each_with_its_item():
    runner = ByHand(2)

    assert [item for item, _ in runner.map(None, endings(runner, "bacdef"))] == ["b", "a", "c", "d", "e", "f"]


def test_or_in_the_order_of_the_items():
    runner = ByHand(2)

    assert [item for item, _ in runner.map(None, endings(runner, "bacdef"), ordered=True)] == list("abcdef")


def test_a_slow_item_lets_only_so_many_begin_before_its_turn():
    runner, read = ByHand(2), list[int]()

    def items() -> Iterator[str]:
        for number in range(99):
            read.append(number)
            yield str(number)
            if number:
                runner.started[str(number - 1)].set_result("") if number > 1 else None
            if number == 7:
                runner.started["0"].set_result("")

    with closing(runner.map(None, items(), ordered=True)) as results:
        assert next(results)[0] == "0"
    assert max(read) == 7


def test_after_an_error_nothing_begins_and_what_runs_is_still_given(tmp_path: Path):
    read, given = list[str](), list[str]()

    with pytest.raises(ValueError, match="fails cannot be done"):
        for item, _ in InProcess().map(
            partial(open_work, tmp_path), (read.append(one) or one for one in ("a", "fails", "b"))
        ):
            given.append(item)

    assert (read, given) == (["a", "fails"], ["a"])


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


def test_ray_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(ImportError, match=r"needs the extra `ray`"):
        make_runner(ray="local")
