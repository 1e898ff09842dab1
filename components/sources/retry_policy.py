"""The deadline, the retries and the second provider for calls to a retriever or a web search."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from haystack import Document
from haystack.errors import FilterError
from tenacity import AsyncRetrying, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from prefrag.audit_log import AuditLogFailed
from prefrag.components.block import Block, check_above_zero, check_range, check_whole_number
from prefrag.components.both_ways import as_blocking, call_component, call_in_thread, call_matching
from prefrag.components.retrievers.provider import Ranker, Retriever, describe_failure
from prefrag.components.state.attempt import Attempt

# What to do about the two failures of a web search that people meet most.
_ADVICE = {
    "limit": "This search engine takes only so many searches from here: wait some minutes, or use another one with a "
    "key (docs/pipelines.md, Another search engine).",
    "certificate": "The certificate is not trusted here. If a proxy of your organisation reads what is encrypted, set "
    "SSL_CERT_FILE and PRIMP_CA_BUNDLE to the file with its certificates.",
}
_PASSING = re.compile(r"connect|networkerror|remoteprotocol|gaierror|timed?out|ratelimit", re.IGNORECASE)


@dataclass
class ProviderCall:
    """A call to a provider (a retriever or a web search) or to a ranker, with its output or error."""

    provider: Retriever | Ranker
    arguments: dict[str, Any]
    retry: bool = True  # whether to call the provider again after a failure that may pass
    attempt: Attempt = field(default_factory=lambda: Attempt("", "", ""))  # what each attempt looks like at its begin
    announce: Callable[[Attempt], Awaitable[None]] | None = None  # called before each attempt, as by an audit log
    attempts: list[Attempt] = field(default_factory=list)  # every attempt that was made
    output: dict[str, Any] = field(default_factory=dict)  # with ``documents``, if the call succeeded
    error: Exception | None = None  # the error of the last attempt; None if that attempt succeeded
    is_last: bool = True  # whether no other provider can be asked for the same


class RetryPolicy(Block):
    """A deadline for each attempt, growing random pauses (full jitter) between attempts, and a second provider.

    ```python
    from haystack import Document
    from prefrag.components.sources.retry_policy import ProviderCall, RetryPolicy

    class Greeter:
        def run(self, query):
            return {"documents": [Document(content=f"Hello {query}")]}

    policy = RetryPolicy(timeout=5.0, retries=1)
    call = ProviderCall(Greeter(), {"query": "world"})
    policy.call(call)
    print(call.output["documents"][0].content)
    ```
    """

    def __init__(
        self, timeout: float = 15.0, retries: int = 2, backoff: float = 0.5, fallback: Retriever | None = None
    ):
        """Set the deadline, the retries, the pauses and the second provider.

        :param timeout: The maximum duration of an attempt and of a pause, in seconds. The blocking ``call`` sets no
            deadline if the provider's ``embedded`` is true, which means that it searches an index in this process.
        :param retries: The number of further attempts after a failure that may pass: no connection, no reply in time,
            or the status 408, 429 or 5xx. No other failure is tried again.
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
        """Call a provider, with retries, and store its output or last error in ``call``.

        A FilterError is raised, and so is an AuditLogFailed, because nothing may then be sent.
        """
        most_attempts = self.retries + 1 if call.retry else 1
        retry: dict[str, Any] = {
            "stop": stop_after_attempt(most_attempts),
            "wait": wait_random_exponential(multiplier=self.backoff, max=self.timeout),
            "retry": retry_if_exception(may_pass),
            "reraise": True,
        }
        attempt = partial(Retrying(**retry), self._attempt)
        attempt_async = partial(AsyncRetrying(**retry), self._attempt_async)
        try:
            call.output = await call_matching(attempt, attempt_async, call)
        except (FilterError, AuditLogFailed):
            raise
        except Exception as error:
            call.error = error

    call = as_blocking(call_async)

    async def _attempt_async(self, call: ProviderCall) -> dict[str, Any]:
        attempt, began = replace(call.attempt), time.perf_counter()
        if call.announce is not None:
            await call.announce(attempt)
        call.attempts.append(attempt)
        try:
            output = await call_matching(self._run, self._run_async, call)
            documents = output.get("documents")
            if documents is None or not all(isinstance(document, Document) for document in documents):
                raise ValueError("it gave no `documents`")
            attempt.error = None
            return output
        except Exception as error:
            if call.is_last and _found_nothing(error):
                attempt.error = None
                return {"documents": []}
            advice = _ADVICE.get(_kind(error), "") if attempt.sent_out else ""
            attempt.error = f"{describe_failure(attempt.provider, error, self.timeout)} {advice}".rstrip()
            raise
        finally:
            attempt.seconds = round(time.perf_counter() - began, 4)

    _attempt = as_blocking(_attempt_async)

    def _run(self, call: ProviderCall) -> dict[str, Any]:
        if getattr(call.provider, "embedded", False):
            return call.provider.run(**call.arguments)
        return call_in_thread(partial(call.provider.run, **call.arguments)).result(timeout=self.timeout)

    async def _run_async(self, call: ProviderCall) -> dict[str, Any]:
        return await asyncio.wait_for(call_component(call.provider, call.arguments), self.timeout)


def may_pass(error: BaseException) -> bool:
    """Check whether the failure of a call may pass by itself, so that the same call is worth another attempt.

    The libraries have no common class for such errors. What they share is the form: a status of HTTP, or a class that
    is named for a connection, a time-out or a limit of the rate. Often it is the cause of the error that has this form.
    """
    for cause in _causes(error):
        status = _status(cause)
        if status is not None:
            return status in (408, 429) or status >= 500
        if any(_PASSING.search(kind.__name__) for kind in type(cause).__mro__):
            return True
    return False


def _found_nothing(error: BaseException) -> bool:
    """Check whether the search engines of `ddgs` gave nothing, which it raises as an error without a cause.

    They may have found nothing, or refused: `ddgs` drops the status of a reply. So another provider is asked first.
    """
    return type(error).__name__ == "DDGSException" and error.args == ("No results found.",)


def _kind(error: BaseException) -> str:
    """Name the kind of a failed web search: ``limit``, ``certificate`` or, for any other, an empty text."""
    for cause in _causes(error):
        if _status(cause) == 429 or "ratelimit" in type(cause).__name__.lower():
            return "limit"
        # The libraries that search pass on the words of their TLS library, and no class of its own.
        if "certificate" in f"{type(cause).__name__} {cause}".lower():
            return "certificate"
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the errors that led to it. In `ddgs` and `urllib`, they are arguments of the error."""
    yield error
    for cause in (error.__cause__ or error.__context__, *error.args):
        if isinstance(cause, BaseException):
            yield from _causes(cause)


def _status(error: BaseException) -> int | None:
    """Read the status of HTTP from an error, or from the response that it carries; None if there is none."""
    holders = (error, getattr(error, "response", None), getattr(error, "meta", None))
    values = (getattr(holder, name, None) for holder in holders for name in ("status_code", "status", "code"))
    return next((value for value in values if isinstance(value, int) and 400 <= value <= 599), None)
