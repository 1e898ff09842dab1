"""How much of a server one key may use while others work."""

import asyncio
import time
from collections import Counter
from typing import Any

import pytest
from limits import RateLimitItemPerMinute

from prefrag.server.access.keys import Access, Keyring, current_access
from prefrag.server.access.shares import Busy, Places, Rate, RequestRate
from tests.for_each import for_each
from tests.server.access.asgi_client import POST, Client


def places(most: int, waiting: int = 0, shared: bool = True) -> Places:
    return Places("questions", most, waiting, lambda: shared)


async def fill(free: Places, *holders: str) -> Counter[str]:
    """Let the keys ask in turn until all are refused, and return how many places each got."""
    got: Counter[str] = Counter()
    refused: set[str] = set()
    while left := [holder for holder in holders if holder not in refused]:
        for holder in left:
            try:
                await free.take(holder, 0.01)
                got[holder] += 1
            except Busy:
                refused.add(holder)
    return got


@pytest.mark.parametrize("hours", [-10_000, -1])
def test_a_clock_that_is_set_back_refuses_nobody_for_longer(monkeypatch: pytest.MonkeyPatch, hours: int):
    rate, now = Rate(RateLimitItemPerMinute(2), "Two a minute."), time.time()
    rate.spend("ada", 2)
    monkeypatch.setattr(time, "time", lambda: now + 3_600 * hours)

    rate.spend("ada", 2)

    with pytest.raises(Busy) as refused:
        rate.spend("ada")
    assert 0 < int(refused.value.headers["Retry-After"]) <= 61
    with pytest.raises(Busy):
        rate.spend("bob", 3)


class TestPlaces:
    @pytest.mark.parametrize(
        ("share", "shared", "greedy", "expected"),
        [
            ("50", True, ["a"], [32]),
            ("50", True, ["a", "b"], [22, 21]),
            ("50", True, ["a", "b", "c"], [16, 16, 16]),
            ("75", True, ["a"], [48]),
            ("1", True, ["a"], [1]),
            ("100", True, ["a"], [64]),
            ("50", False, ["a"], [64]),
        ],
    )
    async def test_of_one_holder_are_no_more_than_it_leaves_free(
        self, monkeypatch: pytest.MonkeyPatch, share: str, shared: bool, greedy: list[str], expected: list[int]
    ):
        monkeypatch.setenv("PREFRAG_SHARE", share)
        free = places(64, shared=shared)

        assert list((await fill(free, *greedy)).values()) == expected
        if share != "100" and shared:
            await asyncio.wait_for(free.take("newcomer", 1), 1)

    async def test_are_left_for_the_sixth_after_five_greedy_ones(self):
        free = places(64)

        assert [(await fill(free, holder))[holder] for holder in "abcdef"] == [32, 16, 8, 4, 2, 1]

    async def test_go_by_turns_to_those_who_wait_within_their_share(self):
        free, order = places(2, waiting=8, shared=False), []

        async def work(holder: str) -> None:
            await free.take(holder, 5)
            order.append(holder)
            await asyncio.sleep(0)
            free.leave(holder)

        await asyncio.gather(*(work(holder) for holder in ("a", "a", "a", "a", "a", "b", "b", "c")))

        assert order == ["a", "a", "a", "b", "c", "a", "b", "a"]

    @pytest.mark.parametrize("turn_has_come", [False, True])
    async def test_are_given_back_by_one_who_leaves_while_waiting(self, turn_has_come: bool):
        free = places(1, waiting=2)
        await free.take("a", 5)
        leaves = asyncio.create_task(free.take("b", 5))
        await asyncio.sleep(0)
        if turn_has_come:
            free.leave("a")
        leaves.cancel()
        await asyncio.wait([leaves])
        if not turn_has_come:
            assert free.most_waiting - free._count_waiting() == 2
            free.leave("a")

        assert await fill(free, "d") == {"d": 1}

    async def test_are_refused_over_the_share_and_for_all_without_any(self):
        free = places(2, waiting=2)
        await free.take("a", 1)
        waits = [asyncio.create_task(free.take(holder, 5)) for holder in "aa"]
        await asyncio.sleep(0)
        assert isinstance(waits[1].exception(), Busy)
        assert (waits[1].exception().status, "PREFRAG_SHARE is 50%" in str(waits[1].exception())) == (429, True)

        await free.take("b", 1)
        waits.append(asyncio.create_task(free.take("c", 0.001)))
        await asyncio.sleep(0)
        with pytest.raises(Busy, match=r"Too many questions \(2 running, 2 waiting\)") as refusal:
            await free.take("d", 1)
        assert refusal.value.status == 503
        with pytest.raises(Busy):
            await waits[2]
        free.leave("a")
        await asyncio.wait_for(waits[0], 1)


@for_each("keys, shared", ("", False), ("one", False), ("one,two", True))
def test_places_are_shared_where_more_than_one_key_works(monkeypatch: pytest.MonkeyPatch, keys: str, shared: bool):
    monkeypatch.setenv("PREFRAG_API_KEYS", keys)

    assert Keyring().is_shared is shared


@pytest.mark.parametrize(
    ("most", "path", "statuses"), [("2", "/collections", [0, 0, 429]), ("2", "/live", [0] * 3), ("0", "/mcp", [0] * 3)]
)
async def test_requests_in_a_minute_are_counted_before_their_bodies(
    monkeypatch: pytest.MonkeyPatch, most: str, path: str, statuses: list[int]
):
    monkeypatch.setenv("PREFRAG_REQUESTS_A_MINUTE", most)

    async def work(scope: Any, receive: Any, send: Any) -> None:
        await send({"status": 0})

    rate, seen = RequestRate(work), []
    for name in ("ada", "ada", "ada", "bob"):
        current_access.set(Access(name))
        client = Client()
        await rate({**POST, "path": path}, client.receive, client.send)
        seen.append(client.sent[0])
        assert len(client._body) == 2

    assert [each["status"] for each in seen] == [*statuses, 0]
    if 429 in statuses:
        assert 0 < int(dict(seen[2]["headers"])[b"retry-after"]) <= 60
