"""Give up work that takes too long."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooLong(BaseException):
    """Work took longer than it may; no ``except Exception`` of a library on the way catches it."""


@contextmanager
def limit_seconds(seconds: float) -> Iterator[None]:
    """Interrupt what runs inside after a time.

    Only the main thread of a process can be interrupted, and not on Windows; elsewhere the time is not limited.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise TooLong

    earlier = signal.signal(signal.SIGALRM, interrupt)
    # Again every second: a library may have caught the first one.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)
