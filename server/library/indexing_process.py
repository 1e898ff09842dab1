"""Index files in separate processes, which can be stopped. If a process fails, the server goes on.

The module is both sides of this. In the server, :class:`IndexingProcesses` starts processes and gives them orders. An
order is an upload, or changes in a folder. In such a process, :func:`main` carries out the orders.
"""

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

# How many seconds to wait for a reply or a report of progress. After this time, the process is killed. A file can take
# five minutes, and an upload can have several files.
INDEX_SECONDS = 900.0
# After this many idle seconds, a process is ended. It occupies memory, but a new process would need seconds to import
# its modules.
IDLE_SECONDS = 300.0
# How many bytes of memory a process may allocate. Converting a file may need a hundred times the file's size.
_MOST_BYTES = 4_000_000_000
# How much the niceness of a process is raised. With a higher niceness, the system gives it less processor time.
_NICENESS = 5
# A process reports its progress at most once in this many seconds.
_SECONDS_BETWEEN_REPORTS = 0.5
# Called with how many bytes have been read, and how many there are to read in all.
OnBytes = Callable[[int, int], None]


class IndexingFailed(PrefragError):
    """The error when files could not be indexed.

    :param message: The reason.
    :param http_status: The HTTP status for the client.
    """

    def __init__(self, message: str, http_status: int = HTTPStatus.INTERNAL_SERVER_ERROR):
        super().__init__(message)
        self.http_status = http_status


class IndexingProcesses:
    """Runs processes that index files. Each process carries out orders, one after the other.

    A process reads orders from its standard input. An order is a line of JSON. For each order, the process may first
    write lines that report progress, and then writes the reply as a line of JSON. For an upload, the process locks the
    collection, not the server. A process ends when its input ends. This also happens when the server is killed.
    """

    def __init__(self) -> None:
        # All processes, at work or idle.
        self._running: set[subprocess.Popen[str]] = set()
        # The idle processes, each with the timer that will end it.
        self._waiting: dict[subprocess.Popen[str], threading.Timer] = {}
        # Protects `_waiting`, because several threads use it.
        self._one_at_a_time = threading.Lock()
        self._has_stopped = False

    def index(self, collection: Collection, incoming: Path) -> IndexReport:
        """Index uploaded files, and wait until all is done.

        :param collection: The collection that gets the files.
        :param incoming: The folder with the files.
        :raises IndexingFailed: If the files could not be indexed.
        """
        if not list_arrived(incoming):
            return IndexReport()
        return self._carry_out({"collection": collection.name, "store": collection.store, "incoming": str(incoming)})

    def follow(
        self, collection: LocalCollection, folder: Path, changed: Iterable[str], drives: Drives, on_bytes: OnBytes
    ) -> IndexReport:
        """Update the collection of a folder after files in the folder have changed. Wait until this is done.

        :param collection: The collection.
        :param folder: The folder.
        :param changed: The paths that have changed. The path of the folder itself stands for everything in the folder.
        :param drives: The drives on which the folder is, to notice if one of them is unplugged.
        :param on_bytes: Called with the progress.
        :raises IndexingFailed: If the files could not be indexed.
        """
        order = {"collection": collection.name, "folder": str(folder), "changed": list(changed), "drives": dict(drives)}
        return self._carry_out(order, on_bytes)

    def _carry_out(self, order: dict[str, Any], on_bytes: OnBytes | None = None) -> IndexReport:
        """Let an idle process or a new process carry out an order. Return its report."""
        process = self._take_waiting() or self._start()
        reply = self._send(process, order, on_bytes)
        has_failed = int(reply.get("status", 0)) == HTTPStatus.INTERNAL_SERVER_ERROR
        if has_failed or self._has_stopped:
            self._end(process)
        else:
            self._keep(process)
        if "error" in reply:
            raise IndexingFailed(str(reply["error"]), int(reply["status"]))

        # JSON has neither of these classes, so make their objects again.
        for name in ("skipped", "read_in_part"):
            reply[name] = [Skipped(**fields) for fields in reply[name]]
        reply["other_kinds"] = Counter(reply["other_kinds"])
        return IndexReport(**reply)

    def stop(self) -> None:
        """Kill all indexing processes. A process that is started after this is killed at once."""
        self._has_stopped = True
        for process in list(self._running):
            process.kill()

    def _send(self, process: subprocess.Popen[str], order: dict[str, Any], on_bytes: OnBytes | None) -> dict[str, Any]:
        """Send an order to a process, pass on its reports of progress, and return its reply.

        If the process ends or takes too long, it is killed, and the unfinished change of an upload is undone.
        """
        assert process.stdin is not None
        assert process.stdout is not None
        is_given_up = threading.Event()

        def give_up() -> None:
            is_given_up.set()
            process.kill()

        try:
            process.stdin.write(f"{json.dumps(order)}\n")
            process.stdin.flush()
            while True:
                timer = threading.Timer(INDEX_SECONDS, give_up)
                timer.start()
                try:
                    # If the process has ended, the line is empty, which is no JSON.
                    line: dict[str, Any] = json.loads(process.stdout.readline())
                finally:
                    timer.cancel()
                if on_bytes is None or "bytes" not in line:
                    return line
                on_bytes(*line["bytes"])
        except (OSError, ValueError) as error:
            self._end(process)
            if "incoming" in order:
                # Entering and leaving this context deletes what the dead process had begun.
                with open_collection(order["collection"], order["store"]).change():
                    pass
            if is_given_up.is_set():
                message = f"Indexing was stopped after {INDEX_SECONDS:g} s: send fewer or smaller files."
                raise IndexingFailed(message, HTTPStatus.GATEWAY_TIMEOUT) from error
            raise IndexingFailed("The indexing broke off.") from error

    def _start(self) -> subprocess.Popen[str]:
        """Start a process that runs :func:`main`. Its environment has no secrets but those that it needs."""
        import_path = os.pathsep.join(filter(None, sys.path))
        process = subprocess.Popen(
            # With -P, Python imports nothing from the current folder. Anybody may have put modules there.
            [sys.executable, "-P", "-m", __name__],
            env={**without_secrets(), **_elasticsearch(), "PYTHONPATH": import_path},
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
        """Take an idle process that is still alive. None if there is none."""
        with self._one_at_a_time:
            while self._waiting:
                process, timer = self._waiting.popitem()
                timer.cancel()
                if process.poll() is None:
                    return process
                self._running.discard(process)
        return None

    def _keep(self, process: subprocess.Popen[str]) -> None:
        """Keep an idle process for the next order, until its timer ends it."""
        timer = threading.Timer(IDLE_SECONDS, self._retire, [process])
        timer.daemon = True
        with self._one_at_a_time:
            self._waiting[process] = timer
        timer.start()

    def _retire(self, process: subprocess.Popen[str]) -> None:
        """End a process, if it is still idle."""
        with self._one_at_a_time:
            was_waiting = self._waiting.pop(process, None)
        if was_waiting:
            self._end(process)

    def _end(self, process: subprocess.Popen[str]) -> None:
        """Kill a process and close its pipes."""
        process.kill()
        process.wait()
        self._running.discard(process)
        for pipe in filter(None, (process.stdin, process.stdout)):
            # Closing the pipe may try to send the rest of an order, which fails because the process is dead.
            with suppress(OSError):
                pipe.close()


def index_files(collection: Collection, incoming: Path) -> dict[str, object]:
    """Index uploaded files in this process.

    :param collection: The collection that gets the files.
    :param incoming: The folder with the files.
    :returns: The fields of the report. If the indexing failed, `error` and `status` (the HTTP status) instead.
    """
    return _describe(lambda: add_uploads(collection, incoming, _choose_language(collection)))


def _describe(work: Callable[[], IndexReport]) -> dict[str, object]:
    """Do the work. Return its report for JSON, or the error."""
    try:
        report = work()
        # `asdict` would turn the pairs of key and count in a Counter into keys. JSON does not allow pairs as keys.
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

        def write(reply: dict[str, object]) -> None:
            replies.write(f"{json.dumps(reply)}\n")
            replies.flush()

        while True:
            order = json.loads(orders.get())
            if "folder" in order:
                write(_follow(order, write))
            else:
                collection = open_collection(order["collection"], order["store"])
                write(index_files(collection, Path(order["incoming"])))


def _follow(order: dict[str, Any], write: Callable[[dict[str, object]], None]) -> dict[str, object]:
    """Carry out an order to index changes in a folder. ``write`` sends the reports of progress."""
    last_report = 0.0

    def show(progress: Progress) -> None:
        nonlocal last_report
        if time.monotonic() - last_report >= _SECONDS_BETWEEN_REPORTS:
            write({"bytes": [progress.bytes_done, progress.bytes_total]})
            last_report = time.monotonic()

    folder = Path(order["folder"])
    drives = {drive: tuple(mark) for drive, mark in order["drives"].items()}
    collection = LocalCollection(order["collection"])
    return _describe(lambda: follow_changes(collection, folder, order["changed"], drives, show))


def _read_orders(orders: queue.SimpleQueue[str]) -> None:
    """Put each line of standard input into the queue. End the process when the input ends. This runs in a thread."""
    for line in sys.stdin:
        orders.put(line)
    # The server is gone. The next server waits until this process has lost its lock on the collection. Then the next
    # server finishes or undoes the change. `os._exit` ends all threads at once, so that none of them writes later.
    os._exit(0)


def _spare_the_server() -> None:
    """Lower the priority and limit the memory of this process. A file that needs more memory ends only this process."""
    # Ignore Ctrl-C, which reaches all processes of a terminal. The server decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        os.nice(_NICENESS)
        # This limits the memory that the process allocates. Index files that are mapped into memory do not count.
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))


def _elasticsearch() -> dict[str, str]:
    """Return the environment variables with which an indexing process reaches Elasticsearch.

    They are ``PREFRAG_ELASTICSEARCH_URL`` and others of this beginning. Empty if uploads do not go to Elasticsearch.
    """
    if settings.state != "elasticsearch":
        return {}
    variables = {name: value for name, value in os.environ.items() if re.match("PREFRAG_(?=ELASTICSEARCH_)", name)}
    # Leave out variables that this process has set from a file of a secret. The indexing process reads the file itself.
    return {name: value for name, value in variables.items() if not variables.get(f"{name}_FILE")}


def _choose_language(collection: Collection) -> str | None:
    """Return the language for a new collection: the language of the default collection.

    None if the collection exists already, or if there is no default collection.
    """
    if collection.exists:
        return None
    with suppress(FileNotFoundError):
        return open_collection(served_collection(), collection.store).language
    return None


if __name__ == "__main__":
    main()
