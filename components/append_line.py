"""Append a line to a file that several processes write."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def append_line(path: Path, line: str, most_bytes: int | None = None) -> None:
    """Append a line to a file in one piece; a new file is readable by its owner alone.

    :param path: The file; its folder has to exist.
    :param line: The line, without its end; an empty one only opens the file.
    :param most_bytes: The bytes that the file may have afterwards; None sets no limit.
    :raises OSError: When the whole line cannot be written, with ``EFBIG`` when it does not fit the limit.
    """
    # A pipe without a reader must not block; Windows has none.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.open(path, flags, 0o600)
    try:
        if not line:
            return
        data = f"{line}\n".encode(errors="backslashreplace")
        status = os.fstat(file)
        if stat.S_ISREG(status.st_mode):
            if most_bytes is not None and status.st_size + len(data) > most_bytes:
                raise OSError(errno.EFBIG, f"it would be larger than {most_bytes:,} bytes")
            if status.st_size and _read_last_byte(file, status.st_size) != b"\n":
                # An earlier writer got only a part of its line on a full disk.
                data = b"\n" + data
        if os.write(file, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(file)


def _read_last_byte(file: int, size: int) -> bytes:
    os.lseek(file, size - 1, os.SEEK_SET)
    return os.read(file, 1)
