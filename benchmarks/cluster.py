"""Kill nodes of an Elasticsearch cluster while it is filled, rebuilt or asked, and check that nothing is lost or mixed.

The command ``--start`` starts a node and takes ``--port``, ``--data``, ``--memory`` and ``setting=value``. Three such
nodes form the cluster. Ten times, while an index is filled, rebuilt or asked, SIGKILL ends the node with the primary
shard, the node with its copy, or the rebuild. Afterwards the index must hold all passages of one edition of the corpus.
If the command for filling or rebuilding failed, it is repeated first. No answer may be partial, and no query may be
sent to the web.

    python -m benchmarks.cluster --start COMMAND [--passages 8000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from elastic_transport import TransportError
from elasticsearch import ApiError, Elasticsearch

from benchmarks.load import free_port
from prefrag import pipelines

NODES = ("a", "b", "c")
_START_SECONDS = 120.0
_WORK_SECONDS = 120.0
_ANSWERS = 20
_EDITIONS = ("One", "Two")
# For each kill: what is going on, what is killed (`p` the node with the primary shard, `r` the node with its copy,
# `self` the rebuild), and which share of the passages has been written by then.
POINTS = (
    *(("index", kind, share) for kind, share in (("p", 0.1), ("p", 0.5), ("r", 0.5))),
    *(("rebuild", kind, share) for kind, share in (("p", 0.1), ("r", 0.5), ("self", 0.1), ("self", 0.5))),
    *(("ask", kind, 0.0) for kind in ("p", "r", "p")),
)


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
        """Start the nodes that are not running, and wait until all copies of shards are complete."""
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
        raise SystemExit(f"The cluster was not green within {_START_SECONDS:g} s: see the logs in {self._folder}.")

    def kill(self, index: str, kind: str) -> str:
        """Kill the node that holds the primary shard of an index (`p`) or its copy (`r`)."""
        nodes: list[str] = []
        deadline = time.monotonic() + _START_SECONDS
        while not nodes and time.monotonic() < deadline:
            shards: Any = self.client.cat.shards(index=index, format="json")
            nodes = [shard["node"] for shard in shards if shard["prirep"] == kind and shard["node"]]
        self._running[nodes[0]].kill()
        self._running[nodes[0]].wait()
        return nodes[0]

    def stop(self) -> None:
        """Stop all nodes."""
        for process in self._running.values():
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", required=True, help="the command that starts a node in the foreground")
    parser.add_argument("--passages", type=int, default=8000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        cluster = Cluster(options.start, Path(temporary))
        try:
            sys.exit(1 if run(cluster, Path(temporary), options.passages) else 0)
        finally:
            cluster.stop()


def run(cluster: Cluster, folder: Path, passages: int) -> int:
    """Make the ten kills, and return after how many of them something was wrong."""
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
        (folder / f"{edition}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    wrong = 0
    for number, (work, kind, share) in enumerate(POINTS, start=1):
        cluster.start()
        problems, told = one_point(cluster, folder, passages, work, kind, share, number)
        wrong += bool(problems)
        print(
            f"{number:>2} {work:<8} {kind:<5}{told}; {'; '.join(problems) or 'nothing lost or half done'}", flush=True
        )
    return wrong


def one_point(
    cluster: Cluster, folder: Path, passages: int, work: str, kind: str, share: float, number: int
) -> tuple[list[str], str]:
    """Make one kill. Return a list of what is wrong afterwards, and a description of what happened."""
    old, new = (str(folder / f"{edition}.jsonl") for edition in _EDITIONS)
    index = f"new{number}" if work == "index" else "k"
    rebuild = ["--rebuild"] if work == "rebuild" else []
    stop, seen, problems = threading.Event(), Counter[str](), []
    if work != "index":
        for earlier in cluster.client.indices.get(index="k*"):
            cluster.client.indices.delete(index=earlier)
        if code := _index(old, "k").wait(_WORK_SECONDS):
            return [f"the index could not be made (exit code {code})"], "nothing was killed"
    askers = []
    if work != "index":
        askers = [threading.Thread(target=_ask, args=(stop, seen)) for _ in range(2)]
    for asker in askers:
        asker.start()
    indexing = _index(new, index, *rebuild) if work != "ask" else None
    deadline, written = time.monotonic() + _WORK_SECONDS, 0
    while (written <= share * passages if indexing else seen.total() < _ANSWERS) and time.monotonic() < deadline:
        written = _count(cluster, f"{index}.*" if rebuild else index)
    if kind == "self" and indexing is not None:
        indexing.kill()
        killed = "the rebuild"
    else:
        killed = f"node {cluster.kill(f'{index}.*' if rebuild else index, kind)}"
    is_partly_written = 0 < written < passages
    if indexing and not is_partly_written:
        problems.append(f"the kill came too early or too late: {written:,} passages were written")
    code = indexing.wait(_WORK_SECONDS) if indexing is not None else 0
    if not indexing:
        time.sleep(3.0)
    stop.set()
    for asker in askers:
        asker.join()
    if work != "index" or code == 0:
        problems += _find_missing(cluster, index, passages, "Two" if indexing and code == 0 else "One")
    if code:
        cluster.start()
        if again := _index(new, index, *rebuild).wait(_WORK_SECONDS):
            problems.append(f"the repeated command ended with exit code {again}")
        problems += _find_missing(cluster, index, passages, "Two")
    if rebuild:
        left = cluster.client.indices.get(index="k.*")
        if len(left) != 1:
            problems.append(f"{len(left)} indexes are left, not one")
    problems += [f"{count} answers: {kind}" for kind, count in seen.items() if kind.startswith("WRONG")]
    return problems, f"killed {killed} at {written:,} passages, exit code {code}, answers {dict(seen)}"


def _count(cluster: Cluster, index: str, **query: Any) -> int:
    with suppress(ApiError, TransportError):
        cluster.client.indices.refresh(index=index)
        return int(cluster.client.count(index=index, **query)["count"])
    return 0


def _find_missing(cluster: Cluster, index: str, passages: int, edition: str) -> list[str]:
    cluster.client.cluster.health(index=index, wait_for_status="yellow", timeout="30s")
    of_edition = _count(cluster, index, query={"match": {"content": f"Ada{edition}"}})
    counts = (of_edition, _count(cluster, index))
    return (
        []
        if counts == (passages, passages)
        else [f"{counts[0]:,} of {counts[1]:,} passages are from edition {edition}"]
    )


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
        texts = [document["content"] for document in result["documents"]]
        if result["queries_sent_out"]:
            seen["WRONG: a query was sent out"] += 1
        elif not texts:
            seen["refused with an error" if result["errors"] else "WRONG: nothing found, and no error"] += 1
        elif result["errors"]:
            seen["WRONG: a partial answer with an error"] += 1
        elif len({edition for text in texts for edition in _EDITIONS if f"Ada{edition}" in text}) > 1:
            seen["WRONG: passages of both editions"] += 1
        elif not any(f" tower {number}." in text for text in texts):
            seen["WRONG: its passage is missing"] += 1
        else:
            seen["answered"] += 1


if __name__ == "__main__":
    main()
