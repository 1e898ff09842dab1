"""How long a provider may take, and how often it is called again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Generator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from haystack import Document, default_from_dict, default_to_dict
from haystack.errors import FilterError

from prefrag.components.retrievers.provider import Retriever, call_async, call_in_thread


@dataclass
class Attempt:
    """One call of a provider, and its output or its failure.

    As a context manager it keeps the failure. An error in the filters is raised nevertheless, as no further call can
    repair it, and so is the end of a run that was cancelled.

    :param provider: The component that is called.
    :param arguments: What it is called with.
    :param pause: Seconds to wait before the call.
    :param output: What it gave.
    :param error: Why it failed; None where it did not.
    """

    provider: Retriever
    arguments: dict[str, Any]
    pause: float = 0.0
    output: dict[str, Any] | None = None
    error: Exception | None = None

    def __enter__(self) -> None:
        """Begin the call."""

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> bool:
        """End the call.

        :param kind: The class of the error.
        :param error: What was raised, if anything.
        :param traceback: Where.
        :returns: Whether the error is kept here instead of being raised.
        """
        if not isinstance(error, Exception) or isinstance(error, FilterError):
            return False
        self.error = error
        return True

    def documents(self) -> list[Document]:
        """Give what was found.

        :returns: The documents of the output.
        :raises Exception: The failure of the call.
        :raises ValueError: When the output holds no ``documents``.
        """
        if self.error is not None:
            raise self.error
        if self.output is None or self.output.get("documents") is None:
            raise ValueError("it gave no `documents`")
        return list(self.output["documents"])


class RetryPolicy:
    """A deadline for each call of a provider, and further calls with growing random pauses (full jitter) between them.

    ```python
    from prefrag.components.sources.retry_policy import RetryPolicy

    class Greeter:
        def run(self, query):
            return {"documents": [f"Hello {query}"]}

    policy = RetryPolicy(timeout=5.0, retries=1)
    for attempt in policy.attempts(Greeter(), {"query": "world"}):
        policy.call(attempt)
    print(attempt.documents())
    ```
    """

    def __init__(self, timeout: float = 15.0, retries: int = 2, backoff: float = 0.5):
        """Set the numbers.

        :param timeout: Seconds that one call may take, and the longest pause. A provider whose ``embedded`` is true
            searches an index in this process, and is not interrupted.
        :param retries: Further calls after a failure.
        :param backoff: Seconds that the first pause lasts at most; the limit doubles with every call.
        :raises ValueError: When a number is out of range.
        """
        if timeout <= 0 or retries < 0 or backoff < 0:
            raise ValueError(
                f"timeout is {timeout}, retries {retries} and backoff {backoff}: "
                "timeout must be over 0, retries and backoff not below."
            )
        self.timeout = timeout
        self.retries = retries
        self.backoff = backoff

    def to_dict(self) -> dict[str, Any]:
        """Serialise the policy.

        :returns: Its settings as plain values.
        """
        return default_to_dict(self, timeout=self.timeout, retries=self.retries, backoff=self.backoff)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RetryPolicy:
        """Make a policy from its serialised form.

        :param data: The output of :meth:`to_dict`.
        :returns: The policy.
        """
        return default_from_dict(cls, data)

    def attempts(
        self, provider: Retriever, arguments: dict[str, Any], retry: bool = True
    ) -> Generator[Attempt, None, Attempt]:
        """Give each call to make, until one succeeds or they are used up.

        :param provider: The component to call.
        :param arguments: What to call it with.
        :param retry: Whether to call it again after a failure.
        :yields: The attempts, to be carried out by :meth:`call` or :meth:`call_async`.
        :returns: The last attempt.
        """
        attempt = Attempt(provider, arguments)
        yield attempt
        longest = self.backoff
        for _ in range(self.retries if retry else 0):
            if attempt.error is None:
                break
            attempt = Attempt(provider, arguments, pause=random.uniform(0, min(longest, self.timeout)))
            yield attempt
            longest *= 2
        return attempt

    def call(self, attempt: Attempt) -> None:
        """Carry out an attempt.

        :param attempt: The attempt, which keeps the output or the failure.
        :raises FilterError: When the provider cannot apply the filters.
        """
        provider, arguments = attempt.provider, attempt.arguments
        with attempt:
            if attempt.pause:
                time.sleep(attempt.pause)
            if getattr(provider, "embedded", False):
                attempt.output = provider.run(**arguments)
            else:
                attempt.output = call_in_thread(provider, arguments).result(timeout=self.timeout)

    async def call_async(self, attempt: Attempt) -> None:
        """Carry out an attempt without blocking the event loop.

        :param attempt: The attempt, which keeps the output or the failure.
        :raises FilterError: When the provider cannot apply the filters.
        """
        with attempt:
            if attempt.pause:
                await asyncio.sleep(attempt.pause)
            attempt.output = await asyncio.wait_for(call_async(attempt.provider, attempt.arguments), self.timeout)
