"""Lock files that several processes share, and append lines to such files.

The operating system frees a lock when the process with the lock ends, even if the process is killed.
"""

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
# The seconds between two attempts to take a lock.
_POLL_SECONDS = 0.2
# The maximum number of seconds to wait for the lock before a line is appended.
_LINE_SECONDS = 10.0
# The seconds between two attempts to take this lock. A process has the lock only for microseconds.
_LINE_POLL_SECONDS = 0.001


class Busy(BadInput):
    """Raised when another process has had the lock for too long."""

    http_status = 503


@contextmanager
def hold_lock(path: Path, wait: float, work: str) -> Iterator[None]:
    """Lock a file during the block. Other processes that call this function with the same file wait.

    :param path: The path of the file. The file and its folder are made if they are missing. The file is never deleted.
    :param wait: The maximum number of seconds to wait for the lock.
    :param work: A word for messages that says what the lock is for, such as "indexing".
    :raises Busy: If another process still has the lock after ``wait`` seconds.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Do not delete the file afterwards. Otherwise one process could wait for the old file while another process locks a
    # new file.
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
    """Lock an open file or folder until it is closed.

    :param file: The descriptor of the open file or folder.
    :param wait: The maximum number of seconds to wait for the lock. 0 makes a single attempt.
    :param poll: The seconds between two attempts.
    :returns: False if another process still has the lock after ``wait`` seconds. True otherwise, even if the file
        system has no locks, as in some network folders.
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

    :param path: The path of the file. Its folder must exist. A pipe or a device is also possible.
    :param line: The line without a line break. If it is "", the file is opened, and made if missing, but nothing is
        written.
    :param most_bytes: The maximum size of the file in bytes. None means no limit.
    :raises OSError: If the line cannot be written as a whole. The number of the error is ``EFBIG`` if the file would be
        larger than ``most_bytes``.
    """
    # A pipe without a reader must not block this process. Opened only for writing and without blocking, it fails at
    # once.
    flags = os.O_WRONLY if path.is_fifo() else os.O_RDWR
    flags |= os.O_APPEND | os.O_CREAT
    # Windows does not have the first of these flags, and only Windows has the second.
    flags |= getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0)
    file = os.open(path, flags, 0o600)
    try:
        if not line:
            return

        data = f"{line}\n".encode(errors="backslashreplace")
        if stat.S_ISREG(os.fstat(file).st_mode):
            # Lock the file. Otherwise another process could write between the check of the last byte and the new line.
            if not take_lock(file, _LINE_SECONDS, _LINE_POLL_SECONDS):
                raise OSError(errno.ETIMEDOUT, "another process has locked it for too long")
            size = os.fstat(file).st_size
            if most_bytes is not None and size + len(data) > most_bytes:
                raise OSError(errno.EFBIG, f"it would be larger than {most_bytes:,} bytes")
            if size and _read_last_byte(file, size) != b"\n":
                # The last line has no line break. It was cut off because the disk was full. So begin a new line.
                data = b"\n" + data

        if os.write(file, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(file)


def _read_last_byte(file: int, size: int) -> bytes:
    """Read the last byte of an open file of ``size`` bytes."""
    os.lseek(file, size - 1, os.SEEK_SET)
    return os.read(file, 1)
