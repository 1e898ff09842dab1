"""Let one process at a time make or embed an index."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prefrag.components.document_stores.tantivy.index_location import data_directory
from prefrag.components.errors import BadInput
from prefrag.pipelines.file_lock import take_lock

logger = logging.getLogger(__name__)

# A corpus of millions of passages takes most of an hour.
WAIT_SECONDS = 7_200.0
_POLL_SECONDS = 0.2


class Busy(BadInput):
    """Another process holds the lock for too long."""

    http_status = 503


@contextmanager
def index_lock(name: str, wait: float = WAIT_SECONDS, work: str | None = None) -> Iterator[None]:
    """Hold the lock for making or embedding an index, while other processes wait for it.

    The lock ends with the process that holds it, however that ends. Where the system locks no files (Windows), nobody
    waits, and two processes must not work on one index at the same time. The lock does not reach processes with other
    data directories or on other machines.

    :param name: The name of the lock: that of the index, or one for the index and the work on it.
    :param wait: Seconds to wait for another process.
    :param work: The work, for the messages; by default making the index of this name.
    :raises Busy: When another process still holds the lock after that time.
    """
    work = work or f"making the index {name}"
    path = data_directory() / "locks" / f"{name}.lock"
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
