"""Let one process at a time make or embed an index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prefrag.components.document_stores.tantivy.index_location import data_directory
from prefrag.pipelines.file_lock import hold_lock

# A corpus of millions of passages takes most of an hour.
WAIT_SECONDS = 7_200.0


@contextmanager
def index_lock(name: str, wait: float = WAIT_SECONDS, work: str | None = None) -> Iterator[None]:
    """Hold the lock for making or embedding an index, while other processes wait for it.

    The lock ends with the process that holds it, however that ends. Where the system locks no files (Windows), nobody
    waits, and two processes must not work on one index at the same time. The lock does not reach processes with other
    data directories or on other machines.
    """
    with hold_lock(data_directory() / "locks" / f"{name}.lock", wait, work or f"making the index {name}"):
        yield
