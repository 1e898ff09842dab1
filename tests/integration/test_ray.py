"""Workers on a Ray cluster of two machines that are killed."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from prefrag.pipelines.runners import on_ray
from prefrag.pipelines.runners.runner import TRIES, WorkerLost
from tests.for_each import for_each
from tests.pipelines.runners.work import open_endless, open_nothing, open_work
from tests.python_process import CHECKOUT, run_python, start_python

pytestmark = pytest.mark.slow

# Ray would replace 127.0.0.1 by the machine's address, so the nodes have others.
NODES = [{"node_ip_address": f"127.0.0.{n}", "num_cpus": int(n > 2), "object_store_memory": 10**8} for n in (2, 3, 4)]
TIMES = ("seconds", "run_id")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """The head, on which nothing runs, and two nodes; it answers only those who have the token."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(CHECKOUT))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", os.urandom(32).hex())
        # Ray reads these variables at its first import.
        cluster_utils = pytest.importorskip("ray.cluster_utils", reason="needs Ray: make install EXTRAS=ray")
        running = cluster_utils.Cluster(initialize_head=True, head_node_args={**NODES[0], "include_dashboard": False})
        for node in NODES[1:]:
            running.add_node(**node)
        running.wait_for_nodes()
        yield running
        running.shutdown()


def wait_for(state: Callable[[], Any], process: Any = None) -> Any:
    end = time.monotonic() + 120
    while not (reached := state()):
        assert time.monotonic() < end
        assert process is None or process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    return reached


def workers_of(node: Any) -> list[int]:
    [raylet] = node.all_processes["raylet"]
    children = Path(f"/proc/{raylet.process.pid}/task/{raylet.process.pid}/children").read_text().split()
    return [int(pid) for pid in children if Path(f"/proc/{pid}/cmdline").read_text().startswith("ray::_Worker")]


def without_times(timed: Any) -> Any:
    if isinstance(timed, dict):
        return {key: without_times(value) for key, value in timed.items() if key not in TIMES}
    return [without_times(entry) for entry in timed] if isinstance(timed, list) else timed


def read(folder: Path) -> dict[str, Any]:
    lines = (folder / "predictions.jsonl").read_text().splitlines()
    return {line["id"]: without_times(line) for line in map(json.loads, lines)}


@for_each(
    "build, items, message",
    (open_work, ["a", "dies-always"], f"died {TRIES} times with the same item"),
    (open_work, ["fails"], "cannot be done"),
    (open_nothing, ["a"], "has no judge"),
)
def test_what_a_worker_raises_is_raised_here(build: Any, items: list[str], message: str, cluster: Any, tmp_path: Path):
    with pytest.raises((ValueError, WorkerLost), match=message):
        list(on_ray.OnRay(cluster.address, 1).map(partial(build, tmp_path), items))


def test_item_runs_again_after_the_death_of_its_worker_alone(cluster: Any, tmp_path: Path):
    """What is done does not run again."""

    done = dict(on_ray.OnRay(cluster.address, 2).map(partial(open_work, tmp_path), ["a", "dies-once", "b"]))

    assert {item: text for item, (text, _) in done.items()} == {name: name.upper() for name in ("a", "dies-once", "b")}
    assert [len((tmp_path / name).read_text().splitlines()) for name in done] == [1 + (name > "c") for name in done]


def test_a_cluster_that_does_not_answer_is_one_sentence():
    pytest.importorskip("ray", reason="needs Ray: make install EXTRAS=ray")
    code = "from prefrag.pipelines.runners import on_ray as r; r._SECONDS_TO_CONNECT = 1.0; r._connect('127.0.0.2:9')"

    assert "No Ray cluster was reached at 127.0.0.2:9 (no answer in 1 s)" in run_python(code).stderr


def test_predictions_survive_killed_workers_machines_and_drivers(cluster: Any, tmp_path: Path):
    lines = [json.loads(line) for line in (CHECKOUT / "demo/questions.jsonl").read_text().splitlines()]
    questions = tmp_path / "questions.jsonl"
    thrice = [{**line, "id": f"{number}{line['id']}"} for number in range(3) for line in lines]
    questions.write_text("".join(json.dumps(line) + "\n" for line in thrice))
    local, web = CHECKOUT / "demo/local.jsonl", CHECKOUT / "demo/web.jsonl"
    demo = ("--corpus", local, "--web-corpus", web, "--llm", "simulated")
    command = ("-m", "prefrag.cli.main", "evaluate", "--questions", questions, *demo, "--output")
    on_two = (tmp_path / "two", "--workers", 2, "--ray", cluster.address)

    def has_done(count: int) -> bool:
        file = tmp_path / "two/predictions.jsonl"
        return file.exists() and file.read_bytes().count(b"\n") >= count

    with start_python(*command, tmp_path / "one") as alone:
        alone.communicate(timeout=300)
    first, second = cluster.worker_nodes
    with start_python(*command, *on_two) as driver:
        wait_for(lambda: has_done(20), driver)
        os.kill(wait_for(lambda: workers_of(first))[0], signal.SIGKILL)
        wait_for(lambda: has_done(50), driver)
        cluster.remove_node(second, allow_graceful=False)
        wait_for(lambda: has_done(90), driver)
        driver.kill()
    assert not has_done(len(thrice))
    with start_python(*command, *on_two) as again:
        assert again.communicate(timeout=300)[1].count("errors") == 0
        assert again.returncode == 0

    assert read(tmp_path / "two") == read(tmp_path / "one")
    assert len(read(tmp_path / "one")) == len(thrice)


def test_a_cluster_without_machines_ends_in_one_error(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for node in list(cluster.worker_nodes):
        cluster.remove_node(node, allow_graceful=False)
    monkeypatch.setattr(on_ray, "_SECONDS_TO_ANSWER", 5.0)

    with pytest.raises(WorkerLost, match="has answered for 5 s"):
        list(on_ray.OnRay(cluster.address, 1).map(partial(open_endless, tmp_path), ["a"]))
