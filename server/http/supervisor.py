"""Run worker processes. The process that starts them holds the listening socket, and replaces those that are killed."""

import gc
import importlib
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from prefrag.errors import BadInput, PrefragError
from prefrag.file_lock import take_lock
from prefrag.server.http.readiness import leaving
from prefrag.settings import settings

# If this many processes are killed within this many seconds, the server ends.
_MOST_DEATHS = 5
_DEATHS_SECONDS = 60.0
# A folder of metrics that is younger is left alone, because its server may not have locked it yet.
_NEW_FOLDER_SECONDS = 60.0
_FOLDER = "prefrag-metrics-"
_STARTUP_FAILED = 3  # uvicorn's exit status
_STOPPING = (signal.SIGINT, signal.SIGTERM)
_CAUSES = {
    "SIGBUS": "a file that it reads, such as a file of an index, has been cut short or cannot be read any more",
    "SIGKILL": "somebody killed it, or the machine ran out of memory",
}


def run(app: str, **options: Any) -> None:
    """Serve with ``workers`` processes until a signal stops them."""
    # Listen for a moment, to report at once if the port is taken.
    _listen((options["host"], options["port"]), "--port").close()
    # Windows cannot share a socket among processes like that, so there is neither a replacement nor a metrics port.
    if sys.platform == "win32":
        uvicorn.run(app, **options)
        return
    config = uvicorn.Config(app, **options)
    listening = config.bind_socket()
    # A job for each process. All workers listen on the same socket.
    jobs = [(config, listening)] * config.workers
    address = settings.metrics_port
    if address:
        metrics = uvicorn.Config(
            "prefrag.server.http.metrics:create_app", factory=True, lifespan="off", log_config=None, access_log=False
        )
        jobs.append((metrics, _listen(address, "PREFRAG_METRICS_PORT")))
    shared_metrics = ExitStack()
    if len(jobs) > 1:
        shared_metrics.enter_context(_share_metrics())
    # Only Linux can safely fork a process that has loaded system libraries. On Linux, import everything once before the
    # forks, so that a new process is ready at once and shares memory with the others.
    forks = sys.platform == "linux"
    if forks:
        # Imported modules stay in memory, so save the time that garbage collection takes during the imports.
        gc.disable()
        importlib.import_module(app.partition(":")[0])
        gc.freeze()
        gc.enable()
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    # The running processes and their jobs, by the sentinel that tells when a process has ended.
    workers: dict[Any, tuple[BaseProcess, Any]] = {}
    is_stopping = False

    def stop() -> None:
        nonlocal is_stopping
        is_stopping = True
        for worker, _ in workers.values():
            worker.terminate()

    def start(job: tuple[uvicorn.Config, socket.socket]) -> None:
        # Block signals until `stop` knows this worker. The worker itself unblocks signals when it has set its handlers.
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
        worker = context.Process(target=_work, args=job)
        worker.start()
        workers[worker.sentinel] = worker, job
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)

    former_handlers = {number: signal.signal(number, lambda *_: stop()) for number in _STOPPING}
    deaths: deque[float] = deque(maxlen=_MOST_DEATHS)
    try:
        for job in jobs:
            start(job)
        while workers:
            for sentinel in wait(list(workers)):
                dead, job = workers.pop(sentinel)
                dead.join()
                if is_stopping:
                    continue
                _exit_if_not_killed(dead)
                _report_killed(dead)
                deaths.append(time.monotonic())
                if len(deaths) == _MOST_DEATHS and deaths[-1] - deaths[0] < _DEATHS_SECONDS:
                    raise PrefragError(
                        f"Serving processes were killed {_MOST_DEATHS} times in {_DEATHS_SECONDS:g} seconds. The log "
                        "names the signals: remove their causes, then start the server again."
                    )
                start(job)
    finally:
        stop()
        for worker, _ in workers.values():
            worker.join()
        for number, handler in former_handlers.items():
            signal.signal(number, handler)
        for _, bound in jobs:
            bound.close()
        shared_metrics.close()


def _listen(address: tuple[str, int], setting: str) -> socket.socket:
    host, port = address
    try:
        return socket.create_server(address, family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        # Python adds the address to the system's reason: "Address already in use (while attempting to bind on ...)".
        why = str(error.strerror).partition(" (while")[0]
        raise BadInput(f"{setting}: nothing can listen on port {port} of {host} ({why}). Use another port.") from error


@contextmanager
def _share_metrics() -> Iterator[None]:
    """Make the folder for the processes' metrics, and remove folders that killed servers have left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime <= _NEW_FOLDER_SECONDS:
                continue
            # The server of the folder holds the lock as long as it runs.
            with _lock_folder(folder) as is_left_behind:
                if is_left_behind:
                    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_FOLDER) as made, _lock_folder(made):
        # The Prometheus client reads this variable when the application is imported.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = made
        yield
        del os.environ["PROMETHEUS_MULTIPROC_DIR"]


@contextmanager
def _lock_folder(path: str | Path) -> Iterator[bool]:
    """Lock a folder for this process and the processes that it starts. Yield False if another server holds the lock."""
    file = os.open(path, os.O_RDONLY)
    try:
        yield take_lock(file)
    finally:
        os.close(file)


def _exit_if_not_killed(dead: BaseProcess) -> None:
    """End the whole server with the status of a process that has ended by itself, as when it fails to start."""
    # A negative exit code is the number of the signal that killed the process.
    code = dead.exitcode or 0
    if code >= 0:
        sys.exit(code)


def _report_killed(dead: BaseProcess) -> None:
    """Log which signal killed a process."""
    from hayhooks.server.logger import log

    from prefrag.server.http.log import configure_log
    from prefrag.server.http.metrics import forget_process

    configure_log()
    forget_process(dead.pid or 0)
    name = signal.Signals(-(dead.exitcode or 0)).name
    cause = f" ({_CAUSES[name]})" if name in _CAUSES else ""
    log.error("Process {} was killed by {}{}. Its runs are lost. A new process replaces it.", dead.pid, name, cause)


def _work(config: uvicorn.Config, listening: socket.socket) -> None:
    """Serve in a new process, which has the signal handlers of its parent until here, and blocks the signals."""
    for number in _STOPPING:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    server = _Server(config)
    server.run(sockets=[listening])
    if not server.started:
        sys.exit(_STARTUP_FAILED)


class _Server(uvicorn.Server):
    """A server that accepts requests for a while after SIGTERM, until load balancers have noticed that it stops."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start up, then exclude all loaded objects from garbage collection, which would block the event loop."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """On SIGTERM, make the readiness probe fail, and stop ``lame_duck_seconds`` later. On Ctrl-C, stop at once."""
        seconds = settings.lame_duck_seconds if sig == signal.SIGTERM else 0
        if not seconds:
            super().handle_exit(sig, frame)
        elif not leaving.is_set():
            # Only the first SIGTERM counts. If the signal goes to the whole process group, a worker gets two: this one,
            # and one that its parent sends.
            leaving.set()
            timer = threading.Timer(seconds, super().handle_exit, (sig, frame))
            timer.daemon = True
            timer.start()


def _stop_with_parent() -> None:
    """Stop this process when its parent has ended. Otherwise this process would keep the port occupied."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
