"""Steady load on the served application, and the memory it takes.

Starts a simulated model server (300 ms a reply) and ``prefrag serve`` over the demo index, asks with 64 clients for
sixty seconds, and prints the runs a second against the ideal, lost and crossed replies, and the memory of the serving
processes. A run makes six model calls, so 64 clients could at best do 64 / (6 x 0.3 s) = 35.6 runs a second.
Model server, clients and serving processes share the machine.

    python -m benchmarks.load [--workers 2] [--seconds 60] [--clients 64]
    python -m benchmarks.load --questions 1000        # memory after so many questions
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

CALLS_A_RUN = 6
DELAY_SECONDS = 0.3
START_DEADLINE_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def process(*command: str, ready: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends."""
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + START_DEADLINE_SECONDS
            while True:
                try:
                    if httpx.get(ready).status_code == 200:
                        break
                except httpx.HTTPError:
                    pass
                if server.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise SystemExit(f"{' '.join(command)} did not start:\n{log.read().decode(errors='replace')}")
                time.sleep(0.1)
            yield server
        finally:
            server.terminate()
            server.wait(timeout=30)


def processes_of(parent: int) -> list[int]:
    """List the process and those that it started, as Linux reports them."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [parent, *(grandchild for child in children for grandchild in processes_of(int(child)))]


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


async def load(url: str, clients: int, seconds: float | None, questions: int | None) -> None:
    numbers = iter(range(questions) if questions else range(10**9))
    ends = time.monotonic() + seconds if seconds and not questions else float("inf")
    took: list[float] = []
    lost = crossed = 0

    async with httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=clients)) as http:

        async def client() -> None:
            nonlocal lost, crossed
            for number in numbers:
                if time.monotonic() >= ends:
                    return
                token = f"Q-{100_000 + number}"
                started = time.monotonic()
                try:
                    reply = await http.post(f"{url}/prefrag/run", json={"question": f"Where was {token} born?"})
                    result = reply.json()["result"]
                except (httpx.HTTPError, ValueError, KeyError):
                    lost += 1
                    continue
                took.append(time.monotonic() - started)
                if token not in result["answer"] or any(token not in step["query"] for step in result["steps"][:-1]):
                    crossed += 1

        began = time.monotonic()
        await asyncio.gather(*(client() for _ in range(clients)))
        spent = time.monotonic() - began

    ideal = clients / (CALLS_A_RUN * DELAY_SECONDS)
    rate = len(took) / spent
    print(
        f"{len(took)} runs in {spent:.1f} s with {clients} clients: {rate:.1f} runs a second, "
        f"{rate / ideal:.0%} of the ideal {ideal:.1f}; {lost} lost, {crossed} crossed; "
        f"a run took {statistics.median(took):.2f} s (median), "
        f"{sorted(took)[int(0.95 * len(took))]:.2f} s (95th percentile)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--questions", type=int)
    given = parser.parse_args()
    model_port, port = free_port(), free_port()
    model = f"http://127.0.0.1:{model_port}/v1"
    simulated = [sys.executable, "-m", "benchmarks.model_server", "--port", str(model_port)]
    serving = [
        sys.executable,
        "-m",
        "prefrag.service.cli.main",
        "serve",
        "--port",
        str(port),
        "--workers",
        str(given.workers),
    ]
    with (
        tempfile.TemporaryDirectory() as data,
        process(*simulated, "--delay-ms", str(int(DELAY_SECONDS * 1000)), ready=f"{model}/models"),
        process(
            *serving,
            ready=f"http://127.0.0.1:{port}/ready",
            PREFRAG_DATA_DIR=data,
            PREFRAG_LLM_BASE_URL=model,
            PREFRAG_LLM_MODEL="simulated",
            HAYHOOKS_LOG_LEVEL="WARNING",
        ) as server,
    ):
        asyncio.run(load(f"http://127.0.0.1:{port}", given.clients, given.seconds, given.questions))
        sizes = ", ".join(f"{resident_mb(pid):.0f}" for pid in processes_of(server.pid))
        print(f"Resident memory of the serving processes ({given.workers} worker(s)): {sizes} MB")


if __name__ == "__main__":
    main()
