"""Convert files in a separate process with limits, so that a bad file can kill only that process.

Native code reads many files, and Python cannot interrupt native code. So there are three limits:

- The operating system limits the memory and the processor time of the process.
- A thread of the calling process limits the elapsed time.
- Except on Linux, the same thread kills a process that uses too much memory. Some systems, such as macOS, ignore the
  memory limit of the operating system.

:class:`ConverterProcess` is the side of the caller. :func:`main` runs in the separate process. A request is a line of
JSON, followed by the bytes of the file. A reply is a line of JSON.
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

# The maximum number of seconds of processor time for one file. A large book takes up to two minutes.
MOST_SECONDS = 300.0
# The maximum number of bytes of memory for the process.
MOST_MEMORY = 2_000_000_000
# The maximum number of elapsed seconds for one file. It is high, because many processes may share the processor.
_MOST_WAIT = 3_600.0
# The maximum number of elapsed seconds until the process has started.
_START_SECONDS = 120.0
# The seconds between two checks of the time and the memory of the process.
_CHECK_SECONDS = 0.25
# The line that the process writes when it can take files.
_READY = b"ready\n"
# Python looks for cycles of objects each time this many new objects exist. The default is 700.
_COLLECTED = 100_000
# Whether the thread checks the memory of the process.
_WATCHES_MEMORY = sys.platform != "linux"
# The exit code of a process that has used up its processor time. Windows has no such signal.
_OUT_OF_TIME = [-getattr(signal, "SIGXCPU", 0)]


class LimitReached(CannotRead):
    """Raised when a file needs more time or memory than allowed. The process with the file has then ended."""


class ConverterProcess:
    """Converts files like :class:`FileConverter`, but in a separate process with limits.

    If a file kills the process, the next file starts a new process. Threads may share one instance, but only one file
    is converted at a time. After each file, the attribute ``loss`` says which parts of the file could not be read. It
    is "" if all were read.
    """

    def __init__(self, seconds: float = MOST_SECONDS, memory: int = MOST_MEMORY, wait: float = _MOST_WAIT) -> None:
        """Set the limits for one file. The first file starts a process.

        :param seconds: The maximum number of seconds of processor time.
        :param memory: The maximum number of bytes of memory.
        :param wait: The maximum number of elapsed seconds. The start of the process does not count.
        """
        self.loss = ""
        self._seconds, self._memory, self._wait = seconds, memory, wait
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False
        self._one_file = threading.Lock()

    def passages(
        self, path: Path, data: bytes, modified: float | None = None, folders: Sequence[str] = ()
    ) -> list[Document]:
        """Convert one file into passages.

        :param path: The path of the file. Its suffix shows the form of the file. The file itself is not opened.
        :param data: The bytes of the file.
        :param modified: When the file was last changed, in seconds since 1970. None if the time is not known.
        :param folders: The names of the folders above the file. A file in a folder such as "drafts" or "old" counts as
            a draft or as old.
        :returns: The passages in the order of the file, with their metadata.
        :raises CannotRead: If the file cannot be read, or if there is no text in it.
        :raises LimitReached: If the file needs more time or memory than allowed.
        """
        reply = self._send({"path": str(path), "modified": modified, "folders": list(folders)}, data)
        self.loss = reply["loss"]
        return [Document(**passage) for passage in reply["passages"]]

    def draw(self, data: bytes, page: int, sentence: str = "") -> dict[str, object]:
        """Draw a page of a PDF.

        :param data: The bytes of the PDF.
        :param page: The number of the page, from 1.
        :param sentence: A sentence to find on this page or on the next page. "" finds nothing.
        :returns: What :func:`prefrag.indexing.readers.pdf_pages.draw_page` returns.
        :raises CannotRead: If the file cannot be read, or has no such page.
        :raises LimitReached: If the page needs more time or memory than allowed.
        """
        return dict(self._send({"draw": page, "sentence": sentence}, data)["drawn"])

    def _send(self, request: Mapping[str, object], data: bytes) -> dict[str, Any]:
        """Send a request with the bytes of a file, and return the reply. Start the process if it does not run."""
        with self._one_file:
            self._start()
            reply = self._ask({**request, "bytes": len(data)}, data)
        if "refused" in reply:
            raise CannotRead(reply["refused"])
        return reply

    def kill(self) -> None:
        """End the work on the present file. This method is for another thread than the one that converts."""
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
        """Start the process if it does not run."""
        if self._process is not None and self._process.poll() is not None:
            # The process ended between two files, so no file is the cause.
            self.close()

        if self._process is None:
            # With the option -P, Python imports nothing from the working folder. That folder may contain malicious
            # modules.
            work = f"from {__name__} import main; main({self._seconds}, {self._memory}, {os.getpid()})"
            command = [sys.executable, "-P", "-c", work]
            import_path = os.pathsep.join(filter(None, sys.path))
            environment = {**without_secrets(), "PYTHONPATH": import_path}
            self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _ask(self, request: Mapping[str, object], data: bytes) -> dict[str, object]:
        """Write a request to the process, and read the reply. Close the process if there is no reply."""
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

        if not reply.endswith(b"\n"):
            raise self._limit_reached(is_late.is_set() or process.returncode in _OUT_OF_TIME)
        answer: dict[str, object] = json.loads(reply)
        return answer

    def _limit_reached(self, is_out_of_time: bool) -> LimitReached:
        """Return the error for a file that ended the process."""
        if is_out_of_time:
            seconds = min(self._seconds, self._wait)
            return LimitReached(f"converting it takes more than {seconds:g} s: split the file")
        memory = f"{self._memory / 10**9:.2g} GB of memory"
        return LimitReached(f"converting it failed (it may need more than {memory}, or be damaged): split the file")

    @contextmanager
    def _watched(self, process: subprocess.Popen[bytes], seconds: float, is_late: threading.Event) -> Iterator[None]:
        """Kill the process if the block takes more seconds than allowed, or if the process uses too much memory.

        :param process: The process.
        :param seconds: The maximum number of elapsed seconds.
        :param is_late: Set if the block takes too long.
        """
        is_done = threading.Event()
        threading.Thread(target=self._watch, args=(process, seconds, is_done, is_late), daemon=True).start()
        try:
            yield
        finally:
            is_done.set()

    def _watch(
        self, process: subprocess.Popen[bytes], seconds: float, is_done: threading.Event, is_late: threading.Event
    ) -> None:
        """Check the time and the memory of the process until ``is_done`` is set. Runs in a thread of its own."""
        end = time.monotonic() + seconds
        while not is_done.wait(_CHECK_SECONDS):
            if time.monotonic() > end:
                is_late.set()
            uses_too_much = _WATCHES_MEMORY and self._uses_too_much(process.pid)
            if is_late.is_set() or uses_too_much:
                process.kill()
                return

    def _uses_too_much(self, pid: int) -> bool:
        """Check whether a process uses too much memory. The answer is False if that cannot be measured."""
        with suppress(ImportError, OSError):
            import psutil

            with suppress(psutil.Error):
                return bool(psutil.Process(pid).memory_info().rss > self._memory)
        return False


@cache
def converter_process(pid: int) -> ConverterProcess:
    """Return the converter of the calling process. Each call with the same ID returns the same converter.

    :param pid: The ID of the calling process. A forked process has another ID, so it gets its own converter.
    :returns: The converter. It is closed when the calling process ends.
    """
    converter = ConverterProcess()
    atexit.register(converter.close)
    return converter


def without_secrets() -> dict[str, str]:
    """Return the environment variables that a process with untrusted files may have.

    :returns: All environment variables, except those whose names have "KEY", "SECRET", "TOKEN" or "PASSWORD".
    """
    return {name: value for name, value in os.environ.items() if not re.search("KEY|SECRET|TOKEN|PASSWORD", name)}


def main(seconds: float, memory: int, parent: int) -> None:
    """Answer the requests that arrive on standard input. This function runs in the separate process.

    It returns when the input ends. The process ends when the parent process ends.

    :param seconds: The maximum number of seconds of processor time for one file.
    :param memory: The maximum number of bytes of memory.
    :param parent: The ID of the parent process.
    """
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()

    # Some libraries print to standard output. Their output goes to standard error instead, and only replies go to
    # standard output.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit("RLIMIT_AS", memory)
    converter = FileConverter()

    # The cells of a table are very many objects without cycles. With the default setting of Python, the search for
    # cycles often takes a quarter of the time.
    gc.freeze()
    gc.set_threshold(_COLLECTED)
    replies.write(_READY)
    replies.flush()

    while header := sys.stdin.buffer.readline():
        request = json.loads(header)
        data = sys.stdin.buffer.read(request["bytes"])
        _limit("RLIMIT_CPU", math.ceil(time.process_time() + seconds))
        try:
            reply = _reply(converter, request, data)
        except CannotRead as error:
            reply = {"refused": str(error)}
        replies.write(json.dumps(reply).encode() + b"\n")
        replies.flush()


def _reply(converter: FileConverter, request: Mapping[str, Any], data: bytes) -> dict[str, object]:
    """Draw a page or convert a file, as a request asks. Return the reply."""
    if "draw" in request:
        return {"drawn": draw_page(data, request["draw"], request["sentence"])}
    passages = converter.passages(Path(request["path"]), data, request["modified"], request["folders"])
    fields = [{"id": passage.id, "content": passage.content, "meta": passage.meta} for passage in passages]
    return {"passages": fields, "loss": converter.loss}


def _end_with(parent: int) -> None:
    """Wait until the parent process has ended, and then end this process. Runs in a thread of its own.

    :param parent: The ID of the parent process.
    """
    # The input also ends with the parent, but the input is not read while a file is converted. Linux itself can end a
    # process together with its parent (PR_SET_PDEATHSIG), but for Linux the parent is the thread that started the
    # process. On Windows, the parent may be the launcher of a virtual environment. So on Windows, this process ends
    # only with its input.
    while os.name == "nt" or os.getppid() == parent:
        time.sleep(_CHECK_SECONDS)
    os._exit(1)


def _limit(name: str, most: int) -> None:
    """Limit a resource of this process, if the system can.

    :param name: The name of the resource in the module ``resource``, such as "RLIMIT_AS" for memory.
    :param most: The maximum, in the unit of the resource: bytes of memory, or seconds of processor time.
    """
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        number = getattr(resource, name)
        _, hard_limit = resource.getrlimit(number)
        resource.setrlimit(number, (most, hard_limit))
