"""What retrievers and sources know of the component that a search calls."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

from haystack import Document


class Retriever(Protocol):
    """Any component with ``query`` -> ``documents``: a retriever, a web search, a nested pipeline."""

    def run(self, query: str) -> dict[str, Any]:
        """Find documents.

        :param query: Any text.
        :returns: ``documents``, best first.
        """


class Ranker(Protocol):
    """Any component with ``query``, ``documents`` -> ``documents``."""

    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        """Put documents in order.

        :param query: What was searched for.
        :param documents: The candidates.
        :returns: ``documents``, best first.
        """


def supported_arguments(part: Retriever | Ranker) -> set[str]:
    """Name the arguments that a component's ``run`` takes, of those that a search may pass.

    :param part: The component.
    :returns: The names.
    """
    parameters = inspect.signature(part.run).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return {"query", "top_k", "filters"}
    return set(parameters)


def select_arguments(supported: set[str], **arguments: Any) -> dict[str, Any]:
    """Leave out the arguments that a component does not take, and those without a value.

    :param supported: The names of those that it takes.
    :param arguments: The values by name.
    :returns: The arguments to call it with.
    """
    return {name: value for name, value in arguments.items() if name in supported and value is not None}


def is_web_search(part: Any) -> bool:
    """Tell whether queries to a component leave this machine's network, by its ``external`` or by where it comes from.

    :param part: The component, or None.
    :returns: Whether they do.
    """
    if part is None:
        return False
    module = type(part).__module__.lower()
    return bool(getattr(part, "external", False)) or ".websearch." in module or "duckduckgo" in module


def describe_failure(name: str, error: BaseException, timeout: float) -> str:
    """Put the failure of a call into a line for the trace.

    :param name: The name of the component.
    :param error: What it raised.
    :param timeout: The deadline of the call, in seconds.
    :returns: The name and the reason.
    """
    reason = f"no reply within {timeout:g} s" if isinstance(error, TimeoutError) else str(error)
    return f"{name}: {reason or type(error).__name__}"


async def call_async(part: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a component through its ``run_async``, or where it has none through its ``run`` in a thread.

    :param part: The component.
    :param arguments: What it is called with.
    :returns: Its output.
    """
    run_async: Callable[..., Any] | None = getattr(part, "run_async", None)
    if run_async is not None:
        return await run_async(**arguments)
    return await asyncio.wrap_future(call_in_thread(part, arguments))


def call_in_thread(part: Any, arguments: dict[str, Any]) -> Future[dict[str, Any]]:
    """Call a component's ``run`` in a thread of its own, with the context variables of the caller.

    :param part: The component.
    :param arguments: What it is called with.
    :returns: The future that will hold its output.
    """
    # Not an executor's thread: one that hangs would take a place in its pool and keep the process from ending.
    future: Future[dict[str, Any]] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(part.run(**arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
    return future
