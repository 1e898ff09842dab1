"""Measure how soon `prefrag FOLDER` answers from an existing index, and check the index after random changes.

    python -m benchmarks.followed_folder [--data FILE] [--files N] [--rounds N] [--changes N]

Each file is one passage, by default from `reading/train.jsonl` beside the checkout. Passages are repeated if there are
too few. The first start of the command indexes the folder. Each round starts the command again, and asks a question
until the answer is from the folder. The processor time (Linux) is what the server needed until then, without reading
the folder. At the end of the last round, files are added, changed, moved and deleted at random, and folders are moved.
The benchmark waits until the index holds exactly the files of the folder with their present contents. Memory (Linux) is
the peak of all processes of the command together, measured twice a second. Shared memory counts once (PSS).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import typer

from benchmarks.load import free_port
from benchmarks.places import DATA
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.indexing.file_conversion import fingerprint

_FILES_A_FOLDER = 50
_DEADLINE_SECONDS = 1_800.0
_QUESTION = "Which building stands at the quay of Pellhaven?"


class Service:
    """A running `prefrag FOLDER`."""

    def __init__(self, port: int, process: int) -> None:
        self.process = process
        self.peak = 0
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120)

    def answer(self) -> bool:
        """Ask the question, and return whether the reply has the answer."""
        try:
            reply = self.client.post("/prefrag/run", json={"question": _QUESTION})
        except httpx.TransportError:
            return False
        return "customs house" in reply.raise_for_status().text

    def state(self) -> dict[str, Any]:
        """Return how far the folder has been read."""
        [collection] = self.client.get("/collections").json()["collections"]
        return collection["folder"]

    def processor_seconds(self) -> float:
        """Add up the processor time of the command and of the process that serves."""
        own = [str(self.process), *Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split()]
        times = [Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()[11:13] for process in own]
        return sum(int(ticks) for both in times for ticks in both) / os.sysconf("SC_CLK_TCK")

    def all_processor_seconds(self) -> float:
        """Add up the processor time of all processes of the command, including those that have ended."""
        times = [
            Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()[11:15] for process in self._family()
        ]
        return sum(int(ticks) for four in times for ticks in four) / os.sysconf("SC_CLK_TCK")

    def watch_memory(self) -> None:
        """Record the peak memory of all processes together until the command ends."""
        while Path(f"/proc/{self.process}/smaps_rollup").exists():
            # If a process has just ended, its file is empty or no longer exists.
            with suppress(OSError, IndexError):
                rolls = [Path(f"/proc/{process}/smaps_rollup").read_text() for process in self._family()]
                self.peak = max(self.peak, sum(int(roll.split("Pss:")[1].split()[0]) for roll in rolls))
            time.sleep(0.5)

    def cost(self) -> str:
        """Describe the processor time and memory of all processes so far."""
        return f"{self.all_processor_seconds():.1f} s of processor time, at most {self.peak / 1024:.0f} MiB"

    def _family(self) -> list[str]:
        family = [str(self.process)]
        for process in family:
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                family += children.read_text().split()
        return family


@contextmanager
def start(folder: Path) -> Iterator[Service]:
    port = free_port()
    command = [sys.executable, "-m", "prefrag.cli.main", str(folder), "--no-browser", "--port", str(port)]
    with (folder.parent / "log").open("ab") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        service = Service(port, process.pid)
        threading.Thread(target=service.watch_memory, daemon=True).start()
        try:
            yield service
        finally:
            process.send_signal(signal.SIGTERM)


def wait(condition: Callable[[], object], seconds: float = 0.02) -> float:
    """Wait until a condition holds, and return the seconds that it took."""
    began = time.perf_counter()
    while not condition():
        if time.perf_counter() - began > _DEADLINE_SECONDS:
            raise SystemExit(f"The answer or the state that was waited for did not come in {_DEADLINE_SECONDS:g} s.")
        time.sleep(seconds)
    return time.perf_counter() - began


def fill(folder: Path, data: Path, files: int) -> None:
    texts = [json.loads(line)["text"] for line in data.read_text(encoding="utf-8").splitlines()[:files]]
    for number in range(files):
        file = folder / f"{number // _FILES_A_FOLDER:04}" / f"{number:06}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{texts[number % len(texts)]}\n\n{number}\n", encoding="utf-8")
    (folder / "quay.txt").write_text("The customs house stands at the quay of Pellhaven.", encoding="utf-8")


def change(folder: Path, number: int) -> None:
    """Make a random change in the folder."""
    folders = sorted(path for path in folder.iterdir() if path.is_dir())
    file = random.choice(sorted(random.choice(folders).iterdir()))
    match random.randrange(9):
        case 0 | 1:
            (file.parent / f"new-{number}.txt").write_text(f"The bell of {number} was cast in Brannock.")
        case 2 | 3:
            file.write_text(f"The tower of {number} was built by Ada Quill.")
        case 4 | 5:
            file.rename(file.with_name(f"moved-{number}.txt"))
        case 6 | 7:
            # The last file stays, because an empty folder would look like the mount point of a missing drive.
            file.unlink() if len(os.listdir(file.parent)) > 1 else file.touch()
        case _:
            file.parent.rename(folder / f"moved-{number}")


def is_same(folder: Path) -> bool:
    """Check whether the index holds exactly the files of the folder with their present contents."""
    store = TantivyDocumentStore(path=str(index_path(folder.name)))
    indexed = {(document.meta["file_path"], document.meta["file_hash"]) for document in store.iterate_documents()}
    return indexed == {(str(path), fingerprint(path.read_bytes())) for path in folder.rglob("*") if path.is_file()}


def main(data: Path = DATA / "reading" / "train.jsonl", files: int = 2_000, rounds: int = 5, changes: int = 0) -> None:
    random.seed(1)
    place = Path(tempfile.mkdtemp(prefix="prefrag-followed-"))
    os.environ |= {"PREFRAG_DATA_DIR": str(place / "data"), "PREFRAG_WEB": "off"}
    folder = place / "Documents"
    fill(folder, data, files)
    try:
        with start(folder) as service:
            whole = wait(lambda: service.answer() and service.state()["state"] == "following", 1.0)
            print(f"{files} files read in {whole:.1f} s, {service.cost()}", flush=True)
        seconds = []
        for _ in range(rounds):
            with start(folder) as service:
                seconds.append(wait(service.answer))
                spent = f"{seconds[-1]:.1f} s, {service.processor_seconds():.1f} s of processor time"
                print(f"first answer {spent}, {service.state()}, load {os.getloadavg()[0]:.1f}", flush=True)
                ready = wait(lambda: service.state()["state"] == "following", 0.2)
                print(f"the whole folder was checked {ready:.1f} s later", flush=True)
                if len(seconds) == rounds and changes:
                    for number in range(changes):
                        change(folder, number)
                        time.sleep(random.choice((0, 0, 0.01, 0.5)))
                    later = wait(lambda: is_same(folder), 1.0)
                    print(f"{changes} changes to {files} files: index and folder agreed {later:.1f} s after the last")
                    print(f"from the start until then {service.cost()}, load {os.getloadavg()[0]:.1f}")
        print(f"median of the first answers {median(seconds):.1f} s")
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    typer.run(main)
