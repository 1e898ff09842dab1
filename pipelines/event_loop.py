"""The event loop that all blocking calls share.

A blocking function, such as `pipelines.ask`, runs its asynchronous work on this loop. The loop runs in its own thread,
so this also works where another event loop is already running.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from functools import cache
from typing import TypeVar

# When the program ends, the running calls may take this many seconds to end.
_END_SECONDS = 5.0
# During a wait, Ctrl-C is checked after this many seconds.
_SIGNAL_SECONDS = 0.5

T = TypeVar("T")


def run_to_end(work: Callable[[], Coroutine[object, None, T]]) -> T:
    """Run work on the event loop that all calls share, also if another loop is already running in this thread.

    :param work: A function that makes the coroutine of the work.
    :returns: The result of the work.
    """
    loop = event_loop()
    ended = Future[T]()
    # The task of the work, once it has started.
    tasks: list[asyncio.Task[None]] = []

    async def run() -> None:
        try:
            ended.set_result(await work())
        except BaseException as error:
            ended.set_exception(error)

    def begin() -> None:
        tasks.append(loop.create_task(run()))

    def cancel() -> None:
        for task in tasks:
            task.cancel()

    try:
        loop.call_soon_threadsafe(begin)
        # The wait has short steps, because a signal that arrives just before a wait, or in another thread, does not end
        # the wait.
        while not wait([ended], _SIGNAL_SECONDS).done:
            pass
        return ended.result()
    except BaseException:
        # If the wait is interrupted, for example by Ctrl-C, the work is ended, too.
        loop.call_soon_threadsafe(cancel)
        raise


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop that all calls share, and start it before the first call.

    The loop is shared because an HTTP client works only in the loop that made it.

    :returns: The event loop of this process.
    """
    # A forked process has its own loop. The thread that runs the loop of its parent does not exist in it.
    return _start_loop(os.getpid())


@cache
def _start_loop(process: int) -> asyncio.AbstractEventLoop:
    """Start the event loop of a process in a new thread. The loop is closed when the program ends."""
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
            # The runner of asyncio would also start a thread. Python 3.12 forbids new threads at this time.
            asyncio.run_coroutine_threadsafe(cancel(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    atexit.register(close)
    return loop
