"""Check that a server answers again after the mapped files of its index were cut short, or a signal killed it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import httpx

from benchmarks.load import free_port, process, processes_of

WITHIN_SECONDS = 5.0
_QUESTION = {"question": "Who designed the Shearwater Current Meter?"}


def cut_series(data: Path, index: Path, times: int) -> list[str]:
    """Cut the files short, ask, and restore them. Finally kill the serving process. Return what went wrong."""
    port, wrong, statuses = free_port(), [], Counter[str]()
    url = f"http://127.0.0.1:{port}"
    mapped = [file for file in index.iterdir() if len(file.name.partition(".")[0]) == 32]
    command = [sys.executable, "-m", "prefrag.cli.main", "serve", "--pipeline", "vanilla_local", "--port", str(port)]
    environment = {"PREFRAG_DATA_DIR": str(data), "PREFRAG_WEB": "off", "HAYHOOKS_LOG_LEVEL": "ERROR"}
    with process(*command, ready=f"{url}/live", **environment) as server:

        def ask() -> str:
            try:
                return str(httpx.post(f"{url}/vanilla_local/run", json=_QUESTION, timeout=60).status_code)
            except httpx.HTTPError as error:
                return type(error).__name__

        def alive_after() -> float:
            began = time.monotonic()
            while time.monotonic() < began + 10 * WITHIN_SECONDS:
                try:
                    httpx.get(f"{url}/live", timeout=10 * WITHIN_SECONDS)
                    return time.monotonic() - began
                except httpx.HTTPError:
                    time.sleep(0.01)
            return float("inf")

        def worker() -> int:
            return processes_of(server.pid)[1]

        first = worker()
        for number in range(times):
            if ask() != "200":
                wrong.append(f"Round {number}: the first question did not get status 200.")
            contents = {file: file.read_bytes() for file in mapped}
            for file in mapped:
                os.truncate(file, (0, 10, len(contents[file]) // 2)[number % 3])
            statuses[ask()] += 1
            seconds = alive_after()
            if seconds > WITHIN_SECONDS:
                wrong.append(f"Round {number}: the server answered again only after {seconds:.1f} s.")
            for file, content in contents.items():
                with file.open("r+b") as opened:
                    opened.write(content)
        stayed = worker() == first
        os.kill(worker(), signal.SIGBUS)
        seconds = alive_after()
        served_by = "the same process" if stayed else "several processes"
        print(
            f"{len(mapped)} files were cut short {times} times. Statuses of the next question: {dict(statuses)}; "
            f"served by {served_by}. After SIGBUS the server answered "
            f"within {seconds:.1f} s, and the next question got {ask()}.",
            flush=True,
        )
    if seconds > WITHIN_SECONDS or statuses.keys() - {"502", "503"}:
        wrong.append("A status was neither 502 nor 503, or the server answered too late after SIGBUS.")
    return wrong
