"""Index files in separate processes, which can be stopped. If one fails, the server goes on answering questions."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import Any

from prefrag.collections.changes.following import Drives, follow_changes
from prefrag.collections.changes.uploaded_files import list_arrived
from prefrag.collections.changes.uploads import add_uploads
from prefrag.collections.collection import Collection
from prefrag.collections.local_collection import LocalCollection
from prefrag.collections.opening import open_collection
from prefrag.errors import PrefragError, error_kind
from prefrag.indexing.converter_process import without_secrets
from prefrag.indexing.report import IndexReport, Progress, Skipped
from prefrag.server.library.collections import served_collection
from prefrag.settings import settings

# How long to wait for a reply or report of progress. A file can take five minutes, and uploads can have several files.
INDEX_SECONDS = 900.0
# How long an idle process is kept. It occupies memory, but a new process would need seconds to import its modules.
IDLE_SECONDS = 300.0
# How much memory a process may allocate. Converting a file may need a hundred times the file's size.
_MOST_BYTES = 4_000_000_000
_NICENESS = 5
_SECONDS_BETWEEN_REPORTS = 0.5
OnBytes = Callable[[int, int], None]  # called with how many bytes have been read, and how many are to be read in all


class IndexingFailed(PrefragError):
    """The error when files could not be indexed."""

    def __init__(self, message: str, http_status: int = HTTPStatus.INTERNAL_SERVER_ERROR):
        super().__init__(message)
        self.http_status = http_status


class IndexingProcesses:
    """Runs processes that index files. Each carries out one order (an upload, or changes in a folder) after another.

    A process reads orders from its standard input, one line of JSON for each. It may write lines that report progress,
    and its last line for an order is the reply. For an upload, the process and not the server locks the collection. A
    process ends when its input ends, which also happens when the server is killed.
    """

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._waiting: dict[subprocess.Popen[str], threading.Timer] = {}
        self._one_at_a_time = threading.Lock()
        self._has_stopped = False

    def index(self, collection: Collection, incoming: Path) -> IndexReport:
        """Index the uploaded files in `incoming`, and wait until all is done."""
        if not list_arrived(incoming):
            return IndexReport()
        return self._carry_out({"collection": collection.name, "store": collection.store, "incoming": str(incoming)})

    def follow(
        self, collection: LocalCollection, folder: Path, changed: Iterable[str], drives: Drives, on_bytes: OnBytes
    ) -> IndexReport:
        """Update the collection of a folder after files in the folder have changed. Wait until this is done."""
        order = {"collection": collection.name, "folder": str(folder), "changed": list(changed), "drives": dict(drives)}
        return self._carry_out(order, on_bytes)

    def _carry_out(self, order: dict[str, Any], on_bytes: OnBytes | None = None) -> IndexReport:
        process = self._take_waiting() or self._start()
        reply = self._order(process, order, on_bytes)
        if int(reply.get("status", 0)) == HTTPStatus.INTERNAL_SERVER_ERROR or self._has_stopped:
            self._end(process)
        else:
            self._keep(process)
        if "error" in reply:
            raise IndexingFailed(str(reply["error"]), int(reply["status"]))
        # JSON knows neither of the two classes.
        for name in ("skipped", "read_in_part"):
            reply[name] = [Skipped(**fields) for fields in reply[name]]
        reply["other_kinds"] = Counter(reply["other_kinds"])
        return IndexReport(**reply)

    def stop(self) -> None:
        """Kill all indexing processes. A process that is started after this is killed at once."""
        self._has_stopped = True
        for process in list(self._running):
            process.kill()

    def _order(self, process: subprocess.Popen[str], order: dict[str, Any], on_bytes: OnBytes | None) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def give_up() -> None:
            late.set()
            process.kill()

        try:
            process.stdin.write(f"{json.dumps(order)}\n")
            process.stdin.flush()
            while True:
                timer = threading.Timer(INDEX_SECONDS, give_up)
                timer.start()
                try:
                    reply: dict[str, Any] = json.loads(process.stdout.readline())
                finally:
                    timer.cancel()
                if on_bytes is None or "bytes" not in reply:
                    return reply
                on_bytes(*reply["bytes"])
        except (OSError, ValueError) as error:
            self._end(process)
            if "incoming" in order:
                # Leaving this context sweeps away what the dead process had begun.
                with open_collection(order["collection"], order["store"]).change():
                    pass
            if late.is_set():
                message = f"Indexing was stopped after {INDEX_SECONDS:g} s: send fewer or smaller files."
                raise IndexingFailed(message, HTTPStatus.GATEWAY_TIMEOUT) from error
            raise IndexingFailed("The indexing broke off.") from error

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            # -P: import nothing from the current folder, because anybody may have put modules there.
            [sys.executable, "-P", "-m", __name__],
            env={**without_secrets(), **_elasticsearch(), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._running.add(process)
        if self._has_stopped:
            process.kill()
        return process

    def _take_waiting(self) -> subprocess.Popen[str] | None:
        with self._one_at_a_time:
            while self._waiting:
                process, timer = self._waiting.popitem()
                timer.cancel()
                if process.poll() is None:
                    return process
                self._running.discard(process)
        return None

    def _keep(self, process: subprocess.Popen[str]) -> None:
        timer = threading.Timer(IDLE_SECONDS, self._retire, [process])
        timer.daemon = True
        with self._one_at_a_time:
            self._waiting[process] = timer
        timer.start()

    def _retire(self, process: subprocess.Popen[str]) -> None:
        with self._one_at_a_time:
            was_waiting = self._waiting.pop(process, None)
        if was_waiting:
            self._end(process)

    def _end(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        process.wait()
        self._running.discard(process)
        for pipe in filter(None, (process.stdin, process.stdout)):
            # Closing the pipe may try to send the rest of an order, which fails because the process is dead.
            with suppress(OSError):
                pipe.close()


def index_files(collection: Collection, incoming: Path) -> dict[str, Any]:
    """Index uploaded files in this process. Return the report, or the error with its HTTP status."""
    return _describe(lambda: add_uploads(collection, incoming, _choose_language(collection)))


def _describe(work: Callable[[], IndexReport]) -> dict[str, Any]:
    try:
        report = work()
        # `asdict` would turn a Counter's pairs of key and count into keys. JSON does not allow pairs as keys.
        return {**asdict(report), "other_kinds": report.other_kinds}
    except Exception as error:
        status = getattr(error, "http_status", error_kind(error).http_status)
        return {"error": str(error) or type(error).__name__, "status": status}


def main() -> None:
    """Carry out the orders on standard input until the input ends, and reply on standard output."""
    # Redirect what libraries print to standard error, because the server reads replies from standard output.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as replies:
        os.dup2(2, 1)
        _spare_the_server()
        orders: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=_read_orders, args=[orders], daemon=True).start()

        def write(reply: dict[str, Any]) -> None:
            replies.write(f"{json.dumps(reply)}\n")
            replies.flush()

        while True:
            order = json.loads(orders.get())
            if "folder" in order:
                write(_follow(order, write))
            else:
                collection = open_collection(order["collection"], order["store"])
                write(index_files(collection, Path(order["incoming"])))


def _follow(order: dict[str, Any], write: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    last = 0.0

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_REPORTS:
            write({"bytes": [progress.bytes_done, progress.bytes_total]})
            last = time.monotonic()

    folder = Path(order["folder"])
    drives = {drive: tuple(mark) for drive, mark in order["drives"].items()}
    collection = LocalCollection(order["collection"])
    return _describe(lambda: follow_changes(collection, folder, order["changed"], drives, show))


def _read_orders(orders: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        orders.put(line)
    # The server is gone. The next server waits until this process has lost its lock on the collection, and then
    # finishes or undoes the change. `os._exit` ends all threads at once, so that none of them writes after that.
    os._exit(0)


def _spare_the_server() -> None:
    """Lower the priority and limit the memory of this process. A file that needs more memory ends only this process."""
    # Ignore Ctrl-C, which reaches all processes of a terminal: the server decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        os.nice(_NICENESS)
        # This limits the memory that the process allocates. Index files that are mapped into memory do not count.
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))


def _elasticsearch() -> dict[str, str]:
    """Return the environment variables with which the indexing process reaches Elasticsearch, if uploads go there."""
    if settings.state != "elasticsearch":
        return {}
    own = {name: value for name, value in os.environ.items() if re.match("PREFRAG_(?=ELASTICSEARCH_)", name)}
    # Leave out variables that this process has set from a secrets file. The indexing process reads the file itself.
    return {name: value for name, value in own.items() if not own.get(f"{name}_FILE")}


def _choose_language(collection: Collection) -> str | None:
    """Return the language for a new collection: that of the collection which is served."""
    if collection.exists:
        return None
    with suppress(FileNotFoundError):
        return open_collection(served_collection(), collection.store).language
    return None


if __name__ == "__main__":
    main()
