"""Write a method once, and get both its blocking and its asynchronous form.

Most components here have both `run` and `run_async`. You write such a method once, as a coroutine, which is called a
body here. A body may await other bodies. Everything that really waits, such as a call to a server, must go through
:func:`call_matching`. In the asynchronous form, the event loop runs the body. In the blocking form, the body runs
without an event loop. Each wait is then a blocking call, so the body never pauses and ends in one step.
"""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from functools import partial, wraps
from typing import ParamSpec, Protocol, TypeVar

# The parameters and the result of a method, for the type checker.
P = ParamSpec("P")
R = TypeVar("R")
Output = TypeVar("Output", covariant=True)
Method = TypeVar("Method", bound=Callable[..., object])
# Stores for each thread whether the thread is running a body in the blocking form.
_thread = threading.local()


class Component(Protocol[Output]):
    """Any component, as a caller sees it: ``run`` takes some arguments and returns the component's output."""

    @property
    def run(self) -> Callable[..., Output]:
        """The method that computes the output."""


def as_blocking(method: Callable[P, Coroutine[object, None, R]]) -> Callable[P, R]:
    """Make the blocking form of a coroutine method.

    :param method: The body. Its name may end with ``_async``, which the name of the blocking form leaves out.
    :returns: A method with the same parameters and result. It raises RuntimeError if the body awaits anything but
        other bodies and :func:`call_matching`.
    """

    @wraps(method)
    def run(*args: P.args, **options: P.kwargs) -> R:
        body = method(*args, **options)
        outer = _blocks()
        _thread.blocks = True
        try:
            # This runs the body to its end, which raises StopIteration with the result.
            body.send(None)
        except StopIteration as end:
            result: R = end.value
            return result
        finally:
            _thread.blocks = outer
            body.close()
        raise RuntimeError(
            f"{method.__qualname__} has no blocking form: it awaits something other than `call_matching`."
        )

    return _named(run, method.__name__.removesuffix("_async"))


async def call_matching(
    method: Callable[P, R], method_async: Callable[P, Awaitable[R]], *args: P.args, **options: P.kwargs
) -> R:
    """Call a method in the form in which the calling body runs.

    :param method: The blocking form, which is called if the body runs in the blocking form.
    :param method_async: The asynchronous form, which is awaited otherwise.
    :param args: The arguments of the method.
    :param options: The keyword arguments of the method.
    :returns: The result of the method.
    """
    if not _blocks():
        return await method_async(*args, **options)
    # The mark is taken away during the call, because `method` may run an event loop, in which bodies must not block.
    _thread.blocks = False
    try:
        return method(*args, **options)
    finally:
        _thread.blocks = True


async def gather(*bodies: Coroutine[object, None, R]) -> list[R]:
    """Run bodies at the same time, or one by one in the blocking form.

    If a body raises an error, the other bodies are ended, and the error is raised unchanged.

    :param bodies: The coroutines.
    :returns: The results, in the order of the bodies.
    """
    if _blocks():
        try:
            return [await body for body in bodies]
        finally:
            for body in bodies:
                body.close()
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(body) for body in bodies]
    except BaseExceptionGroup as failed:
        failure = failed.exceptions[0]
    else:
        return [task.result() for task in tasks]
    # The error is raised here, because in the handler it would get the group of errors as its context.
    raise failure


def as_async(method: Callable[P, R]) -> Callable[P, Coroutine[object, None, R]]:
    """Make the asynchronous form of a method that never waits, and so needs no thread.

    :param method: The blocking form.
    :returns: The asynchronous form, which calls the method directly.
    """
    return in_thread_async(method, when=lambda *args, **options: False)


def in_thread_async(
    method: Callable[P, R], when: Callable[..., bool] = lambda *args, **options: True
) -> Callable[P, Coroutine[object, None, R]]:
    """Make the asynchronous form of a blocking method that computes or waits for long, by calling it in a thread.

    :param method: The blocking form.
    :param when: A function that gets the arguments of a call and decides whether the call runs in a thread. By default,
        every call runs in a thread.
    :returns: The asynchronous form.
    """

    @wraps(method)
    async def run_async(*args: P.args, **options: P.kwargs) -> R:
        if not when(*args, **options):
            return method(*args, **options)
        call = partial(method, *args, **options)
        return await call_matching(call, partial(_wait_for_thread, call))

    return _named(run_async, f"{method.__name__}_async")


async def _wait_for_thread(call: Callable[[], R]) -> R:
    """Call a function in a new thread and wait for its result."""
    # All runs would share the thread pool of the event loop. Calls that hang would leave no thread to the other runs.
    return await asyncio.wrap_future(call_in_thread(call))


async def call_component(part: Component[R], arguments: Mapping[str, object]) -> R:
    """Call a component in the form in which the calling body runs.

    In the asynchronous form, ``run`` is called in a thread if the component has no ``run_async``.

    :param part: The component.
    :param arguments: The arguments of its ``run``.
    :returns: The output of the component.
    """
    return await call_matching(part.run, partial(_run_async, part), **arguments)


async def _run_async(part: Component[R], **arguments: object) -> R:
    """Await the ``run_async`` of a component, or call its ``run`` in a thread if it has none that works."""
    run_async: Callable[..., Awaitable[R]] | None = getattr(part, "run_async", None)
    # A nested pipeline of Haystack 2 always has a `run_async`, which fails if the pipeline is no AsyncPipeline.
    if run_async is not None and hasattr(getattr(part, "pipeline", part), "run_async"):
        return await run_async(**arguments)
    return await _wait_for_thread(partial(part.run, **arguments))


def call_in_thread(call: Callable[[], R]) -> Future[R]:
    """Call a function in a new thread, with the context variables of the caller.

    :param call: The function.
    :returns: A future with the result or the error of the function.
    """
    # An executor is not used. A call that hangs would occupy a thread of its pool, and the process could not end.
    future: Future[R] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
    return future


def _blocks() -> bool:
    """Check whether the current thread runs a body in the blocking form."""
    return getattr(_thread, "blocks", False)


def _named(method: Method, name: str) -> Method:
    """Set the name of a method, also as the last part of its qualified name, and return the method."""
    owner, _, _ = method.__qualname__.rpartition(".")
    method.__name__ = name
    method.__qualname__ = f"{owner}.{name}"
    return method
