"""Workers that are killed or that fail; none runs longer than its parent."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from prefrag.pipelines.runners.processes import Processes
from prefrag.pipelines.runners.runner import TRIES, WorkerLost
from tests.for_each import for_each
from tests.pipelines.runners.work import open_nothing, open_work
from tests.python_process import start_python

pytestmark = pytest.mark.slow


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_two_workers_do_all_and_end(tmp_path: Path):
    done = dict(Processes(2).map(partial(open_work, tmp_path), [f"item{number}" for number in range(20)]))

    assert {item: text for item, (text, _) in done.items()} == {f"item{n}": f"ITEM{n}" for n in range(20)}
    pids = {pid for _, pid in done.values()}
    assert os.getpid() not in pids
    assert [pid for pid in pids if is_alive(pid)] == []


def test_the_item_of_a_killed_worker_runs_again_in_the_next(tmp_path: Path):
    done = dict(Processes(1).map(partial(open_work, tmp_path), ["a", "dies-once", "b"]))

    assert [text for text, _ in done.values()] == ["A", "DIES-ONCE", "B"]
    assert len((tmp_path / "dies-once").read_text().splitlines()) == 2


def test_an_item_that_always_kills_its_worker_ends_in_one_error(tmp_path: Path):
    with pytest.raises(WorkerLost, match=f"died {TRIES} times with the same item"):
        list(Processes(1).map(partial(open_work, tmp_path), ["a", "dies-always", "b"]))

    assert len((tmp_path / "dies-always").read_text().splitlines()) == TRIES


@for_each("build, message", (open_work, "fails cannot be done"), (open_nothing, "has no judge"))
def test_what_a_worker_raises_is_raised_here(build, message: str, tmp_path: Path):
    with pytest.raises(ValueError, match=message):
        list(Processes(2).map(partial(build, tmp_path), ["fails"]))


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_the_process_that_started_them(sent: int, tmp_path: Path):
    code = "import sys; from tests.pipelines.runners.work import run_endlessly; run_endlessly(sys.argv[1])"
    with start_python("-c", code, tmp_path) as process:
        end = time.monotonic() + 60
        while len(pids := [int(text) for file in tmp_path.iterdir() if (text := file.read_text())]) < 2:
            assert time.monotonic() < end
            time.sleep(0.1)
        process.send_signal(sent)
        process.wait(30)
    while any(map(is_alive, pids)):
        assert time.monotonic() < end, "a worker is left"
        time.sleep(0.1)
