"""How long a provider may take, and how often it is called again."""

import asyncio
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from haystack.errors import FilterError

from prefrag.components.sources.retry_policy import ProviderCall, RetryPolicy
from tests.fakes import Giving
from tests.for_each import for_each

Carry = Callable[..., ProviderCall]


@pytest.fixture(params=["run", "run_async"])
def carry_out(request: pytest.FixtureRequest) -> Carry:
    def carried_out(policy: RetryPolicy, provider: Giving, **settings: Any) -> ProviderCall:
        call = ProviderCall(provider, {"query": "aurora"}, **settings)
        if request.param == "run":
            policy.call(call)
        else:
            asyncio.run(policy.call_async(call))
        return call

    return carried_out


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that would be made, each as long as possible; no time passes."""
    kept: list[float] = []
    own_thread, sleep = threading.get_ident(), asyncio.sleep

    async def pause(seconds: float) -> None:
        # A server that other tests started in another thread makes pauses too.
        if threading.get_ident() != own_thread:
            return await sleep(seconds)
        kept.append(seconds)

    monkeypatch.setattr(random, "uniform", lambda shortest, longest: longest)
    monkeypatch.setattr(time, "sleep", kept.append)
    monkeypatch.setattr("asyncio.sleep", pause)
    return kept


def test_the_first_success_ends_the_attempts(carry_out: Carry):
    provider = Giving("found", errors=[ConnectionError("gone")])

    call = carry_out(RetryPolicy(retries=5, backoff=0.0), provider)

    assert provider.queries == ["aurora", "aurora"]
    assert call.error is None
    assert call.documents() == ["found"]


def test_the_last_failure_is_the_result_when_the_attempts_are_used_up(carry_out: Carry):
    provider = Giving(errors=[ConnectionError(number) for number in ("one", "two", "three")])

    call = carry_out(RetryPolicy(retries=1, backoff=0.0), provider)

    assert len(provider.queries) == 2
    with pytest.raises(ConnectionError, match="two"):
        call.documents()


def test_pauses_double_up_to_the_timeout_and_there_is_none_before_the_first_attempt(
    carry_out: Carry, pauses: list[float]
):
    carry_out(RetryPolicy(), Giving())
    assert pauses == []
    carry_out(RetryPolicy(retries=5), provider := Giving(errors=[OSError("gone")]), retry=False)
    assert (provider.queries, pauses) == (["aurora"], []), "one that may be called once only"
    carry_out(RetryPolicy(timeout=3.0, retries=5, backoff=0.5), Giving(errors=[OSError("gone")] * 9))
    assert pauses == [0.5, 1.0, 2.0, 3.0, 3.0]


@for_each("error", FilterError("no such field"), KeyboardInterrupt())
def test_what_no_further_attempt_repairs_is_raised_at_once(error: BaseException):
    provider = Giving(errors=[error])

    with pytest.raises(type(error)):
        RetryPolicy(retries=5).call(ProviderCall(provider, {"query": "aurora"}))
    assert provider.queries == ["aurora"]
