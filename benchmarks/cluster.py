"""Nodes of an Elasticsearch cluster are killed while it is filled, rebuilt and asked: nothing may be lost, or half.

Starts three nodes with a command that takes ``--port``, ``--data``, ``--memory`` and ``setting=value``, and kills one
with SIGKILL at ten points: while an index is filled (the node of its primary shard, and that of its copy), while it is
rebuilt (a node, and the rebuild itself), and while it is asked. After each, all that was acknowledged must be there,
every answer must be of one edition of the corpus and whole, and no query may have been sent out. The command fails when
something was not so.

    python -m benchmarks.cluster --start COMMAND [--passages 8000]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from elasticsearch import Elasticsearch

from benchmarks.load import free_port
from prefrag import pipelines

NODES = ("a", "b", "c")
_START_SECONDS = 120.0
_EDITIONS = ("One", "Two")


class Cluster:
    """Three nodes on this machine, whose processes can be killed and started again."""

    def __init__(self, command: str, folder: Path) -> None:
        self._command, self._folder = command, folder
        self._http = {node: free_port() for node in NODES}
        self._transport = {node: free_port() for node in NODES}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.urls = [f"http://127.0.0.1:{port}" for port in self._http.values()]
        self.client = Elasticsearch(self.urls, request_timeout=30)

    def start(self) -> None:
        """Start the nodes that do not run, and wait until every copy is in its place."""
        seeds = ",".join(f"127.0.0.1:{port}" for port in self._transport.values())
        settings = ["discovery.type=multi-node", f"cluster.initial_master_nodes={','.join(NODES)}"]
        for node in NODES:
            if node not in self._running or self._running[node].poll() is not None:
                own = [f"node.name={node}", f"transport.port={self._transport[node]}", f"discovery.seed_hosts={seeds}"]
                place = ["--port", str(self._http[node]), "--data", str(self._folder / node), "--memory", "384m"]
                with (self._folder / f"{node}.log").open("ab") as log:
                    command = [self._command, *place, *settings, *own]
                    self._running[node] = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            try:
                if self.client.cluster.health(wait_for_nodes="3", wait_for_status="green", timeout="5s")["timed_out"]:
                    continue
                return
            except Exception:
                time.sleep(0.5)
        raise SystemExit(f"The cluster is not green within {_START_SECONDS:g} s: see the logs in {self._folder}.")

    def kill(self, index: str, kind: str) -> str:
        """Kill the node of the primary shard of an index (`p`) or that of its copy (`r`)."""
        found: list[str] = []
        deadline = time.monotonic() + _START_SECONDS
        while not found and time.monotonic() < deadline:
            shards = self.client.cat.shards(index=f"{index}*", format="json")
            found = [shard["node"] for shard in shards if shard["prirep"] == kind and shard["node"]]
        self._running[found[0]].kill()
        self._running[found[0]].wait()
        return found[0]

    def stop(self) -> None:
        """Stop all nodes."""
        for process in self._running.values():
            process.kill()
            process.wait()


def main() -> None:
    """Kill ten times, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", required=True, help="the command that starts a node in the foreground")
    parser.add_argument("--passages", type=int, default=8000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        cluster = Cluster(given.start, Path(temporary))
        try:
            sys.exit(1 if run(cluster, Path(temporary), given.passages) else 0)
        finally:
            cluster.stop()


def run(cluster: Cluster, folder: Path, passages: int) -> int:
    """Go through the ten points; returns how many of them went wrong."""
    os.environ |= {
        "PREFRAG_ELASTICSEARCH_URL": ",".join(cluster.urls),
        "PREFRAG_DATA_DIR": str(folder / "data"),
        "PREFRAG_INDEX": "k",
    }
    for edition in _EDITIONS:
        lines = (
            {"id": f"p{number}", "title": f"Tower {number}", "text": f"Ada{edition} built tower {number}. " * 3}
            for number in range(passages)
        )
        (folder / edition).with_suffix(".jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    wrong = 0
    points: list[tuple[str, str, float]] = [
        *(("index", kind, seconds) for kind, seconds in (("p", 3.0), ("p", 5.0), ("r", 4.0))),
        *(("rebuild", kind, seconds) for kind, seconds in (("p", 3.0), ("r", 5.0), ("self", 3.5), ("self", 5.0))),
        *(("ask", kind, 2.0) for kind in ("p", "r", "p")),
    ]
    for number, (work, kind, seconds) in enumerate(points, start=1):
        cluster.start()
        problems, told = one_point(cluster, folder, passages, work, kind, seconds, number)
        wrong += bool(problems)
        print(
            f"{number:>2} {work:<8} {kind:<5} {told}; {'; '.join(problems) or 'nothing lost, nothing half'}", flush=True
        )
    return wrong


def one_point(
    cluster: Cluster, folder: Path, passages: int, work: str, kind: str, seconds: float, number: int
) -> tuple[list[str], str]:
    """Kill once; returns what is wrong after it, and what happened."""
    index = f"new{number}" if work == "index" else "k"
    edition = _EDITIONS[number % 2]
    corpus = str(folder / f"{edition}.jsonl")
    stop, seen, problems = threading.Event(), Counter[str](), []
    if work != "index":
        prepared = _index(corpus if work == "ask" else str(folder / "One.jsonl"), "k")
        prepared.wait()
    askers = [threading.Thread(target=_ask, args=(stop, seen)) for _ in range(2 if work != "index" else 0)]
    for asker in askers:
        asker.start()
    rebuild = ["--rebuild"] if work == "rebuild" else []
    indexing = _index(corpus, index, *rebuild) if work != "ask" else None
    time.sleep(seconds)
    if kind == "self" and indexing is not None:
        indexing.send_signal(signal.SIGKILL)
        killed = "the rebuild"
    else:
        killed = f"node {cluster.kill(index, kind)}"
    code = indexing.wait(300) if indexing is not None else 0
    time.sleep(3.0)
    stop.set()
    for asker in askers:
        asker.join()
    cluster.client.cluster.health(index=index, wait_for_status="yellow", timeout="30s")
    cluster.client.indices.refresh(index=index)
    counted = cluster.client.count(index=index)["count"]
    if counted != passages and (code == 0 or work != "index"):
        problems.append(f"{counted:,} of {passages:,} passages are there (exit code {code})")
    problems += [f"{count} answers: {kind}" for kind, count in seen.items() if kind.startswith("WRONG")]
    return problems, f"killed {killed}, exit code {code}, {counted:,} passages, answers {dict(seen)}"


def _index(corpus: str, index: str, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "prefrag.cli.main", "index", corpus, "--store", "elasticsearch", "--no-web"]
    output = subprocess.DEVNULL
    return subprocess.Popen([*command, "--index", index, *options], stdout=output, stderr=output)


def _ask(stop: threading.Event, seen: Counter[str]) -> None:
    loaded = pipelines.load("prefrag_elasticsearch")
    number = 0
    while not stop.is_set():
        number += 1
        try:
            result = pipelines.ask(f"Who built tower {number}?", loaded)
        except Exception as error:
            seen[f"refused ({type(error).__name__})"] += 1
            continue
        editions = {
            edition for each in result["documents"] for edition in _EDITIONS if f"Ada{edition}" in each["content"]
        }
        if result["queries_sent_out"]:
            seen["WRONG: a query was sent out"] += 1
        elif not result["documents"] and not result["errors"]:
            seen["WRONG: nothing found, and no error"] += 1
        elif len(editions) > 1:
            # A run of several searches may see the old and the new one.
            seen["of both editions"] += 1
        else:
            seen["answered" if not result["errors"] else "answered with an error shown"] += 1


if __name__ == "__main__":
    main()
