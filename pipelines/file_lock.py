"""Locks that end with the process that holds them, however that ends."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from prefrag.components.errors import BadInput

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)
_POLL_SECONDS = 0.2


class Busy(BadInput):
    """Another process holds the lock for too long."""

    http_status = 503


@contextmanager
def hold_lock(path: Path, wait: float, work: str) -> Iterator[None]:
    """Hold the lock of some work, while other processes wait for it.

    :param path: The file that is locked; made if missing, with its folder.
    :param wait: Seconds to wait for another process.
    :param work: The work, for the messages.
    :raises Busy: When another process still holds the lock after that time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Keep the file: if it were deleted, one process could wait for the old file while another locks a new one.
    with path.open("ab") as file:
        if not take_lock(file):
            logger.warning("Another process is %s: waiting until it is done.", work)
            deadline = time.monotonic() + wait
            while not take_lock(file):
                if time.monotonic() >= deadline:
                    raise Busy(
                        f"Another process is still {work} after {wait:g} seconds. Wait for it to end, or stop it, and "
                        "run this again: it continues from there."
                    )
                time.sleep(_POLL_SECONDS)
        yield


def take_lock(file: int | IO[bytes]) -> bool:
    """Lock a file or folder until it is closed, without waiting.

    :param file: The file or folder, open.
    :returns: Whether no other process has it locked. Always true where the system or the file system has no locks
        (Windows, some network folders).
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
