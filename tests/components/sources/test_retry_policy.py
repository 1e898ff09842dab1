"""How long a provider may take, and how often it is called again."""

import asyncio
import random
import socket
import threading
import time
import urllib.error
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import aiohttp
import httpx
import pytest
import requests
from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
from elastic_transport import ApiResponseMeta, ConnectionTimeout, HttpHeaders, NodeConfig
from elastic_transport import ConnectionError as ServerUnreachable
from elasticsearch import ApiError
from haystack.document_stores.errors import DocumentStoreError
from haystack.errors import FilterError

from prefrag.components.sources.retry_policy import ProviderCall, RetryPolicy, may_pass
from prefrag.components.state.attempt import Attempt
from tests.components.samples import document
from tests.fakes import Giving
from tests.for_each import for_each

Carry = Callable[..., ProviderCall]


@pytest.fixture(params=["run", "run_async"])
def carry_out(request: pytest.FixtureRequest) -> Carry:
    def carried_out(policy: RetryPolicy, provider: Giving, **settings: Any) -> ProviderCall:
        call = ProviderCall(provider, {"query": "aurora"}, attempt=Attempt("web", "aurora", "web"), **settings)
        if request.param == "run":
            policy.call(call)
        else:
            asyncio.run(policy.call_async(call))
        return call

    return carried_out


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that would be made, each as long as possible; no time passes."""
    pauses: list[float] = []
    own_thread, sleep = threading.get_ident(), asyncio.sleep

    async def pause(seconds: float) -> None:
        # A server that other tests started in another thread makes pauses too.
        if threading.get_ident() != own_thread:
            return await sleep(seconds)
        pauses.append(seconds)

    monkeypatch.setattr(random, "uniform", lambda shortest, longest: longest)
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr("asyncio.sleep", pause)
    return pauses


def test_the_first_success_ends_the_attempts(carry_out: Carry):
    provider = Giving(document("found"), errors=[ConnectionError("gone")])

    call = carry_out(RetryPolicy(retries=5, backoff=0.0), provider)

    assert provider.queries == ["aurora", "aurora"]
    assert call.error is None
    assert call.output == {"documents": [document("found")]}
    assert [attempt.error for attempt in call.attempts] == ["web: gone", None]


def test_the_last_failure_is_the_result_after_all_attempts(carry_out: Carry):
    provider = Giving(errors=[ConnectionError(number) for number in ("one", "two", "three")])

    call = carry_out(RetryPolicy(retries=1, backoff=0.0), provider)

    assert len(provider.queries) == 2
    assert str(call.error) == "two"
    assert [attempt.error for attempt in call.attempts] == ["web: one", "web: two"]


def test_pauses_double_up_to_the_timeout(carry_out: Carry, pauses: list[float]):
    carry_out(RetryPolicy(), Giving())
    assert pauses == []
    carry_out(RetryPolicy(retries=5), provider := Giving(errors=[ConnectionError("gone")]), retry=False)
    assert (provider.queries, pauses) == (["aurora"], []), "one that may be called once only"
    carry_out(RetryPolicy(timeout=3.0, retries=5, backoff=0.5), Giving(errors=[ConnectionError("gone")] * 9))
    assert pauses == [0.5, 1.0, 2.0, 3.0, 3.0]


def with_(status: str, value: Any, **attributes: Any) -> Exception:
    """An error that has a status in one of the forms of client libraries."""
    error = RuntimeError("refused")
    holder = error
    for name in attributes:
        holder = SimpleNamespace()
        setattr(error, name, holder)
    setattr(holder, status, value)
    return error


def after(cause: BaseException, error: Exception) -> Exception:
    """An error that another one has led to."""
    error.__cause__ = cause
    return error


def elastic(status: int) -> Exception:
    node = NodeConfig("http", "search.example", 9200)
    meta = ApiResponseMeta(status=status, http_version="1.1", headers=HttpHeaders(), duration=0.1, node=node)
    return ApiError("refused", meta, {})


def httpx_status(status: int) -> Exception:
    request = httpx.Request("GET", "http://search.example")
    return httpx.HTTPStatusError("refused", request=request, response=httpx.Response(status, request=request))


class TestAnotherAttempt:
    @for_each(
        "error",
        *(ConnectionError("gone"), ConnectionResetError(), TimeoutError(), socket.gaierror("no such name")),
        *(with_("status_code", 429), with_("status", 503), with_("code", 408), with_("status_code", 500, response=1)),
        *(elastic(429), elastic(503), httpx_status(502), ServerUnreachable("refused"), ConnectionTimeout("slow")),
        *(httpx.ConnectError("refused"), httpx.ReadTimeout("slow"), httpx.ReadError("gone"), requests.Timeout()),
        *(requests.ConnectionError("refused"), aiohttp.ServerDisconnectedError(), aiohttp.ServerTimeoutError()),
        *(httpx.RemoteProtocolError("closed"), RatelimitException("202 Ratelimit"), TimeoutException("timed out")),
        # The form is that of the cause.
        *(after(elastic(503), DocumentStoreError("refused")), DDGSException(httpx.ConnectError("refused"))),
        after(ConnectionError("gone"), after(ValueError("x"), RuntimeError("y"))),
        urllib.error.URLError(ConnectionRefusedError("refused")),
    )
    def test_is_made_after_a_failure_that_may_pass(self, error: Exception):
        assert may_pass(error)

    @for_each(
        "error",
        *(
            TypeError("unexpected keyword"),
            ImportError("no module ddgs"),
            FileNotFoundError("no index"),
            OSError("full"),
        ),
        *(PermissionError("401"), KeyError("x"), RuntimeError("429 rate limit"), ValueError("status 503")),
        *(with_("status_code", 401), with_("status", 404), with_("code", 400), with_("status_code", 403, response=1)),
        *(elastic(401), httpx_status(404), with_("code", "rate_limit_exceeded"), with_("status", 200)),
        *(DDGSException("No results found."), requests.exceptions.InvalidURL("no host"), with_("status", True)),
        after(httpx_status(401), RuntimeError("refused")),
    )
    def test_is_not_made_after_one_that_no_repetition_mends(self, error: Exception):
        assert not may_pass(error)

    def test_is_what_the_policy_makes_of_them(self, carry_out: Carry):
        calls = {}
        for error in (httpx_status(401), httpx_status(503)):
            provider = Giving(errors=[error] * 9)
            carry_out(RetryPolicy(retries=2, backoff=0.0), provider)
            calls[str(error.response.status_code)] = len(provider.queries)  # type: ignore[attr-defined]

        assert calls == {"401": 1, "503": 3}


@for_each("error", FilterError("no such field"), KeyboardInterrupt())
def test_what_no_further_attempt_repairs_is_raised_at_once(error: BaseException):
    provider = Giving(errors=[error])

    with pytest.raises(type(error)):
        RetryPolicy(retries=5).call(ProviderCall(provider, {"query": "aurora"}))
    assert provider.queries == ["aurora"]


class TestWebSearch:
    """What a web search says of itself when it gives no documents."""

    def attempt(self, error: Exception, sent_out: bool = True) -> ProviderCall:
        begun = Attempt("web", "aurora", "DDGSWebSearch", sent_out=sent_out)
        call = ProviderCall(Giving(errors=[error]), {"query": "aurora"}, retry=False, attempt=begun)
        RetryPolicy().call(call)
        return call

    def test_no_results_are_no_failure(self):
        call = self.attempt(DDGSException("No results found."))

        assert (call.error, call.output) == (None, {"documents": []})
        assert call.attempts[0].error is None
        # Engines that refuse say the same, so it is believed only where no other provider can be asked.
        begun = ProviderCall(Giving(errors=[DDGSException("No results found.")]), {"query": "aurora"}, is_last=False)
        RetryPolicy().call(begun)
        assert begun.error is not None
        # An engine that failed may have had results.
        assert self.attempt(DDGSException(ValueError("No results found."))).error is not None

    @for_each(
        "error",
        RatelimitException("https://x 202"),
        httpx.HTTPStatusError("no", request=httpx.Request("GET", "https://x"), response=httpx.Response(429)),
    )
    def test_a_limit_of_the_rate_says_what_to_do(self, error: Exception):
        assert "use another one with a key" in str(self.attempt(error).attempts[0].error)

    def test_a_certificate_says_what_to_do(self):
        error = DDGSException("ConnectError: invalid peer certificate: UnknownIssuer")

        assert "SSL_CERT_FILE" in str(self.attempt(error).attempts[0].error)
        assert "SSL_CERT_FILE" not in str(self.attempt(error, sent_out=False).attempts[0].error)
