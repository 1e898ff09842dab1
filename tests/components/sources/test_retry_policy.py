"""How long a provider may take, and how often it is called again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from haystack.errors import FilterError

from prefrag.components.sources.retry_policy import Attempt, RetryPolicy


class Provider:
    """Raises these errors, then replies."""

    def __init__(self, *errors: BaseException):
        self.errors = list(errors)
        self.queries: list[str] = []

    def run(self, query: str) -> dict[str, Any]:
        self.queries.append(query)
        if self.errors:
            raise self.errors.pop(0)
        return {"documents": [query]}


Carry = Callable[[RetryPolicy, Provider], list[Attempt]]


@pytest.fixture(params=["run", "run_async"])
def carry_out(request: pytest.FixtureRequest) -> Carry:
    async def each(policy: RetryPolicy, attempts: list[Attempt], provider: Provider) -> None:
        for attempt in policy.attempts(provider, {"query": "aurora"}):
            attempts.append(attempt)
            if request.param == "run":
                policy.call(attempt)
            else:
                await policy.call_async(attempt)

    def carried_out(policy: RetryPolicy, provider: Provider) -> list[Attempt]:
        attempts: list[Attempt] = []
        asyncio.run(each(policy, attempts, provider))
        return attempts

    return carried_out


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses, each as long as it may be, without the time that they take."""
    kept: list[float] = []

    async def pause(seconds: float) -> None:
        kept.append(seconds)

    monkeypatch.setattr(random, "uniform", lambda shortest, longest: longest)
    monkeypatch.setattr(time, "sleep", kept.append)
    monkeypatch.setattr("prefrag.components.sources.retry_policy.asyncio.sleep", pause)
    return kept


@pytest.mark.parametrize(
    "settings", [{"timeout": 0}, {"timeout": -1.0}, {"retries": -1}, {"backoff": -0.1}], ids=lambda one: next(iter(one))
)
def test_numbers_out_of_range_are_refused(settings: dict[str, Any]):
    with pytest.raises(ValueError, match="timeout must be over 0, retries and backoff not below"):
        RetryPolicy(**settings)


def test_survives_serialisation():
    data = RetryPolicy(timeout=2.5, retries=1, backoff=0.1).to_dict()

    assert data["init_parameters"] == {"timeout": 2.5, "retries": 1, "backoff": 0.1}
    assert RetryPolicy.from_dict(data).to_dict() == data


def test_the_first_success_ends_the_attempts(carry_out: Carry):
    provider = Provider(ConnectionError("gone"))

    attempts = carry_out(RetryPolicy(retries=5, backoff=0.0), provider)

    assert provider.queries == ["aurora", "aurora"]
    assert [str(attempt.error) for attempt in attempts] == ["gone", "None"]
    assert attempts[-1].documents() == ["aurora"]


def test_the_last_failure_is_the_result_when_the_attempts_are_used_up(carry_out: Carry):
    provider = Provider(ConnectionError("one"), ConnectionError("two"), ConnectionError("three"))

    attempts = carry_out(RetryPolicy(retries=1, backoff=0.0), provider)

    assert len(attempts) == 2
    with pytest.raises(ConnectionError, match="two"):
        attempts[-1].documents()


def test_pauses_double_up_to_the_timeout(carry_out: Carry, pauses: list[float]):
    carry_out(RetryPolicy(timeout=3.0, retries=5, backoff=0.5), Provider(*(OSError("gone") for _ in range(9))))

    assert pauses == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_there_is_no_pause_before_the_first_attempt(carry_out: Carry, pauses: list[float]):
    carry_out(RetryPolicy(), Provider())

    assert pauses == []


@pytest.mark.parametrize("error", [FilterError("no such field"), KeyboardInterrupt()], ids=["filters", "interrupt"])
def test_what_no_further_call_repairs_is_raised_at_once(error: BaseException):
    provider = Provider(error)
    policy = RetryPolicy(retries=5)

    with pytest.raises(type(error)):
        policy.call(next(policy.attempts(provider, {"query": "aurora"})))
    assert provider.queries == ["aurora"]


def test_a_provider_may_be_called_once_only():
    policy = RetryPolicy(retries=5)

    for attempt in policy.attempts(provider := Provider(OSError("gone")), {"query": "aurora"}, retry=False):
        policy.call(attempt)

    assert provider.queries == ["aurora"]
