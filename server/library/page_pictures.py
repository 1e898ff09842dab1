"""Draw pages of PDF files as pictures for the web page.

Files are untrusted, and drawing a page can take long. So pages are drawn in separate processes with limits. No file and
no client can keep others from getting their pictures.
"""

import asyncio
import atexit
import hashlib
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from anyio import CapacityLimiter, to_thread

from prefrag.errors import BadInput
from prefrag.indexing.converter_process import MOST_MEMORY, ConverterProcess, LimitReached
from prefrag.indexing.report import CannotRead
from prefrag.server.access.shares import Places

# How many pages are drawn at the same time, each in its own process.
_DRAWN_AT_ONCE = 2
# How many requests may wait for a process. Further requests are refused.
_MOST_WAITING = 64
# How many seconds drawing a page may take, by the clock. Few, because a user waits for the picture.
_MOST_SECONDS = 5.0
# How many seconds a request waits for its turn, and again for the start of a process and the drawing.
_WAIT_SECONDS = 60.0
# The pause between two attempts to end a drawing that nobody waits for, in seconds.
_KILL_SECONDS = 0.05
# A page that reached a limit is not tried again for this many seconds.
_REMEMBERED_SECONDS = 120.0
# How many such pages are remembered. If there are more, the oldest is forgotten.
_MOST_REMEMBERED = 1_000
# The message for a page that cannot be drawn within the limits.
_LIMIT_REACHED = (
    f"The page cannot be drawn within {_MOST_SECONDS:g} s and {MOST_MEMORY / 10**9:g} GB of memory. Its text is in the "
    "passages of the document."
)


class PagePictures:
    """Draws pages in separate processes with limits of time and memory. Only a few pages are drawn at the same time.

    :param are_shared: Returns whether several keys share the processes. If so, each key gets only its share.
    """

    def __init__(self, are_shared: Callable[[], bool]):
        self._places = Places("page pictures", _DRAWN_AT_ONCE, _MOST_WAITING, are_shared)
        self._idle = [ConverterProcess(_MOST_SECONDS, wait=_MOST_SECONDS) for _ in range(_DRAWN_AT_ONCE)]
        for process in self._idle:
            atexit.register(process.close)
        self._threads = CapacityLimiter(_DRAWN_AT_ONCE)
        # Maps the pages that reached a limit, the oldest first, to when they may be tried again.
        self._too_slow: dict[tuple[bytes, int, bool], float] = {}

    async def draw(self, holder: str, path: Path, page: int, sentence: str) -> dict[str, object]:
        """Draw a page and mark a sentence on it. If the request is cancelled, the drawing ends.

        :param holder: Whose share the picture uses.
        :param path: The file. The caller has checked that the request may read it.
        :param page: The number of the page, counted from 1.
        :param sentence: The sentence to mark. It may also be on the next page. If it is empty, nothing is marked.
        :returns: What :func:`prefrag.indexing.readers.pdf_pages.draw_page` returns.
        :raises BadInput: If the page cannot be drawn, or not within the limits.
        :raises Busy: If too many requests are waiting, or the wait was too long.
        :raises TimeoutError: If no process starts in time.
        """
        await self._places.take(holder, _WAIT_SECONDS)
        process = self._idle.pop()
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                data, digest = await to_thread.run_sync(_read, path, limiter=self._threads)
                subject = (digest, page, bool(sentence))
                if self._too_slow.get(subject, 0.0) > time.monotonic():
                    raise BadInput(_LIMIT_REACHED)
                return await self._draw(process, partial(process.draw, data, page, sentence))
        except LimitReached as error:
            self._remember(subject)
            raise BadInput(_LIMIT_REACHED) from error
        except CannotRead as error:
            raise BadInput(f"The page cannot be shown: {error}.") from error
        finally:
            self._idle.append(process)
            self._places.leave(holder)

    async def _draw(self, process: ConverterProcess, work: Callable[[], dict[str, object]]) -> dict[str, object]:
        """Run the drawing in a thread. If the request is cancelled, kill the process and wait for the thread."""
        drawing = asyncio.ensure_future(to_thread.run_sync(work, limiter=self._threads))
        try:
            return await asyncio.shield(drawing)
        except asyncio.CancelledError:
            # Kill repeatedly. The process may be starting at this moment, and can only be killed a moment later.
            while not drawing.done():
                process.kill()
                await asyncio.wait([drawing], timeout=_KILL_SECONDS)
            raise

    def _remember(self, subject: tuple[bytes, int, bool]) -> None:
        """Remember that a page reached a limit: the hash of its file, its number, and whether a sentence was marked."""
        self._too_slow.pop(subject, None)
        if len(self._too_slow) >= _MOST_REMEMBERED:
            oldest, *_ = self._too_slow
            del self._too_slow[oldest]
        self._too_slow[subject] = time.monotonic() + _REMEMBERED_SECONDS


def _read(path: Path) -> tuple[bytes, bytes]:
    """Return the content of a file and its hash."""
    data = path.read_bytes()
    return data, hashlib.blake2b(data).digest()
