"""Convert files in a separate process with limits, so that a bad file can kill only that process.

The files are read by native code, which Python cannot interrupt. So the operating system limits the memory and the
processor time of the process. A thread limits the time by the clock. Except on Linux, the thread also kills a
process that uses too much memory, because some systems, such as macOS, ignore the limit.
"""

import atexit
import gc
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from haystack import Document

from prefrag.errors import PrefragError
from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.readers.pdf_pages import draw_page
from prefrag.indexing.report import CannotRead

# The limits for one file: seconds of processor time, and bytes of memory. A large book takes up to two minutes.
MOST_SECONDS = 300.0
MOST_MEMORY = 2_000_000_000
# The maximum number of elapsed seconds for one file. It is high, because many processes may share the processor.
_MOST_WAIT = 3_600.0
# The maximum number of elapsed seconds until the process has started.
_START_SECONDS = 120.0
# How often the time and the memory of the process are checked, in seconds.
_CHECK_SECONDS = 0.25
# What the process writes when it can take files.
_READY = b"ready\n"
# So many new objects let Python look for cycles; 700 by default.
_COLLECTED = 100_000
_WATCHES_MEMORY = sys.platform != "linux"
# How a process ends that has used up its processor time. Windows has no such signal.
_OUT_OF_TIME = [-getattr(signal, "SIGXCPU", 0)]


class LimitReached(CannotRead):
    """The error when a file needs more time or memory than it may have, so that its process has ended."""


class ConverterProcess:
    """Converts files like :class:`FileConverter`, but in a process that is restarted if a file kills it."""

    def __init__(self, seconds: float = MOST_SECONDS, memory: int = MOST_MEMORY, wait: float = _MOST_WAIT) -> None:
        """Set the limits for one file. The first file starts a process.

        :param seconds: The seconds of processor time.
        :param memory: The bytes of memory.
        :param wait: The seconds by the clock, from when the process is ready.
        """
        self.loss = ""  # says which parts of the last file could not be read
        self._seconds, self._memory, self._wait = seconds, memory, wait
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False
        self._one_file = threading.Lock()

    def passages(
        self, path: Path, data: bytes, modified: float | None = None, folders: Sequence[str] = ()
    ) -> list[Document]:
        """Convert one file. Raises CannotRead if that is impossible within the limits.

        ``modified`` is when the file was last changed, in seconds since 1970. ``folders`` are the names of the folders
        above the file. A file in a folder such as "drafts" or "old" counts as a draft or as old.
        """
        reply = self._send({"path": str(path), "modified": modified, "folders": list(folders)}, data)
        self.loss = reply["loss"]
        return [Document(id=id, content=content, meta=meta) for id, content, meta in reply["passages"]]

    def draw(self, data: bytes, page: int, sentence: str = "") -> dict[str, Any]:
        """Draw a page of a PDF, as :func:`prefrag.indexing.readers.pdf_pages.draw_page` does."""
        return dict(self._send({"draw": page, "sentence": sentence}, data)["drawn"])

    def _send(self, request: Mapping[str, object], data: bytes) -> dict[str, Any]:
        with self._one_file:
            self._start()
            reply = self._ask({**request, "bytes": len(data)}, data)
        if "refused" in reply:
            raise CannotRead(reply["refused"])
        return reply

    def kill(self) -> None:
        """End the work on the present file, from another thread."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process. The next file will start a new process."""
        process = self._process
        self._process, self._is_ready = None, False
        if process is not None:
            process.kill()
            process.communicate()

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            # The process ended while it was idle, so no file is to blame.
            self.close()
        if self._process is None:
            # With -P, Python imports nothing from the working folder, which may contain malicious modules.
            work = f"from {__name__} import main; main({self._seconds}, {self._memory}, {os.getpid()})"
            command = [sys.executable, "-P", "-c", work]
            environment = {**without_secrets(), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _ask(self, request: Mapping[str, object], data: bytes) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        reply = b""
        is_late = threading.Event()
        try:
            if not self._is_ready:
                with self._watched(process, _START_SECONDS, is_late):
                    self._is_ready = process.stdout.readline() == _READY
                if not self._is_ready:
                    raise PrefragError("The process that converts files does not start: see its own message above.")
            with self._watched(process, self._wait, is_late):
                with suppress(BrokenPipeError):
                    process.stdin.write(json.dumps(request).encode() + b"\n" + data)
                    process.stdin.flush()
                reply = process.stdout.readline()
        finally:
            if not reply.endswith(b"\n"):
                self.close()
        if reply.endswith(b"\n"):
            answer: dict[str, Any] = json.loads(reply)
            return answer
        if is_late.is_set() or process.returncode in _OUT_OF_TIME:
            raise LimitReached(f"converting it takes more than {min(self._seconds, self._wait):g} s: split the file")
        memory = f"{self._memory / 10**9:.2g} GB of memory"
        raise LimitReached(f"converting it failed (it may need more than {memory}, or be damaged): split the file")

    @contextmanager
    def _watched(self, process: subprocess.Popen[bytes], seconds: float, is_late: threading.Event) -> Iterator[None]:
        """Kill the process if the work takes too long, or too much memory."""
        is_done = threading.Event()
        threading.Thread(target=self._watch, args=(process, seconds, is_done, is_late), daemon=True).start()
        try:
            yield
        finally:
            is_done.set()

    def _watch(
        self, process: subprocess.Popen[bytes], seconds: float, is_done: threading.Event, is_late: threading.Event
    ) -> None:
        end = time.monotonic() + seconds
        while not is_done.wait(_CHECK_SECONDS):
            if time.monotonic() > end:
                is_late.set()
            uses_too_much = _WATCHES_MEMORY and self._uses_too_much(process.pid)
            if is_late.is_set() or uses_too_much:
                process.kill()
                return

    def _uses_too_much(self, pid: int) -> bool:
        with suppress(ImportError, OSError):
            import psutil

            with suppress(psutil.Error):
                return bool(psutil.Process(pid).memory_info().rss > self._memory)
        return False


@cache
def converter_process(pid: int) -> ConverterProcess:
    """Return the converter of the calling process, whose id is ``pid``. A forked process gets its own converter."""
    converter = ConverterProcess()
    atexit.register(converter.close)
    return converter


def without_secrets() -> dict[str, str]:
    """Return the environment variables for a process that reads untrusted files: all but those that may be secrets."""
    return {name: value for name, value in os.environ.items() if not re.search("KEY|SECRET|TOKEN|PASSWORD", name)}


def main(seconds: float, memory: int, parent: int) -> None:
    """Answer the requests that arrive on standard input, until the input or the process ``parent`` ends."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    # What libraries print goes to standard error, so that it is not taken for a reply.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit("RLIMIT_AS", memory)
    converter = FileConverter()
    # The cells of a table are very many objects and no cycles: looking for cycles often takes a quarter of the time.
    gc.freeze()
    gc.set_threshold(_COLLECTED)
    replies.write(_READY)
    replies.flush()
    while header := sys.stdin.buffer.readline():
        request = json.loads(header)
        data = sys.stdin.buffer.read(request["bytes"])
        _limit("RLIMIT_CPU", math.ceil(time.process_time() + seconds))
        reply: dict[str, Any]
        try:
            if "draw" in request:
                reply = {"drawn": draw_page(data, request["draw"], request["sentence"])}
            else:
                passages = converter.passages(Path(request["path"]), data, request["modified"], request["folders"])
                reply = {
                    "passages": [(passage.id, passage.content, passage.meta) for passage in passages],
                    "loss": converter.loss,
                }
        except CannotRead as error:
            reply = {"refused": str(error)}
        replies.write(json.dumps(reply).encode() + b"\n")
        replies.flush()


def _end_with(parent: int) -> None:
    # The input ends with the parent too, but it is not read while a file is converted. Linux can end a process with
    # its parent by itself (PR_SET_PDEATHSIG), but counts the thread that started it as the parent.
    # On Windows the parent may be the launcher of a virtual environment, so there the end of the input has to do.
    while os.name == "nt" or os.getppid() == parent:
        time.sleep(_CHECK_SECONDS)
    os._exit(1)


def _limit(name: str, most: int) -> None:
    """Limit a resource of this process, such as its memory, if the system can."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        number = getattr(resource, name)
        _, hard_limit = resource.getrlimit(number)
        resource.setrlimit(number, (most, hard_limit))
