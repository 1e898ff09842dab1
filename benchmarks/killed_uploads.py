"""Kill a server and its indexing process at many points of an upload or a deletion, and check what is left.

Each time, SIGKILL ends the whole group of processes, as if a container or a machine had no memory left. Then the server
starts again. The files must agree with the index, and all files must be as before the change, or all as after it. If
the change was acknowledged, all must be as after it. The folder of uploads may not contain anything else.

    python -m benchmarks.faults --kills 50

With `PREFRAG_STATE=elasticsearch`, documents and files are kept in Elasticsearch, which no other server may use then.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import median

import httpx
from elasticsearch import helpers
from haystack import Document

from benchmarks.load import START_DEADLINE_SECONDS, free_port
from prefrag.collections.changes.shared_uploads import UPLOAD_INDEX
from prefrag.collections.stores import connect_elasticsearch
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.indexing.file_conversion import fingerprint
from prefrag.settings import settings

_PREFRAG = (sys.executable, "-m", "prefrag.cli.main")
_TEXT = "The board of the harbour met in May and spoke of buoys, boats and the tower. "


class KilledServer:
    """A server over a folder of data, which can be killed and started again.

    :param data: The folder, which must be empty.
    """

    def __init__(self, data: Path):
        self.data = data
        self._environment = {**os.environ, "PREFRAG_DATA_DIR": str(data), "PREFRAG_COLLECTIONS": "all"}
        self._environment |= {"PREFRAG_WEB": "off", "HAYHOOKS_LOG_LEVEL": "ERROR"}
        self._is_shared = settings.state == "elasticsearch"
        self._environment |= {"PREFRAG_INDEX": "own"} | ({"PREFRAG_COLLECTIONS": "kept"} if self._is_shared else {})
        (data / "own.txt").write_text(_TEXT)
        store = "elasticsearch" if self._is_shared else "tantivy"
        self._run("index", str(data / "own.txt"), "--store", store, "--index", "own")
        self._headers = {"Authorization": f"Bearer {self._run('keys', 'add', 'loader', '--write').split()[0]}"}
        self.start()

    def _run(self, *command: str) -> str:
        done = subprocess.run([*_PREFRAG, *command], env=self._environment, capture_output=True, text=True, check=True)
        return done.stdout

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        port = free_port()
        pipeline = "prefrag_elasticsearch" if self._is_shared else "vanilla_local"
        command = [*_PREFRAG, "serve", "--port", str(port), "--pipeline", pipeline]
        output = (self.data / "log").open("ab")
        self._process = subprocess.Popen(
            command, env=self._environment, stdout=output, stderr=output, start_new_session=True
        )
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=self._headers, timeout=120)
        deadline = time.monotonic() + START_DEADLINE_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if self._client.get("/live").status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.05)
        raise SystemExit(f"The server did not start:\n{(self.data / 'log').read_text()[-3000:]}")

    def kill(self) -> None:
        """Kill the server and all processes that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def upload(self, files: dict[str, str]) -> bool:
        """Upload files, and return whether the upload was acknowledged."""
        parts = [("files", (name, text)) for name, text in files.items()]
        try:
            return self._client.post("/collections/kept/documents", files=parts).status_code == 200
        except httpx.HTTPError:
            return False

    def delete(self, name: str) -> bool:
        """Delete a document, and return whether the deletion was acknowledged."""
        try:
            listed = self._client.get("/collections/kept/documents").json()["documents"]
            [number] = [document["id"] for document in listed if document["name"] == name]
            return self._client.delete(f"/collections/kept/documents/{number}").status_code == 200
        except httpx.HTTPError:
            return False

    def processor_seconds(self) -> float:
        """Add up the processor time of the processes that the server started, without the server itself."""
        ticks = 0
        for status in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = status.read_text().rpartition(") ")[2].split()
                if int(fields[2]) == self._process.pid != int(status.parent.name):
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def find_differences(self) -> tuple[dict[str, str], list[str]]:
        """Return the fingerprints of the uploaded files, and a list of their differences from the index."""
        if self._is_shared:
            names, wrong, passages = _read_shared()
        else:
            uploads = self.data / "uploads"
            paths = [path for path in uploads.rglob("*") if path.is_file()]
            names = {path.name: fingerprint(path.read_bytes()) for path in paths}
            wrong = ["a file is there twice"] if len(names) < len(paths) else []
            wrong += [f"{path} is left" for path in paths if path.parents[1] != uploads / "kept"]
            passages = TantivyDocumentStore(path=str(self.data / "indexes" / "kept")).filter_documents()
        indexed: dict[str, list[Document]] = {}
        for passage in passages:
            indexed.setdefault(Path(passage.meta["file_path"]).name, []).append(passage)
        wrong += [f"{name} is indexed, but its file is missing" for name in indexed.keys() - names.keys()]
        for name, mark in names.items():
            whole = {(passage.meta["file_hash"], passage.meta["split_count"]) for passage in indexed.get(name, ())}
            if whole != {(mark, len(indexed.get(name, ())))}:
                wrong.append(f"{name} differs from the index")
        return names, wrong


def _read_shared() -> tuple[dict[str, str], list[str], list[Document]]:
    """Read the names of the uploaded files from Elasticsearch, any leftovers of uploads, and the indexed passages."""
    with connect_elasticsearch() as client:
        deadline = time.monotonic() + START_DEADLINE_SECONDS
        # Wait until the new server has finished or undone the interrupted change, which is locked until then.
        while client.exists(index=UPLOAD_INDEX, id="lock:kept") and time.monotonic() < deadline:
            time.sleep(0.2)
        client.indices.refresh(index=UPLOAD_INDEX)
        records = {hit["_id"]: hit["_source"] for hit in helpers.scan(client, index=UPLOAD_INDEX)}
        left = [f"{name} is left" for name, record in records.items() if record["kind"] != "file"]
        passages = [Document(meta=hit["_source"]) for hit in helpers.scan(client, index="kept")]
        hashes = {Path(passage.meta["file_path"]).name: passage.meta["file_hash"] for passage in passages}
        names = {record["name"]: hashes.get(record["name"], "") for record in records.values() if "name" in record}
        return names, left, passages


def kill_series(points: int, data: Path) -> list[str]:
    """Kill a server at many points, print how the changes ended, and list what is wrong."""
    server = KilledServer(data)
    server.upload({"keep.txt": _TEXT * 300, "gone.txt": _TEXT, "more.txt": _TEXT})
    problems: list[str] = []
    seen: Counter[str] = Counter()
    times = []
    try:
        for number in range(points):
            kind = "upload" if number % 3 else "delete"
            # First make a change like it twice. The second time is taken, so that imports do not count.
            for again in range(2):
                began, spent = time.monotonic(), server.processor_seconds()
                change, _ = _make_change(server, kind, f"{number}-{again}")
                change()
                took = time.monotonic() - began
            if kind == "upload":
                times.append(server.processor_seconds() - spent)
            before, _ = server.find_differences()
            change, after = _make_change(server, kind, str(number))
            with ThreadPoolExecutor(1) as pool:
                reply = pool.submit(change)
                time.sleep(0.9 * took * (number + 0.5) / points)
                server.kill()
            acknowledged = reply.result()
            server.start()
            files, wrong = server.find_differences()
            if files not in (before, after):
                wrong.append("the files are neither as before the change nor as after it")
            if acknowledged and files != after:
                wrong.append("an acknowledged change is lost")
            outcome = "finished" if files == after else "undone"
            if acknowledged:
                outcome = "acknowledged"
            seen[f"{kind} {outcome}"] += 1
            problems += [f"point {number}: {problem}" for problem in wrong]
    finally:
        server.kill()
    outcomes = ", ".join(f"{count} {name}" for name, count in sorted(seen.items()))
    print(
        f"{points} kills: {outcomes}; {len(problems)} "
        f"problems. For an upload of three files, a waiting indexing process needed {median(times):.2f} s of processor "
        f"time (median), {max(times):.2f} s at most.",
        flush=True,
    )
    return problems


def _make_change(server: KilledServer, kind: str, version: str) -> tuple[Callable[[], bool], dict[str, str]]:
    """Return a function that changes the files (one replaced and two added, or one deleted), and the files after it."""
    before, _ = server.find_differences()
    if kind == "upload":
        names = ("keep.txt", f"a{version}.txt", f"b{version}.txt")
        text = f"Version {version}. {_TEXT * 300}"
        after = {**before, **dict.fromkeys(names, fingerprint(text.encode()))}
        return partial(server.upload, dict.fromkeys(names, text)), after
    gone = max(before)
    return partial(server.delete, gone), {name: mark for name, mark in before.items() if name != gone}
