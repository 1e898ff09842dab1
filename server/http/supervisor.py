"""Run the worker processes of `prefrag serve`.

1. The parent process opens the listening socket.
2. It starts the workers, which all accept connections on this socket.
3. It waits. If a worker is killed, it starts a new worker. If a worker ends by itself, the whole server ends.
4. After SIGTERM or Ctrl-C it stops all workers and waits for them.
"""

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

# If this many processes are killed within `_DEATHS_SECONDS`, the server ends.
_MOST_DEATHS = 5
# The period for `_MOST_DEATHS`, in seconds.
_DEATHS_SECONDS = 60.0
# A folder of metrics that is not older than this many seconds is not removed. Its server may not have locked it yet.
_NEW_FOLDER_SECONDS = 60.0
# How the names of these folders begin.
_FOLDER = "prefrag-metrics-"
# The exit status of uvicorn if the application cannot be started.
_STARTUP_FAILED = 3
# The signals that stop the server: Ctrl-C and SIGTERM.
_STOPPING = (signal.SIGINT, signal.SIGTERM)
# The likely cause of each signal, for the log.
_CAUSES = {
    "SIGBUS": "a file that it reads, such as a file of an index, has been cut short or cannot be read any more",
    "SIGKILL": "somebody killed it, or the machine ran out of memory",
}
# What a process serves, and on which socket.
_Job = tuple[uvicorn.Config, socket.socket]


def run(app: str, **options: Any) -> None:
    """Serve an application with several processes until a signal stops them.

    :param app: The function that builds the application, such as ``"prefrag.server.app:create_app"``.
    :param options: The options of uvicorn. ``host`` and ``port`` are required. ``workers`` is the number of processes.
    :raises BadInput: If nothing can listen on the port.
    :raises PrefragError: If too many processes are killed in a short time.
    """
    # Listen for a moment, to report at once if the port is taken.
    _listen((options["host"], options["port"]), "--port").close()
    # Windows cannot share a socket among processes in this way. So killed processes are not replaced there. There is
    # also no metrics port.
    if sys.platform == "win32":
        uvicorn.run(app, **options)
        return

    jobs = _list_jobs(uvicorn.Config(app, **options))
    shared_metrics = ExitStack()
    if len(jobs) > 1:
        shared_metrics.enter_context(_share_metrics())

    # Only Linux can safely fork a process that has loaded system libraries. On Linux, import everything once before the
    # forks. Then a new process is ready at once, and shares memory with the others.
    forks = sys.platform == "linux"
    if forks:
        _import_module_of(app)
    workers = _Workers("fork" if forks else "spawn")
    former_handlers = {number: signal.signal(number, lambda *_: workers.stop()) for number in _STOPPING}
    try:
        for job in jobs:
            workers.start(job)
        workers.replace_killed()
    finally:
        workers.stop()
        workers.join()
        for number, handler in former_handlers.items():
            signal.signal(number, handler)
        for _, bound in jobs:
            bound.close()
        shared_metrics.close()


class _Workers:
    """The running processes.

    :param start_method: How processes are started: ``fork`` or ``spawn``.
    """

    def __init__(self, start_method: str):
        self._context: Any = multiprocessing.get_context(start_method)
        # The running processes and their jobs, by the sentinel of the process. `wait` returns the sentinels of
        # processes that have ended.
        self._running: dict[Any, tuple[BaseProcess, _Job]] = {}
        self._is_stopping = False

    def start(self, job: _Job) -> None:
        """Start a process for a job."""
        # Block signals until this worker is in `_running`, where `stop` finds it. The worker itself unblocks signals
        # when it has set its handlers.
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
        worker = self._context.Process(target=_work, args=job)
        worker.start()
        self._running[worker.sentinel] = worker, job
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)

    def replace_killed(self) -> None:
        """Wait until all processes have ended. Replace those that are killed, unless there are too many of them."""
        deaths: deque[float] = deque(maxlen=_MOST_DEATHS)
        while self._running:
            for sentinel in wait(list(self._running)):
                dead, job = self._running.pop(sentinel)
                dead.join()
                if self._is_stopping:
                    continue
                _exit_if_not_killed(dead)
                _report_killed(dead)
                deaths.append(time.monotonic())
                if len(deaths) == _MOST_DEATHS and deaths[-1] - deaths[0] < _DEATHS_SECONDS:
                    raise PrefragError(
                        f"Serving processes were killed {_MOST_DEATHS} times in {_DEATHS_SECONDS:g} seconds. The log "
                        "names the signals: remove their causes, then start the server again."
                    )
                self.start(job)

    def stop(self) -> None:
        """Tell all processes to stop, without waiting for them."""
        self._is_stopping = True
        for worker, _ in self._running.values():
            worker.terminate()

    def join(self) -> None:
        """Wait for the end of all processes."""
        for worker, _ in self._running.values():
            worker.join()


def _list_jobs(config: uvicorn.Config) -> list[_Job]:
    """Make a job for each process: what it serves, and on which socket. All workers listen on the same socket."""
    listening = config.bind_socket()
    jobs = [(config, listening)] * config.workers
    address = settings.metrics_port
    if address:
        metrics = uvicorn.Config(
            "prefrag.server.http.metrics:create_app", factory=True, lifespan="off", log_config=None, access_log=False
        )
        jobs.append((metrics, _listen(address, "PREFRAG_METRICS_PORT")))
    return jobs


def _import_module_of(app: str) -> None:
    """Import the module of an application and all modules that it needs."""
    # Imported modules stay in memory. So garbage collection during the imports would find nothing and only take time.
    gc.disable()
    module_name, _, _ = app.partition(":")
    importlib.import_module(module_name)
    gc.freeze()
    gc.enable()


def _listen(address: tuple[str, int], setting: str) -> socket.socket:
    """Open a socket that listens on an address. If this fails, the error names the setting with the port."""
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        # Python adds the address to the system's reason: "Address already in use (while attempting to bind on ...)".
        why, _, _ = str(error.strerror).partition(" (while")
        raise BadInput(f"{setting}: nothing can listen on port {port} of {host} ({why}). Use another port.") from error


@contextmanager
def _share_metrics() -> Iterator[None]:
    """Make the folder for the processes' metrics, and remove folders that killed servers have left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime <= _NEW_FOLDER_SECONDS:
                continue
            # While the server of the folder runs, it has the lock.
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
    """Lock a folder for this process and the processes that it starts.

    Yield True if this process has the lock now, and False if another server has it.
    """
    file = os.open(path, os.O_RDONLY)
    try:
        yield take_lock(file)
    finally:
        os.close(file)


def _exit_if_not_killed(dead: BaseProcess) -> None:
    """If a process was not killed but ended by itself, end the whole server with the same status.

    For example, a process ends by itself if it fails to start.
    """
    # A negative exit code is the number of the signal that killed the process.
    code = dead.exitcode or 0
    if code >= 0:
        sys.exit(code)


def _report_killed(dead: BaseProcess) -> None:
    """Log which signal killed a process, and the likely cause."""
    from hayhooks.server.logger import log

    from prefrag.server.http.log import configure_log
    from prefrag.server.http.metrics import forget_process

    configure_log()
    forget_process(dead.pid or 0)
    name = signal.Signals(-(dead.exitcode or 0)).name
    cause = f" ({_CAUSES[name]})" if name in _CAUSES else ""
    log.error("Process {} was killed by {}{}. Its runs are lost. A new process replaces it.", dead.pid, name, cause)


def _work(config: uvicorn.Config, listening: socket.socket) -> None:
    """Serve in a new process.

    Until here, the process has the signal handlers of its parent, and signals are blocked.
    """
    for number in _STOPPING:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    server = _Server(config)
    server.run(sockets=[listening])
    if not server.started:
        sys.exit(_STARTUP_FAILED)


class _Server(uvicorn.Server):
    """A server that still accepts requests for a while after SIGTERM.

    Meanwhile load balancers notice that the server is going to stop.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start up, then exclude all loaded objects from garbage collection. It would block the event loop.

        :param sockets: The sockets to listen on.
        """
        await super().startup(sockets)
        gc.collect()
        gc.freeze()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """On SIGTERM, make the readiness probe fail, and stop ``lame_duck_seconds`` later. On Ctrl-C, stop at once.

        :param sig: The signal.
        :param frame: What was running when the signal came.
        """
        seconds = settings.lame_duck_seconds if sig == signal.SIGTERM else 0
        if not seconds:
            super().handle_exit(sig, frame)
        elif not leaving.is_set():
            # Only the first SIGTERM counts. If the signal goes to the whole process group, a worker gets it twice:
            # directly, and from its parent.
            leaving.set()
            timer = threading.Timer(seconds, super().handle_exit, (sig, frame))
            timer.daemon = True
            timer.start()


def _stop_with_parent() -> None:
    """Stop this process when its parent has ended. Otherwise the process would keep the port occupied.

    This runs in a thread.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
