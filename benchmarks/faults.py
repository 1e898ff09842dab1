"""Show what a client gets, and when, while the model server, an index, Elasticsearch or the audit log fails.

Starts a model server that misbehaves on demand, and ``prefrag serve`` over an index of the demo corpus, with short
deadlines and without the web. Asks one question during each fault, and prints the status, the seconds, and whether the
request ended within the deadline of a run plus two seconds. The command fails if a request took longer, or if a remote
model was called although the audit log could not be written.

    python -m benchmarks.faults [--run-seconds 20] [--call-seconds 6] [--only 429]
    python -m benchmarks.faults --kills 50    # instead, kill the server 50 times during uploads and deletions
    python -m benchmarks.faults --greedy 3    # instead, ask with one key while three others ask 330 hanging questions
    python -m benchmarks.faults --rolling 32  # instead, restart two servers behind nginx in turn, while 32 clients ask
    python -m benchmarks.faults --cuts 20     # instead, cut the files of an index short 20 times while it is served
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

import prefrag
from benchmarks.cut_index import cut_series
from benchmarks.greedy_clients import starve
from benchmarks.killed_uploads import kill_series
from benchmarks.load import free_port
from benchmarks.rolling_restart import roll
from benchmarks.served import Reply, Server, serve

CORPUS = prefrag.ROOT / "demo" / "local.jsonl"
GRACE_SECONDS = 2.0
_LARGE_BYTES = 50_000_000


def fail_in_the_middle(reply: Reply) -> None:
    if reply.server.calls < 3:
        reply.complete()
    else:
        reply.fail(500)


FAULTS: dict[str, Callable[[Reply], None]] = {
    "none": Reply.complete,
    "model hangs": Reply.hang,
    "model drips a byte a second": lambda reply: reply.hang(drip=True),
    "429, Retry-After 1": lambda reply: reply.fail(429, retry_after="1"),
    "429, Retry-After 30": lambda reply: reply.fail(429, retry_after="30"),
    "429, Retry-After 3600": lambda reply: reply.fail(429, retry_after="3600"),
    "500": lambda reply: reply.fail(500),
    "500 from the third call on": fail_in_the_middle,
    "connection reset": Reply.reset,
    "cut in the middle of the body": Reply.cut,
    "malformed JSON": lambda reply: reply.send(200, b'{"choices": ['),
    "HTML": lambda reply: reply.send(200, b"<html><body>Sign in</body></html>", content_type="text/html"),
    "a reply of 50 MB": lambda reply: reply.complete("x" * _LARGE_BYTES),
}

# Ways to break the file of the audit log under a running server.
AUDIT_FAULTS: dict[str, Callable[[Path], Any]] = {
    "audit log: none": Path.touch,
    "audit log: its folder is gone": lambda log: log.parent.rmdir(),
    "audit log: a folder": Path.mkdir,
    "audit log: the disk is full": lambda log: log.symlink_to("/dev/full"),
    "audit log: a pipe nobody reads": lambda log: os.mkfifo(log, 0o600),
}


class Table:
    """Asks a question during each fault, and prints a line of the table.

    :param limit: The maximum number of seconds that a request may take.
    :param only: Try only faults whose name contains this text.
    """

    def __init__(self, limit: float, only: str):
        self.limit = limit
        self.only = only
        self.late: list[str] = []
        self._asked = 100_000
        print(f"{'fault':<32} {'status':>6} {'seconds':>8}  in time  what the client reads")

    def ask(self, fault: str, url: str, pipeline: str = "prefrag") -> None:
        """Ask a question during a fault, and print the line for it."""
        if self.only not in fault:
            return
        self._asked += 1
        began = time.monotonic()
        try:
            body = {"question": f"Where was Q-{self._asked} born?"}
            reply = httpx.post(f"{url}/{pipeline}/run", json=body, timeout=3 * self.limit)
            status, text = str(reply.status_code), _read(reply)
        except httpx.HTTPError as error:
            status, text = "none", type(error).__name__
        seconds = time.monotonic() - began
        if seconds > self.limit or status == "none":
            self.late.append(fault)
        in_time = "no" if fault in self.late else "yes"
        print(f"{fault:<32} {status:>6} {seconds:>8.1f}  {in_time:<7}  {text[:150]}", flush=True)


def _read(reply: httpx.Response) -> str:
    try:
        body = reply.json()
    except ValueError:
        return " ".join(reply.text.split())
    result = body.get("result") or {}
    errors = "; ".join(result.get("errors") or ())
    return str(body.get("detail") or f"{result.get('answer')!r} {errors}")


def damage(folder: Path) -> None:
    """Invert every hundredth byte in the files of an index."""
    for file in (file for file in folder.rglob("*") if file.is_file() and file.suffix not in (".json", ".lock")):
        content = bytearray(file.read_bytes())
        for place in range(0, len(content), 100):
            content[place] ^= 0xFF
        with file.open("r+b") as opened:
            opened.write(content)


def find_index(data: Path) -> Path:
    (index,) = {file.parent for file in data.rglob("meta.json")}
    return index


def break_audit_log(table: Table, model: Server, data: Path, environment: dict[str, str]) -> list[str]:
    """Ask a remote model during each fault of the audit log. Return the faults with unlogged or missing calls."""
    log, let_out = data / "audit" / "audit.jsonl", []
    log.parent.mkdir()
    # The model server is also the HTTP proxy, so it sees calls to any host.
    proxy = {"HTTP_PROXY": f"http://127.0.0.1:{model.server_port}", "NO_PROXY": "127.0.0.1"}
    remote = {"PREFRAG_LLM_BASE_URL": "http://model.example/v1", "PREFRAG_AUDIT_LOG": str(log)}
    with serve(data, "prefrag", **{**environment, **proxy, **remote}) as url:
        for fault, break_file in AUDIT_FAULTS.items():
            log.unlink(missing_ok=True)
            break_file(log)
            model.calls = 0
            table.ask(fault, url)
            if table.only in fault and bool(model.calls) is not (break_file is Path.touch):
                let_out.append(fault)
            shutil.rmtree(log.parent, ignore_errors=True)
            log.parent.mkdir()
    return let_out


def make_index(data: Path) -> None:
    """Index the corpus of the demo into a folder."""
    index = [sys.executable, "-m", "prefrag.cli.main", "index", str(CORPUS)]
    own = {**os.environ, "PREFRAG_DATA_DIR": str(data)}
    subprocess.run(index, env=own, check=True, stdin=subprocess.DEVNULL, capture_output=True)


def _starve_or_cut(data: Path, greedy: int, cuts: int) -> list[str]:
    make_index(data)
    environment = {"PREFRAG_LLM_MODEL": "simulated", "PREFRAG_WEB": "off", "HAYHOOKS_LOG_LEVEL": "ERROR"}
    wrong = starve(data, greedy, environment) if greedy else []
    return wrong + (cut_series(data, find_index(data), cuts) if cuts else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run-seconds", type=float, default=20)
    parser.add_argument("--call-seconds", type=float, default=6)
    parser.add_argument("--only", default="")
    parser.add_argument("--kills", type=int, default=0, metavar="POINTS")
    parser.add_argument("--greedy", type=int, default=0, metavar="KEYS")
    parser.add_argument("--rolling", type=int, default=0, metavar="CLIENTS")
    parser.add_argument("--silent-seconds", type=float, default=66)
    parser.add_argument("--cuts", type=int, default=0, metavar="TIMES")
    options = parser.parse_args()
    if options.kills:
        with tempfile.TemporaryDirectory() as folder:
            raise SystemExit("\n".join(kill_series(options.kills, Path(folder))) or 0)
    if options.rolling:
        with tempfile.TemporaryDirectory() as folder:
            make_index(Path(folder))
            raise SystemExit("\n".join(roll(Path(folder), options.rolling, options.silent_seconds)) or 0)
    if options.greedy or options.cuts:
        with tempfile.TemporaryDirectory() as folder:
            raise SystemExit("\n".join(_starve_or_cut(Path(folder), options.greedy, options.cuts)) or 0)
    model = Server()
    threading.Thread(target=model.serve_forever, daemon=True).start()
    environment = {
        "PREFRAG_LLM_BASE_URL": f"http://127.0.0.1:{model.server_port}/v1",
        "PREFRAG_LLM_MODEL": "simulated",
        "PREFRAG_LLM_SECONDS": str(options.call_seconds),
        "PREFRAG_RUN_SECONDS": str(options.run_seconds),
        "PREFRAG_WEB": "off",
        "HAYHOOKS_LOG_LEVEL": "ERROR",
    }
    table = Table(options.run_seconds + GRACE_SECONDS, options.only)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        data = Path(folder)
        make_index(data)
        url = servers.enter_context(serve(data, "prefrag", **environment))
        for fault, reply in FAULTS.items():
            model.fault, model.calls = reply, 0
            table.ask(fault, url)
        model.fault = Reply.complete
        let_out = break_audit_log(table, model, data, environment)
        passages, aside = find_index(data), data / "aside"
        shutil.copytree(passages, aside)
        shutil.rmtree(passages)
        table.ask("index removed under the server", url)
        shutil.copytree(aside, passages)
        damage(passages)
        table.ask("index damaged", url)
        elsewhere = {**environment, "PREFRAG_ELASTICSEARCH_URL": f"http://127.0.0.1:{free_port()}"}
        with serve(data, "prefrag_elasticsearch", **elsewhere) as other:
            table.ask("Elasticsearch down", other, "prefrag_elasticsearch")
        model.shutdown()
        model.server_close()
        table.ask("model down", url)
    if let_out:
        raise SystemExit(f"The model was called without a log, or not called with a log: {', '.join(let_out)}.")
    if table.late:
        raise SystemExit(f"Not answered within {table.limit:g} s: {', '.join(table.late)}.")


if __name__ == "__main__":
    main()
