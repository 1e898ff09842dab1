"""Limit how much of a server one key may use: how many requests per minute, and how many at the same time.

Each server process counts for itself, and its counts are lost when it ends.
"""

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import Callable

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter
from starlette.types import ASGIApp, Receive, Scope, Send

from prefrag.server.access.keys import PUBLIC_PATHS, current_access
from prefrag.server.http.security import path_of, refuse
from prefrag.settings import settings

# How many seconds clients should wait before they ask again, if the server cannot say when it will be less busy.
RETRY_SECONDS = 5


def holder_of(scope: Scope) -> str:
    """Return whose share a request uses (its holder): the name of its key or, without a key, the client's address."""
    client_address, *_ = scope.get("client") or ("",)
    return current_access.get().key or client_address


class Busy(Exception):
    """The error when a request is refused: 503 if the server is too busy, 429 if the holder has used its share."""

    def __init__(self, status: int, message: str, wait: int = RETRY_SECONDS):
        super().__init__(message)
        self.status = status
        self.headers = {"Retry-After": str(wait)}


class Places:
    """A limited number of places, which are slots for running requests, and a queue of requests that wait for a place.

    With several keys and `PREFRAG_SHARE` at 50%, a holder gets another place only if more places are free than it holds
    already. So one holder gets half of the places, two holders get a third each, and the next holder still finds a free
    place. This matters because running requests are never stopped for others. Waiting holders take turns.
    """

    def __init__(self, what: str, most: int, most_waiting: int, are_shared: Callable[[], bool]):
        self.most = most
        self.most_waiting = most_waiting
        self._what = what
        self._are_shared = are_shared
        self._held: Counter[str] = Counter()
        # The waiting requests of each holder. The first holder in this dictionary has the next turn.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def take(self, holder: str, seconds: float) -> None:
        """Take a place, or wait for one in the queue. Raise :class:`Busy` if the queue is full or the wait too long."""
        if holder not in self._waiting and self._fits(self._held[holder], self._free):
            self._held[holder] += 1
            return
        own_waiting = len(self._waiting.get(holder, ()))
        free_waiting = self.most_waiting - self._count_waiting()
        if not self._fits(own_waiting, free_waiting):
            raise self._refusal(holder, by_share=self._free > 0 or free_waiting > 0)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(holder, deque()).append(turn)
        try:
            async with asyncio.timeout(seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.leave(holder)
            else:
                self._remove(holder, turn)
            if isinstance(error, TimeoutError):
                raise self._refusal(holder, by_share=self._free > 0) from None
            raise

    def leave(self, holder: str) -> None:
        """Give back a place, and give free places to waiting requests."""
        self._held -= Counter([holder])
        while True:
            fitting = (waiting for waiting in self._waiting if self._fits(self._held[waiting], self._free))
            next_holder = next(fitting, None)
            if next_holder is None:
                return
            turn = self._waiting[next_holder][0]
            self._remove(next_holder, turn)
            if not turn.done():
                self._held[next_holder] += 1
                turn.set_result(None)

    @property
    def _free(self) -> int:
        return self.most - self._held.total()

    def _count_waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    def _fits(self, own: int, free: int) -> bool:
        """Check whether a holder that has ``own`` places may have another, if ``free`` places are free."""
        share = settings.share if self._are_shared() else 100
        return own * (100 - share) < free * share

    def _remove(self, holder: str, turn: asyncio.Future[None]) -> None:
        turns = self._waiting.pop(holder, deque())
        left = deque(other for other in turns if other is not turn)
        if left:
            # Put the holder at the end, so that all other holders have their turns first.
            self._waiting[holder] = left

    def _refusal(self, holder: str, by_share: bool) -> Busy:
        if by_share:
            running, waiting = self._held[holder], len(self._waiting.get(holder, ()))
            return Busy(
                429,
                f"This key has used its share of the {self._what} in this server process ({running} running, {waiting} "
                f"waiting; PREFRAG_SHARE is {settings.share}%): ask again later.",
            )
        waiting = self._count_waiting()
        return Busy(503, f"Too many {self._what} ({self._held.total()} running, {waiting} waiting): ask again later.")


class Rate:
    """A limit on what each holder uses in a minute or a day. If the limit is 0, nothing is limited."""

    def __init__(self, limit: RateLimitItem, message: str):
        self._limit = limit
        self._message = message
        self._limiter = FixedWindowRateLimiter(MemoryStorage())

    def spend(self, holder: str, cost: int = 1) -> None:
        """Add a cost to what a holder has used. If this would exceed the limit, raise :class:`Busy` and add nothing."""
        if not self._limit.amount:
            return
        if not self._limiter.test(self._limit, holder, cost=cost):
            wait = self._limiter.get_window_stats(self._limit, holder).reset_time - time.time()
            if wait > self._limit.get_expiry():
                # The system's clock was set back, and the library measures by it: begin anew, instead of refusing for
                # as long as the clock was ahead.
                self._limiter.clear(self._limit, holder)
                self.spend(holder, cost)
                return
            raise Busy(429, self._message, max(1, math.ceil(wait)))
        self._limiter.hit(self._limit, holder, cost=cost)


class RequestRate:
    """Answer 429 if the holder has sent too many requests in a minute. The request's body is not read."""

    def __init__(self, app: ASGIApp):
        self.app = app
        most = settings.requests_a_minute
        message = f"This server process takes {most:,} requests per key and minute (PREFRAG_REQUESTS_A_MINUTE)."
        self.rate = Rate(RateLimitItemPerMinute(most), message)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 429."""
        if scope["type"] == "http" and not PUBLIC_PATHS.fullmatch(path_of(scope)):
            try:
                self.rate.spend(holder_of(scope))
            except Busy as busy:
                await refuse(scope, receive, send, busy.status, str(busy), busy.headers)
                return
        await self.app(scope, receive, send)
