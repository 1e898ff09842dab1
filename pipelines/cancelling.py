"""End the calls of a run that is stopped.

Haystack 2 starts a task for each component and never cancels such a task. So this module records the tasks and cancels
them. Haystack 3 cancels its tasks itself (its pull request 11587). Once Haystack 2 is no longer supported, only the
deadline and the context of this module are needed.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Generator
from contextvars import Context, copy_context
from functools import partial
from typing import Any, TypeVar, cast

# The maximum wait for cancelled tasks, in seconds. They should end at once.
_END_SECONDS = 5.0

T = TypeVar("T")


async def cancel_tasks_at_end(
    outputs: AsyncGenerator[T, None], until: float, context: Context | None = None
) -> AsyncGenerator[T, None]:
    """Yield the outputs of a pipeline. At the end, or if the caller stops early, cancel the tasks of the pipeline.

    Without this function, a stopped run would continue its model call with all retries.

    :param outputs: The generator of Haystack that runs the pipeline.
    :param until: The time at which the run must end, in seconds of the event loop's clock.
    :param context: The context in which the pipeline runs. If None, a copy of the current context.
    :returns: The outputs.
    :raises TimeoutError: When the run has not ended in time.
    """
    tasks: set[asyncio.Task[object]] = set()
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
        # A task that ends leaves the set, so take those that run now.
        running = {task for task in tasks if not task.done()}
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=_END_SECONDS)
        # The generator is closed in its context, because it resets context variables there, such as the current span.
        await _RecordTasks(outputs.aclose(), tasks, context)


class _RecordTasks(Awaitable[T]):
    """Await code in a context, and record the tasks that the code creates. The tasks run in copies of this context.

    An event loop creates each task with its task factory, so this class replaces the factory. The factory belongs to
    the whole event loop. So it is replaced only while the awaited code itself runs, and not while the code waits.
    """

    def __init__(self, awaited: Awaitable[T], tasks: set[asyncio.Task[object]], context: Context):
        self._awaited = awaited
        self._tasks = tasks
        self._context = context

    def __await__(self) -> Generator[object, object, T]:
        """Await step by step, as `yield from` does."""
        loop = asyncio.get_running_loop()
        steps = self._awaited.__await__()
        resume: Any = steps.send
        value: object = None
        while True:
            factory = loop.get_task_factory()
            loop.set_task_factory(partial(self._create, factory))
            try:
                pause = self._context.run(resume, value)
            except StopIteration as end:
                return cast(T, end.value)
            finally:
                loop.set_task_factory(factory)
            # Pass on what the event loop sends or raises.
            try:
                value = yield pause
                resume = steps.send
            except BaseException as error:
                value = error
                resume = steps.throw

    def _create(self, factory: Any, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Any:
        """Create a task with the factory of the event loop, or as asyncio does without one, and record the task."""
        task = asyncio.Task(work, loop=loop, **options) if factory is None else factory(loop, work, **options)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
