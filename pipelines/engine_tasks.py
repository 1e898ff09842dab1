"""The tasks in which the engine runs components, and their end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Generator
from contextvars import Context, copy_context
from functools import partial
from typing import Any, TypeVar, cast

T = TypeVar("T")

# A cancelled task ends at once; one that does not must not hold up whoever has left.
_END_SECONDS = 5.0


async def end_with_tasks(
    outputs: AsyncGenerator[T, None], until: float, context: Context | None = None
) -> AsyncGenerator[T, None]:
    """Yield what an engine yields; at its end, or when it is left early, cancel every task that it created.

    Haystack gives each component a task of its own and never cancels it: without this, a run that is given up goes on
    with its model call and all the retries.

    :param outputs: The engine's generator.
    :param until: The time, on the clock of the event loop, at which the engine is given up.
    :param context: The context in which it runs; by default a copy of the present one.
    :returns: Its outputs.
    :raises TimeoutError: When the engine has not ended by then.
    """
    tasks: set[asyncio.Task[Any]] = set()
    context = context or copy_context()
    try:
        while True:
            try:
                async with asyncio.timeout_at(until):
                    output = await _RecordTasks(anext(outputs), tasks, context)
            except StopAsyncIteration:
                return
            yield output
    finally:
        running = {task for task in tasks if task.cancel()}
        if running:
            await asyncio.wait(running, timeout=_END_SECONDS)
        # In the same context: what the engine has set there, such as the span of a trace, can only be reset there.
        await _RecordTasks(outputs.aclose(), tasks, context)


class _RecordTasks(Awaitable[T]):
    """Await something in a context, and record the tasks that it creates, which run in copies of that context.

    The factory of tasks belongs to the whole event loop, so it is replaced only while this very code runs, which is
    between two of its own pauses.
    """

    def __init__(self, awaited: Awaitable[T], tasks: set[asyncio.Task[Any]], context: Context):
        self._awaited = awaited
        self._tasks = tasks
        self._context = context

    def __await__(self) -> Generator[Any, Any, T]:
        """Await it, step by step as `yield from` does."""
        loop = asyncio.get_running_loop()
        steps = self._awaited.__await__()
        resume: Any = steps.send
        value: Any = None
        while True:
            factory = loop.get_task_factory()
            loop.set_task_factory(partial(self._create, factory))
            try:
                pause = self._context.run(resume, value)
            except StopIteration as end:
                return cast(T, end.value)
            finally:
                loop.set_task_factory(factory)
            try:
                resume, value = steps.send, (yield pause)
            except BaseException as error:
                resume, value = steps.throw, error

    def _create(self, factory: Any, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Any:
        task = asyncio.Task(work, loop=loop, **options) if factory is None else factory(loop, work, **options)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
