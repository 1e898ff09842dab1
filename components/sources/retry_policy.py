"""The deadline, the retries and the second provider for calls to a retriever or a web search."""

import asyncio
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any

from haystack import Document
from haystack.errors import FilterError
from tenacity import AsyncRetrying, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from prefrag.components.block import Block, check_above_zero, check_range, check_whole_number
from prefrag.components.both_ways import as_blocking, call_component, call_in_thread, call_matching
from prefrag.components.retrievers.provider import Retriever


@dataclass
class ProviderCall:
    """A call to a provider (a retriever or a web search), with its output or error.

    As a context manager, the call stores an exception as its ``error`` instead of raising it. Only a FilterError and
    the cancellation of the run are still raised.
    """

    provider: Retriever
    arguments: dict[str, Any]
    retry: bool = True  # whether to call the provider again after a failure
    output: dict[str, Any] | None = None
    error: Exception | None = None  # the error of the last attempt; None if that attempt succeeded

    def __enter__(self) -> None:
        """Begin the call."""

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> bool:
        """End the call."""
        if not isinstance(error, Exception) or isinstance(error, FilterError):
            return False
        self.error = error
        return True

    def documents(self) -> list[Document]:
        """Return the documents of the output, or raise the error of the call."""
        if self.error is not None:
            raise self.error
        if self.output is None or self.output.get("documents") is None:
            raise ValueError("it gave no `documents`")
        return list(self.output["documents"])


class RetryPolicy(Block):
    """A deadline for each attempt, growing random pauses (full jitter) between attempts, and a second provider.

    ```python
    from prefrag.components.sources.retry_policy import ProviderCall, RetryPolicy

    class Greeter:
        def run(self, query):
            return {"documents": [f"Hello {query}"]}

    policy = RetryPolicy(timeout=5.0, retries=1)
    call = ProviderCall(Greeter(), {"query": "world"})
    policy.call(call)
    print(call.documents())
    ```
    """

    def __init__(
        self, timeout: float = 15.0, retries: int = 2, backoff: float = 0.5, fallback: Retriever | None = None
    ):
        """Set the deadline, the retries, the pauses and the second provider.

        :param timeout: The maximum duration of an attempt and of a pause, in seconds. The blocking ``call`` sets no
            deadline if the provider's ``embedded`` is true, which means that it searches an index in this process.
        :param retries: The number of further attempts after a failure.
        :param backoff: The maximum length of the first pause in seconds. This maximum doubles with every attempt.
        :param fallback: The second provider. A source calls it once, after all attempts at its own retriever have
            failed. While an index is searched instead of the web, it is not called: queries must stay local.
        :raises ValueError: When a number is out of range.
        """
        check_above_zero(timeout=timeout)
        check_whole_number(0, retries=retries)
        check_range(0, backoff=backoff)
        self.timeout = timeout
        self.retries = retries
        self.backoff = backoff
        self.fallback = fallback

    async def call_async(self, call: ProviderCall) -> None:
        """Call a provider, with retries, and store its output or last error in ``call``. A FilterError is raised."""
        retry: dict[str, Any] = {
            "stop": stop_after_attempt(self.retries + 1 if call.retry else 1),
            "wait": wait_random_exponential(multiplier=self.backoff, max=self.timeout),
            "retry": retry_if_exception(_is_worth_retrying),
            "reraise": True,
        }
        with call:
            call.output = await call_matching(
                partial(Retrying(**retry), self._attempt), partial(AsyncRetrying(**retry), self._attempt_async), call
            )

    call = as_blocking(call_async)

    def _attempt(self, call: ProviderCall) -> dict[str, Any]:
        if getattr(call.provider, "embedded", False):
            return call.provider.run(**call.arguments)
        return call_in_thread(partial(call.provider.run, **call.arguments)).result(timeout=self.timeout)

    async def _attempt_async(self, call: ProviderCall) -> dict[str, Any]:
        return await asyncio.wait_for(call_component(call.provider, call.arguments), self.timeout)


def _is_worth_retrying(error: BaseException) -> bool:
    # A retry helps neither a filter that does not fit nor a cancelled run.
    return isinstance(error, Exception) and not isinstance(error, FilterError)
