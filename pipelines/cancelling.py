"""End the calls of a run that is stopped: Haystack 2 starts a task for each component, and never cancels one.

Haystack 3 cancels them (its pull request 11587). Without Haystack 2, only the deadline and the context are left of this
module.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Generator
from contextvars import Context, copy_context
from functools import partial
from typing import Any, TypeVar, cast

# The maximum wait for a cancelled task, which should end at once.
_END_SECONDS = 5.0

T = TypeVar("T")


async def cancel_tasks_at_end(
    outputs: AsyncGenerator[T, None], until: float, context: Context | None = None
) -> AsyncGenerator[T, None]:
    """Yield a pipeline engine's outputs. At the end, or if the caller stops early, cancel the engine's tasks.

    Haystack 2 runs each component in a task and never cancels the task. Without this function, a stopped run would
    continue its model call with all retries.
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
        # Close the engine in its context, because it resets context variables there, such as the span of a trace.
        await _RecordTasks(outputs.aclose(), tasks, context)


class _RecordTasks(Awaitable[T]):
    """Await something in a context, and record the tasks that it creates. They run in copies of this context.

    The task factory belongs to the whole event loop, so it is replaced only while the awaited code itself runs, and not
    during its pauses.
    """

    def __init__(self, awaited: Awaitable[T], tasks: set[asyncio.Task[Any]], context: Context):
        self._awaited = awaited
        self._tasks = tasks
        self._context = context

    def __await__(self) -> Generator[Any, Any, T]:
        """Await step by step, as `yield from` does."""
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
