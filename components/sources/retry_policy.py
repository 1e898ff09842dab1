"""The deadline, the retries and the second provider for calls to a retriever or a web search.

`RetrievalSource` uses a policy for each of its calls. A failure that may pass by itself, such as a lost connection, is
tried again after a pause. Other failures are not tried again.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from haystack import Document
from haystack.errors import FilterError
from tenacity import AsyncRetrying, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from prefrag.audit_log import AuditLogFailed
from prefrag.components.block import Block, check_above_zero, check_range, check_whole_number
from prefrag.components.both_ways import Component, as_blocking, call_component, call_in_thread, call_matching
from prefrag.components.retrievers.provider import Retrieved, Retriever, describe_failure
from prefrag.components.state.attempt import Attempt

# What a user can do about the two most frequent failures of a web search. The keys are the kinds that `_kind` returns.
_ADVICE = {
    "limit": "This search engine takes only so many searches from here: wait some minutes, or use another one with a "
    "key (docs/pipelines.md, Another search engine).",
    "certificate": "The certificate is not trusted here. If a proxy of your organisation reads what is encrypted, set "
    "SSL_CERT_FILE and PRIMP_CA_BUNDLE to the file with its certificates.",
}
# The name of a class of errors that may pass by themselves: a lost connection, a time-out or a limit of the rate.
# Matches: "ConnectError", "TimeoutException", "RatelimitException". Does not match: "ValueError".
_PASSING = re.compile(r"connect|networkerror|remoteprotocol|gaierror|timed?out|ratelimit", re.IGNORECASE)


@dataclass
class ProviderCall:
    """A call to a provider (a retriever or a web search) or to a ranker, with its output or error."""

    # The component that is called, and the arguments of its `run`.
    provider: Component[Retrieved]
    arguments: Mapping[str, object]
    # Whether to call the provider again after a failure that may pass.
    retry: bool = True
    # The record from which the record of each attempt is copied: the source, the query and the provider.
    attempt: Attempt = field(default_factory=lambda: Attempt("", "", ""))
    # A function that is called before each attempt, for example to write the audit log. None calls nothing.
    announce: Callable[[Attempt], Awaitable[None]] | None = None
    # The records of all attempts that were made.
    attempts: list[Attempt] = field(default_factory=list)
    # The output of the call, with the key `documents`. Empty if the call failed.
    output: Retrieved = field(default_factory=lambda: Retrieved())
    # The error of the last attempt. None if that attempt succeeded.
    error: Exception | None = None
    # Whether no other provider can be asked with the same query.
    is_last: bool = True


class RetryPolicy(Block):
    """Call a provider with a deadline for each attempt, and with growing random pauses (full jitter) between attempts.

    Usage example:
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
            deadline if the ``embedded`` of the provider is true. Such a provider searches an index in this process.
        :param retries: The number of further attempts after a failure that may pass: no connection, no reply in time,
            or the HTTP status 408, 429 or 5xx. No other failure is tried again.
        :param backoff: The maximum length of the first pause, in seconds. The maximum doubles with every attempt.
        :param fallback: The second provider. A source calls it once, after all attempts with its own retriever have
            failed. While an index is searched in place of the web, it is not called, because queries must stay local.
            If None, there is no second provider.
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
        """Call a provider, with retries, and store its output or its last error in ``call``.

        :param call: The call to make. Its ``attempts``, ``output`` and ``error`` are set.
        :raises FilterError: When the filters do not fit the documents.
        :raises AuditLogFailed: When the audit log cannot be written, because nothing may then be sent.
        """
        most_attempts = self.retries + 1 if call.retry else 1
        stop = stop_after_attempt(most_attempts)
        wait = wait_random_exponential(multiplier=self.backoff, max=self.timeout)
        retry = retry_if_exception(may_pass)
        attempt = partial(Retrying(stop=stop, wait=wait, retry=retry, reraise=True), self._attempt)
        attempt_async = partial(AsyncRetrying(stop=stop, wait=wait, retry=retry, reraise=True), self._attempt_async)
        try:
            call.output = await call_matching(attempt, attempt_async, call)
        except (FilterError, AuditLogFailed):
            raise
        except Exception as error:
            call.error = error

    call = as_blocking(call_async)

    async def _attempt_async(self, call: ProviderCall) -> Retrieved:
        """Call the provider once, and record the attempt with its duration and error. Return the output."""
        attempt = replace(call.attempt)
        began = time.perf_counter()
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
            failure = describe_failure(attempt.provider, error, self.timeout)
            # The advice is about web searches.
            advice = _ADVICE.get(_kind(error), "") if attempt.sent_out else ""
            attempt.error = f"{failure} {advice}".rstrip()
            raise
        finally:
            attempt.seconds = round(time.perf_counter() - began, 4)

    _attempt = as_blocking(_attempt_async)

    def _run(self, call: ProviderCall) -> Retrieved:
        """Call the blocking ``run`` of the provider, with the deadline unless the provider is embedded."""
        if getattr(call.provider, "embedded", False):
            return call.provider.run(**call.arguments)
        future = call_in_thread(partial(call.provider.run, **call.arguments))
        return future.result(timeout=self.timeout)

    async def _run_async(self, call: ProviderCall) -> Retrieved:
        """Call the provider with the deadline."""
        return await asyncio.wait_for(call_component(call.provider, call.arguments), self.timeout)


def may_pass(error: BaseException) -> bool:
    """Check whether the failure of a call may pass by itself, so that another attempt is useful.

    The libraries have no common class for such errors. So the HTTP status and the name of the class are checked, for
    the error and its causes. The name must have a word such as "connect", "timeout" or "ratelimit".

    For example, ``may_pass(TimeoutError())`` returns ``True``, and ``may_pass(ValueError())`` returns ``False``.

    :param error: The error of the call.
    :returns: True if the same call may succeed later.
    """
    for cause in _causes(error):
        status = _status(cause)
        if status is not None:
            return status in (408, 429) or status >= 500
        if any(_PASSING.search(kind.__name__) for kind in type(cause).__mro__):
            return True
    return False


def _found_nothing(error: BaseException) -> bool:
    """Check whether the search engines of `ddgs` returned no result. `ddgs` raises an error without a cause for this.

    The engines may have found nothing, or they may have refused the query: `ddgs` drops the status of the reply. So
    another provider is asked first.
    """
    return type(error).__name__ == "DDGSException" and error.args == ("No results found.",)


def _kind(error: BaseException) -> str:
    """Name the kind of failure of a web search: ``limit``, ``certificate``, or an empty text for all others."""
    for cause in _causes(error):
        if _status(cause) == 429 or "ratelimit" in type(cause).__name__.lower():
            return "limit"
        # The libraries for web search have no class for this error. They pass on the message of their TLS library.
        name_and_message = f"{type(cause).__name__} {cause}"
        if "certificate" in name_and_message.lower():
            return "certificate"
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the errors that caused it. `ddgs` and `urllib` give the cause as an argument of the error."""
    yield error
    for cause in (error.__cause__ or error.__context__, *error.args):
        if isinstance(cause, BaseException):
            yield from _causes(cause)


def _status(error: BaseException) -> int | None:
    """Read the HTTP status (400 to 599) from an error or from its response. Return None if there is no status."""
    holders = (error, getattr(error, "response", None), getattr(error, "meta", None))
    for holder in holders:
        for name in ("status_code", "status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and 400 <= value <= 599:
                return value
    return None
