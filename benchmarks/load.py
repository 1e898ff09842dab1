"""Measure a running server under steady load: runs per second, lost replies and memory.

Starts a simulated model server (300 ms per reply) and ``prefrag serve`` over the demo index. 64 clients ask for sixty
seconds. Prints the runs per second compared with the ideal, the lost and mixed-up replies, and the memory of the
serving processes. A run makes six model calls, so 64 clients could at best do 64 / (6 x 0.3 s) = 35.6 runs per second.
The model server, the clients and the serving processes share the machine.

    python -m benchmarks.load [--workers 2] [--seconds 60] [--clients 64]
    python -m benchmarks.load --stream --clients 200  # chat streams; the server refuses those that are too many
    python -m benchmarks.load --questions 2000        # memory after 200 questions and after 2,000
    python -m benchmarks.load --largest               # how slowly `/live` answers while the largest requests are read
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    """Start a server, wait until the address ``ready`` answers 200, and stop the server at the end of the block."""
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
    """Return the ids of a process and of all processes that it started (Linux)."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [parent, *(grandchild for child in children for grandchild in processes_of(int(child)))]


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


@dataclass
class Tally:
    """The results of all clients.

    :param took: The seconds of each run, from its first request to its end.
    :param lost: The number of runs that ended without an answer.
    :param crossed: The number of runs that got the reply of another run.
    :param refused: The number of requests that the server refused, with the advice to repeat them later.
    """

    took: list[float] = field(default_factory=list)
    lost: int = 0
    crossed: int = 0
    refused: int = 0


async def load(
    url: str, clients: int, seconds: float | None, questions: int | None, stream: bool, at_a_tenth: Callable[[], None]
) -> None:
    numbers = iter(range(questions) if questions else range(10**9))
    ends = time.monotonic() + seconds if seconds and not questions else float("inf")
    tally = Tally()
    ask = ask_stream if stream else ask_plain

    async with httpx.AsyncClient(timeout=300, limits=httpx.Limits(max_connections=clients)) as http:

        async def client() -> None:
            for number in numbers:
                if time.monotonic() >= ends:
                    return
                if questions and number == questions // 10:
                    at_a_tenth()
                token = f"Q-{100_000 + number}"
                started = time.monotonic()
                try:
                    while wait := await ask(http, url, token, tally):
                        tally.refused += 1
                        await asyncio.sleep(wait)
                except (httpx.HTTPError, ValueError, KeyError):
                    tally.lost += 1
                    continue
                tally.took.append(time.monotonic() - started)

        began = time.monotonic()
        async with watch_live(url) as waits:
            await asyncio.gather(*(client() for _ in range(clients)))
        spent = time.monotonic() - began

    ideal = clients / (CALLS_A_RUN * DELAY_SECONDS)
    rate = len(tally.took) / spent
    percentile_95 = sorted(tally.took)[int(0.95 * len(tally.took))]
    print(
        f"{len(tally.took)} runs in {spent:.1f} s with {clients} clients: {rate:.1f} runs a second, "
        f"{rate / ideal:.0%} of the ideal {ideal:.1f}; {tally.lost} without an answer, {tally.crossed} with the reply "
        f"of another run; requests refused and repeated: {tally.refused}; a run took "
        f"{statistics.median(tally.took):.2f} s (median), {percentile_95:.2f} s "
        f"(95th percentile); /live answered within {max(waits) * 1000:.0f} ms"
    )


async def ask_plain(http: httpx.AsyncClient, url: str, token: str, tally: Tally) -> float:
    """Ask over REST. Return 0 if there was an answer, or else the seconds to wait before the request is repeated."""
    reply = await http.post(f"{url}/prefrag/run", json={"question": f"Where was {token} born?"})
    if wait := _wait(reply):
        return wait
    result = reply.json()["result"]
    if token not in result["answer"] or any(token not in step["query"] for step in result["steps"][:-1]):
        tally.crossed += 1
    return 0


async def ask_stream(http: httpx.AsyncClient, url: str, token: str, tally: Tally) -> float:
    """Ask with a chat stream. Return 0 if there was an answer, or else the seconds to wait before repeating it."""
    body = {"model": "prefrag", "stream": True, "messages": [{"role": "user", "content": f"Where was {token} born?"}]}
    async with http.stream("POST", f"{url}/v1/chat/completions", json=body) as reply:
        if wait := _wait(reply):
            return wait
        lines = [line async for line in reply.aiter_lines() if line.startswith("data: ")]
    if not lines or lines[-1] != "data: [DONE]":
        raise ValueError("The stream ended without [DONE].")
    text = ""
    for line in lines[:-1]:
        for choice in json.loads(line[6:]).get("choices") or ():
            for key in ("content", "reasoning_content"):
                text += choice["delta"].get(key) or ""
    if f"answer {token}" not in text:
        raise ValueError("The stream had no answer.")
    if set(re.findall(r"Q-\d{6}", text)) != {token}:
        tally.crossed += 1
    return 0


def _wait(reply: httpx.Response) -> float:
    if reply.status_code in (429, 503) and "retry-after" in reply.headers:
        return float(reply.headers["retry-after"])
    reply.raise_for_status()
    return 0


@asynccontextmanager
async def watch_live(url: str) -> AsyncIterator[list[float]]:
    """Ask ``/live`` every tenth of a second, and yield the seconds that each answer took."""
    waits: list[float] = []
    ended = False

    async def watch() -> None:
        async with httpx.AsyncClient(timeout=None) as http:
            while not ended:
                began = time.monotonic()
                (await http.get(f"{url}/live")).raise_for_status()
                waits.append(time.monotonic() - began)
                await asyncio.sleep(0.1)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watch())
        yield waits
        ended = True


async def measure_largest(url: str) -> None:
    """Send the largest allowed requests one after the other. Print how slowly ``/live`` answered at the same time."""
    blanks = " " * 900_000
    turns = [{"role": role, "content": "x" * 20} for _ in range(9_000) for role in ("user", "assistant")]
    values = {"field": "meta.year", "operator": "in", "value": list(range(100_000))}
    nested: dict[str, Any] = {"field": "meta.year", "operator": "==", "value": 1}
    for _ in range(400):
        nested = {"operator": "AND", "conditions": [nested]}
    question = {"role": "user", "content": "Where was Q-100000 born?"}
    bodies: dict[str, dict[str, Any]] = {
        "an assistant turn of blanks": {"messages": [{"role": "assistant", "content": f"a{blanks}b"}, question]},
        "18,000 turns": {"messages": [*turns, question]},
        "a filter of 100,000 values": {"messages": [question], "prefrag": {"filters": values}},
        "a filter 400 deep": {"messages": [question], "prefrag": {"filters": nested}},
        "a question of brackets": {"messages": [{"role": "user", "content": "[1]" * 300_000}]},
    }
    async with httpx.AsyncClient(timeout=120) as http:
        for what, body in bodies.items():
            async with watch_live(url) as waits:
                await asyncio.sleep(0.5)
                reply = await http.post(f"{url}/v1/chat/completions", json={"model": "prefrag", **body})
                await asyncio.sleep(0.5)
            print(f"{what}: status {reply.status_code}, /live answered within {max(waits) * 1000:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--questions", type=int)
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--largest", action="store_true")
    options = parser.parse_args()
    model_port, port = free_port(), free_port()
    model = f"http://127.0.0.1:{model_port}/v1"
    simulated = [sys.executable, "-m", "benchmarks.model_server", "--port", str(model_port)]
    serving = [
        sys.executable,
        "-m",
        "prefrag.cli.main",
        "serve",
        "--port",
        str(port),
        "--workers",
        str(options.workers),
        "--demo",
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
        url = f"http://127.0.0.1:{port}"
        if options.largest:
            asyncio.run(measure_largest(url))
            return

        def print_memory(when: str = "after a tenth of the questions") -> None:
            sizes = ", ".join(f"{resident_mb(pid):.0f}" for pid in processes_of(server.pid))
            print(f"Resident memory of the serving processes ({options.workers} worker(s)), {when}: {sizes} MB")

        asyncio.run(load(url, options.clients, options.seconds, options.questions, options.stream, print_memory))
        print_memory("at the end")


if __name__ == "__main__":
    main()
