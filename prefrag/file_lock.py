"""Hold locks on files that processes share, and append lines to them. A lock ends with the process that holds it."""

import errno
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prefrag.errors import BadInput

logger = logging.getLogger(__name__)
# The wait between two attempts to take a lock.
_POLL_SECONDS = 0.2
# To append a line: the maximum wait for the lock, and the wait between two attempts. The lock is held only for
# microseconds.
_LINE_SECONDS = 10.0
_LINE_POLL_SECONDS = 0.001


class Busy(BadInput):
    """The error when another process has held the lock for too long."""

    http_status = 503


@contextmanager
def hold_lock(path: Path, wait: float, work: str) -> Iterator[None]:
    """Hold the lock of a file during some work. Other processes that call this function meanwhile wait.

    The file and its folder are created if missing. ``work`` says in messages what is being done, such as ``indexing``.
    Raises Busy after ``wait`` seconds.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Keep the file: if it were deleted, one process could wait for the old file while another locks a new one.
    with path.open("ab") as file:
        if not take_lock(file.fileno()):
            logger.warning("Another process is %s: waiting until it is done.", work)
            if not take_lock(file.fileno(), wait, _POLL_SECONDS):
                raise Busy(
                    f"Another process is still {work} after {wait:g} seconds. Wait for it to end, or stop it, and "
                    "run this again: it continues where that process ended."
                )
        yield


def take_lock(file: int, wait: float = 0.0, poll: float = _POLL_SECONDS) -> bool:
    """Lock an open file or folder until it is closed. Return False if another process locks it for ``wait`` seconds.

    Return True, without a lock, if the file system has no locks, as in some network folders.
    """
    from filelock import lock_descriptor

    deadline = time.monotonic() + wait
    try:
        while not lock_descriptor(file, blocking=False):
            if time.monotonic() >= deadline:
                return False
            time.sleep(poll)
    except OSError:
        return True
    return True


def append_line(path: Path, line: str, most_bytes: int | None = None) -> None:
    """Append a line to a file in one piece. A new file can be read only by its owner.

    The folder must exist. If ``line`` is empty, the file is opened (and created if missing), but nothing is written.
    Raises OSError when the line cannot be written as a whole, with ``EFBIG`` if the file would exceed ``most_bytes``.
    """
    # A pipe without a reader must not block. Opened write-only and non-blocking, it fails at once.
    access = os.O_WRONLY if path.is_fifo() else os.O_RDWR
    flags = access | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.open(path, flags, 0o600)
    try:
        if not line:
            return
        data = f"{line}\n".encode(errors="backslashreplace")
        if stat.S_ISREG(os.fstat(file).st_mode):
            # Lock the file, so that no other process writes between the check of the last byte and the new line.
            if not take_lock(file, _LINE_SECONDS, _LINE_POLL_SECONDS):
                raise OSError(errno.ETIMEDOUT, "another process has locked it for too long")
            size = os.fstat(file).st_size
            if most_bytes is not None and size + len(data) > most_bytes:
                raise OSError(errno.EFBIG, f"it would be larger than {most_bytes:,} bytes")
            if size and _read_last_byte(file, size) != b"\n":
                # The last line was cut off because the disk was full, so begin a new line.
                data = b"\n" + data
        if os.write(file, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(file)


def _read_last_byte(file: int, size: int) -> bytes:
    os.lseek(file, size - 1, os.SEEK_SET)
    return os.read(file, 1)
