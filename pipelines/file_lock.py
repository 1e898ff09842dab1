"""Locks that end with the process that holds them, however that ends."""

from __future__ import annotations

from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


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
