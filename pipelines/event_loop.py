"""The event loop that all blocking calls share."""

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from functools import cache
from typing import Any, TypeVar

# Seconds that calls may take to end when the program does.
_END_SECONDS = 5.0
# Seconds between two checks for Ctrl-C during a wait.
_SIGNAL_SECONDS = 0.5

T = TypeVar("T")


def run_to_end(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run work on the event loop that all calls share, even if another loop is already running in this thread."""
    loop, ended, tasks = event_loop(), Future[T](), list[asyncio.Task[None]]()

    async def run() -> None:
        try:
            ended.set_result(await work())
        except BaseException as error:
            ended.set_exception(error)

    try:
        loop.call_soon_threadsafe(lambda: tasks.append(loop.create_task(run())))
        # Wait in short steps: a signal that arrives just before a wait, or in another thread, does not end the wait.
        while not wait([ended], _SIGNAL_SECONDS).done:
            pass
        return ended.result()
    except BaseException:
        # If the wait is interrupted, such as by Ctrl-C, end the work as well.
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
        raise


def event_loop() -> asyncio.AbstractEventLoop:
    """Start the event loop that all calls share, because an HTTP client works only in the loop that made it."""
    # In a forked process, the thread that runs the loop of its parent does not exist.
    return _start_loop(os.getpid())


@cache
def _start_loop(process: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def cancel() -> None:
        calls = asyncio.all_tasks() - {asyncio.current_task()}
        for call in calls:
            call.cancel()
        if calls:
            await asyncio.wait(calls, timeout=_END_SECONDS)
        await loop.shutdown_asyncgens()

    def close() -> None:
        """Cancel all calls that are still running when the program ends."""
        if process == os.getpid():
            # asyncio's own runner would also start a thread, which Python 3.12 forbids so late.
            asyncio.run_coroutine_threadsafe(cancel(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    atexit.register(close)
    return loop
