"""Simulate a full disk."""

import shutil
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


def say_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let writes fail as if no space were left."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1, 1, 0))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, as on a full disk."""
    # Windows lacks this module.
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
